"""Places boxes in layers, from top to bottom, so that wires run down, straight where they can, and cross little.

This is Sugiyama's method. A wire that passes layers gets a joint in each; wires to one target share theirs. Joints and boxes
are moved to where their neighbours stand, row by row, down and up. Lengths are in points of the picture; x is that of a centre.
"""

from bisect import bisect, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

GAP, NARROW_GAP = 24.0, 10.0
"""Space between boxes of a row, and beside a joint."""
RISE, LEAST_RISE, MOST_RISE = 28.0, 8.0, 90.0
"""Space between two rows, where one of them is a frame's side, and at most so much where wires run far sideways."""
SWEEPS, STRAIGHTENING = 16, 8
DANGLING = 0.001
"""What a link to a box weighs that nothing else is joined to, beside others: it does not push a chain aside."""
LARGE = 3000
"""Boxes and joints from which fewer sweeps are made."""
FIRST, LAST = -1, 1
"""Pins: a box that stands above all others, or below them."""


Points = tuple[tuple[float, float], ...]


class Wire(NamedTuple):
    """A wire from box to box, how far right of their centres it is fixed, and what it finally leads to."""

    source: int
    target: int
    source_at: float
    target_at: float
    leads_to: int


class Placed(NamedTuple):
    """Where each box's centre stands, and its top; the points of each wire; the size of all."""

    xs: tuple[float, ...]
    tops: tuple[float, ...]
    routes: dict[tuple[int, int, int], Points]
    width: float
    height: float


def place(sizes: Sequence[tuple[float, float]], pins: Sequence[int], wires: Sequence[Wire]) -> Placed:
    """Return the boxes in place."""
    rows = _LayerRows(sizes, _layers(pins, wires), wires)
    rows.sweep()
    return rows.placed(len(sizes))


def _layers(pins: Sequence[int], wires: Sequence[Wire]) -> list[int]:
    """Return each box's row: the longest way to it from above; what nothing leads to stands right above what it leads to."""
    below: list[list[int]] = [[] for _ in pins]
    for wire in wires:
        below[wire.source].append(wire.target)
    order = _topological(below)
    at = {box: i for i, box in enumerate(order)}
    layers = [1] * len(pins)
    reached = [False] * len(pins)
    for box in order:
        for target in below[box]:
            if at[target] > at[box]:
                layers[target] = max(layers[target], layers[box] + 1)
                reached[target] = True
    for box in reversed(order):
        if not reached[box] and below[box]:
            layers[box] = max(layers[box], min(layers[target] for target in below[box]) - 1)
    end = max(layers) + 1
    found = [0 if pin == FIRST else end if pin == LAST else layer for pin, layer in zip(pins, layers, strict=True)]
    used = {layer: i for i, layer in enumerate(sorted(set(found)))}
    return [used[layer] for layer in found]


def _topological(below: list[list[int]]) -> list[int]:
    """Return the boxes from above to below; a wire that would close a circle is not looked at."""
    out: list[int] = []
    state = [0] * len(below)
    for start in range(len(below)):
        stack = [start]
        while stack:
            box = stack[-1]
            if state[box] == 0:
                state[box] = 1
                stack += [target for target in below[box] if state[target] == 0]
                continue
            stack.pop()
            if state[box] == 1:
                state[box] = 2
                out.append(box)
    return out[::-1]


class _Link(NamedTuple):
    """A piece of a wire, from one row to the next."""

    upper: int
    lower: int
    upper_at: float
    lower_at: float
    weight: float


class _LayerRows:
    """Boxes and joints in rows: `xs` tells where they stand while they are moved."""

    def __init__(self, sizes: Sequence[tuple[float, float]], layers: list[int], wires: Sequence[Wire]) -> None:
        self.sizes = list(sizes)
        self.boxes = len(sizes)
        self.layers = layers
        self.ways: dict[tuple[int, int, int], tuple[Wire, list[int]]] = {}
        joints: dict[tuple[int, int, int], int] = {}
        for wire in wires:
            way = [wire.source]
            for layer in range(layers[wire.source] + 1, layers[wire.target]):
                key = (wire.leads_to, wire.target, layer)
                if key not in joints:
                    joints[key] = len(self.sizes)
                    self.sizes.append((0.0, 0.0))
                    layers.append(layer)
                way.append(joints[key])
            self.ways[(wire.source, wire.target, wire.leads_to)] = (wire, [*way, wire.target])
        self.links = self._links()
        self.rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
        for box in self._as_reached():
            self.rows[layers[box]].append(box)
        self.xs = [0.0] * len(self.sizes)
        for row in self.rows:
            self._spread(row, dict.fromkeys(row, (0.0, 1.0)))

    def _links(self) -> list[_Link]:
        ends: dict[tuple[int, int], tuple[float, float]] = {}
        for wire, way in self.ways.values():
            for upper, lower in pairwise(way):
                if self.layers[lower] == self.layers[upper] + 1:
                    upper_at = wire.source_at if upper == wire.source else 0.0
                    ends.setdefault((upper, lower), (upper_at, wire.target_at if lower == wire.target else 0.0))
        uppers, lowers = [0] * len(self.sizes), [0] * len(self.sizes)
        for upper, lower in ends:
            lowers[upper] += 1
            uppers[lower] += 1

        def weight(upper: int, lower: int) -> float:
            joints = (upper >= self.boxes) + (lower >= self.boxes)
            dangling = not joints and uppers[lower] == 1 and not lowers[lower] and lowers[upper] > 1
            return DANGLING if dangling else (1.0, 2.0, 8.0)[joints]

        return [_Link(upper, lower, *at, weight(upper, lower)) for (upper, lower), at in ends.items()]

    def _as_reached(self) -> list[int]:
        """Return boxes and joints, depth first."""
        below: list[list[int]] = [[] for _ in self.sizes]
        above = [0] * len(self.sizes)
        for link in self.links:
            below[link.upper].append(link.lower)
            above[link.lower] += 1
        found: dict[int, None] = {}
        stack = sorted(range(len(self.sizes)), key=lambda box: (above[box] == 0, -box))
        while stack:
            box = stack.pop()
            if box not in found:
                found[box] = None
                stack += reversed(below[box])
        return list(found)

    def sweep(self) -> None:
        """Move boxes and joints towards their neighbours; keep the order of the rows in which the fewest links cross."""
        above: list[list[_Link]] = [[] for _ in self.sizes]
        below: list[list[_Link]] = [[] for _ in self.sizes]
        for link in self.links:
            above[link.lower].append(link)
            below[link.upper].append(link)
        sweeps = SWEEPS if len(self.sizes) < LARGE else SWEEPS // 4
        best, order = self._crossings(), [list(row) for row in self.rows]
        for turn in range(sweeps):
            if not best:
                break
            self._move(above, below, turn, sort=True)
            crossings = self._crossings()
            if crossings < best:
                best, order = crossings, [list(row) for row in self.rows]
        self.rows = order
        for turn in range(STRAIGHTENING):
            self._move(above, below, turn, sort=False)
        both = [[*up, *down] for up, down in zip(above, below, strict=True)]
        for turn in range(4):
            self._move(both, both, turn, sort=False)

    def _move(self, above: list[list[_Link]], below: list[list[_Link]], turn: int, *, sort: bool) -> None:
        for row in self.rows if turn % 2 == 0 else reversed(self.rows):
            wishes = {box: self._wish(box, (below if turn % 2 else above)[box]) for box in row}
            if sort:
                row.sort(key=lambda box: wishes[box][0])
            self._spread(row, wishes)

    def _wish(self, box: int, links: list[_Link]) -> tuple[float, float]:
        """Return where a box would stand for its neighbours' sake, and how much that weighs."""
        total = sum(link.weight for link in links)
        if not total:
            return self.xs[box], 0.01
        place = 0.0
        for link in links:
            at = 0.0 if link.upper_at and link.lower_at else link.upper_at - link.lower_at  # a chain of frames stays straight
            place += link.weight * (self.xs[link.upper] + at if link.lower == box else self.xs[link.lower] - at)
        return place / total, total

    def _spread(self, row: list[int], wishes: dict[int, tuple[float, float]]) -> None:
        """Put each box of a row as near to its wish as the others let it.

        Without the room that each takes the places must not fall from left to right: where they do, they take their mean.
        """
        room, taken = [0.0], 0.0
        for left, right in pairwise(row):
            gap = GAP if left < self.boxes and right < self.boxes and self.sizes[left][0] and self.sizes[right][0] else NARROW_GAP
            taken += (self.sizes[left][0] + self.sizes[right][0]) / 2 + gap
            room.append(taken)
        blocks: list[tuple[float, float, int]] = []  # (weighted sum of places, weight, how many)
        for box, offset in zip(row, room, strict=True):
            wish, weight = wishes[box]
            blocks.append(((wish - offset) * weight, weight, 1))
            while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
                last = blocks.pop()
                blocks[-1] = (blocks[-1][0] + last[0], blocks[-1][1] + last[1], blocks[-1][2] + last[2])
        places = [total / weight for total, weight, number in blocks for _ in range(number)]
        for box, offset, at in zip(row, room, places, strict=True):
            self.xs[box] = at + offset

    def _crossings(self) -> int:
        at = {box: i for row in self.rows for i, box in enumerate(row)}
        ends: list[list[tuple[float, float, float, float]]] = [[] for _ in self.rows]
        for link in self.links:
            ends[self.layers[link.upper]].append((at[link.upper], link.upper_at, at[link.lower], link.lower_at))
        total = 0
        for row in ends:
            seen: list[tuple[float, float]] = []
            for _, _, lower, lower_at in sorted(row):
                total += len(seen) - bisect(seen, (lower, lower_at))
                insort(seen, (lower, lower_at))
        return total

    def placed(self, boxes: int) -> Placed:
        """Return what stands where, with the left top corner at 0, 0."""
        left = min(x - width / 2 for x, (width, _) in zip(self.xs, self.sizes, strict=True))
        xs = [x - left for x in self.xs]
        heights = [max(self.sizes[box][1] for box in row) for row in self.rows]
        reach = [0.0] * len(self.rows)
        for link in self.links:
            layer = self.layers[link.upper]
            reach[layer] = max(reach[layer], abs(xs[link.upper] + link.upper_at - xs[link.lower] - link.lower_at))
        tops = [0.0]
        for height, far in zip(heights, reach, strict=True):
            bare = len(tops) < len(heights) and not (height and heights[len(tops)])
            tops.append(tops[-1] + height + min(MOST_RISE, (LEAST_RISE if bare else RISE) + far / 10))
        routes = {key: self._route(wire, way, xs, tops, heights) for key, (wire, way) in self.ways.items()}
        width = max(x + width / 2 for x, (width, _) in zip(xs, self.sizes, strict=True))
        at = tuple(tops[self.layers[box]] for box in range(boxes))
        return Placed(tuple(xs[:boxes]), at, routes, width, tops[len(heights) - 1] + heights[-1])

    def _route(self, wire: Wire, way: list[int], xs: list[float], tops: list[float], heights: list[float]) -> Points:
        """Return a wire's points: it runs straight down beside the boxes of a row, and sideways between rows only."""
        start, layer = xs[wire.source] + wire.source_at, self.layers[wire.source]
        points = [(start, tops[layer] + self.sizes[wire.source][1]), (start, tops[layer] + heights[layer])]
        for joint in way[1:-1]:
            layer = self.layers[joint]
            points += [(xs[joint], tops[layer]), (xs[joint], tops[layer] + heights[layer])]
        points.append((xs[wire.target] + wire.target_at, tops[self.layers[wire.target]]))
        return tuple(dict.fromkeys(points))
