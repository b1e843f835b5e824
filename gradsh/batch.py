"""Runs scripts without a terminal's help: files, `-c CODE` and standard input, by one contract.

Output goes to standard output, diagnostics to standard error; no banner, prompt or colour unless a terminal is there.
A script ends at its first failed statement unless told to go on. Exit status: 0 done, 1 a statement failed, 2 a script
that cannot be read, 130 interrupted.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from gradsh.events import Done, Event, Failure, Result, Snapshot
from gradsh.limits import UNBOUNDED, Limits
from gradsh.text.problem import Problem
from gradsh.text.span import Source

if TYPE_CHECKING:
    from gradsh.render.style import Style
    from gradsh.session import Session

DONE, FAILED, UNREADABLE, INTERRUPTED = 0, 1, 2, 130
FLUSH_SECONDS = 0.02  # a loop's output is seen while it runs, without a system call a line


class RunOptions(NamedTuple):
    """What the command line says about a run. `seed` None: another one each time; `code` stands in for files."""

    files: tuple[str, ...] = ()
    code: str | None = None
    keep_going: bool = False
    format: str = "text"
    seed: int | None = 0
    plain: bool = False
    limits: Limits = UNBOUNDED


class Script(NamedTuple):
    """A script's name and text, or, where it could not be read, the reason."""

    name: str
    text: str
    unreadable: str = ""


def prepare() -> None:
    """Set the process up for tensors: fewer collections while graphs grow, streams that never refuse a character."""
    import gc

    gc.set_threshold(50_000, 50, 1000)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def run(options: RunOptions) -> int:
    """Run everything that the options name; return the exit status."""
    from gradsh.limits import bound_memory

    bound_memory(options.limits.max_memory)
    return _run(options)


def _run(options: RunOptions) -> int:
    status = DONE
    several = len(options.files) > 1
    for script in scripts_of(options):
        sink = sink_for(options, script.name if several else None)
        status = max(status, run_script(script, options, sink), sink.close())
        if status == INTERRUPTED or sink.broken:
            break
    return status


def scripts_of(options: RunOptions) -> Sequence[Script]:
    """Return the scripts to run: the code given, the files, or standard input."""
    if options.code is not None:
        return (Script("<code>", options.code),)
    return tuple(read_script(name) for name in options.files or ("-",))


def read_script(name: str) -> Script:
    """Read a script from a file, or from standard input for `-`; never raises for what a file may hold."""
    shown = "<stdin>" if name == "-" else name
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        return Script(shown, "", error.strerror or str(error))
    except ValueError as error:  # a NUL byte in the name
        return Script(shown, "", str(error))
    try:
        return Script(shown, data.decode("utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Script(shown, "", f"line {line} is not UTF-8 (byte 0x{data[error.start]:02x})")


def run_script(script: Script, options: RunOptions, sink: "Sink") -> int:
    """Run one script in a session of its own, telling `sink` what happens; return its exit status."""
    if script.unreadable:
        sink(unreadable(script))
        return UNREADABLE
    from gradsh.session import Session

    session = Session(options.seed, limits=options.limits)
    sink.when_broken = session.abandon
    with interruptible(session):
        outcome = session.run(script.text, sink, name=script.name, keep_going=options.keep_going)
    if sink.wants_state:
        sink(session.snapshot())
    if outcome.interrupted:
        return INTERRUPTED
    return outcome.status


@contextmanager
def interruptible(session: "Session") -> Iterator[None]:
    """Let Ctrl-C end the script at its next safe point; a second one ends it wherever it is."""
    import signal

    asked = False

    def on_interrupt(_number: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        session.interrupt()

    try:
        before = signal.signal(signal.SIGINT, on_interrupt)
    except ValueError:  # not the main thread: whoever owns that answers interrupts
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def unreadable(script: Script) -> Failure:
    """Return the failure of a script that cannot be read."""
    message = f"cannot read {script.name}: {script.unreadable}"
    return Failure(0, 0, Problem("io", message), Source(script.name, ""))


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
        """Write an event."""
        if self.broken:
            return
        try:
            self.write(event)
        except OSError as error:
            self._break(error)

    def write(self, event: Event) -> None:
        """Write an event; may raise OSError."""
        raise AssertionError("a sink says how it writes")

    def close(self) -> int:
        """Bring out what is held back; return the exit status that a broken stream asks for."""
        try:
            if not self.broken:
                self.out.flush()
                self.err.flush()
        except OSError as error:
            self._break(error)
        if self.broken is None or isinstance(self.broken, BrokenPipeError):
            return DONE
        return FAILED

    def _break(self, error: OSError) -> None:
        self.broken = error
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

    def __init__(self, out: TextIO, err: TextIO, style: "Style", err_style: "Style") -> None:
        super().__init__(out, err)
        self.style = style
        self.err_style = err_style
        from gradsh.render.text import event_text

        self._text = event_text

    def write(self, event: Event) -> None:
        """Write an event as text."""
        if type(event) is Done:
            return
        if type(event) is Result and event.output:
            write_result(event, self.style)
            return
        shown = self._text(event, self.err_style if type(event) is Failure else self.style)
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
    """One JSON object a line on standard output; `file` is named where several run."""

    wants_state = True

    def __init__(self, out: TextIO, err: TextIO, file: str | None) -> None:
        super().__init__(out, err)
        self.file = file
        from gradsh.render.json import line_of

        self._line: Callable[[Event, str | None], str | None] = line_of

    def write(self, event: Event) -> None:
        """Write an event as a line of JSON."""
        if type(event) is Result and event.output:
            from gradsh.render.style import Style

            write_result(event, Style())
        text = self._line(event, self.file)
        if text is not None:
            self.out.write(text + "\n")
            self._pace() if type(event) is not Snapshot else self.out.flush()


def sink_for(options: RunOptions, file: str | None) -> Sink:
    """Return the sink that the options ask for."""
    if options.format == "json":
        return JsonSink(sys.stdout, sys.stderr, file)
    from gradsh.render.style import style_for

    return TextSink(
        sys.stdout, sys.stderr,
        style_for(sys.stdout, plain=options.plain, files=file is not None),
        style_for(sys.stderr, plain=options.plain, files=file is not None),
    )


def write_result(result: Result, style: "Style") -> None:
    """Write a command's result to the file that `--output` names, whole or not at all."""
    from gradsh.files import write_whole
    from gradsh.render.text import result_text

    write_whole(Path(result.output), result_text(result, style).encode())


def _close_quietly(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the flush at exit stays silent too."""
    with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123  # a device
        os.dup2(nothing.fileno(), stream.fileno())
