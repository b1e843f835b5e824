"""Where the nodes and frames of a drawing stand and how its edges run: each frame is laid out by itself, and is a box in the one around.

Lengths are in points of the picture; text is measured in a monospaced font.
"""

from typing import NamedTuple

from gradsh.render.dag import BULLETS, line_text, node_text
from gradsh.render.layers import FIRST, LAST, Placed, Points, Wire, place
from gradsh.render.style import Style, width_of
from gradsh.render.wrap import wrap
from gradsh.text.fault import fail
from gradsh.view.shapes import Dag, DagNode

CHAR, LINE, PAD = 6.6, 15.0, 8.0
"""Width of a character, height of a line, space around the text of a box."""
MARGIN, INSET = 20.0, 14.0
"""Space around a picture, and within a frame."""
LEAF = "AccumulateGrad"
STATES = ("modified", "freed", "pinned", "packed", "live")
"""The states of saved tensors; a box shows the first of these that one of its saved tensors has."""
_MOST_USERS = 2
_MOST_BOXES = 5_000
_NARROWEST = 60
"""Characters that a sentence below a picture has in a line, however narrow the picture is."""


class Text(NamedTuple):
    """A line of text in a box: what it says, and its role (name, title, live, freed, pinned, modified, line, more)."""

    text: str
    role: str


class Box(NamedTuple):
    """A node: its centre, size, lines, what it is (leaf, fold, stub or node), and the state of what it saved."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[Text, ...]
    kind: str
    state: str


class FrameBox(NamedTuple):
    """A frame: its left top corner, size, title, and in how many others it stands."""

    left: float
    top: float
    width: float
    height: float
    title: str
    depth: int


class EdgePath(NamedTuple):
    """An edge: the points it runs through, and its label."""

    points: Points
    label: str


class Layout(NamedTuple):
    """A drawing in place: its size, frames (outer ones first), boxes, paths, and sentences below."""

    width: float
    height: float
    frames: tuple[FrameBox, ...]
    boxes: tuple[Box, ...]
    paths: tuple[EdgePath, ...]
    footer: tuple[str, ...]


def lay_out(dag: Dag) -> Layout:
    """Return the drawing in place."""
    if len(dag.nodes) > _MOST_BOXES:
        ways = "choose fewer with --limit or --depth, or take dot or mermaid"
        raise fail("value", f"a picture of {len(dag.nodes):,} nodes takes too long to lay out: {ways}", ValueError)
    dag = with_copies(dag)
    lines = [lines_of(node) for node in dag.nodes]
    labels = _distinct(dag)
    levels = _Levels(dag, [_size(texts) for texts in lines])
    paths = [levels.wire(*pair) for pair in labels]
    levels.place()
    boxes = tuple(
        Box(*levels.centre(i), *levels.sizes[i], texts, _kind(node), state_of(node))
        for i, (node, texts) in enumerate(zip(dag.nodes, lines, strict=True))
    )
    drawn = tuple(EdgePath(levels.points(path), label) for path, label in zip(paths, labels.values(), strict=True))
    whole = levels.placed[None]
    room = max(_NARROWEST, int(whole.width / CHAR))
    footer = tuple(line for one in (dag.more, *dag.totals) if one for line in wrap(one, room))
    right = max([whole.width, *(len(one) * CHAR for one in footer)])
    height = whole.height + 2 * MARGIN + LINE * len(footer)
    return Layout(right + 2 * MARGIN, height, levels.frames(), boxes, drawn, footer)


def with_copies(dag: Dag) -> Dag:
    """Return the drawing with a copy of a leaf for each of its users, where they are many or in several frames."""
    users: dict[int, list[int]] = {}
    for source, target, _ in dag.edges:
        if dag.nodes[target].title == LEAF and source not in users.setdefault(target, []):
            users[target].append(source)
    nodes, copies = list(dag.nodes), {}
    for leaf, sources in users.items():
        if len(sources) <= _MOST_USERS and len({dag.nodes[source].frame for source in sources}) == 1:
            continue
        nodes[leaf] = dag.nodes[leaf]._replace(frame=dag.nodes[sources[0]].frame)
        for source in sources[1:]:
            copies[(source, leaf)] = len(nodes)
            nodes.append(dag.nodes[leaf]._replace(frame=dag.nodes[source].frame))
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


_Key = tuple[str, int]
"""What stands in a frame: a node (`node`, its number), a frame (`frame`), or where edges to a node come `in` or go `out`."""


class _Level:
    """What stands in one frame, or outside of all: boxes in the order in which they came, and the pieces of edges."""

    def __init__(self) -> None:
        self.numbers: dict[_Key, int] = {}
        self.pieces: dict[tuple[_Key, _Key, int], None] = {}

    def number(self, key: _Key) -> int:
        """Return the number of a box; a new one gets the next."""
        return self.numbers.setdefault(key, len(self.numbers))


_Piece = tuple[int | None, _Key, _Key, int]
"""A part of an edge: its frame, from what to what, and the node to which the edge leads."""


class _Levels:
    """The frames of a drawing, each a level; None is what stands outside of all."""

    def __init__(self, dag: Dag, sizes: list[tuple[float, float]]) -> None:
        self.dag = dag
        self.sizes = sizes
        self.around: list[list[int]] = []
        for number, frame in enumerate(dag.frames):
            self.around.append([*([] if frame.parent is None else self.around[frame.parent]), number])
        self.levels: dict[int | None, _Level] = {None: _Level(), **{number: _Level() for number in range(len(dag.frames))}}
        self.placed: dict[int | None, Placed] = {}
        self.origins: dict[int | None, tuple[float, float]] = {None: (MARGIN, MARGIN)}
        for number, node in enumerate(dag.nodes):
            self._enter(("node", number), node.frame)

    def _enter(self, key: _Key, frame: int | None) -> None:
        """Put a box into its frame, and the frame into the one around it."""
        self.levels[frame].number(key)
        if frame is not None:
            self._enter(("frame", frame), self.dag.frames[frame].parent)

    def wire(self, source: int, target: int) -> list[_Piece]:
        """Lay an edge: out of the frames around its source, across the one that both stand in, into those around its target."""
        out, into = self._chain(source), self._chain(target)
        common = sum(one == other for one, other in zip(out, into, strict=False))
        upper: _Key = ("node", source)
        lower: _Key = ("node", target)
        pieces: list[_Piece] = []
        for frame in reversed(out[common:]):
            pieces.append((frame, upper, ("out", target), target))
            upper = ("frame", frame)
        below: list[_Piece] = []
        for frame in reversed(into[common:]):
            below.append((frame, ("in", target), lower, target))
            lower = ("frame", frame)
        pieces += [(out[common - 1] if common else None, upper, lower, target), *reversed(below)]
        for where, start, end, _ in pieces:
            level = self.levels[where]
            level.number(start)
            level.number(end)
            level.pieces[(start, end, target)] = None
        return pieces

    def _chain(self, node: int) -> list[int]:
        frame = self.dag.nodes[node].frame
        return [] if frame is None else self.around[frame]

    def place(self) -> None:
        """Lay out each level, inner ones first, then find where each stands in the picture."""
        for frame in [*reversed(range(len(self.dag.frames))), None]:
            level = self.levels[frame]
            wires = [
                Wire(level.number(start), level.number(end), self._port(start, "out", to), self._port(end, "in", to), to)
                for start, end, to in level.pieces
            ]
            pins = [FIRST if kind == "in" else LAST if kind == "out" else 0 for kind, _ in level.numbers]
            self.placed[frame] = place([self._room(key) for key in level.numbers], pins, wires)
        for number, one in enumerate(self.dag.frames):
            x, top = self._at(("frame", number), one.parent)
            self.origins[number] = x - self.placed[number].width / 2, top + LINE + INSET

    def _room(self, key: _Key) -> tuple[float, float]:
        kind, number = key
        if kind == "node":
            return self.sizes[number]
        if kind != "frame":
            return 0.0, 0.0
        inside = self.placed[number]
        title = len(self.dag.frames[number].title) * CHAR + 2 * PAD
        return max(inside.width + 2 * INSET, title), inside.height + LINE + 2 * INSET

    def _port(self, key: _Key, side: str, to: int) -> float:
        """Return how far right of a box's centre an edge is fixed: at a frame, where the edge comes in or goes out."""
        if key[0] != "frame":
            return 0.0
        inside = self.placed[key[1]]
        return inside.xs[self.levels[key[1]].numbers[(side, to)]] - inside.width / 2

    def _at(self, key: _Key, frame: int | None) -> tuple[float, float]:
        """Return the middle of a box's upper side in the picture."""
        left, top = self.origins[frame]
        number, placed = self.levels[frame].numbers[key], self.placed[frame]
        return left + placed.xs[number], top + placed.tops[number]

    def centre(self, node: int) -> tuple[float, float]:
        """Return a node's centre in the picture."""
        x, top = self._at(("node", node), self.dag.nodes[node].frame)
        return x, top + self.sizes[node][1] / 2

    def points(self, pieces: list[_Piece]) -> Points:
        """Return the points of an edge in the picture."""
        found: dict[tuple[float, float], None] = {}
        for frame, start, end, to in pieces:
            level, (left, top) = self.levels[frame], self.origins[frame]
            route = self.placed[frame].routes[(level.numbers[start], level.numbers[end], to)]
            found.update(dict.fromkeys((left + x, top + y) for x, y in route))
        return tuple(found)

    def frames(self) -> tuple[FrameBox, ...]:
        """Return the frames in the picture, outer ones first."""
        out = []
        for number, frame in enumerate(self.dag.frames):
            width, height = self._room(("frame", number))
            x, top = self._at(("frame", number), frame.parent)
            out.append(FrameBox(x - width / 2, top, width, height, frame.title, len(self.around[number]) - 1))
        return tuple(out)


def lines_of(node: DagNode) -> tuple[Text, ...]:
    """Return what stands in a node's box."""
    if node.stub:
        return (Text(node.title, "more"),)
    out = [Text(", ".join(node.names), "name")] if node.names else []
    out.append(Text(node_text(node._replace(names=())), "title"))
    out += [Text(f"{BULLETS.get(mark.state, BULLETS['live'])[0]} {mark.text}", mark.state) for mark in node.marks]
    if node.line is not None:
        out.append(Text(line_text(node, Style()), "line"))
    return tuple(out)


def _size(lines: tuple[Text, ...]) -> tuple[float, float]:
    return max(width_of(one.text) for one in lines) * CHAR + 2 * PAD, len(lines) * LINE + 2 * PAD


def _kind(node: DagNode) -> str:
    if node.stub:
        return "stub"
    if node.title == LEAF:
        return "leaf"
    return "fold" if node.last_line is not None else "node"


def state_of(node: DagNode) -> str:
    """Return the state that a box shows; empty where the node saved nothing."""
    states = {mark.state for mark in node.marks}
    return next((state for state in STATES if state in states), "")
