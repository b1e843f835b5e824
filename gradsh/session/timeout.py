"""What bounds the time of a session's run: reading its text, and running it. The clocks themselves stand in process/limits.py.

`session` is the Session whose run it is; this file stands below it and knows only its limits, its machine and who may end the process.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, NoReturn

from gradsh.process.limits import GRACE, IMPATIENCE, Watchdog, alarm
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span

LONG_TEXT = 100_000
"""Characters of a text from which reading it may take a while."""


def reading(session: Any, source: Source) -> AbstractContextManager[None]:
    """Bound the time of reading a text, too: it may be ten million characters of anything."""
    seconds = session.limits.timeout
    if not seconds or session.depth > 1 or len(source.text) < LONG_TEXT:
        return nullcontext()

    def ring(_: FrameType | None) -> NoReturn:
        place = Label("needed", Span(source.first_line, 1, source.first_line, 2), "", source)
        message = f"reading the script took longer than {seconds:g} seconds (--timeout)"
        raise ProblemError(Problem("limit", message, (place,), ("split it into several files",)))

    return alarm(seconds, ring)


def _line(session: Any) -> int:
    """Return the line of the innermost statement that the main thread is running."""
    import threading  # which a script without a bound does not need

    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_builtins is not session.machine.builtins:
        frame = frame.f_back
    place = None if frame is None else session.line_of((None, frame.f_code, frame.f_lasti))
    return int(place or session.line)


@contextmanager
def timed(session: Any, name: str) -> Iterator[None]:
    """Bound the time of the block: ask the script to end, then interrupt it where it stands, then end the process."""
    seconds = session.limits.timeout
    if not seconds:
        yield
        return
    message = f"the script ran longer than {seconds:g} seconds (--timeout)"

    def strike() -> None:
        session.exhausted = True
        session.machine.stop(message)

    def ring(frame: FrameType | None) -> None:
        strike()
        if session.machine.is_inside(frame):
            session.machine.check()

    def stuck() -> None:
        assert session.when_stuck is not None
        session.when_stuck(_line(session), f"{message}, and {GRACE:g} more in one call that cannot be interrupted")

    if session.when_stuck is not None:
        from gradsh.process.watchdog_process import guardian

        session.guardian = guardian()
        if session.guardian is not None:
            last = f"{message}, in one call that cannot be interrupted"
            session.guardian.arm(seconds + GRACE + 1, name, last, as_json=session.as_json, rescue=session.rescue())
    watchdog = Watchdog(seconds, strike, None if session.when_stuck is None else stuck)
    try:
        with alarm(seconds + IMPATIENCE, ring, IMPATIENCE):
            yield
    finally:
        watchdog.cancel()
        if session.guardian is not None:
            session.guardian.disarm()
