"""Programs in processes of their own, which end with their test whatever becomes of it, and waits that only a hang makes fail."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

BOUND = 120.0
"""Seconds after which a condition that does not come true fails the test."""


def default_signals() -> None:
    """Give the processes that tests start the default answer to each signal, also under `nohup` and in the background.

    What is ignored is inherited; what a handler answers is not.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)


def wait_until(condition: Callable[[], Any], what: str) -> None:
    """Wait for a condition."""
    end = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.005)


@contextmanager
def program(arguments: list[str], folder: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start Python with these arguments in a session of its own; at the end, kill all that is left of it."""
    from tests.batch.conftest import _environment

    usual: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": _environment()}
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, start_new_session=True, **{**usual, **options}
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


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


def used(child: str) -> int:
    """Return the time that a process has used, in ticks."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def aside(ask: Callable[[], Any], died: Any) -> Any:
    """Return what asking gives, asked in a process that branches off here; `died` where that ends without an answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(ask()))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(told) if told else died
