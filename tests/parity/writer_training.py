"""Programs with models: layers, optimizers, schedulers, losses, steps of training; and seeded random numbers."""

from typing import Any

from tests.parity.phrases import phrases

LAYERS = [line.split(" | ") for line in phrases("layers")]
NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, {h})
{parts}
        self.last = nn.Linear({h}, {e})
        self.register_buffer('seen', torch.zeros(1))
        self.scale = nn.Parameter(torch.ones({e}))
    def forward(self, x):
        x = self.first(x)
{calls}
        self.seen += 1
        return self.last(x) * self.scale"""
ARGUMENTS = dict(line.split(" | ") for line in phrases("arguments"))
OPTIMIZERS = phrases("optimizers")
SCHEDULERS = phrases("schedulers")
CRITERIA = [line.split(" | ") for line in phrases("criteria")]
HIDDEN = phrases("hidden")
BEFORE_STEP = ["", "", *phrases("before_step")]
AFTERWARDS = phrases("afterwards")
RANDOM = phrases("random")


def layer(w: Any) -> None:
    """Make a layer and apply it."""
    text, shape = w.rng.choice(LAYERS)
    d, name = w.pick(2, 3, 4), w.fresh("layer")
    if not w.do(f"{name} = {text.format(d=d, e=w.pick(1, 2, 3))}"):
        return
    if shape == "-":
        given = next(arguments for key, arguments in ARGUMENTS.items() if text.startswith(key))
    else:
        wanted = tuple(d if one == "d" else int(one) for one in shape.split())
        known = w.floating(lambda t: tuple(t.shape) == wanted)
        given = known if known is not None and w.chance(0.7) else f"torch.randn({wanted}{w.pick('', ', requires_grad=True')})"
    if w.chance(0.15):
        w.do(f"{name}.eval()")
    if not w.do(f"{(out := w.fresh())} = {name}({given})"):
        return
    if isinstance(w.value(out), tuple):
        w.do(f"{w.fresh()} = {out}[0]")
    if w.chance(0.1):
        w.do(f"print({name})")


def random_numbers(w: Any) -> None:
    """Draw random numbers."""
    x = w.floating()
    if x is not None:
        w.do(w.rng.choice(RANDOM).format(n=w.fresh(), x=x, i=w.rng.randrange(5)))


def model(w: Any, h: int, e: int) -> None:
    """Make a model, a chain or a class."""
    middle = [w.rng.choice(HIDDEN).format(h=h) for _ in range(w.rng.randint(1, 3))]
    if w.chance(0.65):
        w.do(f"model = nn.Sequential({', '.join([f'nn.Linear(3, {h})', *middle, f'nn.Linear({h}, {e})'])})")
        return
    parts = "\n".join(f"        self.part{n} = {one}" for n, one in enumerate(middle))
    calls = "\n".join(f"        x = {w.pick('', '', 'x + ')}self.part{n}(x)" for n in range(len(middle)))
    w.do(NET.format(h=h, e=e, parts=parts, calls=calls))
    w.do("model = Net()")


def training(w: Any) -> None:
    """Write a program that trains a model."""
    h, e = w.pick(4, 5), w.pick(2, 3)
    model(w, h, e)
    criterion, target = w.rng.choice(CRITERIA)
    parameters = "model.parameters()"
    if w.chance(0.2):
        parameters = "[{'params': list(model.parameters())[:1], 'lr': 0.05}, {'params': list(model.parameters())[1:]}]"
    text = w.rng.choice(OPTIMIZERS)
    if "LBFGS" in text:
        parameters = "model.parameters()"
    w.do(f"opt = torch.optim.{text.format(p=parameters, lr=w.pick(0.1, 0.01, 0.001))}")
    scheduled = w.chance(0.4) and w.do(f"sched = torch.optim.lr_scheduler.{w.rng.choice(SCHEDULERS)}")
    w.do(f"criterion = {criterion}")
    w.do("data = torch.randn(4, 3)")
    w.do(f"target = {target.format(e=e)}")
    for _ in range(w.rng.randint(1, 3)):
        steps(w, "LBFGS" in text, scheduled)
        for _ in range(w.rng.randint(0, 4)):
            w.do(w.rng.choice(AFTERWARDS).replace("{h}", str(h)))


def steps(w: Any, closure: bool, scheduled: bool) -> None:
    """Write a loop of training steps."""
    zero = w.pick("opt.zero_grad()", "opt.zero_grad()", "opt.zero_grad(set_to_none=False)", "model.zero_grad()", "")
    penalty = w.pick("", "", "loss = loss + 0.01 * sum(p.pow(2).sum() for p in model.parameters())")
    body = [zero, "loss = criterion(model(data), target)", penalty, "loss.backward()", w.rng.choice(BEFORE_STEP)]
    if closure or w.chance(0.08):
        lines = ("opt.zero_grad()", "loss = criterion(model(data), target)", "loss.backward()", "return loss")
        inner = "\n".join(f"        {line}" for line in lines)
        body = [f"def closure():\n{inner}", "loss = opt.step(closure)"]
    else:
        body.append("opt.step()")
    if scheduled:
        body.append("sched.step(loss.item())" if type(w.space.get("sched")).__name__ == "ReduceLROnPlateau" else "sched.step()")
    body.append(w.pick("", "print(i, loss.item())", "print(f'{loss.item():.4f}')", "print(loss)"))
    text = "\n".join(f"    {line}" for line in body if line)
    w.do(f"for i in range({w.rng.randint(1, 3)}):\n{text}")
