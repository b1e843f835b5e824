"""Ctrl-C and its relatives at random moments of the whole program: no traceback, the documented status, no process left behind.

`GRADSH_TRIALS=200` tries each as often. What Python itself does in the milliseconds before it comes to gradsh is not gradsh's.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gradsh.process import signals
from gradsh.run.script import INTERRUPTED, RunOptions
from gradsh.run.scripts import run_many
from gradsh.run.watch import watch
from gradsh.session.session import Session
from tests.processes import BOUND, left_of, program, used, wait_until

TRIALS = int(os.environ.get("GRADSH_TRIALS", "2"))
READY = (
    "import sys; sys.argv[0] = 'gradsh'\nfrom gradsh.process import signals\nsignals.take_over()\n"
    "print('ready', file=sys.stderr, flush=True)\nfrom gradsh.__main__ import main\nmain()\n"
)
"""The program, telling when the first Ctrl-C may come."""
LONG = "x = ones(2, requires_grad=True)\ny = x\nfor i in range(30000): y = y * 1.0001\ny.sum().backward()\nprint('done')\n"


@contextmanager
def started(folder: Path, arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program, as far as the first Ctrl-C may come."""
    with program(["-c", READY, *arguments], folder) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"ready\n"
        yield process


def scripts(folder: Path) -> None:
    for number in range(6):
        (folder / f"s{number}.grad").write_text(LONG)


COMMANDS = [
    ["--version"], ["run", "s0.grad"], ["run", "--format", "json", "s0.grad"], ["run", "-j", "2", "s0.grad", "s1.grad", "s2.grad"],
    ["test", "."], ["test", "-j", "2", "."], ["check", "s0.grad", "s1.grad"], ["watch", "s0.grad"], ["explain", "freed"], ["--help"],
]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("seed", range(TRIALS))
def test_an_interrupt_at_any_moment(tmp_path: Path, arguments: list[str], times: int, seed: int) -> None:
    scripts(tmp_path)
    moments = random.Random(f"{seed} {times} {arguments}")
    with started(tmp_path, arguments) as process:
        time.sleep(moments.random() * 0.6)
        for _ in range(times):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            time.sleep(moments.random() * 0.05)
        out, told = process.communicate(timeout=BOUND)
        text = (out + told).decode()
        assert not [word for word in ("Traceback", "Exception ignored", "itself failed", "Fatal") if word in text], text
        ended = 1 if arguments == ["test", "."] else 0  # nobody expects what these scripts print, but they hold: they pass
        assert process.returncode in {0, ended, 130}, text
        wait_until(lambda: not left_of(process.pid), "the end of its processes")


WITHIN_IMPORTS = """
import os, signal, sys
sys.argv[0] = 'gradsh'
parent, left = os.getpid(), int(sys.argv.pop(1))

class Interrupting:
    def find_spec(self, *_):
        global left
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler and os.getpid() == parent:
            left -= 1
            if left == 0:
                os.kill(parent, signal.SIGINT)

class First(list):
    def insert(self, at, one):
        super().insert(at + 1, one)

sys.meta_path = First([Interrupting(), *sys.meta_path])
from gradsh.__main__ import main
main()
"""
"""The program, interrupted when it looks for the module of that number after it has taken Ctrl-C over."""


@pytest.mark.parametrize("number", [1, 2, 9, 30, 70])
@pytest.mark.parametrize("arguments", [["run", "s0.grad"], ["run", "s0.grad", "s1.grad"], ["test", "."], ["--help"]], ids=" ".join)
def test_an_interrupt_within_an_import(tmp_path: Path, arguments: list[str], number: int) -> None:
    """Raised there, an exception would leave half a module behind, or be taken for a fault in it."""
    scripts(tmp_path)
    with program(["-c", WITHIN_IMPORTS, str(number), *arguments], tmp_path) as process:
        out, told = process.communicate(timeout=BOUND)
    text = (out + told).decode()
    assert process.returncode == 130, text
    assert not [word for word in ("Traceback", "Exception ignored", "itself failed", "Fatal") if word in text], text


@pytest.mark.parametrize(("name", "whose"), [("gradsh", "gradsh"), ("/usr/bin/gradsh", "gradsh"), ("program.py", "Python"), ("", "Python")])
def test_ctrl_c_is_taken_over_by_the_program_and_not_by_the_library(tmp_path: Path, name: str, whose: str) -> None:
    code = (
        f"import signal, sys\nsys.argv[0] = {name!r}\nimport gradsh.nn, gradsh.__main__\n"
        "print('Python' if signal.getsignal(signal.SIGINT) is signal.default_int_handler else 'gradsh')"
    )
    with program(["-c", code], tmp_path) as process:
        assert process.communicate(timeout=BOUND) == (f"{whose}\n".encode(), b"")


@pytest.mark.parametrize("second", [False, True])
def test_a_block_that_raises_leaves_imports_alone(monkeypatch: pytest.MonkeyPatch, second: bool) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with pytest.raises(KeyboardInterrupt) if not second else nullcontext(), signals.Raising():
            if second:
                monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
                with suppress(ImportError):
                    import_module("no_such_module_anywhere")
            else:
                os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ([signal.SIGINT] if second else [])


class Interrupting:
    """A finder of modules during whose work Ctrl-C comes."""

    @staticmethod
    def find_spec(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["run", "test"])
def test_workers_do_not_outlive_their_parent(tmp_path: Path, command: str, number: int) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.grad").write_text("while True: pass\n")
    with started(tmp_path, [command, "-j", "2", *(f"{name}.grad" for name in "abcd")]) as process:
        wait_until(lambda: len(left_of(process.pid)) >= 3, "two workers")
        time.sleep(0.5)
        process.send_signal(number)
        process.communicate(timeout=BOUND)
        wait_until(lambda: not left_of(process.pid), "the end of its processes")


def test_a_worker_that_dies_costs_its_own_script(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("while True: pass\n")
    for name in "bcd":
        (tmp_path / f"{name}.grad").write_text(f"print('{name}')\n")
    with started(tmp_path, ["run", "-j", "2", *(f"{name}.grad" for name in "abcd")]) as process:
        wait_until(lambda: busiest(process.pid), "the worker that is in the endless loop")
        os.kill(busiest(process.pid), signal.SIGKILL)
        out, told = process.communicate(timeout=BOUND)
    assert out == b"b\nc\nd\n"
    assert b"error[limit]: the process that ran it ended: signal SIGKILL" in told
    assert b"4 scripts: 3 done, 1 failed" in told
    assert process.returncode == 1


def busiest(parent: int) -> int:
    """Return the child that has used a second more than each other process of its session; 0 while there is none."""
    first, second, *_ = sorted(((used(child), int(child)) for child in left_of(parent)), reverse=True) + [(0, 0)] * 2
    return first[1] if first[1] != parent and first[0] > second[0] + os.sysconf("SC_CLK_TCK") else 0


def test_a_stopped_program_goes_on(tmp_path: Path) -> None:
    scripts(tmp_path)
    with started(tmp_path, ["run", "s0.grad"]) as process:
        for _ in range(3):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        out, told = process.communicate(timeout=BOUND)
    assert (out, told, process.returncode) == (b"done\n", b"", 0)


def test_an_interrupt_after_the_last_safe_point_ends_the_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It comes too late for the script itself, but what would run next, or wait, does not."""
    run = Session.run

    def interrupted(*given: Any, **named: Any) -> Any:
        outcome = run(*given, **named)
        os.kill(os.getpid(), signals.FORWARDED)  # a worker's Ctrl-C
        return outcome

    monkeypatch.setattr(Session, "run", interrupted)
    script = tmp_path / "s.grad"
    script.write_text("print('ran')\n")
    assert watch(RunOptions(files=(str(script),)), rounds=3) == INTERRUPTED
    assert run_many(RunOptions(files=(str(script), str(script)))) == INTERRUPTED
    assert capfd.readouterr().out.count("ran\n") == 2
