"""What is drawn of a graph: its nodes, folds in the place of many, and the edges between them, also through what is hidden."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.probe.fold import NodeFold

_FAN = 60
"""Most edges that are followed through hidden nodes from one that is shown."""
_STUBS = 4
"""Most edges of one node to what is not drawn that are told one by one."""
_REDUCED = 3000
"""Most nodes of a part for which it is found out what leads to what."""

Unit = Node | NodeFold


class Cut(NamedTuple):
    """An edge to what is not drawn: the node it comes from, its place among that node's edges, how many nodes it leads to.

    Where a node has more than a few such edges, one stands for all.
    Nodes to which several cut edges lead count for each of them; those that are drawn elsewhere do not.
    """

    source: int
    place: int
    nodes: int


class Drawing:
    """Which nodes and folds are drawn, and the edges between them, also through what is not drawn."""

    def __init__(self, shown: Collection[Node], folds: list[NodeFold], by_birth: Sequence[Node], whole: bool) -> None:
        self.unit: dict[Node, Unit] = {}
        self.through: dict[Node, list[tuple[Unit, int]]] = {}
        self.known: dict[int, list[tuple[Unit, int]]] = {}
        for one in folds:
            self.unit.update(dict.fromkeys(one.nodes, one))
        self.alone = [node for node in by_birth if node not in self.unit] if folds else by_birth
        """Nodes in no fold, drawn or not"""
        self.ends = {id(one): _ends(one, self.unit) for one in folds}
        """fold -> the nodes outside of it to which edges lead from it"""
        self.owned = _owned(folds, self.alone, self.ends) if folds else {}
        self.leaves: dict[int, list[Node]] = {}
        """fold -> the leaves that only it reaches"""
        for leaf, one in self.owned.items():
            self.leaves.setdefault(id(one), []).append(leaf)
        for node in self.alone:
            if (whole or node in shown) and node not in self.owned:
                self.unit[node] = node
        self.leads: dict[int, tuple[int, int]] = {}
        """drawn node -> its number, and as bits the numbers of all to which it leads"""
        if not whole:
            reduce = len(self.unit) <= _REDUCED
            for node in sorted(by_birth, key=lambda node: type(node) is not AccumulateGrad):
                if node not in self.unit:
                    self.through[node] = self._follow(node)
                elif reduce:
                    self._lead(node)

    def _lead(self, node: Node) -> None:
        bits = 1 << len(self.leads)
        number = len(self.leads)
        for below, _ in self._follow(node):
            bits |= self.leads[id(below)][1]
        self.leads[id(node)] = number, bits

    def _follow(self, node: Node) -> list[tuple[Unit, int]]:
        """Return what is drawn right below a node; through hidden ones only what no other of them leads to."""
        found = self._followed(node)
        if len(found) < 2 or not self.leads:
            return found
        direct = set(map(id, node.below()))
        kept, covered = [], 0
        for one in sorted(found, key=lambda one: -self.leads[id(one[0])][0]):
            number, bits = self.leads[id(one[0])]
            if id(one[0]) in direct or not covered >> number & 1:
                kept.append(one)
            covered |= bits
        left = {id(one) for one in kept}
        return [one for one in found if id(one) in left]

    def _followed(self, node: Node) -> list[tuple[Unit, int]]:
        found: dict[tuple[int, int], tuple[Unit, int]] = {}
        for edge in node.edges:
            if edge is None or edge[0] in self.owned:
                continue
            unit = self.unit.get(edge[0])
            for below, output in [(unit, edge[1])] if unit is not None else self.through.get(edge[0], []):
                found.setdefault((id(below), output), (below, output))
            if len(found) > _FAN:
                break
        return list(found.values())

    def below(self, unit: Unit) -> list[tuple[Unit, int]]:
        """Return the drawn things right below a drawn one: (thing, output number)."""
        found = self.known.get(id(unit))
        if found is None:
            if isinstance(unit, NodeFold):
                found = self._below_fold(unit)
            else:
                edges = [edge for edge in unit.edges if edge is not None and edge[0] not in self.owned]
                if all(edge[0] in self.unit for edge in edges):
                    found = [(self.unit[edge[0]], edge[1] if self.unit[edge[0]] is edge[0] else 0) for edge in edges]
                else:
                    found = self._follow(unit)
            self.known[id(unit)] = found
        return found

    def _below_fold(self, unit: NodeFold) -> list[tuple[Unit, int]]:
        found = (self.unit.get(end) for end in self.ends[id(unit)])
        return list({id(below): (below, 0) for below in found if below is not None}.values())

    def starts(self, roots: Sequence[Node]) -> list[Unit]:
        """Return the drawn things where the drawing begins."""
        out: list[Unit] = []
        for root in roots:
            unit = self.unit.get(root)
            out += [unit] if unit is not None else [below for below, _ in self.through.get(root, [])]
        return out

    def walk(self, roots: Sequence[Node], depth: int | None, most: int | None) -> list[Unit]:
        """Return what is drawn, depth first: all, or the nearest to the roots, down to `depth` steps and at most so many."""
        near: dict[int, None] | None = None if depth is None and most is None else self._nearest(roots, depth, most)
        order: list[Unit] = []
        seen: set[int] = set()
        stack = self.starts(roots)[::-1]
        while stack:
            unit = stack.pop()
            if id(unit) not in seen and (near is None or id(unit) in near):
                seen.add(id(unit))
                order.append(unit)
                stack += [one for one, _ in reversed(self.below(unit))]
        return order

    def _nearest(self, roots: Sequence[Node], depth: int | None, most: int | None) -> dict[int, None]:
        """Return the things that are reached first, breadth first."""
        level, steps = self.starts(roots), 0
        found: dict[int, None] = {}
        while level and (depth is None or steps <= depth):
            below: list[Unit] = []
            for unit in level:
                if id(unit) not in found:
                    if most is not None and len(found) >= most:
                        return found
                    found[id(unit)] = None
                    below += [one for one, _ in self.below(unit)]
            level, steps = below, steps + 1
        return found


def _ends(fold: NodeFold, unit: Mapping[Node, Unit]) -> list[Node]:
    """Return the nodes outside of a fold to which edges lead from it, those of its latest node first."""
    found: dict[Node, None] = {}
    for node in reversed(fold.nodes):
        for end in node.below():
            if unit.get(end) is not fold:
                found[end] = None
    return list(found)


def _owned(folds: list[NodeFold], alone: Sequence[Node], ends: Mapping[int, list[Node]]) -> dict[Node, NodeFold]:
    """Return the leaves that only one fold reaches: they are told with it."""
    reached: Counter[Node] = Counter(end for one in folds for end in ends[id(one)] if type(end) is AccumulateGrad)
    elsewhere = {end for node in alone for end in node.below()}
    found: dict[Node, NodeFold] = {}
    for one in folds:
        own = {end for end in ends[id(one)] if reached[end] == 1 and end not in elsewhere}
        for node in one.nodes:  # they are told in the order in which its nodes reach them
            if not own:
                break
            found.update((end, one) for end in node.below() if end in own)
            own.difference_update(node.below())
    return found


def cuts_of(place: Mapping[int, int], order: list[Unit], drawing: Drawing) -> tuple[Cut, ...]:
    """Return the edges from what is drawn to what is not, with how many nodes each leads to that are not drawn."""
    found: list[tuple[int, int, list[Unit]]] = []
    for unit in order:
        cut = [(i, below) for i, (below, _) in enumerate(drawing.below(unit)) if id(below) not in place]
        if len(cut) > _STUBS:
            found.append((place[id(unit)], cut[0][0], [below for _, below in cut]))
        else:
            found += [(place[id(unit)], i, [below]) for i, below in cut]
    counts = _left_out([targets for _, _, targets in found], place, drawing) if found else []
    return tuple(Cut(source, i, number) for (source, i, _), number in zip(found, counts, strict=True))


def _left_out(targets: list[list[Unit]], place: Mapping[int, int], drawing: Drawing) -> list[int]:
    """Return for each list of targets how many nodes they lead to, themselves included, that are not drawn.

    Which targets lead to a thing is carried from above to below as bits of a number, so each thing is visited once.
    """
    masks: dict[int, int] = {}
    for i, several in enumerate(targets):
        for one in several:
            masks[id(one)] = masks.get(id(one), 0) | 1 << i
    units = {id(one): one for several in targets for one in several}
    stack = list(units.values())
    while stack:
        for below, _ in drawing.below(stack.pop()):
            if id(below) not in place and id(below) not in units:
                units[id(below)] = below
                stack.append(below)
    nodes: Counter[int] = Counter()
    for unit in sorted(units.values(), key=_birth, reverse=True):
        mask = masks.pop(id(unit))
        nodes[mask] += len(unit.nodes) + len(drawing.leaves.get(id(unit), ())) if isinstance(unit, NodeFold) else 1
        for below, _ in drawing.below(unit):
            if id(below) in units:
                masks[id(below)] = masks.get(id(below), 0) | mask
    totals = [0] * len(targets)
    for mask, number in nodes.items():
        while mask:
            totals[(mask & -mask).bit_length() - 1] += number
            mask &= mask - 1
    return totals


def _birth(unit: Unit) -> int:
    """Order what edges lead from before what they lead to, from the last."""
    if isinstance(unit, NodeFold):
        return unit.nodes[-1].seq
    return -1 if type(unit) is AccumulateGrad else unit.seq
