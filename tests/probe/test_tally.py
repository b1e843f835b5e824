"""What follows live graphs from statement to statement agrees with a walk over all that is alive, and costs no such walk."""

import gc
from pathlib import Path

import pytest

from gradsh.probe.accounts import saved_memories
from gradsh.probe.meter import Meter
from gradsh.probe.names import roots_of
from gradsh.probe.tally import Tally
from gradsh.session.session import Session

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.grad"))[::4]
STATEMENTS = """
x = ones(3, requires_grad=True); y = x.exp() * x; z = y.sum()
z.backward(retain_graph=True)
w = (z * y).tanh(); v = w.detach() * x
retain w
w.sum().backward()
release w --free
y = None; z = 3
hs = [(x * i).tanh() for i in range(5)]
hs = hs[2:]
def f(a): return (a * a).exp()
q = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False); q.sum().backward()
del q, w, v
g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
g.sum().backward()
x.grad = None; g = None
"""


def agrees(session: Session) -> None:
    gc.collect()
    tally = session.state.meter.tally
    sizes, nodes = saved_memories(node for _, node in roots_of(session.machine.variables()))
    assert (tally.nodes, tally.sizes, tally.nbytes) == (nodes, sizes, sum(sizes.values()))


def test_the_tally_is_what_a_walk_finds() -> None:
    session = Session(typed=True)
    for statement in STATEMENTS.strip().split("\n"):
        assert session.run(statement, lambda _: None).status == 0, statement
        agrees(session)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_tally_is_what_a_walk_finds_at_the_end_of_scripts(path: Path) -> None:
    session = Session(typed=True)
    session.run(path.read_text(encoding="utf-8"), lambda _: None, keep_going=True)
    agrees(session)


def test_a_statement_visits_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(typed=True)
    session.run("x = ones(2, requires_grad=True)\nh = x\nfor i in range(3000):\n    h = h * x\n", lambda _: None)
    visited: list[int] = []
    follow = Tally.follow
    monkeypatch.setattr(Tally, "follow", lambda self, roots: visited.append(follow(self, roots)) or visited[-1])
    for statement in ("1 + 1", "h = h * 2", "y = (x * x).sum()", "y.backward()", "del h"):
        session.run(statement, lambda _: None)
    assert sum(visited) == 3
    assert session.state.meter.tally.nodes < 10


def test_a_walk_spends_what_it_looked_at():
    meter = Meter()
    before = meter.credit
    meter.sample({"buffer": [(number, 1.0) for number in range(5000)]}, 1, ())
    assert before - meter.credit >= 15000
