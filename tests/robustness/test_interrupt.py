"""Ctrl-C at any moment of a pass: it stops between two nodes, tells what it had done, and the session goes on."""

import os
import random
import signal
import threading
import time

import pytest

from gradsh.contracts.events import Failure
from gradsh.run.script import Interruptible
from gradsh.session.session import Session
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


def test_an_interrupt_that_comes_too_late_is_none_of_the_next_text() -> None:
    session = Session()
    with Interruptible(session):
        assert kinds(run("x = 1", session=session)) == []
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
    assert kinds(run("x + 1", session=session)) == []


def test_an_interrupt_after_the_last_node_says_that_the_pass_is_done() -> None:
    """Nothing of the statement is left to do then, and a person must not think that the gradients are not there."""
    session = Session()
    run("x = ones(2, requires_grad=True)\ny = (x * x).sum()", session=session)
    session.ambient.passes = lambda _task, over: session.interrupt() if over else None
    (failure,) = [event for event in run("y.backward()\nprint('never')", session=session) if isinstance(event, Failure)]
    assert failure.problem.labels[0].text == "just done when it was interrupted"
    assert session.machine.program["x"].grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("seed", range(6))
def test_a_pass_stops_at_any_moment(seed: int) -> None:
    """A real Ctrl-C at a random moment: the pass tells what it had done, and what it wrote agrees with that."""
    session = Session()
    run("x = ones(50, requires_grad=True)\ny = x\nfor i in range(20000): y = y.sin() * 1.01\nz = y.sum()", session=session)
    timer = threading.Timer(random.Random(seed).random() * 0.1, os.kill, (os.getpid(), signal.SIGINT))
    with Interruptible(session):
        timer.start()
        events = run("z.backward()", session=session)
        timer.join()
        time.sleep(0.01)
    failures = [event for event in events if isinstance(event, Failure)]
    assert {one.problem.kind for one in failures} <= {"interrupt"}
    x = session.machine.program["x"]
    whole = all("just done" in one.problem.labels[0].text for one in failures)
    assert (x.grad is not None) == whole
    assert kinds(run("x.grad = None; (x * x).sum().backward()", session=session)) == []
    assert x.grad.sum().item() == 100.0
