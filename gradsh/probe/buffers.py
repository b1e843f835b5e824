"""The tensors saved for backward, as a table: state, bytes, versions, lines, and who else holds each memory."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any, Literal, NamedTuple

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import SavedTensor
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.storage import memory_bytes, memory_key, owner_of
from gradsh.probe.given import arrays_instead
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.places import Lines, call_around
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
        self.lines = Lines(line_of)
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
        self.entries = [1]
        """by the number of a memory, how many entries stand in it"""
        self.held: dict[int, tuple[int, tuple[str, ...]]] = {}
        """memory -> its number, and the names that hold it"""
        self.nodes = 0
        self.nothing: Counter[str] = Counter()
        self.functions: dict[tuple[int, int], str] = {}
        self.around: tuple[Any, Any] = (None, None)
        """The call that the latest place lies in, and its code"""
        self.made_by = ("", "")
        """The function and the module of that call"""
        self.dtypes: dict[Any, str] = {}
        for node in nodes_below_all(root for _, root in roots):
            self._visit(node)

    def _visit(self, node: Node) -> None:
        if type(node) is AccumulateGrad:
            return
        self.nodes += 1
        first = len(self.found)
        title = node_name(node) or ""
        if isinstance(node, CompactNode) and not node.freed and (arrays := node.live_arrays()) is not None:
            if arrays:
                self._note_slots(node, title, self._birth(node.location))
        elif found := saved_inside(node):
            birth = self._birth(node.location)
            for saved in found:
                self._note(title, self.names.of_node(node), saved, "pinned" if node.pins > 0 else "live", *birth)
        if len(self.found) > first:
            self.owners[node] = (first, len(self.found))
        else:
            self.nothing[title] += 1

    def _birth(self, where: Any) -> tuple[int | None, str, str]:
        """Return the line, the function and the innermost module of a place."""
        if where is None:
            return None, "", ""
        activation, code, offset = where
        around = call_around(activation), code
        if around[0] is not self.around[0] or code is not self.around[1]:  # mostly that of the node before
            key = id(around[0]), id(code)
            function = self.functions.get(key)
            if function is None:
                function = self.functions[key] = self.function_of((*around, offset))
            self.around, self.made_by = around, (function, self.modules.of(where))
        return self.lines.of(where), *self.made_by

    def _note_slots(self, node: CompactNode, title: str, birth: tuple[int | None, str, str]) -> None:
        """Note the fields of the rows of a node whose saved tensors stand in its slots."""
        line, function, module = birth
        bound = self.names.of_node(node)
        state: BufferState = "pinned" if node.pins > 0 else "live"
        for name, (array, by, version) in zip(node.record._plan.names, node.slots(), strict=False):
            if array is not None:
                number, held = self._stands_in(array)
                now = by.version
                self.found.append([
                    title, name, bound, array.shape, self._dtype(array.dtype), array.nbytes,
                    state if now == version else "modified", held, not held, version, now, line, None, number, 1, function, False, module,
                ])

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
            number, held = self._stands_in(array)
        elif saved.freed:
            state, freed = "freed", self.lines.of(saved.freed_where)
        elif saved.kept is not None:  # of what is packed no version is checked
            state = "packed"
            for one in arrays_instead(saved.kept.packed[1]):
                self.instead[memory_key(one)] = memory_bytes(one)
        self.found.append([
            node, saved_title(saved), bound, saved.shape, saved.dtype.name, saved.nbytes, state, held, number > 0 and not held,
            version, now, line, freed, number, 1, function, array is None and saved.recomputed, module,
        ])

    def _dtype(self, dtype: Any) -> str:
        return self.dtypes.get(dtype) or self.dtypes.setdefault(dtype, of_numpy(dtype).name)

    def _stands_in(self, array: Array) -> tuple[int, tuple[str, ...]]:
        """Count an entry of the memory that an array stands in; return its number and the names that hold it."""
        owner = array if array.base is None else owner_of(array)
        known = self.held.get(id(owner)) or self._memory(owner)
        self.entries[known[0]] += 1
        return known

    def _memory(self, owner: Array) -> tuple[int, tuple[str, ...]]:
        """Number a memory that is new; return the number and the names that hold it."""
        key = id(owner)
        number = self.numbers[key] = len(self.numbers) + 1
        self.sizes[key] = int(owner.nbytes)
        self.entries.append(0)
        known = self.held[key] = number, self.names.of_memory(key)
        return known

    def finish(self) -> list[BufferRow]:
        """Return the rows, each with how many entries share its memory."""
        entries = self.entries
        for fields in self.found:
            fields[_MEMORY + 1] = entries[fields[_MEMORY]]
        self.rows = list(map(tuple.__new__, repeat(BufferRow), self.found))  # `_make` counts the fields of each
        return self.rows

    def totals(self) -> BufferTotals:
        """Count the entries; a memory that several share counts once."""
        states = Counter(row.state for row in self.rows)
        held = {key: holders for key, holders in self.names.memory.items() if key in self.sizes}
        parameters = sum(self.sizes[key] for key, holders in held.items() if any(leaf for _, leaf in holders))
        unique, named = sum(self.sizes.values()), sum(self.sizes[key] for key in held)
        recomputed = sum(row.recomputed for row in self.rows) if states["packed"] else 0
        return BufferTotals(
            len(self.rows) - states["freed"], states["freed"], sum(row.nbytes for row in self.rows if row.memory), len(self.sizes),
            unique, parameters, named - parameters, unique - named, states["packed"], sum(self.instead.values()), recomputed,
        )


def roll_up(rows: Iterable[BufferRow], key_of: Callable[[BufferRow], Any], sizes: Mapping[int, int]) -> dict[Any, RollUp]:
    """Group rows by what `key_of` says of each; `sizes` has the bytes of each memory by its number."""
    groups: dict[Any, list[BufferRow]] = {}
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    found = {}
    for key, mine in groups.items():
        freed = sum(row.state == "freed" for row in mine)
        memories = {row.memory: row.alone for row in mine if row.memory}
        found[key] = RollUp(
            str(key), len(mine) - freed, freed, sum(row.nbytes for row in mine if row.memory),
            sum(sizes[number] for number in memories), sum(sizes[number] for number, alone in memories.items() if alone),
        )
    return found
