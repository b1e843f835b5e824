"""The frames of a drawn graph: around what is drawn of one call of a module or a function, or of one pass of a loop."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.probe.fold import NodeFold, ScopesOf
from gradsh.probe.module_paths import ModulePaths

DEEPEST = 6
"""Frames that stand one in another; further ones are not drawn."""
_PASS = "iteration "

Call = tuple[Hashable, str]
"""A call, or a pass of a loop: what tells it from others, and its title."""


class CallFrame(NamedTuple):
    """A frame: its title, and the number of the frame in which it stands."""

    title: str
    parent: int | None = None


def calls_of(units: Sequence[Node | NodeFold], scopes_of: ScopesOf, paths: ModulePaths, by: str) -> Callable[[Node], tuple[Call, ...]]:
    """Return what finds the calls around a node, outermost first: of modules where units stand in any, else of functions and loops."""
    if by == "line":
        return lambda _: ()
    if by != "function" and any(paths.calls(_first(unit).location) for unit in units):
        return lambda node: tuple((call.call, call.path) for call in paths.calls(node.location))
    known: dict[Any, Any] = {}
    return lambda node: tuple(map(_scope, scopes_of(node.location, known)))


def _scope(scope: Any) -> Call:
    is_pass = scope.label == "loop" and len(scope.instance) > 1
    return scope.instance, f"{_PASS}{scope.instance[1]}" if is_pass else scope.label


def frames(
    units: Sequence[Node | NodeFold], edges: Sequence[tuple[int, int, int]], leaves: frozenset[int],
    calls: Callable[[Node], tuple[Call, ...]],
) -> tuple[tuple[CallFrame, ...], list[int | None]]:
    """Return the frames, outer ones first, and for each unit the number of the innermost frame in which it stands.

    What was born one after the other within one call stands in one frame. `leaves` are the numbers of the units that stand
    with their users.
    """
    found: list[CallFrame] = []
    homes: list[tuple[int, ...]] = [()] * len(units)
    before: list[tuple[Call, int]] = []
    for number in sorted(set(range(len(units))) - leaves, key=lambda number: _first(units[number]).seq):
        chain = _around(units[number], calls)[:DEEPEST]
        kept = _common(chain, [call for call, _ in before])
        before = before[:kept]
        for call in chain[kept:]:
            found.append(CallFrame(call[1], before[-1][1] if before else None))
            before.append((call, len(found) - 1))
        homes[number] = tuple(frame for _, frame in before)
    users: dict[int, list[int]] = {}
    for source, target, _ in edges:
        if target in leaves:
            users.setdefault(target, []).append(source)
    for leaf, sources in users.items():
        first, *others = [homes[source] for source in sources]
        homes[leaf] = first[: min((_common(first, other) for other in others), default=len(first))]
    return _worth_drawing(found, homes)


def _first(unit: Node | NodeFold) -> Node:
    return unit.nodes[0] if isinstance(unit, NodeFold) else unit


def _around(unit: Node | NodeFold, calls: Callable[[Node], tuple[Call, ...]]) -> tuple[Call, ...]:
    """Return the calls in which the whole of a unit was made."""
    first = calls(_first(unit))
    return first[: _common(first, calls(unit.nodes[-1]))] if isinstance(unit, NodeFold) else first


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many things two sequences begin with in common."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))


def _worth_drawing(found: list[CallFrame], homes: list[tuple[int, ...]]) -> tuple[tuple[CallFrame, ...], list[int | None]]:
    """Leave out each frame that holds nothing but one thing; which pass of a loop it is, the frame in it tells."""
    held = [0] * len(found)
    for home in homes:
        if home:
            held[home[-1]] += 1
    for number in range(len(found) - 1, -1, -1):
        parent = found[number].parent
        if parent is not None:
            held[parent] += min(held[number], 1)
    out: list[CallFrame] = []
    inner: dict[int | None, int | None] = {None: None}
    passes: dict[int | None, str] = {}
    for number, frame in enumerate(found):
        inner[number] = inner[frame.parent]
        title = passes.get(frame.parent, "") + frame.title
        if held[number] > 1:
            inner[number] = len(out)
            out.append(CallFrame(title, inner[frame.parent]))
        elif frame.title.startswith(_PASS):
            passes[number] = f"{title}: "
    return tuple(out), [inner[home[-1]] if home else None for home in homes]
