"""`gradsh run --profile`: the time each line takes and the bytes it leaves allocated, as a table.

The program's own lines are followed by Python's trace hook, so times are larger than without it; their proportions count.
"""

import sys
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from gradsh.contracts.events import Result
from gradsh.runtime.machine import Machine
from gradsh.text.span import Source
from gradsh.view.shapes import Column, Row, Table

COLUMNS = (
    Column("line", "count"), Column("runs", "count"), Column("ms", "number"), Column("share", "percent"),
    Column("bytes", "bytes"), Column("source"),
)


class LineCost(NamedTuple):
    """The cost of a line: passes, milliseconds, bytes left allocated (less what it freed), its text."""

    line: int
    passes: int
    ms: float
    bytes: int
    source: str


class Profile(NamedTuple):
    """The costs of a script's lines: the result's `data` in the JSON stream."""

    rows: tuple[LineCost, ...]


class ProfiledLine:
    """What a line has cost so far: how often it ran, nanoseconds, bytes that it left allocated (less what it freed)."""

    __slots__ = ("nanoseconds", "net", "passes", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.passes = 0
        self.nanoseconds = 0
        self.net = 0


class Profiler:
    """Follows the lines of a machine's program while `watching`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.lines: dict[tuple[str, int], ProfiledLine] = {}
        self._now: ProfiledLine | None = None
        self._since = 0
        self._bytes = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follow what runs within the block."""
        tracemalloc.start()
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            self._charge(None)
            tracemalloc.stop()

    def _enter(self, frame: FrameType, _event: str, _value: Any) -> Any:
        if frame.f_builtins is not self.machine.builtins:
            return None
        return self._step

    def _step(self, frame: FrameType, event: str, _value: Any) -> Any:
        if event == "line":
            line = self._line(frame)
            if line is not None:
                line.passes += 1
            self._charge(line)
        elif event == "return":
            self._charge(self._caller(frame))
        return self._step

    def _line(self, frame: FrameType) -> ProfiledLine | None:
        unit = self.machine.units.of(frame.f_code)
        if unit is None:
            return None
        key = (unit.source.name, frame.f_lineno)
        if key not in self.lines:
            self.lines[key] = ProfiledLine(unit.source)
        return self.lines[key]

    def _caller(self, frame: FrameType) -> ProfiledLine | None:
        """The line that goes on when a function of the program returns."""
        back = frame.f_back
        while back is not None and back.f_builtins is not self.machine.builtins:
            back = back.f_back
        return None if back is None else self._line(back)

    def _charge(self, following: ProfiledLine | None) -> None:
        """Charge what passed since the last line began to that line, and begin the next one."""
        now = time.perf_counter_ns()
        size = tracemalloc.get_traced_memory()[0]
        if self._now is not None:
            self._now.nanoseconds += now - self._since
            self._now.net += size - self._bytes
        self._now = following
        self._bytes = tracemalloc.get_traced_memory()[0]
        self._since = time.perf_counter_ns()

    def result(self, name: str) -> Result:
        """Return what the lines of the source called `name` have cost, in their order."""
        rows = tuple(
            LineCost(number, line.passes, line.nanoseconds / 1e6, line.net, line.source.line(number).rstrip())
            for (source, number), line in sorted(self.lines.items(), key=lambda item: item[0]) if source == name
        )
        return Result(0, "profile", Profile(rows), lambda: table(rows))


def table(rows: tuple[LineCost, ...]) -> Table:
    """Return the costs of lines as a table."""
    total = sum(row.ms for row in rows)
    cells = tuple(Row((row.line, row.passes, row.ms, row.ms / total if total else 0.0, row.bytes, row.source))
                  for row in rows)
    return Table(COLUMNS, cells, (f"{total:,.3f} ms in all",), empty="no line was run")
