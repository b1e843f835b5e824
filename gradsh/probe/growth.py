"""Graphs that grow: what a variable keeps alive of earlier loop passes or statements, and which line carries it on.

A graph that spans several passes of a loop, built at the same places in each, was carried from pass to pass. Nothing
needs to be noted while the script runs: each node knows the pass in which it was born.
"""

import gc
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor
from gradsh.engine.graph.types import Location
from gradsh.engine.values.reduced import bytes_of
from gradsh.probe.accounts import memories_in, owners_in, saved_memories
from gradsh.probe.foreign import looking
from gradsh.probe.names import named_tensors, top_name
from gradsh.probe.snapshot import node_name, nodes_below, nodes_below_all
from gradsh.process.pace import paced

PlaceOf = Callable[[Location], Any]
Site = tuple[str, int, int]
Pass = tuple[int, int]
"""The pass of a loop, or the call, in which a node was made, and its code; nodes keep both alive."""
Kind = Literal["total", "list", "carried", "grad", "unreachable"]
FEWEST = 3
"""A graph counts as growing when it spans at least so many passes."""

_SUMS = frozenset({"AddBackward0", "SubBackward0", "AddBackward1", "StackBackward0", "CatBackward0"})


class Leak(NamedTuple):
    """A graph that grows: what holds it (by path), over how many passes, its nodes and saved bytes, the line at fault.

    `kind`: a running total, a list of results, a state carried over, a gradient with a graph of its own (create_graph), or
    nodes that no name reaches. `text` is the expression on that line.
    """

    kind: Kind
    path: str
    passes: int
    nodes: int
    nbytes: int
    line: int | None
    text: str
    freed: bool = False
    growing: int = 0
    """Bytes of the memories that come with a pass: one that most passes save, such as a weight, does not grow."""

    @property
    def per_pass(self) -> tuple[int, int]:
        """Nodes and bytes that each pass adds."""
        return self.nodes // max(1, self.passes), self.growing // max(1, self.passes)


class LeakReport(NamedTuple):
    """The leaks, worst first; and how many graphs, nodes and bytes are alive in all."""

    leaks: tuple[Leak, ...]
    graphs: int
    nodes: int
    nbytes: int


class _Births:
    """Where nodes were born: the site (text and columns, so that a line typed again is the same site) and the pass."""

    def __init__(self, place_of: PlaceOf) -> None:
        self.place_of = place_of
        self.sites: dict[tuple[int, int], Site] = {}
        self.lines: dict[Site, int] = {}
        """site -> its line, the latest of several"""
        self._made_in: tuple[object, object] = (None, None)
        self._pass: Pass = (0, 0)

    def of(self, node: Node) -> tuple[Site, Pass] | None:
        """Return (site, pass) of a node's birth, None where no line of the script made it."""
        where = node.location
        if where is None:
            return None
        activation, code, offset = where
        site = self.sites.get((id(code), offset))
        if site is None:
            site = self.sites[(id(code), offset)] = self._site(where)
        if activation is not self._made_in[0] or code is not self._made_in[1]:  # mostly that of the node before
            around = activation
            while around[0] is not None and around[2] is None and not around[1]:  # a module, or a loop that begins
                around = around[0]
            self._made_in, self._pass = (activation, code), (id(around), id(code))
        return site, self._pass

    def _site(self, where: object) -> Site:
        place = self.place_of(where)
        line = place.statement.line
        site = (place.source.line(line).strip(), place.span.column, place.span.end_column)
        self.lines[site] = max(line, self.lines.get(site, 0))
        return site


def leaks(variables: Mapping[str, object], place_of: PlaceOf, owns: Callable[[object], bool]) -> LeakReport:
    """Find the graphs that grow, by the names that keep them alive; `owns` tells which places are this program's."""
    births = _Births(place_of)
    found: list[Leak] = []
    told: set[Node] = set()
    alive: dict[Node, None] = {}
    groups: dict[str, list[tuple[str, Tensor]]] = {}
    reached: set[Node] = set()
    sizes: dict[int, int] = {}
    for path, tensor in named_tensors(variables):
        if tensor.edge is not None:
            groups.setdefault(top_name(path), []).append((path, tensor))
            alive[tensor.edge[0]] = None
        found += _gradient(path, tensor, alive)
    for name, held in sorted(groups.items(), key=lambda one: len(one[1]) == 1):
        leak = _items(name, held, births) if len(held) >= FEWEST else None
        if leak is not None:
            found.append(leak)
            told.update(tensor.edge[0] for _, tensor in held if tensor.edge is not None)
            continue
        for path, tensor in held:
            node = tensor.edge[0] if tensor.edge is not None else None
            if node is not None and node not in told:
                told.add(node)
                carried = _carried(path, node, births, reached, sizes)
                found += [] if carried is None else [carried]
    sizes |= memories_in(nodes_below_all(alive, reached))
    found += _unreachable(reached, births, owns)
    ordered = sorted(found, key=lambda one: (-one.nbytes, -one.nodes))
    return LeakReport(tuple(ordered), len(alive), len(reached), sum(sizes.values()))


def _gradient(path: str, tensor: Tensor, alive: dict[Node, None]) -> list[Leak]:
    """A gradient that has a graph: under create_graph it reaches back to its own leaf, a cycle."""
    grad = None if tensor.meta is None else tensor.meta.grad
    if grad is None or grad.edge is None:
        return []
    root = grad.edge[0]
    alive[root] = None
    below = list(nodes_below(root))
    size = sum(memories_in(below).values())
    cycle = any(isinstance(node, AccumulateGrad) and node.variable is tensor for node in below)
    text = "reaches its own leaf: a cycle" if cycle else "has a graph"
    return [Leak("grad", f"{path}.grad", 1, len(below), size, None, text)]


def _items(name: str, held: list[tuple[str, Tensor]], births: _Births) -> Leak | None:
    """Several tensors under one name, made at one place in different passes: a list of results with their graphs."""
    places: dict[Any, set[Any]] = {}
    for _, tensor in held:
        born = births.of(tensor.edge[0]) if tensor.edge is not None else None
        if born is not None:
            places.setdefault(born[0], set()).add(born[1])
    site, passes = max(places.items(), key=lambda one: len(one[1]), default=(None, set()))
    if site is None or len(passes) < FEWEST:
        return None
    nodes = list(nodes_below_all(tensor.edge[0] for _, tensor in held if tensor.edge is not None))
    return _leak("list", name, len(passes), _Span(nodes, births), site, births)


def _carried(path: str, root: Node, births: _Births, reached: set[Node], sizes: dict[int, int]) -> Leak | None:
    """One tensor whose graph repeats the same places over several passes: a total, or a state carried on.

    The nodes of the graph are added to `reached`, the memories that they save to `sizes`.
    """
    span = _Span(list(nodes_below(root)), births)
    reached.update(span.nodes)
    sizes |= span.sizes
    sites = span.sites
    most = max(map(len, sites.values()), default=0)
    if most < FEWEST:
        return None
    carrier = _carrier(root, births)
    site = carrier if carrier in sites else max(sites, key=lambda one: len(sites[one]))
    return _leak("total" if _adds_up(span.latest[site], site, births) else "carried", path, most, span, site, births)


class _Span:
    """The nodes of a graph, seen once: in which passes each place made some, the latest of each place, and what they save."""

    def __init__(self, nodes: list[Node], births: _Births) -> None:
        self.nodes = nodes
        self.sites: dict[Site, set[Pass]] = {}
        self.latest: dict[Site, Node] = {}
        self.sizes: dict[int, int] = {}
        self.once: dict[int, Pass] = {}
        self.again: dict[int, set[Pass]] = {}
        """memory -> the pass that saved it, and all of them where there are several"""
        for node in paced(nodes, "compared"):
            born = None if type(node) is AccumulateGrad else births.of(node)
            if born is not None:
                self._note(node, *born)
            for owner in owners_in(node):
                self._save(id(owner), bytes_of(owner), None if born is None else born[1])

    def _note(self, node: Node, site: Site, birth: Pass) -> None:
        passes = self.sites.get(site)
        if passes is None:
            passes, self.latest[site] = self.sites.setdefault(site, set()), node
        passes.add(birth)
        if node.seq > self.latest[site].seq:
            self.latest[site] = node

    def _save(self, memory: int, size: int, birth: Pass | None) -> None:
        self.sizes[memory] = size
        if birth is not None:
            first = self.once.setdefault(memory, birth)
            if first is not birth and first != birth:
                self.again.setdefault(memory, {first}).add(birth)

    def growing(self) -> int:
        """Return the bytes of the memories that come with a pass, and are not saved in most passes again."""
        every = len(set(self.once.values()).union(*self.again.values()))
        steady = max(FEWEST, every // 2 + 1)
        found = sum([self.sizes[memory] for memory in self.once])
        return found - sum(self.sizes[memory] for memory, passes in self.again.items() if len(passes) >= steady)


def _leak(kind: Kind, path: str, passes: int, span: _Span, site: Site, births: _Births) -> Leak:
    spent = any(node.freed for node in span.nodes)
    size = sum(span.sizes.values())
    return Leak(kind, path, passes, len(span.nodes), size, births.lines[site], site[0], spent, span.growing())


def _adds_up(start: Node, site: Site, births: _Births) -> bool:
    """Whether sums alone lead from a node to what the same place made in an earlier pass."""
    stack, seen = [start], {start}
    while stack:
        node = stack.pop()
        if node_name(node) not in _SUMS:
            continue
        born = births.of(node)
        if node is not start and born is not None and born[0] == site:
            return True
        for below in node.below():
            if below not in seen:
                seen.add(below)
                stack.append(below)
    return False


def _carrier(root: Node, births: _Births) -> Site | None:
    """Return the place that carries the graph on: the first below the root that comes again, in another pass."""
    first: dict[Site, Any] = {}
    level: list[Node] = [root]
    seen: set[Node] = set()
    while level:
        below: list[Node] = []
        for node in level:
            born = None if isinstance(node, AccumulateGrad) else births.of(node)
            if born is not None and first.setdefault(born[0], born[1]) != born[1]:
                return born[0]
            for end in node.below():
                if end not in seen:
                    seen.add(end)
                    below.append(end)
        level = below
    return None


def _unreachable(reached: set[Node], births: _Births, owns: Callable[[object], bool]) -> list[Leak]:
    """Nodes that are alive though no name leads to them: cycles through hooks or gradients, and what closures hold."""
    if looking.get() is not None:
        return []  # the nodes of another engine are not among Python's objects
    gc.unfreeze()  # what the governor passes over would not be among the objects
    every = gc.get_objects()
    kinds = {kind for kind in set(map(type, every)) if issubclass(kind, Node) and kind is not AccumulateGrad}
    lost = [one for one in every if type(one) in kinds and one not in reached and owns(one.location)]
    del every
    if not lost:
        return []
    sizes, _ = saved_memories(lost)
    latest = max(lost, key=lambda one: one.seq)
    born = births.of(latest)
    line, text = (None, "") if born is None else (births.lines[born[0]], born[0][0])
    passes = len({birth[1] for birth in map(births.of, lost) if birth is not None})
    return [Leak("unreachable", "no name", passes, len(lost), sum(sizes.values()), line, text)]
