"""The tensors saved for backward, as a table: state, bytes, versions, lines, and who else holds each memory."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import SavedTensor
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_bytes, memory_key, owner_of
from gradsh.probe.given import arrays_instead
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.places import LineTable, call_around
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


class BufferRows(Sequence[BufferRow]):
    """Rows of a table that may be very long: what many have in common is stored once (a loop saves the same in each pass).

    A row is the number of its kind and that of its memory; it is put together when somebody looks.
    """

    __slots__ = ("_entries", "kinds", "memories", "which")

    def __init__(self, kinds: Sequence[BufferRow], which: Sequence[int], memories: Sequence[int], entries: Sequence[int]) -> None:
        self.kinds = kinds
        self.which = which
        self.memories = memories
        self._entries = entries
        """by the number of a memory, how many rows stand in it"""

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.which)

    @overload
    def __getitem__(self, place: int) -> BufferRow: ...
    @overload
    def __getitem__(self, place: slice) -> "BufferRows": ...
    def __getitem__(self, place: int | slice) -> "BufferRow | BufferRows":
        """Return the row at a place, or the rows of a slice."""
        if isinstance(place, slice):
            return self.picked(range(*place.indices(len(self))))
        kind, memory = self.kinds[self.which[place]], self.memories[place]
        return kind._replace(memory=memory, shared=self._entries[memory]) if memory else kind

    def picked(self, places: Iterable[int]) -> "BufferRows":
        """Return the rows at some places, in their order."""
        places = list(places)
        which, memories = (array("l", map(numbers.__getitem__, places)) for numbers in (self.which, self.memories))
        return BufferRows(self.kinds, which, memories, self._entries)

    def only(self, wanted: Callable[[BufferRow], bool]) -> "BufferRows":
        """Return the rows that are wanted; the memory of a row has no say."""
        asked = [wanted(kind) for kind in self.kinds]
        return self.picked(place for place, kind in enumerate(self.which) if asked[kind])

    def ordered(self, key: Callable[[BufferRow], Any]) -> "BufferRows":
        """Return the rows sorted; the memory of a row has no say."""
        keys = [key(kind) for kind in self.kinds]
        return self.picked(sorted(range(len(self)), key=lambda place: keys[self.which[place]]))

    def numbers(self) -> list[tuple[BufferRow, int]]:
        """Return each kind of row, with how many there are of it."""
        counted = Counter(self.which)
        return [(kind, counted[place]) for place, kind in enumerate(self.kinds) if counted[place]]


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

    rows: Sequence[BufferRow]
    totals: BufferTotals
    by: str
    groups: tuple[RollUp, ...]
    nodes: int
    saving_nothing: tuple[tuple[str, int], ...]


class Survey:
    """One walk over the graphs: every saved tensor, and the sizes of the memories they stand in."""

    def __init__(
        self, roots: Iterable[tuple[str, Node]], variables: Mapping[str, object], line_of: LineOf,
        function_of: FunctionOf, *, by_node: bool = False,
    ) -> None:
        self.names = Names(variables)
        self.lines = LineTable(line_of)
        self.function_of = function_of
        self.modules = ModulePaths(variables)
        self.numbers: dict[int, int] = {}
        """memory -> its number, from 1"""
        self.sizes = [0]
        self.holders: list[tuple[str, ...]] = [()]
        self.entries = [1]
        """by the number of a memory: its bytes, the names that hold it, how many entries stand in it"""
        self.instead: dict[int, int] = {}
        """memory -> bytes of what is kept in the place of packed entries"""
        self.owners: dict[Node, range] | None = {} if by_node else None
        """node -> the places of its rows"""
        self.known: dict[tuple[Any, ...], int] = {}
        """fields of a row -> the number of its kind"""
        self.kinds: dict[tuple[Any, ...], int] = {}
        """what these fields follow from -> that number"""
        self.which = array("l")
        self.memories = array("l")
        self.nodes = 0
        self.nothing: Counter[str] = Counter()
        self.functions: dict[tuple[int, int], str] = {}
        self.around: tuple[Any, Any] = (None, None)
        """The activation and the code of the latest place"""
        self.made_by = ("", "")
        """The function and the module of that place"""
        self.dtypes: list[object] = []
        """those whose addresses tell kinds apart, which must stay their own"""
        for node in nodes_below_all(root for _, root in roots):
            self._visit(node)

    def _visit(self, node: Node) -> None:
        if type(node) is AccumulateGrad:
            return
        self.nodes += 1
        first = len(self.which)
        title = node_name(node) or ""
        slots = None
        if isinstance(node, CompactNode) and (slots := node.live_slots()):
            self._note_slots(node, slots, title, self._birth(node))
        elif (slots is None or node.freed) and (found := saved_inside(node)):
            birth = self._birth(node)
            for saved in found:
                self._note(title, self.names.of_node(node), saved, "pinned" if node.pins > 0 else "live", *birth)
        if len(self.which) == first:
            self.nothing[title] += 1
        elif self.owners is not None:
            self.owners[node] = range(first, len(self.which))

    def _birth(self, node: Node) -> tuple[int | None, str, str]:
        """Return the line, the function and the innermost module that made a node."""
        where = node.location
        if where is None:
            return None, "", ""
        if where[0] is not self.around[0] or where[1] is not self.around[1]:  # mostly that of the node before
            activation, code, offset = where
            around = call_around(activation)
            key = id(around), id(code)
            function = self.functions.get(key)
            if function is None:
                function = self.functions[key] = self.function_of((around, code, offset))
            self.around, self.made_by = (activation, code), (function, self.modules.of(where))
        return self.lines.of_node(node), *self.made_by

    def _note_slots(
        self, node: CompactNode, slots: list[tuple[str, Any, Any, int]], title: str, birth: tuple[int | None, str, str]
    ) -> None:
        """Note the rows of a node whose saved tensors stand in its slots."""
        line, function, module = birth
        bound = self.names.of_node(node)
        state: BufferState = "pinned" if node.pins > 0 else "live"
        kinds, numbers, entries = self.kinds, self.numbers, self.entries
        for name, saved, by, version in slots:
            number = numbers.get(id(saved if saved.base is None else owner_of(saved))) or self._memory(saved)
            entries[number] += 1
            held, now, dtype = self.holders[number], by.version, saved.dtype
            alike = title, name, bound, saved.shape, id(dtype), held, version, now, line, function, module, state
            kind = kinds.get(alike)
            if kind is None:
                kind = kinds[alike] = self._kind((
                    title, name, bound, saved.shape, of_numpy(dtype).name, saved.nbytes,
                    state if now == version else "modified", held, not held, version, now, line, None, 0, 1, function, False, module,
                ))
                self.dtypes.append(dtype)
            self.which.append(kind)
            self.memories.append(number)

    def _note(
        self, node: str, bound: tuple[str, ...], saved: SavedTensor, state: BufferState, line: int | None, function: str,
        module: str,
    ) -> None:
        """Note the fields of a row."""
        held: tuple[str, ...] = ()
        number, kept, freed = 0, saved.array, None
        version, now = saved.version, saved.current_version
        if kept is not None:
            if now != version:
                state = "modified"
            number = self.numbers.get(memory_key(kept)) or self._memory(kept)
            self.entries[number] += 1
            held = self.holders[number]
        elif saved.freed:
            state, freed = "freed", self.lines.of(saved.freed_where)
        elif saved.kept is not None:  # of what is packed no version is checked
            state = "packed"
            for one in arrays_instead(saved.kept.packed[1]):
                self.instead[memory_key(one)] = memory_bytes(one)
        fields = (
            node, saved_title(saved), bound, saved.shape, saved.dtype.name, saved.nbytes, state, held, number > 0 and not held,
            version, now, line, freed, 0, 1, function, kept is None and saved.recomputed, module,
        )
        self.which.append(self._kind(fields))
        self.memories.append(number)

    def _kind(self, fields: tuple[object, ...]) -> int:
        """Return the number of the kind of row that has these fields."""
        return self.known.setdefault(fields, len(self.known))

    def _memory(self, saved: Array) -> int:
        """Number the memory of an array, which is new."""
        owner = owner_of(saved)
        number = self.numbers[id(owner)] = len(self.sizes)
        self.sizes.append(bytes_of(owner))
        self.holders.append(self.names.of_memory(id(owner)))
        self.entries.append(0)
        return number

    def rows(self) -> BufferRows:
        """Return all rows."""
        return BufferRows(list(map(BufferRow._make, self.known)), self.which, self.memories, self.entries)

    def totals(self) -> BufferTotals:
        """Count the entries; a memory that several share counts once."""
        kinds = self.rows().numbers()
        states: Counter[str] = Counter()
        for kind, number in kinds:
            states[kind.state] += number
        held = {self.numbers[key]: holders for key, holders in self.names.memory.items() if key in self.numbers}
        parameters = sum(self.sizes[one] for one, holders in held.items() if any(leaf for _, leaf in holders))
        unique, named = sum(self.sizes), sum(self.sizes[one] for one in held)
        return BufferTotals(
            len(self.which) - states["freed"], states["freed"],
            sum(kind.nbytes * number for kind, number in kinds if _stands(kind)), len(self.sizes) - 1, unique, parameters,
            named - parameters, unique - named, states["packed"], sum(self.instead.values()),
            sum(number for kind, number in kinds if kind.recomputed),
        )


def _stands(kind: BufferRow) -> bool:
    """Whether rows of a kind stand in a memory: what is freed or packed does not."""
    return kind.alone or bool(kind.held_by)


def roll_up(rows: BufferRows, key_of: Callable[[BufferRow], object], sizes: Sequence[int]) -> dict[Any, RollUp]:
    """Group rows by what `key_of` says of each kind; `sizes` has the bytes of each memory by its number."""
    keys = [key_of(kind) for kind in rows.kinds]
    groups: dict[Any, list[tuple[BufferRow, int]]] = {}
    for kind, number in rows.numbers():
        groups.setdefault(key_of(kind), []).append((kind, number))
    memories: dict[object, set[int]] = {key: set() for key in groups}
    named: set[int] = set()
    """memories that names hold"""
    for place, memory in zip(rows.which, rows.memories, strict=True):
        if memory:
            memories[keys[place]].add(memory)
            if not rows.kinds[place].alone:
                named.add(memory)
    found = {}
    for key, mine in groups.items():
        every, freed = sum(number for _, number in mine), sum(number for kind, number in mine if kind.state == "freed")
        size = sum(kind.nbytes * number for kind, number in mine if _stands(kind))
        found[key] = RollUp(
            str(key), every - freed, freed, size, sum(sizes[one] for one in memories[key]),
            sum(sizes[one] for one in memories[key] if one not in named),
        )
    return found
