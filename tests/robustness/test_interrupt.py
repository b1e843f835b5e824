"""Ctrl-C at any moment of a pass: it stops between two nodes, tells what it had done, and the session goes on."""

import pytest

from gradsh.events import Failure
from gradsh.session import Session
from tests.robustness.test_bounds import kinds, run

CHAIN = """
x = ones(2, requires_grad=True)
seen = []
def note(g): seen.append(1)
y = x
for i in range(50):
    y = y * 2
    y.register_hook(note)
z = y.sum()
"""


@pytest.mark.parametrize("after", [0, 1, 7, 49])
def test_a_pass_stops_between_two_nodes(after: int) -> None:
    session = Session()
    assert kinds(run(CHAIN, session=session)) == []
    seen = session.machine.program["seen"]

    def check(_: int = 0) -> None:
        if len(seen) >= after:
            session.interrupt()
        session.machine.check()

    session.ambient.check = check
    events = run("z.backward()\nprint(2)", session=session)
    failures = [event for event in events if isinstance(event, Failure)]
    assert [one.problem.kind for one in failures] == ["interrupt"]
    assert len(seen) == after
    session.ambient.check = session.machine.check
    assert kinds(run("w = (x * x).sum()\nw.backward()\nprint(x.grad)", session=session)) == []
    assert session.machine.program["x"].grad.tolist() == [2.0, 2.0]


def test_an_interrupt_that_arrives_within_one_long_call_ends_the_run() -> None:
    session = Session()
    session.machine.program["strike"] = session.interrupt
    events = run("strike()\nprint('never')", session=session)
    assert kinds(events) == ["interrupt"]
    assert len(events) == 2
