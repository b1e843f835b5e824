"""Folds the repeated parts of a graph: the calls of a function and the passes of a loop, as far as they follow each other.

A stretch of nodes that were born one after the other can be drawn as one without making a cycle, since edges lead from
later to earlier nodes only.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.types import LineOf
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.places import LineTable
from gradsh.probe.snapshot import node_name
from gradsh.process.pace import paced

LOOP = "iteration of the loop"
_FEWEST = 4
"""A single call of fewer nodes is not worth folding."""
MODULE_ROWS = 24
"""Most rows that modules are opened into, unless they are asked for."""

ScopesOf = Callable[[Any, dict[Any, Any]], tuple[Any, ...]]
"""Returns the calls and loop passes around a place; the dictionary keeps what is known of others for the next question."""
Run = tuple[Any, list[Node]]
"""A place, and the nodes born one after the other around it: in one pass of a loop, or one call. Or what lies around that place."""


class NodeFold(NamedTuple):
    """Nodes that are drawn as one: what they are (`step()`, `loop`), how often it ran, the nodes in order of birth.

    `module` is the path of the module that they are, if they are one.
    """

    label: str
    times: int
    nodes: tuple[Node, ...]
    module: str = ""


def fold(runs: list[Run], scopes_of: ScopesOf, room: int) -> list[NodeFold]:
    """Return the stretches that are drawn as one, from runs in order of birth; what is drawn by itself is left out.

    What repeats is folded; where still more than `room` would be drawn, single calls of functions are, too.
    """
    runs = _scoped(runs, scopes_of)
    found = _repeated(runs)
    folds = [NodeFold(label, times, _nodes_of(made)) for label, times, made in found]
    if _rows(_size(runs), folds) <= room:
        return folds
    taken = {id(run) for _, _, made in found for run in made}
    return folds + _calls([run for run in runs if id(run) not in taken], room)


def choose(runs: list[Run], scopes_of: ScopesOf, paths: ModulePaths, room: int) -> list[NodeFold]:
    """Return the stretches of a large graph: its modules or, where this says more, what repeats.

    Where one module made most of the graph, what repeats in it stands in its place.
    """
    modules, repeated = by_module(in_modules(runs, paths)), fold(runs, scopes_of, room)
    size = _size(runs)
    if not modules or max(room, _rows(size, repeated)) < _rows(size, modules):
        return repeated
    large = max(modules, key=lambda one: len(one.nodes))
    inner = fold(runs_of(large.nodes), scopes_of, room) if 2 * len(large.nodes) > size else []
    if not any(one.times > 1 for one in inner) or _rows(len(large.nodes), inner) > room:
        return modules
    within = [one._replace(label=f"{one.label} in {large.module}", module=large.module) for one in inner]
    place = modules.index(large)
    return [*modules[:place], *within, *modules[place + 1 :]]


def _rows(size: int, folds: Sequence[NodeFold]) -> int:
    """Return how many rows so many nodes take, with folds among them."""
    return size - sum(len(one.nodes) - 1 for one in folds)


def by_call(runs: list[Run], scopes_of: ScopesOf, opened: str = "") -> list[NodeFold]:
    """Return what each outermost call of a function made as one stretch, from runs in order of birth.

    The calls of the function `opened`, and those around them, are opened: what they call is a stretch of its own.
    """
    runs = _scoped(runs, scopes_of)
    found: list[tuple[Any, list[Run]]] = []
    last = None
    around = {scope.instance for chain, _ in runs for scope in _down_to(opened, chain)} if opened else set()
    for run in runs:
        call = next((scope for scope in run[0] if scope.label != "loop" and scope.instance not in around), None)
        if call is not None:
            if last is None or call.instance != last.instance:
                found.append((call, []))
            found[-1][1].append(run)
        last = call
    return [NodeFold(call.label, 1, _nodes_of(made)) for call, made in found]


def runs_of(nodes: Sequence[Node]) -> list[Run]:
    """Return the runs of nodes in order of birth."""
    found: list[Run] = []
    activation = code = None
    for node in paced(nodes, "sorted by their places"):
        where = node.location
        if where is None:
            if activation is not None or not found:
                activation = code = None
                found.append((None, []))
        elif where[0] is not activation or where[1] is not code:
            activation, code, _ = where
            found.append((where, []))
        found[-1][1].append(node)
    return found


def _scoped(runs: list[Run], scopes_of: ScopesOf) -> list[Run]:
    known: dict[Any, Any] = {}
    return [(scopes_of(where, known), made) for where, made in runs]


def _nodes_of(runs: list[Run]) -> tuple[Node, ...]:
    return tuple([node for _, made in runs for node in made])


def _size(runs: list[Run]) -> int:
    return sum([len(made) for _, made in runs])


def _down_to(opened: str, scopes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the scopes down to the innermost call of a function; none where it was not called."""
    last = max((place for place, scope in enumerate(scopes, 1) if scope.label == f"{opened}()"), default=0)
    return scopes[:last]


def functions_of(runs: list[Run], scopes_of: ScopesOf) -> list[str]:
    """Return the names of the functions in whose calls nodes were made."""
    labels = (scope.label for chain, _ in _scoped(runs, scopes_of) for scope in chain)
    return list(dict.fromkeys(label.removesuffix("()") for label in labels if label != "loop"))


def by_line(nodes: Sequence[Node], line_of: LineOf) -> list[NodeFold]:
    """Return what each line made without another's between, from nodes in order of birth."""
    found: list[tuple[int | None, list[Node]]] = []
    lines = LineTable(line_of)
    for node in nodes:
        line = lines.of_node(node)
        if not found or found[-1][0] != line:
            found.append((line, []))
        found[-1][1].append(node)
    return [NodeFold(f"line {line}", 1, tuple(made)) for line, made in found if line is not None and len(made) > 1]


def in_modules(runs: list[Run], paths: ModulePaths) -> list[Run]:
    """Return runs with the calls of modules around them in the place of where they were made."""
    return [(paths.calls(where), made) for where, made in runs]


def by_module(runs: list[Run], opened: str = "") -> list[NodeFold]:
    """Return what each module made as one stretch, from what `in_modules` returns of runs in order of birth.

    The outermost modules are opened, level by level, as long as few rows come of it and what they call made most of their
    nodes. The module at the path `opened` is opened in any case.
    """
    level = _of_modules(runs, 0)
    while True:
        opening = [_of_modules(one.runs, one.depth + 1) if one.may_open() else None for one in level]
        rows = sum(1 if below is None else one.rows_with(below) for one, below in zip(level, opening, strict=True))
        enough = rows > MODULE_ROWS
        following: list[_ModuleStretch] = []
        for one, below in zip(level, opening, strict=True):
            if _leads_to(one.path, opened):
                following += _of_modules(one.runs, one.depth + 1)
            else:
                following += [one] if below is None or enough else below
        if len(following) == len(level) and all(new is old for new, old in zip(following, level, strict=True)):
            return [NodeFold(one.label(), one.times, _nodes_of(one.runs), one.path) for one in level]
        level = following


class _ModuleStretch(NamedTuple):
    """Nodes born one after the other in calls of one module, which lie so deep in calls of others."""

    path: str
    depth: int
    times: int
    runs: list[Run]

    def label(self) -> str:
        """Return the module's path; of one node its operation, too."""
        return self.path if _size(self.runs) > 1 else f"{self.path}  {node_name(self.runs[0][1][0])}"

    def may_open(self) -> bool:
        """Whether the modules that this one calls made most of its nodes."""
        return 2 * _size([run for run in self.runs if len(run[0]) > self.depth + 1]) > _size(self.runs)

    def rows_with(self, below: "list[_ModuleStretch]") -> int:
        """Return how many rows the module takes when it is opened."""
        return len(below) + _size(self.runs) - sum(_size(one.runs) for one in below)


def _of_modules(runs: list[Run], depth: int) -> list[_ModuleStretch]:
    found: list[tuple[str, list[Run], set[int]]] = []
    last = ""
    for run in runs:
        calls = run[0]
        path = calls[depth].path if len(calls) > depth else ""
        if path:
            if path != last:
                found.append((path, [], set()))
            found[-1][1].append(run)
            found[-1][2].add(calls[depth].call)
        last = path
    return [_ModuleStretch(path, depth, len(calls), made) for path, made, calls in found]


def _leads_to(path: str, opened: str) -> bool:
    """Whether a module is the one that is to be opened, or holds it."""
    return path == opened or (opened.startswith(path) and opened[len(path)] in ".[")


def _repeated(runs: list[Run]) -> list[tuple[str, int, list[Run]]]:
    """Return (label, times, runs) of the stretches in which a function is called, or a loop passes, more than once."""
    found: list[tuple[str, int, list[Run]]] = []
    stack = [(runs, 0)]
    while stack:
        part, depth = stack.pop()
        for stretch in _stretches(part, depth):
            times = _instances(stretch, depth)
            if times > 1:
                found.append((_label(stretch, depth), times, stretch))
            else:
                stack.append((stretch, depth + 1))
    return found


def _calls(runs: list[Run], room: int) -> list[NodeFold]:
    """Return single calls as folds, the outermost that are not themselves most of the graph."""
    found: list[NodeFold] = []
    every = _size(runs)
    stack = [(runs, 0)]
    while stack:
        part, depth = stack.pop()
        for stretch in _stretches(part, depth):
            label, size = stretch[0][0][depth].label, _size(stretch)
            small = size <= max(room, every // 4)
            if small and size >= _FEWEST and label != "loop":
                found.append(NodeFold(label, 1, _nodes_of(stretch)))
            elif not small:
                stack.append((stretch, depth + 1))
    return found


def _stretches(runs: list[Run], depth: int) -> list[list[Run]]:
    """Return the longest sequences of runs whose scope at `depth` is of one series."""
    out: list[list[Run]] = []
    last = None
    for run in runs:
        chain = run[0]
        series = chain[depth].series if len(chain) > depth else None
        if series is not None:
            if series == last:
                out[-1].append(run)
            else:
                out.append([run])
        last = series
    return out


def _instances(runs: list[Run], depth: int) -> int:
    """Count how often the scope is entered anew."""
    times = 0
    last = None
    for chain, _ in runs:
        instance = chain[depth].instance
        times += instance != last
        last = instance
    return times


def _label(runs: list[Run], depth: int) -> str:
    """Name a loop by the one function that every pass calls, if all its nodes come from there."""
    label: str = runs[0][0][depth].label
    if label != "loop":
        return label
    inner = {chain[depth + 1].label if len(chain) > depth + 1 else "" for chain, _ in runs}
    only = inner.pop() if len(inner) == 1 else ""
    return only if only not in {"", "loop"} else LOOP
