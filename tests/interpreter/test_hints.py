"""Mistakes for which nothing fails: each is told once, with its lines; what is no such mistake is not told."""

from pathlib import Path

import pytest

from gradsh.contracts.events import Failure, Warn
from gradsh.diagnosis import hints
from gradsh.probe.snapshot import nodes_below
from gradsh.session import session as sessions
from gradsh.session.session import Session
from gradsh.text.silent import SILENT
from tests.sweep import part

ROOT = Path(__file__).parent.parent.parent
NET = "net = nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
LOSS = "    loss = net(torch.ones(4, 2)).pow(2).mean()\n"
LISTED = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.first = nn.Linear(2, 2)\n"
    "        self.more = [nn.Linear(2, 2)]\n    def forward(self, x):\n        return self.more[0](self.first(x))\n"
        "net = Net()\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet(torch.ones(4, 2)).sum().backward()\nopt.step()\n"
)
IN_FORWARD = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.first = nn.Linear(2, 2)\n"
    "    def forward(self, x):\n        return nn.Linear(2, 1)(self.first(x))\nnet = Net()\n"
        "net(torch.ones(4, 2)).sum().backward()\n"
)
MISTAKES = {
    "a list of losses": (
        (f"{NET}kept = []\nfor i in range(4):\n    opt.zero_grad()\n{LOSS}    loss.backward()\n    opt.step()\n"
        "    kept.append(loss)\n"), {6, 7}),
    "summed in a function": (
        (f"{NET}def epoch():\n    running = 0.0\n    for i in range(4):\n    {LOSS}        opt.zero_grad()\n        loss.backward()\n"
        "        opt.step()\n        running = running + loss\n    return running / 4\nprint(epoch())\n"), {8, 10}),
    "a leaf that no optimizer has": (
        (f"{NET}bias = torch.zeros(1, requires_grad=True)\nfor i in range(3):\n    opt.zero_grad()\n"
        "    loss = (net(torch.ones(4, 2)) + bias).pow(2).mean()\n    loss.backward()\n    opt.step()\n"), {7, 8}),
    "a list of what eval gave": (
        ("model = nn.Sequential(nn.Linear(2, 4), nn.Tanh())\n_ = model.eval()\nouts = []\nfor i in range(3):\n"
        "    outs.append(model(torch.ones(8, 2)))\n"), {2, 5}),
    "written through data": (
        "x = torch.ones(3, requires_grad=True)\nh = x.exp()\ny = (h * h).sum()\nh.data.mul_(2)\ny.backward()\n", {3, 4}),
    "written through data in a function": (
        ("def step(x):\n    h = x.exp()\n    y = (h * h).sum()\n    h.data[0] = 2\n    y.backward()\n"
        "step(torch.ones(3, requires_grad=True))\n"), {3, 4}),
    "written through detach": (("x = torch.ones(3, requires_grad=True)\nh = x * 2\nh.detach().add_(1)\n"
        "h.sum().backward()\n"), {3}),
    "a detached name written": (
        "x = torch.ones(3, requires_grad=True)\ncopy = x.detach()\ncopy += 1\n(x * 2).sum().backward()\n", {2, 3}),
    "no zero_grad": (f"{NET}for i in range(3):\n{LOSS}    loss.backward()\n    opt.step()\n", {5, 6}),
    "no zero_grad by hand": (
        ("w = torch.ones(2, requires_grad=True)\nfor i in range(3):\n    (w * w).sum().backward()\n"
        "    with torch.no_grad():\n"
        "        w -= 0.1 * w.grad\n"), {3, 5}),
    "two backwards, two steps": (
        f"{NET}{LOSS.strip()}\nloss.backward()\nopt.step()\n{LOSS.strip()}\nloss.backward()\nopt.step()\n", {7, 8}),
    "summed with graphs": (
        (f"{NET}total = 0\nfor i in range(3):\n    opt.zero_grad()\n{LOSS}    loss.backward()\n    opt.step()\n"
        f"    total += loss\n"), {7, 9}),
    "step before backward": (
        f"{NET}for i in range(3):\n    opt.zero_grad()\n{LOSS}    opt.step()\n    loss.backward()\n", {6, 7}),
    "not in the optimizer": (LISTED, {10, 11}),
    "eval for no_grad": (("model = nn.Sequential(nn.Linear(2, 4), nn.Tanh())\n_ = model.eval()\n"
        "out = model(torch.ones(8, 2))\n"), {2, 3}),
    "made in forward": (IN_FORWARD, {6}),
    "summed in an attribute": (
        (f"{NET}class Meter:\n    total = 0.0\nmeter = Meter()\nfor i in range(4):\n    opt.zero_grad()\n{LOSS}    loss.backward()\n"
         "    opt.step()\n    meter.total = meter.total + loss\n"), {9, 11}),
    "a list in an object": (
        (f"{NET}class History:\n    def __init__(self):\n        self.losses = []\nhistory = History()\nfor i in range(4):\n"
         f"    opt.zero_grad()\n{LOSS}    loss.backward()\n    opt.step()\n    history.losses.append(loss)\n"), {9, 10}),
    "a module that no optimizer has": (
        (f"{NET}head = nn.Linear(1, 1)\nfor i in range(3):\n    opt.zero_grad()\n    loss = head(net(torch.ones(4, 2))).pow(2).mean()\n"
         "    loss.backward()\n    opt.step()\n"), {7, 8}),
    "written through numpy": (
        "x = torch.ones(3, requires_grad=True)\nh = x.exp()\ny = (h * h).sum()\nshown = h.detach().numpy()\nshown *= 2\ny.backward()\n",
        {3, 5}),
    "written through data in a function that is over": (
        ("def forward(x):\n    h = x.exp()\n    y = (h * h).sum()\n    h.data.mul_(2)\n    return y\n"
         "forward(torch.ones(3, requires_grad=True)).backward()\n"), {3, 4}),
    "a parameter written through data in its forward": (
        ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.ones(2))\n"
         "    def forward(self, x):\n        y = (x * self.w).sum()\n        self.w.data.clamp_(max=0.5)\n        return y\n"
         "net = Net()\nnet(torch.ones(2, requires_grad=True)).backward()\n"), {6, 7}),
}
MEANT = {
    "losses as numbers": (f"{NET}kept = []\nfor i in range(4):\n    opt.zero_grad()\n{LOSS}    loss.backward()\n    opt.step()\n"
        "    kept.append(loss.item())\n"),
    "an input whose gradient is read": (f"{NET}x = torch.ones(4, 2, requires_grad=True)\nfor i in range(3):\n    opt.zero_grad()\n"
        "    loss = net(x).pow(2).mean()\n    loss.backward()\n    opt.step()\n    print(x.grad.norm())\n"),
    "accumulation": f"{NET}for i in range(8):\n{LOSS}    (loss / 4).backward()\n    if i % 4 == 3:\n"
        f"        opt.step()\n        opt.zero_grad()\n",
    "zeros": f"{NET}for i in range(3):\n    opt.zero_grad(set_to_none=False)\n{LOSS}    loss.backward()\n    opt.step()\n",
    "two losses for a step": f"{NET}for i in range(3):\n    opt.zero_grad()\n    for k in range(2):\n"
        f"    {LOSS}        loss.backward()\n    opt.step()\n",
    "clipped": f"{NET}for i in range(3):\n    opt.zero_grad()\n{LOSS}    loss.backward()\n"
        f"    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
               "    opt.step()\n",
    "a discriminator's gradients from the generator": (
        "G, D = nn.Linear(2, 3), nn.Linear(3, 1)\n"
        "g, d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)\n"
        "for i in range(3):\n    z = torch.ones(4, 2)\n    d.zero_grad()\n    D(G(z).detach()).mean().backward()\n"
        "    d.step()\n"
        "    g.zero_grad()\n    (-D(G(z)).mean()).backward()\n    g.step()\n"),
    "a sum that is gone back through": (
        f"{NET}total = 0\nfor i in range(3):\n{LOSS}    total = total + loss\ntotal.backward()\nopt.step()\n"),
    "an update through data": (
        "w = torch.ones(2, requires_grad=True)\nfor i in range(3):\n    w.grad = None\n    (w * w).sum().backward()\n"
        "    w.data -= 0.1 * w.grad\n"),
    "an average of weights": (
        f"{NET}import copy\nteacher = copy.deepcopy(net)\nfor i in range(3):\n    opt.zero_grad()\n"
        f"{LOSS}    loss.backward()\n    opt.step()\n"
        "    with torch.no_grad():\n        for p, q in zip(teacher.parameters(), net.parameters()):\n"
        "            p.mul_(0.9).add_(q, alpha=0.1)\n"),
    "evaluated and trained again": (
        f"{NET}_ = net.eval()\nwith torch.no_grad():\n    out = net(torch.ones(1, 2))\n_ = net.train()\n"
        f"net(torch.ones(1, 2)).sum().backward()\n"),
    "what was written is another tensor than what was saved": (
        "def forward(x):\n    h = x * 2\n    y = h + x.exp()\n    h.data.mul_(2)\n    return y.sum()\n"
        "forward(torch.ones(3, requires_grad=True)).backward()\n"),
    "written through data after the backward, again and again": (
        "def step(x):\n    h = x.exp()\n    y = (h * h).sum()\n    y.backward()\n    h.data.mul_(2)\n"
        "for i in range(3):\n    step(torch.ones(3, requires_grad=True))\n"),
    "an attack on a model that is not frozen": (
        "net = nn.Linear(2, 1)\ndelta = torch.zeros(2, requires_grad=True)\nopt = torch.optim.SGD([delta], lr=0.1)\n"
        "for i in range(4):\n    opt.zero_grad()\n    net(torch.ones(2) + delta).sum().backward()\n    opt.step()\n"),
    "a judge at rest": (
        f"{NET}judge = nn.Linear(1, 1).eval()\nfor i in range(4):\n    opt.zero_grad()\n"
        "    judge(net(torch.ones(4, 2))).pow(2).mean().backward()\n    opt.step()\n"),
    "a saliency map": (
        "model = nn.Sequential(nn.Linear(2, 4), nn.Tanh())\n_ = model.eval()\nx = torch.ones(1, 2, requires_grad=True)\n"
        "out = model(x).sum()\nout.backward()\n"),
}
SHOWN = {"g16-running-total.grad", "detach_shares_memory.py", "running_total_keeps_every_graph.py"}
"""Scripts and situations that are such mistakes."""


@pytest.fixture(autouse=True)
def _no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "TRIED_AT_ONCE", frozenset())
    monkeypatch.setattr(sessions, "DEBUG", True)  # a rule that fails is not silent here


def hints_of(text: str) -> list[Warn]:
    """The hints of a script."""
    session, found = Session(), []
    session.state.settings.values["hints"] = True
    session.run(text, lambda event: found.append(event) if isinstance(event, Warn) else None, name="script", keep_going=True)
    return [event for event in found if "explain silent" in event.message]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_once_with_its_lines(name: str) -> None:
    text, lines = MISTAKES[name]
    (hint,) = hints_of(text)
    assert hint.line in lines
    assert all(f"line {line}" in hint.message for line in lines), hint.message


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_is_not_told(name: str) -> None:
    assert hints_of(MEANT[name]) == []


@pytest.mark.parametrize("folder", ["scripts/*.grad", "tests/oracle/real/*.py"])
def test_no_script_gives_a_false_alarm(folder: str) -> None:
    paths = part(sorted(ROOT.glob(folder)), 3)
    told = {path.name for path in paths if hints_of(path.read_text(encoding="utf-8"))}
    assert len(paths) > 10
    assert told == SHOWN & {path.name for path in paths}


def test_nothing_is_told_unless_asked() -> None:
    found: list[object] = []
    Session().run(MISTAKES["no zero_grad"][0], lambda event: found.append(event) if isinstance(event, Warn) else None)
    assert found == []


def test_the_shell_tells_and_the_setting_ends_it() -> None:
    session, found = Session(typed=True), []
    text = MISTAKES["written through data"][0].splitlines()
    for number, line in enumerate(["set hints on", *text, "set hints off", *text], 1):
        session.run(line, lambda event: found.append(event) if isinstance(event, Warn) else None, name="<shell>", first_line=number)
    assert [event.message.startswith("hint: line 5 writes h through `.data`") for event in found] == [True]


def test_explain_silent_has_programs_that_run_without_a_hint() -> None:
    assert len(hints_of(SILENT.example)) == 1
    for way in SILENT.ways:
        failures: list[object] = []
        Session().run(way.script, lambda event, seen=failures: seen.append(event) if isinstance(event, Failure) else None)
        assert (failures, hints_of(way.script)) == ([], []), way.text


def test_a_statement_looks_at_no_graph_that_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(hints, "nodes_below", lambda node: (seen.append(one) or one for one in nodes_below(node)))
    session = Session(typed=True)
    session.state.settings.values["hints"] = True
    loop = "w = ones(2, requires_grad=True)\nz = w\nfor i in range(30):\n    z = z * w\n\nkept = [z.sum(), z.sum(), z.sum()]\n"
    for text in (loop, "a = (z + kept[0] + kept[1]).sum()\nb = z + w + z + z\n", "a.backward(retain_graph=True)\n"):
        session.run(text, lambda _event: None)
    assert seen
    seen.clear()
    for _ in range(3):
        session.run("x = 1\n", lambda _event: None)
    assert seen == []
    session.run("kept = [z.sum(), z.sum(), z.sum()]\n", lambda _event: None)
    assert seen
