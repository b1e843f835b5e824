"""Where the nodes of a drawing stand and how its edges run: layered from top to bottom, by the library grandalf.

Lengths are in points of the picture; text is measured in a monospaced font.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from gradsh.render.dag import BULLETS, node_text
from gradsh.render.style import width_of
from gradsh.text.fault import fail
from gradsh.view.shapes import Dag, DagNode

CHAR, LINE, PAD = 6.6, 15.0, 8.0
"""Width of a character, height of a line, space around the text of a box."""
MARGIN = 20.0
LEAF = "AccumulateGrad"
_MOST_USERS = 2
_MOST_BOXES = 5_000


class Text(NamedTuple):
    """A line of text in a box: what it says, and its role (name, title, live, freed, pinned, modified, line, more)."""

    text: str
    role: str


class Box(NamedTuple):
    """A node: its centre, size, lines, and what it is (leaf, fold, stub or node)."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[Text, ...]
    kind: str


class EdgePath(NamedTuple):
    """An edge: the points it runs through, and its label."""

    points: tuple[tuple[float, float], ...]
    label: str


class Layout(NamedTuple):
    """A drawing in place: its size, boxes, paths, and sentences below."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    paths: tuple[EdgePath, ...]
    footer: tuple[str, ...]


class _View:
    """What grandalf reads and writes of a vertex."""

    def __init__(self, width: float, height: float) -> None:
        self.w = width
        self.h = height
        self.xy = (0.0, 0.0)


class _EdgeView:
    """What grandalf writes of an edge."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def setpath(self, points: list[tuple[float, float]]) -> None:
        """Take the points that the edge runs through."""
        self.points = list(points)


def lay_out(dag: Dag) -> Layout:
    """Return the drawing in place. Raises ValueError (kind `value`) where the layout library is not installed."""
    try:
        from grandalf.graphs import Edge, Graph, Vertex
    except ImportError:
        raise fail("value", "pictures need the library grandalf: pip install grandalf", ValueError) from None
    if len(dag.nodes) > _MOST_BOXES:
        ways = "choose fewer with --limit or --depth, or take dot or mermaid"
        raise fail("value", f"a picture of {len(dag.nodes):,} nodes takes too long to lay out: {ways}", ValueError)
    dag = with_copies(dag)
    lines = [lines_of(node) for node in dag.nodes]
    vertices = [Vertex(i) for i in range(len(dag.nodes))]
    for vertex, texts in zip(vertices, lines, strict=True):
        vertex.view = _View(*_size(texts))
    wires = _distinct(dag)
    edges = [Edge(vertices[a], vertices[b]) for a, b in wires]
    for edge in edges:
        edge.view = _EdgeView()
    left = 0.0
    for part in Graph(vertices, edges).C:
        left = _place(part, left)
    return _layout(dag, vertices, edges, lines, list(wires.values()))


def with_copies(dag: Dag) -> Dag:
    """Return the drawing with a copy of a leaf for each of its users, where these are many: long edges hide the rest."""
    users: dict[int, list[int]] = {}
    for source, target, _ in dag.edges:
        if dag.nodes[target].title == LEAF and source not in users.setdefault(target, []):
            users[target].append(source)
    nodes, copies = list(dag.nodes), {}
    for leaf, sources in users.items():
        if len(sources) <= _MOST_USERS:
            continue
        for source in sources[1:]:
            copies[(source, leaf)] = len(nodes)
            nodes.append(dag.nodes[leaf])
    edges = tuple(edge._replace(target=copies.get((edge.source, edge.target), edge.target)) for edge in dag.edges)
    return dag._replace(nodes=tuple(nodes), edges=edges)


def _distinct(dag: Dag) -> dict[tuple[int, int], str]:
    """Return each pair of joined nodes once, with what its edges say (`:1`, `2×`)."""
    found: dict[tuple[int, int], list[str]] = {}
    for edge in dag.edges:
        found.setdefault((edge.source, edge.target), []).append(edge.label)
    return {pair: _joined(labels) for pair, labels in found.items()}


def _joined(labels: list[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return ", ".join(one or ":0" for one in labels) if any(labels) else f"{len(labels)}×"


def _place(part: Any, left: float) -> float:
    """Lay out one connected part, right of `left`; return where it ends."""
    from grandalf.layouts import SugiyamaLayout
    from grandalf.routing import route_with_lines

    views = [vertex.view for vertex in part.sV]
    if len(views) > 1:
        layout = SugiyamaLayout(part)
        layout.xspace, layout.yspace = 24, 28
        layout.route_edge = route_with_lines
        layout.init_all(roots=[vertex for vertex in part.sV if not vertex.e_in()])
        layout.draw(3)
        for layer in layout.layers:
            _spread([one.view for one in layer])
        layout.draw_edges()
    shift = left - min(view.xy[0] - view.w / 2 for view in views)
    top = min(view.xy[1] - view.h / 2 for view in views)
    for view in views:
        view.xy = (view.xy[0] + shift, view.xy[1] - top)
    for edge in part.sE:
        edge.view.points = [(x + shift, y - top) for x, y in edge.view.points]
    return float(max(view.xy[0] + view.w / 2 for view in views)) + 40


def _spread(views: list[Any], gap: float = 24) -> None:
    """Move what stands in one layer apart where it overlaps, as little as possible (the library centres, and lets boxes overlap).

    Without the room that each takes the places must not fall from left to right: where they do, they take their mean.
    """
    views.sort(key=lambda view: view.xy[0])
    room, before = [0.0], 0.0
    for left, right in pairwise(views):
        before += (left.w + right.w) / 2 + gap
        room.append(before)
    blocks: list[tuple[float, int]] = []  # (sum of places, how many)
    for view, taken in zip(views, room, strict=True):
        blocks.append((view.xy[0] - taken, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = blocks[-1][0] + last[0], blocks[-1][1] + last[1]
    places = [total / number for total, number in blocks for _ in range(number)]
    for view, taken, place in zip(views, room, places, strict=True):
        view.xy = (place + taken, view.xy[1])


def _layout(dag: Dag, vertices: list[Any], edges: list[Any], lines: list[tuple[Text, ...]], labels: list[str]) -> Layout:
    boxes = tuple(
        Box(vertex.view.xy[0] + MARGIN, vertex.view.xy[1] + MARGIN, vertex.view.w, vertex.view.h, texts, _kind(node))
        for vertex, texts, node in zip(vertices, lines, dag.nodes, strict=True)
    )
    paths = tuple(
        EdgePath(tuple((x + MARGIN, y + MARGIN) for x, y in edge.view.points), label)
        for edge, label in zip(edges, labels, strict=True)
    )
    footer = tuple(one for one in (dag.more, *dag.totals) if one)
    points = [point for path in paths for point in path.points]
    right = max([*(box.x + box.width / 2 for box in boxes), *(x for x, _ in points), *(len(one) * CHAR for one in footer)])
    below = max(box.y + box.height / 2 for box in boxes)
    return Layout(right + MARGIN, below + MARGIN + LINE * len(footer), boxes, paths, footer)


def lines_of(node: DagNode) -> tuple[Text, ...]:
    """Return what stands in a node's box."""
    if node.stub:
        return (Text(node.title, "more"),)
    out = [Text(", ".join(node.names), "name")] if node.names else []
    out.append(Text(node_text(node._replace(names=())), "title"))
    out += [Text(f"{BULLETS.get(mark.state, BULLETS['live'])[0]} {mark.text}", mark.state) for mark in node.marks]
    if node.line is not None:
        last = f"–{node.last_line}" if node.last_line not in (None, node.line) else ""
        out.append(Text(f"line {node.line}{last}", "line"))
    return tuple(out)


def _size(lines: tuple[Text, ...]) -> tuple[float, float]:
    return max(width_of(one.text) for one in lines) * CHAR + 2 * PAD, len(lines) * LINE + 2 * PAD


def _kind(node: DagNode) -> str:
    if node.stub:
        return "stub"
    if node.title == LEAF:
        return "leaf"
    return "fold" if node.last_line is not None else "node"


