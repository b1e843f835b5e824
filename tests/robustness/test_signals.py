"""Ctrl-C and its relatives at random moments of the whole program: no traceback, the documented status, no process left behind.

`GRADSH_TRIALS=200` tries each as often. What Python itself does in the milliseconds before it comes to gradsh is not gradsh's.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.batch.conftest import _environment

TRIALS = int(os.environ.get("GRADSH_TRIALS", "2"))
READY = (
    "import sys; sys.argv[0] = 'gradsh'\nfrom gradsh import signals\nsignals.take_over()\n"
    "print('ready', file=sys.stderr, flush=True)\nfrom gradsh.__main__ import main\nmain()\n"
)
"""The program, telling when the first Ctrl-C may come."""
LONG = "x = ones(2, requires_grad=True)\ny = x\nfor i in range(30000): y = y * 1.0001\ny.sum().backward()\nprint('done')\n"


def start(folder: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", READY, *arguments], cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == b"ready\n"
    return process


def left_of(session: int) -> list[str]:
    """Return the processes of a session that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = entry.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state not in {"Z", "X"}:
            found.append(entry.parent.name)
    return found


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
    process = start(tmp_path, arguments)
    time.sleep(moments.random() * 0.6)
    for _ in range(times):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(moments.random() * 0.05)
    out, told = process.communicate(timeout=60)
    text = (out + told).decode()
    assert not [word for word in ("Traceback", "Exception ignored", "itself failed", "Fatal") if word in text], text
    ended = 1 if arguments == ["test", "."] else 0  # nobody expects what these scripts print, but they hold: they pass
    assert process.returncode in {0, ended, 130}, text
    for _ in range(50):
        if not left_of(process.pid):
            break
        time.sleep(0.1)
    assert left_of(process.pid) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["run", "test"])
def test_workers_do_not_outlive_their_parent(tmp_path: Path, command: str, number: int) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.grad").write_text("while True: pass\n")
    process = start(tmp_path, [command, "-j", "2", *(f"{name}.grad" for name in "abcd")])
    while len(left_of(process.pid)) < 3:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=60)
    for _ in range(100):
        if not left_of(process.pid):
            break
        time.sleep(0.1)
    assert left_of(process.pid) == []


def test_a_worker_that_dies_costs_its_own_script(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("while True: pass\n")
    for name in "bcd":
        (tmp_path / f"{name}.grad").write_text(f"print('{name}')\n")
    process = start(tmp_path, ["run", "-j", "2", *(f"{name}.grad" for name in "abcd")])
    while True:  # the worker that has used the most time is in the endless loop
        time.sleep(1.0)
        busy = [(used(child), child) for child in left_of(process.pid) if child != str(process.pid)]
        if busy and max(busy)[0] > 30:
            break
    os.kill(int(max(busy)[1]), signal.SIGKILL)
    out, told = process.communicate(timeout=60)
    assert out == b"b\nc\nd\n"
    assert b"error[limit]: the process that ran it ended: signal SIGKILL" in told
    assert b"4 scripts: 3 done, 1 failed" in told
    assert process.returncode == 1


def used(child: str) -> int:
    """Return the time that a process has used, in ticks."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def test_a_stopped_program_goes_on(tmp_path: Path) -> None:
    scripts(tmp_path)
    process = start(tmp_path, ["run", "s0.grad"])
    for _ in range(3):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    out, told = process.communicate(timeout=60)
    assert (out, told, process.returncode) == (b"done\n", b"", 0)
