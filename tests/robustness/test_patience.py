"""Kernels over far more elements than memory holds: a limit or Ctrl-C ends the wait, and the session lives."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.cancellable import run_cancellable
from gradsh.run.script import Interruptible
from gradsh.session.session import Session
from tests.processes import BOUND, program
from tests.robustness.test_bounds import kinds, run

HOURS = [
    "x.expand(10**12).sum()", "x.expand(10**12).mean()", "x.expand(10**12).max()", "x.expand(10**6, 10**6).prod(1)",
    "x.expand(10**12).any()", "x.half().expand(10**12).max()",
]


ALONE = """
import os, sys
from gradsh.session.session import Session
from tests.robustness.test_bounds import kinds, run
session = Session(typed=True)
assert kinds(run("x = ones(1)\\nfor i in range(4): x.expand(3).sum()\\nset timeout 0.3", session=session)) == []
(failure,) = [event for event in run(sys.argv[1], session=session) if type(event).__name__ == "Failure"]
print(failure.problem.message, failure.line, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("line", HOURS)
def test_the_time_is_up_within_one_call(line: str, tmp_path: Path) -> None:
    """In a process of its own, with which the kernel ends that nobody waits for any more."""
    with program(["-c", ALONE, line], tmp_path) as process:
        out, told = process.communicate(timeout=BOUND)
    assert (out, told) == (b"the script ran longer than 0.3 seconds (--timeout) 1\n", b"")


@pytest.mark.parametrize("call", ["torch.linalg.svd(x)", "torch.linalg.eigh(x)", "rand(30000000).sort()", "x @ x"])
def test_a_limit_within_one_call_names_its_line(call: str) -> None:
    """Whether the wait for it is ended, or the process: the latter within five seconds more."""
    script = f"x = randn(1500, 1500)\nx = x @ x.T\ndef f(y):\n    for _ in range(10**6):\n        {call}\nf(1)"
    command = [sys.executable, "-m", "gradsh", "run", "--timeout", "0.5", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert re.search(r"\n +\d \| ", done.stderr), done.stderr


def test_ctrl_c_ends_the_wait() -> None:
    session = Session()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    session.machine.program["begin"] = timer.start
    with Interruptible(session):
        assert kinds(run("x = ones(1)\nbegin()\nx.expand(3 * 10**9).sum()", session=session)) == ["interrupt"]
        timer.join()
    assert kinds(run("x.sum()", session=session)) == []


def test_what_a_kernel_returns_and_raises_comes_through() -> None:
    assert run_cancellable(lambda a, b: a + b, [1, 2], lambda _: None) == 3
    with pytest.raises(ZeroDivisionError):
        run_cancellable(lambda: 1 / 0, [], lambda _: None)
    inside: list[object] = []
    run_cancellable(lambda: inside.append(current()), [], lambda _: None)
    assert inside == [current()]
