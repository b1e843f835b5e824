"""Where events go in a batch run: text on two streams, or JSON on one; and files that `--output` names."""

import errno
import io
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from gradsh.contracts.events import Done, ErrorOutput, Event, Failure, Note, Print, Result, Snapshot, Value, Warn
from gradsh.render.style import Style, style_for
from gradsh.text.fault import fail

DIAGNOSTICS = frozenset({ErrorOutput, Failure, Note, Warn})
FLUSH_SECONDS = 0.02  # a loop's output is seen while it runs, without a system call a line


class Sink:
    """Takes events and writes them; `wants_state` asks for the snapshot at the end.

    A stream that breaks (a reader that has gone, a full disk) is no failure of the script: what follows is dropped,
    and `when_broken` is told so that the script need not run on.
    """

    wants_state = False

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        self.broken: OSError | None = None
        self.when_broken: Callable[[], None] = lambda: None
        self._flushed = 0.0

    def __call__(self, event: Event) -> None:
        """Write an event. A file that cannot be written (`--output`) is the command's failure: it raises."""
        if self.broken:
            return
        if type(event) is Result and event.output:
            write_result(event, Style())
        try:
            self.write(event)
        except OSError as error:
            self._break(error)

    def write(self, event: Event) -> None:
        """Write an event; may raise OSError."""
        raise AssertionError("a sink says how it writes")

    def relay(self, out: str, err: str) -> None:
        """Write what another process has written."""
        if self.broken:
            return
        try:
            self.out.write(out)
            self.out.flush()
            self.err.write(err)
            self.err.flush()
        except OSError as error:
            self._break(error)

    def close(self) -> int:
        """Bring out what is held back; return the exit status that a broken stream asks for."""
        try:
            if not self.broken:
                self.out.flush()
                self.err.flush()
        except OSError as error:
            self._break(error)
        if self.broken is None or isinstance(self.broken, BrokenPipeError):
            return 0
        return 1

    def _break(self, error: OSError) -> None:
        self.broken = error.with_traceback(None)  # a traceback would keep the frames of a pool of processes alive
        if not isinstance(error, BrokenPipeError):
            with suppress(OSError):
                self.err.write(f"gradsh: cannot write the output: {error.strerror or error}\n")
        _close_quietly(self.out)
        self.when_broken()

    def _pace(self) -> None:
        now = time.monotonic()
        if now - self._flushed > FLUSH_SECONDS:
            self._flushed = now
            self.out.flush()


class TextSink(Sink):
    """Output on the one stream, diagnostics on the other, in the order in which they came."""

    def __init__(self, out: TextIO, err: TextIO, style: Style, err_style: Style) -> None:
        super().__init__(out, err)
        self.style = style
        self.err_style = err_style
        from gradsh.render.text import event_text

        self._text = event_text

    def write(self, event: Event) -> None:
        """Write an event as text."""
        if type(event) is Done:
            return
        shown = self._text(event, self.err_style if type(event) in DIAGNOSTICS else self.style)
        if shown is None:
            return
        stream, text = shown
        if stream == "out":
            self.out.write(text)
            self._pace()
        else:
            self.out.flush()
            self.err.write(text)
            self.err.flush()


class JsonSink(Sink):
    """One JSON object a line on standard output; `file` is named where several run.

    What a script prints comes line by line: a line that several calls of `print` make is one event.
    """

    wants_state = True
    mark = ""
    """Put at the end of each object: the rank of this process, where it is one of several."""
    longest = 65_536  # characters of an unfinished line that are held back

    def __init__(self, out: TextIO, err: TextIO, file: str | None) -> None:
        super().__init__(out, err)
        self.file = file
        from gradsh.render.json import line_of

        self._line: Callable[[Event, str | None], str | None] = line_of
        self._begun = ""

    def write(self, event: Event) -> None:
        """Write an event as a line of JSON."""
        if type(event) is Print:
            whole = self._begun + event.text + "\n" * event.newline
            done, end, self._begun = whole.rpartition("\n") if len(whole) <= self.longest else (whole, "\n", "")
            if end:
                self._put(Print(done))
            return
        if self._begun and type(event) in {Value, Result, Snapshot}:
            self._finish()
        self._put(event)

    def close(self) -> int:
        """Bring out an unfinished line, too."""
        if self._begun and not self.broken:
            try:
                self._finish()
            except OSError as error:
                self._break(error)
        return super().close()

    def _finish(self) -> None:
        begun, self._begun = self._begun, ""
        self._put(Print(begun))

    def _put(self, event: Event) -> None:
        text = self._line(event, self.file)
        if text is not None:
            self.out.write(f"{text[:-1]}{self.mark}}}\n")
            self._pace() if type(event) is not Snapshot else self.out.flush()


class Looks:
    """How the two streams may be written: decided once, where the terminal is, also for processes that have none."""

    __slots__ = ("err", "format", "out", "several")

    def __init__(self, format: str, out: Style, err: Style, several: bool) -> None:
        self.format = format
        self.out = out
        self.err = err
        self.several = several


def looks_of(format: str, *, plain: bool, several: bool) -> Looks:
    """Return how standard output and standard error are to be written; whether by several files."""
    return Looks(format, style_for(sys.stdout, plain=plain), style_for(sys.stderr, plain=plain), several)


def sink_for(looks: Looks, file: str, out: TextIO, err: TextIO) -> Sink:
    """Return the sink that writes what a file tells to the streams, in the format that was asked for.

    Diagnostics name the file; a text that has none, only where it is one of several.
    """
    if looks.format == "json":
        return JsonSink(out, err, file if looks.several else None)
    named = file if looks.several or not file.startswith("<") else ""
    return TextSink(out, err, looks.out, looks.err._replace(file=named))


def write_result(result: Result, style: Style) -> None:
    """Write a command's result to the file that `--output` names, whole or not at all; raises (kind `io`)."""
    from pathlib import Path

    from gradsh.process.files import write_whole
    from gradsh.render.text import result_bytes

    try:
        write_whole(Path(result.output), result_bytes(result, style))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise fail("io", f"cannot write {result.output}: {getattr(error, 'strerror', None) or error}", OSError) from None


class ClosedStream(io.TextIOBase):
    """Stands in for a standard stream that is closed: what is written fails, or vanishes where nobody could be told."""

    def __init__(self, *, silent: bool = False) -> None:
        super().__init__()
        self.silent = silent

    def write(self, text: str) -> int:
        """Fail as the system would, or drop the text."""
        if self.silent:
            return len(text)
        raise OSError(errno.EBADF, "the stream is closed")

    def read(self, size: int | None = -1) -> str:
        """Fail as the system would."""
        raise OSError(errno.EBADF, "the stream is closed")

    @property
    def buffer(self) -> "ClosedStream":
        """What bytes are read from: itself, as it gives none."""
        return self


def _close_quietly(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the flush at exit stays silent too."""
    with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123  # a device
        os.dup2(nothing.fileno(), stream.fileno())
