"""The graph behind tensors as plain data: nodes with names, shapes, saved tensors and lines; edges; what was left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradsh.engine.node import AccumulateGrad, Node
from gradsh.engine.storage import memory_key
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside
from gradsh.probe.snapshot import node_name

LineOf = Callable[[Any], int | None]


@dataclass(frozen=True, slots=True)
class SavedMark:
    """A saved tensor at a node: name, bytes, state (live, freed, pinned, modified), who else holds it, who freed it."""

    name: str
    shape: tuple[int, ...]
    nbytes: int
    state: str
    held_by: tuple[str, ...]
    freed_line: int | None


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node: its operation, the variables bound to its results, the shape of its output, what it saved, its line."""

    name: str
    variables: tuple[str, ...]
    shape: tuple[int, ...]
    saved: tuple[SavedMark, ...]
    line: int | None
    leaf: bool


@dataclass(frozen=True, slots=True)
class GraphReport:
    """Nodes in the order they are drawn; `edges` are (from, to, output number of `to`), `roots` where it starts.

    `hidden` has (position, nodes below it that were left out).
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int, int], ...]
    roots: tuple[int, ...]
    total: int
    hidden: tuple[tuple[int, int], ...] = ()


def graph_report(
    roots: Sequence[Node], variables: Mapping[str, object], line_of: LineOf, depth: int | None = None,
    most: int | None = None,
) -> GraphReport:
    """Return the graph reachable from `roots`, depth first along `next_functions`, each node once, without recursion.

    `depth` cuts below that many steps; `most` after that many nodes.
    """
    names = Names(variables)
    place: dict[Node, int] = {}
    order: list[Node] = []
    edges: list[tuple[Node, Node, int]] = []
    cut: list[Node] = []
    for root in roots:
        stack = [(root, 0)]
        while stack:
            node, level = stack.pop()
            if node in place:
                continue
            if most is not None and len(order) >= most:
                continue
            place[node] = len(order)
            order.append(node)
            if depth is not None and level >= depth and any(node.edges):
                cut.append(node)
                continue
            following = [edge for edge in node.edges if edge is not None]
            edges += [(node, edge[0], edge[1]) for edge in following]
            stack += [(edge[0], level + 1) for edge in reversed(following)]
    total, hidden = _hidden(roots, place, cut)
    shown = tuple(_node(node, names, line_of) for node in order)
    kept = tuple((place[a], place[b], output) for a, b, output in edges if b in place)
    return GraphReport(shown, kept, tuple(place[root] for root in dict.fromkeys(roots) if root in place), total, hidden)


def _hidden(roots: Sequence[Node], place: dict[Node, int], cut: list[Node]) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Count all nodes, and below each cut node those that are not drawn."""
    seen = set(place)
    counts: list[tuple[int, int]] = []
    starts: list[tuple[int | None, Node]] = [(place[node], node) for node in cut]
    starts += [(None, node) for node in place if node not in set(cut)]
    starts += [(None, root) for root in roots]
    for position, start in starts:
        stack, found = [start], 0
        while stack:
            for edge in stack.pop().edges:
                if edge is not None and edge[0] not in seen:
                    seen.add(edge[0])
                    stack.append(edge[0])
                    found += 1
        if position is not None and found:
            counts.append((position, found))
    return len(seen), tuple(counts)


def _node(node: Node, names: Names, line_of: LineOf) -> GraphNode:
    marks = []
    bound = names.of_node(node)
    for saved in saved_inside(node):
        title = saved.name if saved.index is None else f"{saved.name}[{saved.index}]"
        if saved.freed:
            marks.append(SavedMark(title, saved.shape, saved.nbytes, "freed", (), line_of(saved.freed_where)))
            continue
        state = "modified" if saved.current_version != saved.version else "pinned" if node.pins else "live"
        held = () if saved.array is None else names.of_memory(memory_key(saved.array))
        marks.append(SavedMark(title, saved.shape, saved.nbytes, state, held, None))
    shape = tuple(node.outputs[0][0]) if node.outputs else ()
    leaf = isinstance(node, AccumulateGrad)
    line = None if leaf else line_of(node.where)
    return GraphNode(node_name(node) or "", bound, shape, tuple(marks), line, leaf)
