"""Ctrl-C where no script is running: while the program starts, waits for workers, stands between two prompts, or ends.

While a script runs, `run.script.Interruptible` answers. Python's own answer, an exception wherever the program happens to be,
shows a traceback when that is an import or the end of the process.
"""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]  # `signal` costs a third of `gradsh --version`
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INTERRUPTED = 130
FORWARDED = signals.SIGUSR1
"""What a process that works for another one gets from it in the place of Ctrl-C, which the terminal sends to both."""
_interrupt = [signals.SIGINT]
"""The signal that asks this process to end what it does."""


def work_for_another() -> None:
    """Leave Ctrl-C to the parent from now on, and answer what it forwards."""
    signals.signal(signals.SIGINT, signals.SIG_IGN)
    signals.signal(FORWARDED, signals.SIG_DFL)
    _interrupt[:] = [FORWARDED]


def leave_at_once(_number: int, _frame: object) -> None:
    """End the process: there is nothing to be told, and nothing to be lost."""
    import os

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001  # it may be the very call that was interrupted
            continue
    os._exit(INTERRUPTED)


def ignore(_number: int, _frame: object) -> None:
    """Let a Ctrl-C pass that comes when there is nothing to interrupt."""


def answer(handler: object) -> object:
    """Let `handler` answer Ctrl-C from now on; return what did before, None outside of the main thread."""
    try:
        return signals.signal(_interrupt[0], handler)
    except ValueError:
        return None


def take_over() -> None:
    """Take Ctrl-C over from Python, and what it writes about exceptions that nobody can catch: the process is ours."""
    answer(leave_at_once)
    sys.unraisablehook = lambda _: None


def is_importing(frame: Any) -> bool:
    """Whether a module is being imported: an exception there leaves half a module behind, or becomes another exception."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def wait_in_turns(read: Callable[[], str]) -> str:
    """Return what `read` reads; a Ctrl-C that comes just before it waits is answered within a fifth of a second.

    A system call that begins after a signal does not return for it, and `readline` leaves Python to answer signals only where
    one returned. So an alarm ends the wait now and then, and `readline` takes it up again.
    """
    if not hasattr(signals, "setitimer") or signals.getsignal(signals.SIGALRM) is not signals.SIG_DFL:
        return read()
    signals.signal(signals.SIGALRM, ignore)
    signals.setitimer(signals.ITIMER_REAL, 0.2, 0.2)
    try:
        return read()
    finally:
        signals.setitimer(signals.ITIMER_REAL, 0)
        signals.signal(signals.SIGALRM, signals.SIG_DFL)


class Raising:
    """A block in which the first Ctrl-C raises KeyboardInterrupt.

    A second one, and one that comes within an import, are answered as before the block.
    """

    def __enter__(self) -> None:
        self._before = signals.getsignal(signals.SIGINT)
        answer(self._once)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            answer(self._before)

    def _once(self, number: int, frame: object) -> None:
        answer(self._before)
        if not is_importing(frame):
            raise KeyboardInterrupt
        if callable(self._before):
            self._before(number, frame)
