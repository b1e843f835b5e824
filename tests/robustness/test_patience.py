"""Kernels over far more elements than memory holds: a limit or Ctrl-C ends the wait, and the session lives."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.cancellable import patiently
from gradsh.run.script import interruptible
from gradsh.session.session import Session
from tests.robustness.test_bounds import kinds, run

HOURS = [
    "x.expand(10**12).sum()", "x.expand(10**12).mean()", "x.expand(10**12).max()", "x.expand(10**6, 10**6).prod(1)",
    "x.expand(10**12).any()",
]


@pytest.mark.parametrize("line", HOURS)
def test_the_time_is_up_within_one_call(line: str) -> None:
    """In a process of its own, with which the kernel ends that nobody waits for any more."""
    script = f"x = ones(1)\nfor i in range(4): x.expand(3).sum()\n{line}"
    command = [sys.executable, "-m", "gradsh", "run", "--timeout", "0.3", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error[limit]: the script ran longer than 0.3 seconds")
    assert f"3 | {line}" in done.stderr


def test_ctrl_c_ends_the_wait() -> None:
    session = Session()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with interruptible(session):
        timer.start()
        assert kinds(run("x = ones(1)\nx.expand(3 * 10**9).sum()", session=session)) == ["interrupt"]
        timer.join()
    assert kinds(run("x.sum()", session=session)) == []


def test_what_a_kernel_returns_and_raises_comes_through() -> None:
    assert patiently(lambda a, b: a + b, [1, 2], lambda _: None) == 3
    with pytest.raises(ZeroDivisionError):
        patiently(lambda: 1 / 0, [], lambda _: None)
    inside: list[object] = []
    patiently(lambda: inside.append(current()), [], lambda _: None)
    assert inside == [current()]
