"""`time`: runs a statement and says how long it took."""

import time
from collections.abc import Callable
from typing import NamedTuple, cast

from gradsh.commands.record import Tail, command
from gradsh.contracts.state import State
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """Seconds by the clock and of the processor."""

    seconds: float
    cpu: float


@command("time", "Run a statement and say how long it took.", examples=["time y = randn(100, 100) @ randn(100, 100)"])
def run(state: State, statement: Tail) -> Report:
    """Run the statement once; its failure is its own."""
    del state
    clock, cpu = time.perf_counter(), time.process_time()
    cast(Callable[[], object], statement)()
    return Report(time.perf_counter() - clock, time.process_time() - cpu)


def view(report: Report) -> View:
    """Shape the answer."""
    return Lines((f"took {duration(report.seconds)} ({duration(report.cpu)} of the processor)",))


def duration(seconds: float) -> str:
    """Return seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
