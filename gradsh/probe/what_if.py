"""What a pass would keep, free, run and need at its peak, today and if something were retained, detached, checkpointed or not recorded.

The graph is gone through in the pass's order; nothing is run. Bytes are those of saved tensors, without leaves, and of gradients
on their way and at leaves. What a checkpoint keeps is what its module was called with: results of nodes outside, and data without a
graph that was there before the call, which shows where others read it, too.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.values.reduced import BFLOAT16, bytes_of
from gradsh.engine.values.storage import memory_bytes, memory_key
from gradsh.probe.given import arrays_in, kept_in
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.snapshot import nodes_below_all
from gradsh.process.pace import paced

_PRUNED = 16
"""Modules of a proposal of which it is tried whether it fits without them."""


class Outlook(NamedTuple):
    """What a pass would do: nodes to run and to compute again, bytes saved before it, freed and kept by it, and at its peak."""

    what: str
    nodes: int
    recomputed: int
    saved: int
    freed: int
    kept: int
    peak: int


class Supposition(NamedTuple):
    """What would be otherwise: nodes whose saved tensors stay, nodes that no edge leads to, modules whose calls are checkpointed."""

    what: str = "today"
    retained: Collection[Node] = ()
    cut: Collection[Node] = ()
    checkpointed: tuple[str, ...] = ()


class Proposal(NamedTuple):
    """The modules to checkpoint for a peak of `size` bytes, and what that would cost; `fits` is False where none is enough."""

    size: int
    fits: bool
    modules: tuple[str, ...]
    today: Outlook
    then: Outlook


class Prospect:
    """A graph, ready to be gone through as it would be after several changes."""

    def __init__(self, roots: Sequence[Node], variables: Mapping[str, object], retain: bool) -> None:
        self.roots = roots
        self.retain = retain
        self.paths = ModulePaths(variables)
        seen = set(nodes_below_all(roots))
        self.inner = sorted((node for node in seen if type(node) is not AccumulateGrad), key=lambda node: -node.seq)
        self.edges = {node: [edge for edge in node.edges if edge is not None] for node in paced(self.inner, "read")}
        self.held = self._memories({memory_key(one.variable.array) for one in seen if isinstance(one, AccumulateGrad)})

    def _memories(self, leaves: set[int]) -> dict[Node, dict[int, int]]:
        """Return by node the memories that it saves, and their bytes."""
        return {
            node: {key: memory_bytes(array) for array in arrays_in(node) if (key := memory_key(array)) not in leaves}
            for node in paced(self.inner, "measured")
        }

    @cached_property
    def results(self) -> dict[tuple[Node, int], int]:
        """The memory of each result that some node saved."""
        found: dict[tuple[Node, int], int] = {}
        for node in paced(self.inner, "read"):
            for one in kept_in(node):
                if one.array is not None and one.edge is not None:
                    edge = (node, one.edge) if type(one.edge) is int else one.edge
                    if type(edge) is tuple:
                        found[edge[:2]] = memory_key(one.array)
        return found

    @cached_property
    def data(self) -> set[int]:
        """The memories that are saved and are no node's result nor a leaf."""
        kept = {
            memory_key(one.array)
            for node in paced(self.inner, "read") for one in kept_in(node) if one.array is not None and one.edge is None
        }
        return kept - set(self.results.values())

    def within(self, path: str) -> list[Node]:
        """Return the nodes that the calls of a module made."""
        return [node for node in self.inner if any(call.path == path for call in self.paths.calls(node.location))]

    def modules(self) -> dict[str, int]:
        """Return the paths of the modules that made nodes, and how deep each lies in calls of others."""
        return {call.path: depth for node in paced(self.inner, "placed") for depth, call in enumerate(self.paths.calls(node.location))}

    def savings(self) -> dict[str, int]:
        """Return by module the bytes that its calls saved."""
        found: dict[str, int] = {}
        for node in paced(self.inner, "placed"):
            for path in {call.path for call in self.paths.calls(node.location)}:
                found[path] = found.get(path, 0) + sum(self.held[node].values())
        return found

    def outlook(self, change: Supposition) -> Outlook | None:
        """Return what the pass would do after a change; None where no gradient would be recorded."""
        alive = self._alive(change.cut)
        roots = [root for root in self.roots if root in alive]
        return _PassAhead(self, alive, change, roots).run() if roots else None

    def _alive(self, cut: Collection[Node]) -> set[Node]:
        """Return the nodes that would still be recorded, and reached from the roots."""
        gone: set[Node] = set(cut)
        for node in reversed(self.inner):
            if self.edges[node] and all(edge[0] in gone for edge in self.edges[node]):
                gone.add(node)
        found = {root for root in self.roots if root not in gone}
        for node in paced(self.inner, "reached"):
            if node in found:
                found.update(edge[0] for edge in self.edges[node] if edge[0] not in gone)
        return found


class _PassAhead:
    """One way through a prospect."""

    def __init__(self, graph: Prospect, alive: set[Node], change: Supposition, roots: list[Node]) -> None:
        self.graph = graph
        self.alive = alive
        self.change = change
        self.roots = roots
        self.region = {node: one for node in graph.inner if node in alive and (one := self._region_of(node)) is not None}
        self.members: dict[int, list[Node]] = {}
        for node, region in self.region.items():
            self.members.setdefault(region, []).append(node)
        self.shared = self._shared() if self.members else set()
        self.holders: dict[object, int] = {}
        self.sizes: dict[object, int] = {}
        self.live = 0

    def _region_of(self, node: Node) -> int | None:
        """Return what tells the checkpointed call that made a node; None for one outside."""
        if not self.change.checkpointed:
            return None
        return next((one.call for one in self.graph.paths.calls(node.location) if one.path in self.change.checkpointed), None)

    def _shared(self) -> set[int]:
        """Return the memories of data that not only one checkpointed call reads."""
        readers: dict[int, set[int | None]] = {}
        for node in filter(self.alive.__contains__, self.graph.inner):
            for key in self.graph.held[node].keys() & self.graph.data:
                readers.setdefault(key, set()).add(self.region.get(node))
        return {key for key, found in readers.items() if len(found) > 1}

    def run(self) -> Outlook:
        """Go through the nodes in order."""
        nodes = [node for node in self.graph.inner if node in self.alive]
        for node in paced(nodes, "foreseen"):
            if node not in self.region:
                self._hold(self.graph.held[node])
        for members in self.members.values():
            self._hold(self._inputs(members))
        saved = peak = self.live
        waiting = {root: _bytes_of(root) for root in self.roots}
        flying, recomputed, freed = sum(waiting.values()), 0, 0
        begun: set[int] = set()
        for node in paced(nodes, "foreseen"):
            region = self.region.get(node)
            if region is not None and region not in begun:
                begun.add(region)
                recomputed += len(self.members[region])
                for member in self.members[region]:
                    self._hold(self.graph.held[member])
            for below, output in self.graph.edges[node]:
                if below in self.alive and below not in waiting:
                    waiting[below] = _bytes_of(below, output)
                    flying += waiting[below]
            peak = max(peak, self.live + flying)
            flying -= waiting.get(node, 0)
            if not (self.graph.retain or node.pins or node in self.change.retained):
                freed += self._drop(self.graph.held[node])
                if region is not None and node is self.members[region][-1]:
                    freed += self._drop(self._inputs(self.members[region]))
        return Outlook(self.change.what, len(self.alive), recomputed, saved, freed, self.live, peak)

    def _inputs(self, members: Iterable[Node]) -> dict[Any, int]:
        """Return what a checkpointed call keeps: the results and the data from outside that its nodes read."""
        inside = set(members)
        results = {
            self.graph.results.get((below, output), (below, output)): _bytes_of(below, output)
            for node in inside for below, output in self.graph.edges[node]
            if below not in inside and type(below) is not AccumulateGrad
        }
        return results | {key: size for node in inside for key, size in self.graph.held[node].items() if key in self.shared}

    def _hold(self, memories: Mapping[Any, int]) -> None:
        for key, size in memories.items():
            if not self.holders.get(key):
                self.live += size
                self.sizes[key] = size
            self.holders[key] = self.holders.get(key, 0) + 1

    def _drop(self, memories: Mapping[Any, int]) -> int:
        freed = 0
        for key in memories:
            self.holders[key] -= 1
            freed += 0 if self.holders[key] else self.sizes[key]
        self.live -= freed
        return freed


def _bytes_of(node: Node, output: int = 0) -> int:
    """Return the bytes of a gradient that arrives at a node; none where a leaf has one to which it is added."""
    if isinstance(node, AccumulateGrad):
        meta = node.variable.meta
        return 0 if meta is not None and meta.grad is not None else bytes_of(node.variable.array)
    shape, dtype = node.outputs[output][:2]
    number = 2 if dtype == BFLOAT16 else int(dtype.itemsize)
    for one in shape:
        number *= int(one)
    return number


def propose(graph: Prospect, size: int) -> Proposal:
    """Return the modules to checkpoint, of one depth, so that the peak is at most `size`, for the fewest nodes computed again.

    Of each depth those that save most are taken until it fits; what proves superfluous is left out.
    """
    today = graph.outlook(Supposition())
    assert today is not None
    if today.peak <= size:
        return Proposal(size, True, (), today, today)
    depths: dict[int, list[str]] = {}
    for path, depth in graph.modules().items():
        depths.setdefault(depth, []).append(path)
    tried = [_at_depth(graph, paths, size, today) for paths in depths.values()]
    fitting = [one for one in tried if one.fits]
    if fitting:
        return min(fitting, key=lambda one: (one.then.recomputed, one.then.peak))
    return min(tried, key=lambda one: one.then.peak, default=Proposal(size, False, (), today, today))


def _at_depth(graph: Prospect, paths: list[str], size: int, today: Outlook) -> Proposal:
    def then(modules: Sequence[str]) -> Outlook:
        return graph.outlook(Supposition("then", checkpointed=tuple(modules))) or today

    saving = graph.savings()
    ordered = sorted(paths, key=lambda path: -saving[path])
    fewest = bisect_left(range(1, len(ordered) + 1), True, key=lambda number: then(ordered[:number]).peak <= size) + 1
    chosen = ordered[:fewest]
    for path in chosen[:_PRUNED]:
        rest = [one for one in chosen if one != path]
        if rest and then(rest).peak <= size:
            chosen = rest
    best = then(chosen)
    return Proposal(size, best.peak <= size, tuple(sorted(chosen, key=paths.index)), today, best)
