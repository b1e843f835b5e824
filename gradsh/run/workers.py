"""Processes that run one script each, forked from a parent that has imported what scripts need.

One that dies costs its own script only, and none outlives its parent. It answers in JSON: a script that has broken out of the
language changes nothing for the scripts after it, and sends nothing that the parent, which stands behind no wall, could be made to run.
"""

import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, TypeVar

from gradsh.process import sandbox, signals
from gradsh.process.libc import libc
from gradsh.process.limits import GRACE
from gradsh.process.watchdog_process import LineCell, stand_in
from gradsh.run.read import Script
from gradsh.run.script import report_to

Answer = TypeVar("Answer")

MARGIN = 2.0
"""Seconds that a process has to end by itself after its time, before it is ended from outside."""
MOST = 1 << 30
"""Bytes of the longest answer that is read."""
PIECE = 1 << 16
OWN_MODULE = re.compile(r"gradsh(\.[a-z]\w*)+")


class Lost(NamedTuple):
    """The answer of a process that ended before it had one: on which line, and why; whether because of Ctrl-C."""

    line: int
    reason: str
    interrupted: bool = False


def use_threads(count: int, *, unless_set: bool = False) -> None:
    """Keep OpenBLAS to so many threads; must come before numpy is loaded. With one, sums are the same in every run."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        if not (unless_set and name in os.environ):
            os.environ[name] = str(count)


def answers(
    task: Callable[[Script], object], scripts: Iterable[Script], jobs: int = 1, *, read: Callable[[Any], Answer],
    seconds: float | None = None, forward: bool = False,
) -> Iterator[tuple[Script, Answer | Lost]]:
    """Yield each script with what `task` answers for it in another process, in their order, from `jobs` processes.

    `read` makes the answer out of what came as JSON. After `seconds` (and some grace) a process is ended. The first Ctrl-C is
    handed on to the processes where `forward` says so; else it ends them. They end when the iterator is closed, too.
    """
    import gradsh.session.session  # noqa: F401  # imported here once, and not in every process

    source = enumerate(scripts)
    found: dict[int, tuple[Script, Answer | Lost]] = {}
    busy: list[_Worker] = []
    given, more = 0, True
    try:
        while more or busy:
            while more and len(busy) < jobs:
                number, script = next(source, (-1, None))
                more = script is not None
                if script is not None:
                    busy.append(_Worker(task, number, script, seconds))
            try:
                ready = _ready(busy)
            except KeyboardInterrupt:
                if not forward:
                    raise
                for worker in busy:
                    worker.interrupt()
                continue
            for worker in ready:
                busy.remove(worker)
                found[worker.number] = (worker.script, worker.take(read))
            while given in found:
                yield found.pop(given)
                given += 1
    finally:
        for worker in busy:
            worker.kill()


def _ready(busy: "list[_Worker]") -> "list[_Worker]":
    """Wait until something comes from a process or the time of one is over; return those that have answered or ended."""
    ends = [worker.end for worker in busy if worker.end is not None]
    patience = max(0.0, min(ends) - time.monotonic()) if ends else None
    readable = select.select([worker.pipe for worker in busy], [], [], patience)[0] if busy else []
    return [worker for worker in busy if (worker.pipe in readable and worker.receive()) or worker.is_late()]


class _Worker:
    """The process of a script, and the pipe from it, seen from the parent."""

    def __init__(self, task: Callable[[Script], object], number: int, script: Script, seconds: float | None) -> None:
        self.number, self.script, self._seconds = number, script, seconds
        self.end = None if seconds is None else time.monotonic() + seconds + GRACE + MARGIN
        self._lines = LineCell()
        self._data = bytearray()
        self._late = self._interrupted = False
        self.pipe, writer = os.pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()  # what is held back would be written by both
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process = os.fork()
            if self.process == 0:
                _work(task, script, writer, self._lines, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writer)

    def receive(self) -> bool:
        """Take what has come; return whether that was all."""
        data = os.read(self.pipe, PIECE)
        self._data += data
        return not data or len(self._data) > MOST or _is_whole(self._data)

    def is_late(self) -> bool:
        """Whether the process has not answered in its time."""
        self._late = self.end is not None and time.monotonic() > self.end
        return self._late

    def interrupt(self) -> None:
        """Ask the script to end, as a first Ctrl-C does; the process is ended a while later."""
        self._interrupted = True
        self.end = time.monotonic() + GRACE
        with suppress(ProcessLookupError):
            os.kill(self.process, signals.FORWARDED)

    def take(self, read: Callable[[Any], Answer]) -> "Answer | Lost":
        """End the process; return its answer, or what became of it."""
        status = self.kill()
        if _is_whole(self._data):
            answer = answer_of(self._data[HEAD:], read)
            return Lost(self._lines.line(), "the process that ran it returned no valid answer") if answer is None else answer
        if self._interrupted and (self._late or status == -signals.FORWARDED):
            return Lost(self._lines.line(), "interrupted", interrupted=True)
        if self._late:
            return Lost(self._lines.line(), f"the script ran longer than {self._seconds:g} seconds (--timeout), and did not end")
        return Lost(self._lines.line(), f"the process that ran it ended: {_ending(status)}")

    def kill(self) -> int:
        """End the process, whatever it does; return its exit status, negative for a signal."""
        with suppress(OSError):
            os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)  # one that has ended keeps the status that it has
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        except ChildProcessError:
            return 0


def answer_of(data: bytes | bytearray, read: Callable[[object], Answer]) -> "Answer | Lost | None":
    """Return what a process has sent, or None where that is no answer: it may have broken out of the language."""
    try:
        told = json.loads(data)
        if "answer" not in told:
            return Lost(int(told["line"]), str(told["reason"]))
        _import(told["modules"])
        return read(told["answer"])
    except Exception:  # noqa: BLE001  # it may be of any shape and size
        return None


def _import(names: Iterable[str]) -> None:
    """Import modules of gradsh that a script needed, so that the processes of the next ones have them from the beginning."""
    for name in names:
        if OWN_MODULE.fullmatch(name) and name not in sys.modules:
            with suppress(ImportError):
                import_module(name)


HEAD = 8
"""Bytes before a message that say how long it is."""


def _framed(what: object) -> bytes:
    data = json.dumps(what).encode()
    return len(data).to_bytes(HEAD, "big") + data


def _is_whole(data: bytes | bytearray) -> bool:
    return len(data) >= HEAD and len(data) >= HEAD + int.from_bytes(data[:HEAD], "big")


def _ending(code: int) -> str:
    if code >= 0:
        return f"status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _work(task: Callable[[Script], object], script: Script, writer: int, lines: LineCell, parent: int) -> NoReturn:
    """Do the work of a process: answer for its script."""
    try:
        signals.work_for_another()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _end_with(parent)
        stand_in(lines)
        sandbox.keep(writer)
        report_to(lambda line, reason: _send(writer, {"line": line, "reason": reason}))
        known = frozenset(sys.modules)
        answer = task(script)
        _send(writer, {"answer": answer, "modules": [name for name in sys.modules if name not in known]})
    except BaseException as error:  # noqa: BLE001  # a fault of ours: it is told as one
        with suppress(BaseException):
            _send(writer, {"line": lines.line(), "reason": f"gradsh itself failed: {type(error).__name__}: {error}"})
    finally:
        os._exit(0)


def _send(writer: int, what: object) -> None:
    rest = memoryview(_framed(what))
    while rest:
        rest = rest[os.write(writer, rest) :]


def _end_with(parent: int) -> None:
    """End this process as soon as its parent is gone, also in the middle of a script."""
    if sys.platform == "linux":
        libc().prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
        return
    import threading

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
