"""What a run may use: the bounds that the command line (or `set`, in the shell) gives, and what watches over time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import FrameType
from typing import Any

from gradsh.process import sandbox
from gradsh.process.blas_threads import let_go
from gradsh.process.gc_policy import memory_pages
from gradsh.process.nesting import deepen_stack
from gradsh.process.signals import is_importing
from gradsh.text.tuples import NamedTuple

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Limits(NamedTuple):
    """Bounds of a session; None stands for none. Seconds, bytes of memory, characters of output, nodes recorded.

    `allow_files` is the one folder in which a script's commands may read and write files; `sandbox` one of `sandbox.MODES`.
    """

    timeout: float | None = None
    max_memory: int | None = None
    max_output: int | None = None
    allow_files: str | None = None
    max_nodes: int | None = None
    sandbox: str = "off"


class Limit(NamedTuple):
    """How a limit is told: its meaning for `set` (empty: it is for the command line alone); its option's help, and what that takes."""

    meaning: str
    option: str
    takes: str


LIMITS: dict[str, Limit] = {
    "timeout": Limit("time limit of one statement, in seconds", "Time limit in seconds.", "SECONDS"),
    "max_memory": Limit("memory limit of the session, such as 500M or 2G", "Memory limit, such as 500M or 2G.", "SIZE"),
    "max_output": Limit("output limit of one statement, in characters", "Output limit in bytes.", "SIZE"),
    "max_nodes": Limit("limit of recorded nodes", "Limit of recorded nodes.", "N"),
    "allow_files": Limit("", "Folder in which the commands of a script may read and write files.", "DIR"),
    "sandbox": Limit(
        "on: block files, processes and the network until gradsh ends",
        "Block files, processes and the network for scripts; auto: where the system supports it.", "",
    ),
}
"""What `set`, the command line and completion tell of the fields of `Limits`."""
UNBOUNDED = Limits()
FOR_TESTS = Limits(timeout=60.0, max_memory=2 << 30, max_output=50 << 20, max_nodes=20_000_000)
IMPATIENCE = 1.0
"""Seconds after its time after which a script is interrupted wherever it is."""
GRACE = 5.0
"""Seconds after its time that a script has to reach a safe point: one call of numpy can not be zero on the way."""


def bytes_of(text: str) -> int:
    """Return the bytes that a size such as `500M` or `2G` names. Raises ValueError."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in UNITS else ""
    try:
        size = int(float(number.removesuffix(unit)) * UNITS[unit])
    except (ValueError, OverflowError):
        size = 0
    if not 0 < size < 1 << 60:
        raise ValueError(f"a size is a number of bytes such as 500M or 2G, not {text!r}")
    return size


SOON = 0.01
"""Seconds after which an alarm is heard that came within an import."""
LONGEST = 1e9
"""Seconds (and nodes) from which a bound is none that anything here can count to."""


def changed(limits: Limits, name: str, text: str) -> Limits:
    """Return the limits with one of them changed, as `set` words it (`off`: none). Raises ValueError."""
    if name == "sandbox":
        return _sandboxed(limits, text)
    if text == "off":
        return _with(limits, name, None)
    if name in {"max_memory", "max_output"}:
        return _with(limits, name, bytes_of(text))
    try:
        value = float(text) if name == "timeout" else int(text)
    except (ValueError, OverflowError):
        value = 0
    if not 0 < value < LONGEST:
        raise ValueError(f"{name} takes a positive number or `off`, not {text!r}")
    return _with(limits, name, value)


def _sandboxed(limits: Limits, text: str) -> Limits:
    """Raise the sandbox's walls in this process. Raises ValueError, and OSError where they cannot be had."""
    if text not in {"on", "off"}:
        raise ValueError(f"sandbox can be on or off, not {text!r}")
    if text == "off" and sandbox.standing():
        raise ValueError("the sandbox cannot be turned off: start gradsh again")
    if text == "on" and not sandbox.standing():
        sandbox.insist()
        sandbox.enter((limits.allow_files,) if limits.allow_files else (), keep_input=True)
    return limits._replace(sandbox=text)


def _with(limits: Limits, name: str, value: Any) -> Limits:
    return limits._replace(**{name: value})


SPARE = 128 << 20
"""Bytes beyond its bound that telling a failure may take: a script that has filled its memory still holds it then."""
BALLAST = 4 << 20
"""Bytes that are let go before the bound is lifted."""
THREAD_STACK = 8 << 20
"""Bytes of the stack of a thread of ours: what Linux gives by default."""
STACK = 24 << 20
"""Bytes of stack that are taken beforehand: a stack that cannot grow because memory is full ends the process."""
_bounds: list[int] = []
"""The bound that the process began with and the one set here, once there is one."""


def bound_memory(size: int | None) -> None:
    """Bound what scripts in this process may take beyond what it has now, where the system can: see `confined`.

    None takes back a bound that was set here.
    """
    if size is None and not _bounds:
        return
    try:
        import resource

        if size is not None:
            grow_stack()
            _warm_up()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        before = _bounds[0] if _bounds else soft
        _bounds.clear()
        if size is None:
            if before != soft:
                resource.setrlimit(resource.RLIMIT_AS, (before, hard))
            return
        pages = memory_pages()[0]
        wanted = pages * resource.getpagesize() + size
        _bounds[:] = (before, wanted if hard < 0 else min(wanted, hard))
    except (ImportError, OSError, ValueError):
        return


@contextmanager
def confined() -> Iterator[None]:
    """Within the block, let a request fail that goes over the bound of `bound_memory`; without one, do nothing."""
    if not _bounds:
        yield
        return
    import mmap
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = tuple(_bounds)
    outside = _spared(hard)
    try:
        ballast = mmap.mmap(-1, BALLAST)
    except OSError:  # so little is left already that the script's own requests will fail
        ballast = mmap.mmap(-1, 1)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (bounds[1], hard))
        yield
    finally:
        ballast.close()  # where memory is full, even lifting the bound fails for want of some
        resource.setrlimit(resource.RLIMIT_AS, outside)
        if bounds != tuple(_bounds):  # changed by `set`, which ran within the block
            resource.setrlimit(resource.RLIMIT_AS, _spared(hard) if _bounds else (before, hard))


def _spared(hard: int) -> tuple[int, int]:
    after = _bounds[1] + SPARE
    return (after if hard < 0 else min(after, hard), hard)


def _warm_up() -> None:
    """Have BLAS take its threads and buffers first: it ends the process where it cannot have them."""
    import numpy as np

    let_go()
    square = np.ones((256, 256), np.float32)
    np.matmul(square, square)


@cache
def grow_stack() -> None:
    """Let the main thread's stack reach its usual depth now, by looking at its far end; no page but that one is taken."""
    import ctypes
    import resource
    import threading

    deepen_stack()
    threading.stack_size(THREAD_STACK)  # else as much as the main thread's limit, which may be more than the bound on memory
    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if threading.current_thread() is not threading.main_thread():
        return
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as told:  # noqa: PTH123  # see run/script.py
        top = next((line.split("-")[1].split()[0] for line in told if line.rstrip().endswith("[stack]")), None)
        if top is not None:
            room = STACK if limit < 0 else min(STACK, limit // 2)
            ctypes.string_at(int(top, 16) - room, 1)


@contextmanager
def alarm(seconds: float, ring: Callable[[FrameType | None], None], every: float = 0.0) -> Iterator[None]:
    """Call `ring(frame)` in the main thread after so many seconds, and then again and again; what it raises ends the block's work.

    It is heard between any two steps of Python, and in those of C's long loops that look for signals (matching patterns, printing
    nested lists, arithmetic on huge integers). Elsewhere than in the main thread, or where somebody has set an alarm, nothing happens.
    """
    import signal

    if not _can_ring():
        yield
        return

    def heard(_number: int, frame: FrameType | None) -> None:
        if is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, SOON, every)
        else:
            ring(frame)

    signal.signal(signal.SIGALRM, heard)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, every)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _can_ring() -> bool:
    import signal
    import threading

    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return not signal.getitimer(signal.ITIMER_REAL)[0] and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


class Watchdog:
    """Calls `strike` when the time is over and `stuck` when, `GRACE` seconds later, nobody has cancelled it."""

    def __init__(self, seconds: float, strike: Callable[[], None], stuck: Callable[[], None] | None) -> None:
        import threading

        self._over = threading.Event()
        self._seconds = seconds
        self._strike = strike
        self._stuck = stuck
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        if self._over.wait(self._seconds):
            return
        self._strike()
        if self._stuck is not None and not self._over.wait(GRACE):
            self._stuck()

    def cancel(self) -> None:
        """End the watch: the script is done."""
        self._over.set()
