"""`time`: runs a statement and says how long it took, and how much that varies.

The variation is measured in processes that begin as this one stands (a backward frees nothing here, in-place writes are
not repeated here): whatever the statement does, it does once to the session. A script behind the sandbox's wall may
start no process, and is measured once.
"""

import os
import select
import signal
import time
import warnings
from array import array
from collections.abc import Callable
from typing import NamedTuple, cast

from gradsh.commands.record import Tail, command
from gradsh.contracts.state import State
from gradsh.view.shapes import Lines, View

BUDGET = 0.3
"""Seconds that the further runs may take."""
RUNS, PROCESSES = 200, 7
"""Further runs at most, and processes for a statement that cannot be run twice, as a backward."""


class Report(NamedTuple):
    """Seconds by the clock and of the processor; of further runs their number, the median and the quartiles."""

    seconds: float
    cpu: float
    runs: int = 0
    median: float = 0.0
    low: float = 0.0
    high: float = 0.0


@command(
    "time", "Run a statement and show how long it took, and how much that varies.",
    examples=["time y = randn(100, 100) @ randn(100, 100)"],
)
def run(state: State, statement: Tail) -> Report:
    """The further runs start from the same state, in processes of their own."""
    action = cast(Callable[[], object], statement)
    found = _further(action, state.control.mute) if state.call.top else []
    clock, cpu = time.perf_counter(), time.process_time()
    action()
    report = Report(time.perf_counter() - clock, time.process_time() - cpu)
    if len(found) < 2:
        return report
    from statistics import quantiles

    low, median, high = quantiles(found, method="inclusive")
    return report._replace(runs=len(found), median=median, low=low, high=high)


def _further(action: Callable[[], object], mute: Callable[[], None]) -> list[float]:
    """Return the seconds of runs that begin from this state, and leave it alone."""
    found: list[float] = []
    end = time.monotonic() + BUDGET
    for _ in range(PROCESSES):
        times = _in_process(action, mute, end)
        found += times[1:] or times  # the first of several warms up
        if len(times) != 1 or time.monotonic() >= end:
            break
    return found


def _in_process(action: Callable[[], object], mute: Callable[[], None], end: float) -> list[float]:
    """Return the seconds of runs in one process, until one fails or the time is over."""
    read, write = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the process runs nothing but the statement: other threads are not missed
            child = os.fork()
    except OSError:
        os.close(read)
        os.close(write)
        return []
    if child == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            mute()
            _measure(action, write)
        finally:
            os._exit(0)
    os.close(write)
    data = b""
    try:
        while (left := end - time.monotonic()) > 0 and select.select([read], [], [], left)[0]:
            part = os.read(read, 1 << 16)
            if not part:
                break
            data += part
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    times = array("d")
    times.frombytes(data[: len(data) // times.itemsize * times.itemsize])
    return list(times)


def _measure(action: Callable[[], object], write: int) -> None:
    for _ in range(RUNS):
        begun = time.perf_counter()
        action()
        os.write(write, array("d", [time.perf_counter() - begun]).tobytes())


def view(report: Report) -> View:
    """Shape the answer."""
    text = f"took {duration(report.seconds)} ({duration(report.cpu)} CPU)"
    if report.runs:
        text += (f"; {report.runs} more runs from the same state: median {duration(report.median)}, "
                 f"middle half {duration(report.low)} to {duration(report.high)}")
    return Lines((text,))


def duration(seconds: float) -> str:
    """Return seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
