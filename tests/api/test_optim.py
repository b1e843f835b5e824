"""Optimizers and schedules held against PyTorch's over fifty steps: losses, parameters, versions, state, repr, errors."""

import pytest

from tests.api.twin import twin

pytest.importorskip("torch")

OPTIMIZERS = [
    "SGD(p, lr=0.1)", "SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)",
        "SGD(p, lr=0.05, momentum=0.9, nesterov=True)",
    "SGD(p, lr=0.001, maximize=True)",
        "SGD([{'params': p[:2]}, {'params': p[2:], 'lr': 0.5, 'momentum': 0.3}], lr=0.1)",
    "Adam(p, lr=0.01)", "Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True)", "AdamW(p, lr=0.01)", "RMSprop(p, lr=0.01)",
    "RMSprop(p, lr=0.01, momentum=0.5, centered=True, weight_decay=0.1, eps=1e-2)",
        "Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.01)",
    "Adadelta(p, weight_decay=0.01)", "Adamax(p, lr=0.01, weight_decay=0.01)", "NAdam(p, lr=0.01, weight_decay=0.01)",
    "RAdam(p, lr=0.01, weight_decay=0.01, decoupled_weight_decay=True)", "Rprop(p, lr=0.01)",
        "ASGD(p, lr=0.1, t0=10, weight_decay=0.01)",
]

TRAIN = """
m = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
X, Y = torch.randn(16, 5), torch.randn(16, 2)
p = list(m.parameters())
o = optim.{optimizer}
losses = []
for _ in range(50):
    o.zero_grad()
    l = nn.MSELoss()(m(X), Y)
    l.backward()
    o.step()
    losses.append(l.item())
note(losses, [q._version for q in p], [q.detach() for q in p], repr(o),
    [g['params'] for g in o.state_dict()['param_groups']])
note({{k: {{n: (v, v._version) if hasattr(v, '_version') else v for n, v in s.items()}} for k,
    s in o.state_dict()['state'].items()}})
fresh = optim.{optimizer}
fresh.load_state_dict(o.state_dict())
note(repr(fresh) == repr(o))
o.zero_grad(set_to_none=False)
note([q.grad for q in p], [q.grad._version for q in p])
"""


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizer(optimizer: str) -> None:
    """Fifty steps end where PyTorch's do, with the same versions and state."""
    twin(TRAIN.format(optimizer=optimizer))


@pytest.mark.parametrize("search", ["None", "'strong_wolfe'"])
def test_lbfgs(search: str) -> None:
    """L-BFGS goes down the same valley (its tail depends on the last digits, so only losses of the first steps count)."""
    twin(f"""
w = torch.tensor([-1.5, 2.0], requires_grad=True)
o = optim.LBFGS([w], lr=0.5, max_iter=4, line_search_fn={search})
def closure():
    o.zero_grad()
    l = (1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2
    l.backward()
    return l
for _ in range(3):
    note(o.step(closure).detach())
note(w.detach())
""")


def test_errors() -> None:
    """Optimizers refuse what PyTorch refuses, in its words."""
    twin("""
w = torch.ones(2, requires_grad=True)
v = w * 2
for make in [
    lambda: optim.SGD([], lr=0.1), lambda: optim.SGD([v], lr=0.1), lambda: optim.SGD(w, lr=0.1),
        lambda: optim.SGD([1], lr=0.1),
    lambda: optim.SGD([w], lr=-1), lambda: optim.SGD([w], lr=0.1, nesterov=True), lambda: optim.Adam([w], betas=(1.0,
        0.9)),
    lambda: optim.SGD([{'params': [w]}, {'params': [w]}], lr=0.1), lambda: optim.SGD({w}, lr=0.1),
    lambda: optim.SGD([w], lr=0.1).add_param_group(3), lambda: optim.LBFGS([{'params': w}, {'params': torch.ones(2)}]),
    lambda: optim.SGD([w]).load_state_dict(optim.SGD([torch.ones(1), torch.ones(2)]).state_dict()),
]:
    fails(lambda: repr(make()))
""")


SCHEDULES = [
    "StepLR(o, 3, 0.5)", "MultiStepLR(o, [2, 5, 5, 9], 0.3)", "ExponentialLR(o, 0.9)",
        "CosineAnnealingLR(o, 10, 0.001)",
    "LambdaLR(o, lambda e: 0.95 ** e)", "MultiplicativeLR(o, lambda e: 0.95)", "LinearLR(o, 0.3, 1.0, 5)",
        "ConstantLR(o, 0.3, 4)",
    "PolynomialLR(o, 8, 2.0)", "CosineAnnealingWarmRestarts(o, 4, 2)", "OneCycleLR(o, max_lr=1.0, total_steps=30)",
    "OneCycleLR(o, max_lr=1.0, epochs=5, steps_per_epoch=6, three_phase=True, anneal_strategy='linear')",
    "CyclicLR(o, 0.01, 0.2, step_size_up=4, mode='triangular2')",
        "CyclicLR(o, 0.01, 0.2, step_size_up=4, mode='exp_range', gamma=0.9)",
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedule(schedule: str) -> None:
    """A schedule gives PyTorch's rates, to the last digit."""
    twin(f"""
o = optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1, momentum=0.9)
s = schedulers.{schedule}
for _ in range(30):
    o.step()
    s.step()
    note([repr(rate) for rate in s.get_last_lr()], [repr(g['momentum']) for g in o.param_groups], s.last_epoch)
note(sorted(s.state_dict()) if 'Cyclic' not in '{schedule[:6]}' and 'OneCycle' not in '{schedule[:8]}' else 0)
""")


@pytest.mark.parametrize(
    "schedule", ["ReduceLROnPlateau(o, patience=2, factor=0.3, cooldown=1)",
        "ReduceLROnPlateau(o, 'max', patience=1, threshold_mode='abs', min_lr=0.01)"]
)
def test_plateau(schedule: str) -> None:
    """ReduceLROnPlateau reduces when PyTorch's does."""
    twin(f"""
o = optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
s = schedulers.{schedule}
for n in range(30):
    s.step(1.0 / (1 + min(n, 5)))
    note(repr(s.get_last_lr()[0]), s.num_bad_epochs)
""")


def test_combined() -> None:
    """SequentialLR and ChainedScheduler."""
    twin("""
for make in [
    lambda o: schedulers.SequentialLR(o, [schedulers.LinearLR(o, 0.1, total_iters=4), schedulers.ExponentialLR(o,
        0.9)], [4]),
    lambda o: schedulers.ChainedScheduler([schedulers.ConstantLR(o, 0.1, 2), schedulers.ExponentialLR(o, 0.9)]),
]:
    o = optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
    s = make(o)
    for _ in range(12):
        o.step()
        s.step()
        note([repr(rate) for rate in s.get_last_lr()])
""")
