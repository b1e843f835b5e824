"""A graph as a log: its nodes from the latest to the earliest, a row each, with a column for each branch that is open there.

Only the rows that are asked for are drawn: every so many rows the open branches are kept, and drawing begins at the nearest.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_key
from gradsh.probe.fold import NodeFold, ScopesOf, by_module, choose, fold, in_modules, runs_of
from gradsh.probe.given import arrays_kept, freed_count, live_states
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.snapshot import node_name, nodes_below_all

Unit = Node | NodeFold
FILTERS = ("all", "freed", "pinned", "large", "stale")
ROOM = 40
"""Graphs of more nodes begin folded."""
_KEPT = 256
"""Rows between two places at which the open branches are kept."""
_LARGE = 0.02
"""A node is large that saves at least this part of all saved bytes."""


class LogRow(NamedTuple):
    """A row: the branches (None: a row of a filtered log), the place of its own, which edges begin there, the title, its line."""

    lanes: tuple[bool, ...]
    own: int
    joins: tuple[tuple[int, bool], ...]
    title: str
    folded: bool
    state: str
    nbytes: int
    line: int | None


class SavedDetail(NamedTuple):
    """A saved tensor of the node that is looked at."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    state: str
    held_by: tuple[str, ...]
    version: str


class GraphLog:
    """The log of the graph below some roots."""

    def __init__(self, roots: Sequence[Node], variables: Mapping[str, object], line_of: LineOf, scopes_of: ScopesOf) -> None:
        self.names = Names(variables)
        self.paths = ModulePaths(variables)
        self.line_of = line_of
        self.scopes_of = scopes_of
        self.nodes = sorted((node for node in nodes_below_all(roots) if type(node) is not AccumulateGrad), key=lambda node: -node.seq)
        self.saved: dict[Node, int] = {}
        self.total = 0
        self._told: dict[int, LogRow] = {}
        self._sums: list[tuple[int, int]] = []
        self._bytes: dict[int, int] = {}
        """fold -> what its nodes save"""
        self._kinds: dict[int, list[tuple[str, int]]] = {}
        self._leaves: dict[int, list[str]] = {}
        self.unit_of: dict[Node, NodeFold] = {}
        self.look_again(self.nodes)
        self.filter = "all"
        self.folds = self._first_folds() if len(self.nodes) > ROOM else []
        self.units: list[Unit] = []
        self.lay_out()

    def look_again(self, nodes: Iterable[Node]) -> None:
        """Look at what nodes save now: a pass may have freed it, or it was put back."""
        for node in nodes:
            before = self.saved.pop(node, 0)
            size = sum([bytes_of(array) for array in arrays_kept(node)])
            if size:
                self.saved[node] = size
            self.total += size - before
            unit = id(self.unit_of.get(node, node))
            self._told.pop(unit, None)
            if unit in self._bytes:
                self._bytes[unit] += size - before
        self._sums.clear()

    def _first_folds(self) -> list[NodeFold]:
        return choose(runs_of(self.nodes[::-1]), self.scopes_of, self.paths, ROOM)

    # ------------------------------------------------------------------ what is shown

    def lay_out(self) -> None:
        """Put the rows together anew, from the folds and the filter."""
        inside = {node: one for one in self.folds for node in one.nodes} if self.filter == "all" else {}
        shown: Iterable[Unit] = self.nodes
        if self.filter != "all":
            shown = [node for node in self.nodes if self.matches(node)]
        elif inside:
            shown = {id(unit): unit for unit in (inside.get(node, node) for node in self.nodes)}.values()
        self.units = list(shown)
        self.place = {id(unit): place for place, unit in enumerate(self.units)}
        self.unit_of = inside
        self._below: dict[int, list[Unit]] = {}
        self._kept: list[list[int | None]] = [[]]
        self._told.clear()
        self._sums.clear()
        self._bytes.clear()
        self._kinds.clear()
        self._leaves.clear()

    def matches(self, node: Node) -> bool:
        """Whether the filter lets a node through."""
        match self.filter:
            case "freed":
                return bool(node.freed)
            case "pinned":
                return node.pins > 0
            case "large":
                return bool(self.saved.get(node, 0) >= max(1, _LARGE * self.total))
            case "stale":
                return any(modified for _, modified in live_states(node))
        return True

    def toggle(self, place: int) -> int:
        """Unfold the row at a place, or fold what it belongs to; return the place of the row that then stands for it."""
        unit = self.units[place]
        if isinstance(unit, NodeFold):
            self.folds = [one for one in self.folds if one is not unit] + self._inner(unit)
            first: Node = unit.nodes[-1]
        else:
            again = self._around(unit)
            if again is None:
                return place
            taken = set(again.nodes)
            self.folds = [one for one in self.folds if one.nodes[0] not in taken] + [again]
            first = unit
        self.lay_out()
        return self.find(first)

    def _inner(self, unit: NodeFold) -> list[NodeFold]:
        """Return the folds of the modules that a fold's module calls."""
        if not unit.module:
            return []
        inner = by_module(in_modules(runs_of(unit.nodes), self.paths), unit.module)
        return [one for one in inner if one.module != unit.module and len(one.nodes) > 1]

    def _around(self, node: Node) -> NodeFold | None:
        """Return the innermost module around a node as a fold, or the function or loop that repeats."""
        calls = self.paths.calls(node.location)
        if calls:
            made = tuple(one for one in reversed(self.nodes) if calls[-1] in self.paths.calls(one.location))
            return NodeFold(calls[-1].path, 1, made, calls[-1].path) if len(made) > 1 else None
        return next((one for one in fold(runs_of(self.nodes[::-1]), self.scopes_of, ROOM) if node in one.nodes), None)

    def fold_all(self, *, folded: bool) -> None:
        """Fold the whole log as it was at first, or unfold it."""
        self.folds = self._first_folds() if folded else []
        self.lay_out()

    def find(self, node: Node) -> int:
        """Return the place of the row on which a node stands, the nearest one where it is hidden."""
        unit = self.unit_of.get(node, node) if self.filter == "all" else node
        found = self.place.get(id(unit))
        if found is not None:
            return found
        return next((place for place, one in enumerate(self.units) if _seq(one) <= node.seq), max(0, len(self.units) - 1))

    def search(self, text: str, after: int) -> int | None:
        """Return the place of the next row below `after`, then from the top, whose operation, names or module have a text."""
        word = text.lower()
        order = [*range(after + 1, len(self.units)), *range(after + 1)]
        return next((place for place in order if any(word in title.lower() for title in self._titles(self.units[place]))), None)

    def _titles(self, unit: Unit) -> Iterator[str]:
        for node in nodes_in(unit):
            yield node_name(node) or ""
            yield from self.names.of_node(node)
            yield self.paths.of(node.location)

    def at_line(self, line: int) -> int | None:
        """Return the place of the first row of a line of the program."""
        for place, unit in enumerate(self.units):
            if any(int(self.line_of(node.location) or 0) == line for node in nodes_in(unit)):
                return place
        return None

    # ------------------------------------------------------------------ rows

    def rows(self, first: int, number: int) -> list[LogRow]:
        """Return the rows from a place on."""
        last = min(len(self.units), first + number)
        if self.filter != "all":
            return [self._row(place, (), 0, ()) for place in range(first, last)]
        start = min(first // _KEPT, len(self._kept) - 1)
        lanes = list(self._kept[start])
        found = []
        for place in range(start * _KEPT, last):
            if place % _KEPT == 0 and place // _KEPT == len(self._kept):
                self._kept.append(list(lanes))
            before = tuple(lane is not None for lane in lanes)
            own, joins = self._advance(lanes, place)
            if place >= first:
                found.append(self._row(place, before, own, joins))
        return found

    def _advance(self, lanes: list[int | None], place: int) -> tuple[int, tuple[tuple[int, bool], ...]]:
        """Carry the open branches over a row; return its own, and (branch, whether it begins here) of its further edges."""
        own = lanes.index(place) if place in lanes else _free(lanes)
        below = [self.place[id(unit)] for unit in self.below(self.units[place])]
        lanes[own] = None
        joins = []
        for one in below:
            if one in lanes:
                joins.append((lanes.index(one), False))
                continue
            lane = own if lanes[own] is None else _free(lanes)
            lanes[lane] = one
            if lane != own:
                joins.append((lane, True))
        while lanes and lanes[-1] is None:
            lanes.pop()
        return own, tuple(joins)

    def below(self, unit: Unit) -> list[Unit]:
        """Return the units to which edges lead from one, without leaves."""
        found = self._below.get(id(unit))
        if found is None:
            units: dict[int, Unit] = {}
            for node in reversed(nodes_in(unit)):
                for end in node.below():
                    if type(end) is not AccumulateGrad:
                        one = self.unit_of.get(end, end)
                        if one is not unit:
                            units.setdefault(id(one), one)
            found = self._below[id(unit)] = list(units.values())
        return found

    def _row(self, place: int, lanes: tuple[bool, ...], own: int, joins: tuple[tuple[int, bool], ...]) -> LogRow:
        unit = self.units[place]
        told = self._told.get(id(unit))
        if told is None:
            told = self._told[id(unit)] = self._tell(unit)
        return told._replace(lanes=lanes, own=own, joins=joins)

    def _tell(self, unit: Unit) -> LogRow:
        """Return the row of a unit, without branches."""
        if isinstance(unit, NodeFold):
            nodes = unit.nodes
            size = self._bytes.get(id(unit), -1)
            if size < 0:
                size = self._bytes[id(unit)] = sum([self.saved.get(node, 0) for node in nodes])
            times = f"{unit.times:,} × " if unit.times > 1 else ""
            title = f"{times}{unit.label}" + (f"  {len(nodes):,} nodes" if len(nodes) > 1 else "")
            lines = [line for line in (self.line_of(nodes[0].location),) if line is not None]
        else:
            nodes, size = (unit,), self.saved.get(unit, 0)
            names = ", ".join(self.names.of_node(unit)[:3])
            shape = f" {tuple(unit.outputs[0][0])}" if unit.outputs else ""
            title = (f"{names}  " if names else "") + f"{node_name(unit)}{shape}"
            lines = [line for line in (self.line_of(unit.location),) if line is not None]
        state = "live" if size else "freed" if any(node.freed for node in nodes) else ""
        if any(node.pins for node in nodes):
            state = "pinned"
        return LogRow((), 0, (), title, isinstance(unit, NodeFold), state, size, lines[0] if lines else None)

    # ------------------------------------------------------------------ what is told of one

    def saved_of(self, node: Node) -> list[SavedDetail]:
        """Return the saved tensors of a node."""
        found = []
        for one in saved_inside(node):
            held: tuple[str, ...] = ()
            state, version = "freed", ""
            if not one.freed:
                state = "packed" if one.array is None else "pinned" if node.pins else "live"
                held = () if one.array is None else self.names.of_memory(memory_key(one.array))
                version = str(one.version)
                if one.current_version != one.version:
                    state, version = "modified", f"{one.version}, now {one.current_version}"
            found.append(SavedDetail(saved_title(one), tuple(one.shape), one.dtype.name, one.nbytes, state, held, version))
        return found

    def leaves_of(self, unit: Unit) -> list[str]:
        """Return the names of the leaves to which edges lead from a row."""
        known = self._leaves.get(id(unit))
        if known is None:
            leaves = {leaf: None for node in nodes_in(unit) for leaf in node.below() if isinstance(leaf, AccumulateGrad)}
            known = self._leaves[id(unit)] = [self.names.of_leaf(leaf.variable) for leaf in leaves]
        return known

    def kinds_of(self, unit: NodeFold) -> list[tuple[str, int]]:
        """Return how many nodes of each operation a fold has."""
        known = self._kinds.get(id(unit))
        if known is None:
            known = self._kinds[id(unit)] = Counter(node_name(node) or "" for node in unit.nodes).most_common()
        return known

    def freed_before(self, place: int) -> tuple[int, int]:
        """Return what a pass would have done before it comes to a row: nodes run and bytes freed."""
        if not self._sums:
            ran = freed = 0
            for unit in self.units:
                self._sums.append((ran, freed))
                nodes = nodes_in(unit)
                ran += len(nodes)
                freed += sum(self.saved.get(node, 0) for node in nodes if not node.pins)
        return self._sums[place]

    def by_line(self) -> dict[int, tuple[int, int]]:
        """Return how many nodes each line of the program made, and the bytes that they save."""
        lines: dict[int, tuple[int, int]] = {}
        for node in self.nodes:
            line = self.line_of(node.location)
            if line is not None:
                number, size = lines.get(line, (0, 0))
                lines[line] = (number + 1, size + self.saved.get(node, 0))
        return lines

    def freed_in(self, unit: Unit) -> int:
        """Return how many saved tensors of a row are freed."""
        return sum(freed_count(node) for node in nodes_in(unit) if node.freed)


def _free(lanes: list[int | None]) -> int:
    """Return the first branch that is free, a new one where none is."""
    if None in lanes:
        return lanes.index(None)
    lanes.append(None)
    return len(lanes) - 1


def nodes_in(unit: Unit) -> tuple[Node, ...]:
    """Return the nodes of a row, in order of birth."""
    return unit.nodes if isinstance(unit, NodeFold) else (unit,)


def _seq(unit: Unit) -> int:
    return nodes_in(unit)[-1].seq
