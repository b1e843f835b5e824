"""The tensors saved for backward, as a table: state, bytes, versions, lines, and who else holds each memory."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import SavedTensor
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.storage import memory_bytes, memory_key, owner_of
from gradsh.probe.given import arrays_instead
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.snapshot import node_name, nodes_below_all

FunctionOf = Callable[[Any], str]
BufferState = Literal["live", "freed", "pinned", "modified", "packed"]


class BufferRow(NamedTuple):
    """One saved tensor. `nbytes` are the tensor's own; `memory` numbers the memory it stands in (0: freed or packed).

    A `packed` one was handed to a saved-tensor hook, which keeps something else in its place or computes it again.

    `alone` tells that only graphs keep the memory alive; `shared` how many live entries stand in that memory.
    `function` is the script's function whose line saved it, empty at the top level; `module` the path of the innermost module
    that did, empty outside of modules.
    """

    node: str
    name: str
    of: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    state: BufferState
    held_by: tuple[str, ...]
    alone: bool
    version: int | None
    current_version: int | None
    saved_line: int | None
    freed_line: int | None
    memory: int
    shared: int = 1
    function: str = ""
    recomputed: bool = False
    """Whether it is packed because a checkpoint computes it again when backward needs it."""
    module: str = ""


_MEMORY = BufferRow._fields.index("memory")  # `shared` is next to it


class BufferTotals(NamedTuple):
    """Bytes of the live entries: as saved, of distinct memories, and of these by who holds them (each counted once).

    `packed` counts those of the entries that a hook keeps elsewhere; no bytes are counted for them, `packed_bytes` are those
    of the memories that are kept in their place.
    """

    entries: int
    freed: int
    nbytes: int
    memories: int
    unique_bytes: int
    parameter_bytes: int
    variable_bytes: int
    graph_bytes: int
    packed: int = 0
    packed_bytes: int = 0
    recomputed: int = 0
    """How many of the packed ones a checkpoint computes again."""


class RollUp(NamedTuple):
    """The entries of one line, operation, function or variable: how many are live and freed, their bytes.

    `unique_bytes` counts each memory of the group once, `graph_bytes` those that graphs alone hold.
    """

    key: str
    live: int
    freed: int
    nbytes: int
    unique_bytes: int
    graph_bytes: int


class BufferReport(NamedTuple):
    """The rows that were asked for, the totals of all, groups of them, and the operations that save nothing."""

    rows: tuple[BufferRow, ...]
    totals: BufferTotals
    by: str
    groups: tuple[RollUp, ...]
    nodes: int
    saving_nothing: tuple[tuple[str, int], ...]


class Survey:
    """One walk over the graphs: every saved tensor, and the sizes of the memories they stand in."""

    def __init__(
        self, roots: Iterable[tuple[str, Node]], variables: Mapping[str, object], line_of: LineOf,
        function_of: FunctionOf,
    ) -> None:
        self.names = Names(variables)
        self.line_of = line_of
        self.function_of = function_of
        self.modules = ModulePaths(variables)
        self.numbers: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.instead: dict[int, int] = {}
        """memory -> bytes of what is kept in the place of packed entries"""
        self.owners: dict[Node, tuple[int, int]] = {}
        """node -> its stretch of the rows"""
        self.rows: list[BufferRow] = []
        self.found: list[list[Any]] = []
        """The rows' fields, before it is known how many entries share a memory"""
        self.entries: dict[int, int] = {}
        """number of a memory -> entries that stand in it"""
        self.held: dict[int, tuple[int, tuple[str, ...]]] = {}
        """memory -> its number, and the names that hold it"""
        self.nodes = 0
        self.nothing: Counter[str] = Counter()
        self.lines: dict[tuple[int, int], int | None] = {}
        self.functions: dict[tuple[int, int], str] = {}
        for node in nodes_below_all(root for _, root in roots):
            self._visit(node)

    def _visit(self, node: Node) -> None:
        if type(node) is AccumulateGrad:
            return
        self.nodes += 1
        title = node_name(node) or ""
        found = saved_inside(node)
        if not found:
            self.nothing[title] += 1
            return
        line, function = self._birth(node.location)
        module = self.modules.of(node.location)
        bound = self.names.of_node(node)
        state: BufferState = "pinned" if node.pins > 0 else "live"
        first = len(self.found)
        for saved in found:
            self._note(title, bound, saved, state, line, function, module)
        self.owners[node] = (first, len(self.found))

    def _birth(self, where: Any) -> tuple[int | None, str]:
        """Return the line and the function of a place, each asked for once."""
        if where is None:
            return None, ""
        activation, code, offset = where
        line = self.lines.get((id(code), offset), 0)
        if line == 0:
            line = self.lines[(id(code), offset)] = self.line_of(where)
        while activation[2] is None and activation[1]:  # a pass of a loop is in the same function
            activation = activation[0]
        key = id(activation), id(code)
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = self.function_of((activation, code, offset))
        return line, function

    def _note(
        self, node: str, bound: tuple[str, ...], saved: SavedTensor, state: BufferState, line: int | None, function: str,
        module: str,
    ) -> None:
        """Note the fields of a row."""
        held: tuple[str, ...] = ()
        number, array, freed = 0, saved.array, None
        version, now = saved.version, saved.current_version
        if array is not None:
            if now != version:
                state = "modified"
            owner = owner_of(array)
            number, held = self.held.get(id(owner)) or self._memory(owner)
            self.entries[number] = self.entries.get(number, 0) + 1
        elif saved.freed:
            state, freed = "freed", self.line_of(saved.freed_where)
        elif saved.kept is not None:  # of what is packed no version is checked
            state = "packed"
            for one in arrays_instead(saved.kept.packed[1]):
                self.instead[memory_key(one)] = memory_bytes(one)
        name = saved.name if saved.index is None else saved_title(saved)
        self.found.append([
            node, name, bound, saved.shape, saved.dtype.name, saved.nbytes, state, held, number > 0 and not held,
            version, now, line, freed, number, 1, function, array is None and saved.recomputed, module,
        ])

    def _memory(self, owner: Array) -> tuple[int, tuple[str, ...]]:
        """Number a memory that is new; return the number and the names that hold it."""
        key = id(owner)
        number = self.numbers[key] = len(self.numbers) + 1
        self.sizes[key] = int(owner.nbytes)
        known = self.held[key] = number, self.names.of_memory(key)
        return known

    def finish(self) -> list[BufferRow]:
        """Return the rows, each with how many entries share its memory."""
        entries = self.entries
        for fields in self.found:
            if fields[_MEMORY]:
                fields[_MEMORY + 1] = entries[fields[_MEMORY]]
        self.rows = list(map(BufferRow._make, self.found))
        return self.rows

    def totals(self) -> BufferTotals:
        """Count the entries; a memory that several share counts once."""
        live = [row for row in self.rows if row.state != "freed"]
        packed = [row for row in live if row.state == "packed"]
        held = {key: self.names.memory.get(key, ()) for key in self.sizes}
        parameters = sum(size for key, size in self.sizes.items() if any(leaf for _, leaf in held[key]))
        alone = sum(size for key, size in self.sizes.items() if not held[key])
        unique = sum(self.sizes.values())
        return BufferTotals(
            len(live), len(self.rows) - len(live), sum(row.nbytes for row in live if row.memory), len(self.sizes), unique,
            parameters, unique - parameters - alone, alone, len(packed), sum(self.instead.values()),
            sum(row.recomputed for row in packed),
        )


def roll_up(
    rows: Iterable[BufferRow], keys_of: Callable[[BufferRow], Iterable[str]], sizes: Mapping[int, int]
) -> tuple[RollUp, ...]:
    """Group rows by what `keys_of` says of each; `sizes` has the bytes of each memory by its number."""
    groups: dict[str, list[BufferRow]] = {}
    for row in rows:
        for key in keys_of(row):
            groups.setdefault(key, []).append(row)
    found = []
    for key, mine in groups.items():
        live = [row for row in mine if row.state != "freed"]
        memories = {row.memory: row.alone for row in live if row.memory}
        found.append(RollUp(
            key, len(live), len(mine) - len(live), sum(row.nbytes for row in live if row.memory),
            sum(sizes[number] for number in memories), sum(sizes[number] for number, alone in memories.items() if alone),
        ))
    return tuple(found)
