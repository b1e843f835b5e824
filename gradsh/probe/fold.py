"""Folds the repeated parts of a graph: the calls of a function and the passes of a loop, as far as they follow each other.

A stretch of nodes that were born one after the other can be drawn as one without making a cycle, since edges lead from
later to earlier nodes only.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.types import LineOf
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.snapshot import node_name

LOOP = "iteration of the loop"
_FEWEST = 4
"""A single call of fewer nodes is not worth folding."""
MODULE_ROWS = 24
"""Most rows that modules are opened into, unless they are asked for."""

ScopesOf = Callable[[Any], tuple[Any, ...]]


class NodeFold(NamedTuple):
    """Nodes that are drawn as one: what they are (`step()`, `loop`), how often it ran, the nodes in order of birth.

    `module` is the path of the module that they are, if they are one.
    """

    label: str
    times: int
    nodes: tuple[Node, ...]
    module: str = ""


def fold(nodes: Sequence[Node], scopes_of: ScopesOf, room: int) -> list[NodeFold]:
    """Return the stretches that are drawn as one, from nodes in order of birth; what is drawn by itself is left out.

    What repeats is folded; where still more than `room` would be drawn, single calls of functions are, too.
    """
    scopes = _remembered(scopes_of)
    found = _repeated(nodes, scopes)
    if len(nodes) - sum(len(one.nodes) - 1 for one in found) <= room:
        return found
    taken = {node for one in found for node in one.nodes}
    return found + _calls([node for node in nodes if node not in taken], scopes, room)


def by_call(nodes: Sequence[Node], scopes_of: ScopesOf, opened: str = "") -> list[NodeFold]:
    """Return what each outermost call of a function made as one stretch, from nodes in order of birth.

    The calls of the function `opened`, and those around them, are opened: what they call is a stretch of its own.
    """
    scopes = _remembered(scopes_of)
    found: list[tuple[Any, list[Node]]] = []
    last: Any = None
    around = {scope.instance for node in nodes for scope in _down_to(opened, scopes(node))} if opened else set()
    for node in nodes:
        call = next((scope for scope in scopes(node) if scope.label != "loop" and scope.instance not in around), None)
        if call is not None:
            if last is None or call.instance != last.instance:
                found.append((call, []))
            found[-1][1].append(node)
        last = call
    return [NodeFold(call.label, 1, tuple(made)) for call, made in found]


def _down_to(opened: str, scopes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the scopes down to the innermost call of a function; none where it was not called."""
    last = max((place for place, scope in enumerate(scopes, 1) if scope.label == f"{opened}()"), default=0)
    return scopes[:last]


def functions_of(nodes: Sequence[Node], scopes_of: ScopesOf) -> list[str]:
    """Return the names of the functions in whose calls nodes were made."""
    scopes = _remembered(scopes_of)
    return list(dict.fromkeys(scope.label.removesuffix("()") for node in nodes for scope in scopes(node) if scope.label != "loop"))


def by_line(nodes: Sequence[Node], line_of: LineOf) -> list[NodeFold]:
    """Return what each line made without another's between, from nodes in order of birth."""
    found: list[tuple[int | None, list[Node]]] = []
    for node in nodes:
        line = line_of(node.location)
        if not found or found[-1][0] != line:
            found.append((line, []))
        found[-1][1].append(node)
    return [NodeFold(f"line {line}", 1, tuple(made)) for line, made in found if line is not None and len(made) > 1]


def by_module(nodes: Sequence[Node], paths: ModulePaths, opened: str = "") -> list[NodeFold]:
    """Return what each module made as one stretch, from nodes in order of birth.

    The outermost modules are opened, level by level, as long as few rows come of it and what they call made most of their
    nodes. The module at the path `opened` is opened in any case.
    """
    level = _of_modules(nodes, 0, paths)
    while True:
        opening = [_of_modules(one.nodes, one.depth + 1, paths) if one.may_open(paths) else None for one in level]
        rows = sum(1 if below is None else one.rows_with(below) for one, below in zip(level, opening, strict=True))
        enough = rows > MODULE_ROWS
        following: list[_ModuleStretch] = []
        for one, below in zip(level, opening, strict=True):
            if _leads_to(one.path, opened):
                following += _of_modules(one.nodes, one.depth + 1, paths)
            else:
                following += [one] if below is None or enough else below
        if len(following) == len(level) and all(new is old for new, old in zip(following, level, strict=True)):
            return [NodeFold(one.label(), one.times, tuple(one.nodes), one.path) for one in level]
        level = following


class _ModuleStretch(NamedTuple):
    """Nodes born one after the other in calls of one module, which lie so deep in calls of others."""

    path: str
    depth: int
    times: int
    nodes: list[Node]

    def label(self) -> str:
        """Return the module's path; of one node its operation, too."""
        return self.path if len(self.nodes) > 1 else f"{self.path}  {node_name(self.nodes[0])}"

    def may_open(self, paths: ModulePaths) -> bool:
        """Whether the modules that this one calls made most of its nodes."""
        return 2 * sum(len(paths.calls(node.location)) > self.depth + 1 for node in self.nodes) > len(self.nodes)

    def rows_with(self, below: "list[_ModuleStretch]") -> int:
        """Return how many rows the module takes when it is opened."""
        return len(below) + len(self.nodes) - sum(len(one.nodes) for one in below)


def _of_modules(nodes: Sequence[Node], depth: int, paths: ModulePaths) -> list[_ModuleStretch]:
    found: list[tuple[str, list[Node], set[int]]] = []
    last = ""
    for node in nodes:
        calls = paths.calls(node.location)
        path = calls[depth].path if len(calls) > depth else ""
        if path:
            if path != last:
                found.append((path, [], set()))
            found[-1][1].append(node)
            found[-1][2].add(calls[depth].call)
        last = path
    return [_ModuleStretch(path, depth, len(calls), made) for path, made, calls in found]


def _leads_to(path: str, opened: str) -> bool:
    """Whether a module is the one that is to be opened, or holds it."""
    return path == opened or (opened.startswith(path) and opened[len(path)] in ".[")


def _remembered(scopes_of: ScopesOf) -> Callable[[Node], tuple[Any, ...]]:
    """Return the scopes of a node, each place asked for once."""
    known: dict[tuple[int, int], tuple[Any, ...]] = {}

    def scopes(node: Node) -> tuple[Any, ...]:
        where = node.location
        if where is None:
            return ()
        key = (id(where[0]), id(where[1]))
        found = known.get(key)
        if found is None:
            found = known[key] = scopes_of(where)
        return found

    return scopes


def _repeated(nodes: Sequence[Node], scopes: Callable[[Node], tuple[Any, ...]]) -> list[NodeFold]:
    """Return the stretches in which a function is called, or a loop passes, more than once."""
    found: list[NodeFold] = []
    stack: list[tuple[Sequence[Node], int]] = [(nodes, 0)]
    while stack:
        part, depth = stack.pop()
        for stretch in _stretches(part, depth, scopes):
            first = scopes(stretch[0])[depth]
            times = _instances(stretch, depth, scopes)
            if times > 1:
                found.append(NodeFold(_label(stretch, depth, scopes, first.label), times, tuple(stretch)))
            else:
                stack.append((stretch, depth + 1))
    return found


def _calls(nodes: Sequence[Node], scopes: Callable[[Node], tuple[Any, ...]], room: int) -> list[NodeFold]:
    """Return single calls as folds, the outermost that are not themselves most of the graph."""
    found: list[NodeFold] = []
    stack: list[tuple[Sequence[Node], int]] = [(nodes, 0)]
    while stack:
        part, depth = stack.pop()
        for stretch in _stretches(part, depth, scopes):
            small = len(stretch) <= max(room, len(nodes) // 4)
            if small and len(stretch) >= _FEWEST and scopes(stretch[0])[depth].label != "loop":
                found.append(NodeFold(scopes(stretch[0])[depth].label, 1, tuple(stretch)))
            elif not small:
                stack.append((stretch, depth + 1))
    return found


def _stretches(nodes: Sequence[Node], depth: int, scopes: Callable[[Node], tuple[Any, ...]]) -> list[list[Node]]:
    """Return the longest runs of nodes whose scope at `depth` is of one series."""
    out: list[list[Node]] = []
    last: Any = None
    for node in nodes:
        chain = scopes(node)
        series = chain[depth].series if len(chain) > depth else None
        if series is not None:
            if series == last:
                out[-1].append(node)
            else:
                out.append([node])
        last = series
    return out


def _instances(nodes: Sequence[Node], depth: int, scopes: Callable[[Node], tuple[Any, ...]]) -> int:
    """Count how often the scope is entered anew."""
    times = 0
    last: Any = None
    for node in nodes:
        instance = scopes(node)[depth].instance
        times += instance != last
        last = instance
    return times


def _label(nodes: Sequence[Node], depth: int, scopes: Callable[[Node], tuple[Any, ...]], label: str) -> str:
    """Name a loop by the one function that every pass calls, if all its nodes come from there."""
    if label != "loop":
        return label
    inner = {chain[depth + 1].label if len(chain) > depth + 1 else "" for chain in map(scopes, nodes)}
    only = inner.pop() if len(inner) == 1 else ""
    return only if only not in {"", "loop"} else LOOP
