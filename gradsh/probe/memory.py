"""Bytes by owner, now and at the peak; what each variable keeps alive; everything that holds one tensor's memory."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from numpy import zeros

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_bytes, memory_key, owner_of
from gradsh.probe.accounts import Account, saved_memories, take_account
from gradsh.probe.buffers import RollUp
from gradsh.probe.foreign import looking
from gradsh.probe.given import arrays_kept, references
from gradsh.probe.meter import Meter
from gradsh.probe.names import Names, named_tensors, roots_of, top_name
from gradsh.probe.passes import live_entries
from gradsh.probe.snapshot import node_name, nodes_below_all

_BUDGET = 400_000
"""Nodes that may be visited to tell variables apart; beyond it the smaller ones are left out."""


class Keeper(NamedTuple):
    """A variable, the bytes of its own memories, and the graph that it keeps alive: nodes and bytes saved in these."""

    name: str
    tensors: int
    nbytes: int
    nodes: int
    saved: int


class MemoryReport(NamedTuple):
    """Accounts now and at the peak (None: not followed), the peak's line and what was alive then, and the timeline."""

    now: Account
    peak: Account | None
    peak_line: int | None
    peak_held: tuple[tuple[str, int], ...]
    keepers: tuple[Keeper, ...]
    timeline: tuple[tuple[int, int], ...]
    recomputed: int = 0
    """How many tensors of the live graphs are not kept, because a checkpoint computes them again."""
    by: str = ""
    groups: tuple[RollUp, ...] = ()
    """What modules, lines, operations or functions saved or variables hold, where `by` asks for it."""


def memory_report(variables: Mapping[str, object], meter: Meter | None) -> MemoryReport:
    """Return the report; the state now counts for the peak, too."""
    now = take_account(variables)
    roots = roots_of(variables)
    keepers = tuple(keepers_of(variables, {frozenset(node for _, node in roots): (now.nodes, now.saved)}))
    timeline = () if meter is None else tuple((one.line, one.account.total) for one in meter.samples)
    if meter is None or meter.peak is None:
        return MemoryReport(now, None, None, (), keepers, timeline, recomputed_in(roots))
    peak = meter.peak
    return MemoryReport(now, peak.account, peak.line, peak.held, keepers, timeline, recomputed_in(roots))


def recomputed_in(roots: Iterable[tuple[str, Node]]) -> int:
    """Return how many saved tensors of the graphs below some roots a checkpoint will compute again."""
    nodes = (
        node for node in nodes_below_all(root for _, root in roots)
        if type(node) is not CompactNode or node.live_arrays() is None
    )
    return sum(saved.recomputed for node in nodes for saved in node.saved if saved.array is None)


def keepers_of(variables: Mapping[str, object], known: dict[frozenset[Node], tuple[int, int]]) -> list[Keeper]:
    """Return a row for each variable that holds tensors, the largest first; of the graphs below the roots in `known` their size is."""
    own: dict[str, dict[int, int]] = {}
    numbers: dict[str, set[int]] = {}
    for path, tensor in named_tensors(variables):
        name = top_name(path)
        mine = own.setdefault(name, {})
        numbers.setdefault(name, set()).add(id(tensor))
        mine[memory_key(tensor.array)] = memory_bytes(tensor.array)
        if tensor.meta is not None and tensor.meta.grad is not None:
            mine[memory_key(tensor.meta.grad.array)] = memory_bytes(tensor.meta.grad.array)
    graphs = graphs_of(variables, known)
    rows = []
    for name, mine in own.items():
        nodes, saved = graphs.get(name, (0, 0))
        rows.append(Keeper(name, len(numbers[name]), sum(mine.values()), nodes, saved))
    return sorted(rows, key=lambda row: (-row.saved - row.nbytes, row.name))


def graphs_of(
    variables: Mapping[str, object], known: dict[frozenset[Node], tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Return by variable how many nodes it keeps alive, and the bytes of the memories saved there (see `keepers_of`)."""
    roots: dict[str, dict[Node, None]] = {}
    for path, node in roots_of(variables):
        roots.setdefault(top_name(path), {})[node] = None
    found: dict[str, tuple[int, int]] = {}
    left = _BUDGET
    for name, nodes in sorted(roots.items(), key=lambda one: -max(node.seq for node in one[1])):
        key = frozenset(nodes)
        if key not in known:
            if left <= 0:
                continue
            sizes, number = saved_memories(nodes)
            left -= number
            known[key] = (number, sum(sizes.values()))
        found[name] = known[key]
    return found


class Holder(NamedTuple):
    """One thing that keeps a memory alive: what it is (variable, view, gradient, saved tensor), by which name, its line."""

    kind: str
    name: str
    line: int | None
    detail: str


class HoldersReport(NamedTuple):
    """A memory: its bytes, what holds it, and how many other references there are, to which no name leads."""

    tensor: str
    shape: tuple[int, ...]
    nbytes: int
    memory: int
    holders: tuple[Holder, ...]
    others: int = 0


def holders_of(
    tensor: Tensor, text: str, variables: Mapping[str, object], line_of: LineOf, more: Iterable[Node] = ()
) -> HoldersReport:
    """Return everything with a name that keeps the memory of `tensor` alive."""
    key = memory_key(tensor.array)
    below = nodes_below_all([*(node for _, node in roots_of(variables)), *more])
    nodes = sorted((node for node in below if key in map(memory_key, arrays_kept(node))), key=lambda node: node.seq)
    world = looking.get()
    holders = (*_tensors(tensor, key, variables), *_saved(key, nodes, Names(variables), line_of))
    nbytes = bytes_of(tensor.array)
    if world is not None:
        others = world.unaccounted(tensor)
        return HoldersReport(text, tuple(tensor.array.shape), nbytes, memory_bytes(tensor.array), holders, others)
    known = _KnownMemory(owner_of(tensor.array))
    for _, one in [*named_tensors(variables), ("", tensor)]:
        known.tensor(one)
    for node in nodes:
        for array in arrays_kept(node):
            known.entry(array)
    array = None  # it must not be counted
    return HoldersReport(text, tuple(tensor.array.shape), nbytes, memory_bytes(tensor.array), holders, known.unknown())


def _saved(key: int, nodes: Iterable[Node], names: Names, line_of: LineOf) -> Iterable[Holder]:
    for node in nodes:
        for title, array, _ in live_entries(node):
            if array is not None and memory_key(array) == key:
                bound = names.of_node(node)
                made = f"saved by the node that made {bound[0]}" if bound else "saved by a node"
                yield Holder("saved", f"{node_name(node)}.{title}", line_of(node.location), made + (", pinned" if node.pins else ""))


class _KnownMemory:
    """The references to a memory that are accounted for, to find out whether there are more."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.tensors: set[int] = set()
        self.arrays: dict[int, list[Any]] = {}

    def tensor(self, one: Tensor) -> None:
        """Account for a tensor, the base it is a view of, and its gradient."""
        stack = [one]
        while stack:
            each = stack.pop()
            if id(each) in self.tensors:
                continue
            self.tensors.add(id(each))
            self.entry(each.array)
            if each.meta is not None:
                stack += [each.meta.view.base] if each.meta.view is not None else []
                stack += [each.meta.grad] if each.meta.grad is not None else []

    def entry(self, array: Any) -> None:
        """Account for one reference to an array."""
        if owner_of(array) is self.owner:
            self.arrays.setdefault(id(array), [array, 0])[1] += 1

    def unknown(self) -> int:
        """Return how many references to the owner or its views are left over."""
        owner = [self.owner, 0]
        del self.owner
        spare = references([zeros(1), 0])
        left = 0
        for pair in self.arrays.values():
            if pair[0] is owner[0]:
                owner[1] += pair[1] + 1
            else:
                left += max(0, references(pair) - pair[1] - spare)
                owner[1] += pair[0].base is owner[0]
        return int(left + max(0, references(owner) - owner[1] - spare))


def _tensors(tensor: Tensor, key: int, variables: Mapping[str, object]) -> Iterable[Holder]:
    seen: set[str] = set()
    for path, one in named_tensors(variables):
        held: Tensor | None = one
        kind = ""
        while held is not None and path not in seen:
            seen.add(path)
            if memory_key(held.array) == key:
                yield Holder(kind or _kind(held, tensor, path), path, None, _detail(held, tensor))
            held = None if held.meta is None else held.meta.grad
            path += ".grad"
            kind = "gradient"


def _kind(held: Tensor, tensor: Tensor, path: str) -> str:
    if held is not tensor and held._base is not None:
        return "view"
    return "variable" if path.isidentifier() else "item"


def _detail(held: Tensor, tensor: Tensor) -> str:
    if held is tensor:
        return "the tensor itself"
    shape = tuple(held.array.shape)
    if held._base is not None:
        return f"a view of it, {shape}" if held._base is tensor else f"a view of the same storage, {shape}"
    if held.edge is None and tensor.edge is not None:
        return f"detached, shares its storage, {shape}"
    return f"shares its storage, {shape}"
