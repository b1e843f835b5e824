"""`gradsh run --profile`: the time of each line, module and backward node, and the bytes of tensors saved, as tables and as a flame graph.

The program's own lines are followed by Python's trace hook and the nodes of a backward by an observer, so times are larger than
without them; their proportions count. A backward that calls nothing of the program's is not traced, and what looking at
modules and at saved tensors takes is left out of every time.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from gradsh.api.function import FunctionNode
from gradsh.contracts.events import Result
from gradsh.engine.ambient import Ambient
from gradsh.engine.autograd.backward_pass import Observer
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.values.storage import memory_bytes, memory_key
from gradsh.probe.given import arrays_in
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.passes import saved_inside
from gradsh.probe.snapshot import node_name
from gradsh.runtime.machine import Machine
from gradsh.text.span import Source
from gradsh.view.shapes import Column, Group, Row, Table, View

COLUMNS = (
    Column("line", "count"), Column("runs", "count"), Column("ms", "number"), Column("share", "percent"),
    Column("saved", "bytes"), Column("source"),
)
_EVENTS = 1_000_000
"""Events of a flame graph that are kept; what comes later is left out."""
_MOST = 20


class ProfileOptions(NamedTuple):
    """How lines are sorted (`line`, `time`, `bytes`), and the open file for the flame graph (-1: none).

    It is opened before the script runs, since behind the walls of the sandbox no file can be.
    """

    sort: str = "line"
    flame: int = -1


class LineCost(NamedTuple):
    """The cost of a line: passes, milliseconds, the most bytes saved by its nodes when a backward began, its text."""

    line: int
    passes: int
    ms: float
    bytes: int
    source: str


class NamedCost(NamedTuple):
    """The cost of an operation's nodes in backward, or of a module with what it calls: how often, milliseconds, most bytes saved."""

    name: str
    passes: int
    ms: float
    bytes: int


class Profile(NamedTuple):
    """The costs of a script's lines, of the nodes of its backwards and of its modules: the result's `data` in the JSON stream."""

    rows: tuple[LineCost, ...]
    nodes: tuple[NamedCost, ...] = ()
    modules: tuple[NamedCost, ...] = ()


class Cost:
    """What a line, an operation or a module has cost so far."""

    __slots__ = ("nanoseconds", "passes", "saved", "source")

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.passes = 0
        self.nanoseconds = 0
        self.saved = 0


class Profiler:
    """Follows the lines, modules and backwards of a machine's program while `watching`."""

    def __init__(
        self, machine: Machine, ambient: Ambient, line_of: Callable[[object], int | None], options: ProfileOptions
    ) -> None:
        self.machine = machine
        self.ambient = ambient
        self.line_of = line_of
        self.options = options
        self.lines: dict[tuple[str, int], Cost] = {}
        self.nodes: dict[str, Cost] = {}
        self.modules: dict[str, Cost] = {}
        self.events: list[tuple[bool, str, int]] = []
        """(whether it begins, what, nanoseconds) of the flame graph"""
        self.open: list[str] = []
        self._now: tuple[str, int] | None = None
        self._frames: dict[int, tuple[str, int]] = {}
        self._since = 0
        self._begun = 0
        self._own = 0
        """Nanoseconds that the profiler took for itself"""
        self._paths: dict[int, str] = {}
        """module -> how the program calls it, since the latest backward began"""

    def clock(self) -> int:
        """Return the nanoseconds of a clock that rests while the profiler looks at things."""
        return time.perf_counter_ns() - self._own

    @contextmanager
    def _resting(self) -> Iterator[None]:
        """Have the clock rest within the block."""
        begun = time.perf_counter_ns()
        try:
            yield
        finally:
            self._own += time.perf_counter_ns() - begun

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follow what runs within the block."""
        before, passes = sys.gettrace(), self.ambient.passes
        self._begun = self.clock()
        self.ambient.passes = lambda task, over: self._pass(passes, task, over)
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            self.ambient.passes = passes
            self._charge(None)
            while self.open:
                self._mark(False, self.open[-1])

    # ------------------------------------------------------------------ lines, functions and modules

    def _enter(self, frame: FrameType, _event: str, _value: object) -> Any:
        if frame.f_builtins is self.machine.builtins:
            if frame.f_code.co_name != "<module>":
                self._mark(True, f"{frame.f_code.co_name}()")
            return self._step
        if frame.f_code.co_name == "__call__" and "trail" in frame.f_code.co_varnames:
            return self._module(frame)
        return None

    def _module(self, frame: FrameType) -> object:
        """Time a call of a module, with all that it calls."""
        name, begun = self._path(frame.f_locals["self"]), self.clock()
        self._mark(True, name)

        def leave(_frame: FrameType, event: str, _value: object) -> object:
            if event == "return":
                cost = self.modules.setdefault(name, Cost())
                cost.passes += 1
                cost.nanoseconds += self.clock() - begun
                self._mark(False, name)
            return leave

        frame.f_trace_lines = False
        return leave

    def _path(self, module: object) -> str:
        with self._resting():
            if id(module) not in self._paths:
                paths = ModulePaths(self.machine.variables())
                paths.name_of(module)
                self._paths |= paths.read()
            return self._paths[id(module)]

    def _step(self, frame: FrameType, event: str, _value: object) -> object:
        if event == "line":
            if frame.f_lineno == frame.f_code.co_firstlineno and frame.f_code.co_name != "<module>":
                return self._step  # a function begins and ends at its own line, which is no pass of that
            line = self._statement(frame)
            if line is not None and self._frames.get(id(frame)) != line:
                self._frames[id(frame)] = line
                self.lines[line].passes += 1
            self._charge(line)
        elif event == "return":
            self._frames.pop(id(frame), None)
            if frame.f_code.co_name != "<module>":
                self._mark(False, f"{frame.f_code.co_name}()")
            self._charge(self._caller(frame))
        return self._step

    def _statement(self, frame: FrameType) -> tuple[str, int] | None:
        """Return the statement that a frame runs: one that takes several lines counts once."""
        unit = self.machine.units.of(frame.f_code)
        if unit is None:
            return None
        key = (unit.source.name, self.machine.units.statement(frame.f_code, frame.f_lineno).line)
        if key not in self.lines:
            self.lines[key] = Cost(unit.source)
        return key

    def _caller(self, frame: FrameType) -> tuple[str, int] | None:
        """The statement that goes on when a function of the program returns."""
        back = frame.f_back
        while back is not None and back.f_builtins is not self.machine.builtins:
            back = back.f_back
        return None if back is None else self._statement(back)

    def _charge(self, following: tuple[str, int] | None) -> None:
        """Charge the time since the last line began to that line, and begin the next one."""
        now = self.clock()
        if self._now is not None:
            self.lines[self._now].nanoseconds += now - self._since
        self._now, self._since = following, self.clock()

    def _mark(self, begins: bool, what: str) -> None:
        """Note an event of the flame graph; one that ends closes what is open within it."""
        if self.options.flame < 0 or (begins and len(self.events) > _EVENTS) or (not begins and what not in self.open):
            return
        now = self.clock() - self._begun
        while not begins and self.open[-1] != what:
            self.events.append((False, self.open.pop(), now))
        self.events.append((begins, what, now))
        if begins:
            self.open.append(what)
        else:
            self.open.pop()

    # ------------------------------------------------------------------ backwards

    def _pass(self, passes: Callable[[object, bool], None] | None, task: Any, over: bool) -> None:
        """Note what is saved when a backward begins, and time its nodes; trace it if it may call functions of the program."""
        if over:
            sys.settrace(self._enter)
        else:
            with self._resting():
                self._paths.clear()
                self._count_saved(task.order)
                sys.settrace(self._enter if _calls_program(task) else None)
            if task.observer is None:
                task.observer = NodeClock(self)
        if over and isinstance(task.observer, NodeClock):
            task.observer.finish()
        if passes is not None:
            passes(task, over)

    def _count_saved(self, nodes: Sequence[Node]) -> None:
        """Count the bytes that each line, operation and module has saved now, each memory once; keep the most."""
        sums: dict[tuple[int, Any], int] = {}
        seen: set[int] = set()
        paths = ModulePaths(self.machine.variables())
        for node in nodes:
            unit = None if type(node) is AccumulateGrad or node.location is None else self.machine.units.of(node.location[1])
            if unit is None:
                continue
            found = {memory_key(one): memory_bytes(one) for one in arrays_in(node)}
            size = sum(nbytes for key, nbytes in found.items() if key not in seen)
            seen.update(found)
            places = ((0, (unit.source.name, self.line_of(node.location))), (1, node_name(node)), (2, paths.of(node.location)))
            for place in places:
                sums[place] = sums.get(place, 0) + size
        for (kind, name), size in sums.items():
            table = (self.lines, self.nodes, self.modules)[kind]
            if name:
                cost = table.setdefault(name, Cost())
                cost.saved = max(cost.saved, size)

    # ------------------------------------------------------------------ what is told

    def result(self, name: str) -> Result:
        """Return what the lines of the source called `name` have cost, and its nodes and modules; write the flame graph."""
        rows = [
            LineCost(number, line.passes, line.nanoseconds / 1e6, line.saved, line.source.line(number).rstrip())
            for (source, number), line in sorted(self.lines.items(), key=lambda item: item[0]) if source == name and line.source is not None
        ]
        if self.options.sort != "line":
            rows.sort(key=lambda row: -row.ms if self.options.sort == "time" else -row.bytes)
        by = (lambda cost: -cost.bytes) if self.options.sort == "bytes" else (lambda cost: -cost.ms)
        nodes, modules = (tuple(sorted(named_costs(table), key=by)) for table in (self.nodes, self.modules))
        report = Profile(tuple(rows), nodes, modules)
        if self.options.flame >= 0:
            self._write_flame(name)
        return Result(0, "profile", report, lambda: profile_view(report))

    def _write_flame(self, name: str) -> None:
        """Write the flame graph in speedscope's form."""
        frames = list(dict.fromkeys(what for _, what, _ in self.events))
        place = {what: number for number, what in enumerate(frames)}
        events = [{"type": "O" if begins else "C", "frame": place[what], "at": at / 1e3} for begins, what, at in self.events]
        end = events[-1]["at"] if events else 0
        data = {
            "$schema": "https://www.speedscope.app/file-format-schema.json", "name": name,
            "shared": {"frames": [{"name": what} for what in frames]},
            "profiles": [{"type": "evented", "name": name, "unit": "microseconds", "startValue": 0, "endValue": end, "events": events}],
        }
        with open(self.options.flame, "w", encoding="utf-8") as file:  # noqa: PTH123  (a handle, not a path)
            file.truncate(0)
            json.dump(data, file)


def _calls_program(task: Any) -> bool:
    """Whether a backward may call functions of the program: hooks, the backward of a Function, what restores saved tensors."""
    if any(meta is not None and (meta.hooks or meta.post_hooks) for meta in (leaf.variable.meta for leaf in task.arriving)):
        return True
    return any(
        node.extra is not None or isinstance(node, FunctionNode) or any(one.array is None and not one.freed for one in saved_inside(node))
        for node in task.order
    )


class NodeClock(Observer):
    """Times each node of a backward: until the next one begins, with its frees and what leaves receive."""

    __slots__ = ("_name", "_since", "profiler")

    def __init__(self, profiler: Profiler) -> None:
        self.profiler = profiler
        self._name = ""
        self._since = 0

    def passes_by(self, node: Node, keeps: bool) -> bool:
        """End the node before, begin this one; its gradients are not looked at."""
        del keeps
        self.finish()
        self._name, self._since = node_name(node) or "", self.profiler.clock()
        self.profiler._mark(True, self._name)
        return True

    def finish(self) -> None:
        """End the node that is running."""
        if self._name:
            cost = self.profiler.nodes.setdefault(self._name, Cost())
            cost.passes += 1
            cost.nanoseconds += self.profiler.clock() - self._since
            self.profiler._mark(False, self._name)
            self._name = ""


def named_costs(table: dict[str, Cost]) -> list[NamedCost]:
    """Return costs by name as data."""
    return [NamedCost(name, one.passes, one.nanoseconds / 1e6, one.saved) for name, one in table.items()]


def profile_view(report: Profile) -> View:
    """Shape the tables: lines, the nodes of backwards, modules."""
    total = sum(row.ms for row in report.rows)
    cells = tuple(Row((row.line, row.passes, row.ms, row.ms / total if total else 0.0, row.bytes, row.source)) for row in report.rows)
    parts: list[View] = [Table(COLUMNS, cells, (f"{total:,.3f} ms in all",), empty="no line was run")]
    for title, costs in (("node in backward", report.nodes), ("module, with what it calls", report.modules)):
        columns = (Column(title), Column("runs", "count"), Column("ms", "number"), Column("saved", "bytes"))
        if costs:
            rows = tuple(Row((one.name, one.passes, one.ms, one.bytes)) for one in costs[:_MOST])
            parts.append(Table(columns, rows, (), max(0, len(costs) - _MOST), "`--format json` has them all"))
    return Group(tuple(parts)) if len(parts) > 1 else parts[0]
