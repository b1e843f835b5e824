"""Fixes for a tensor that two backward passes share: cut it off for the one that is not meant for what made it."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from gradsh.diagnosis.code import Draft, Site, headed, inside, path_of, reads, targets_of, written
from gradsh.diagnosis.fixes import MOST_NODES, Finder, attribute, call_in
from gradsh.engine.graph.tensor import Tensor
from gradsh.language import tree
from gradsh.probe.foreign import tensor_of
from gradsh.probe.modules import is_module
from gradsh.probe.snapshot import nodes_below
from gradsh.runtime.activation import Place


def cut_off(finder: Finder, first: Place) -> None:
    """The first backward may not be meant for what made a shared tensor, as a discriminator's is not for the generator."""
    for level in _roots(finder, first):
        by_name: dict[str, list[tuple[Site, object]]] = {}
        updated = _updated(finder, level)
        for site in building(finder, level):
            for node, path in _handed(finder, site, level):
                if _leads_to(finder, finder.value(path), updated):
                    continue  # the step that follows is meant for what made it, too
                by_name.setdefault(path, []).append((site, node))
        _cut_paths(finder, level, {path: by_name[path] for path in _nearest_to_shared(finder, list(by_name))})


def cut_unserved(finder: Finder, first: Place) -> None:
    """The step after the first backward updates nothing that made a tensor which the backward goes through: cut it off there."""
    for level in _roots(finder, first):
        updated = _updated(finder, level)
        for site in building(finder, level) if updated else ():
            by_name: dict[str, list[tuple[Site, object]]] = {}
            bound = set(map(id, targets_of(site.statement)))
            for node in _read_for(site, level):
                path = path_of(node) if id(node) not in bound else ""
                if path and finder.holds(value := finder.value(path), 1) and not _leads_to(finder, value, updated):
                    by_name.setdefault(path, []).append((site, node))
            _cut_paths(finder, level, by_name)


def _cut_paths(
    finder: Finder, level: Site, by_name: dict[str, list[tuple[Site, Any]]], which: str = "first", of: str = "a discriminator's"
) -> None:
    """Offer to detach what one of two passes is given: all of it, where it is several tensors, then each."""
    known = sorted(by_name, key=lambda path: by_name[path][0][1].span[:2])
    for paths in [known] * (len(known) > 1) + [[path] for path in known]:
        places = [(site, node, path) for path in paths for site, node in by_name[path]]
        lines = " and ".join(dict.fromkeys(str(site.line) for site, _, _ in places))
        shown = " and ".join(f"`{path}.detach()`" for path in paths)
        effect = f"line {level.line} then gives no gradient to the operations that made {' and '.join(paths)}, as in {of} step"
        finder.offer(f"detach it for the {which} backward: {shown} on line {lines}", Draft().replace_all(
            (site.source, node.span, f"{path}.detach()") for site, node, path in places), effect, changes=effect)


def _roots(finder: Finder, first: Place) -> list[Site]:
    """Return the statement of a pass, and those that led to it through calls."""
    root = finder.site(first)
    if root is None:
        return []
    return [root, *(site for site in finder.levels(first) if site is not root)] if first.calls else [root]


def building(finder: Finder, level: Site) -> Iterator[Site]:
    """Yield the statements before one, in its function, whose results it is computed from, the nearest first; it is the first."""
    names = set(reads(level.statement))
    for site in _above(finder, level):
        if bound := written(site.statement) & names:
            if site.same_block(level) and isinstance(site.statement, tree.Assign):
                names -= bound  # an earlier value of them is not read
            names.update(reads(site.statement))
            yield site


def second_cut_off(finder: Finder) -> None:
    """The second backward may not be meant for what the first has gone through, as an actor's is not for the critic."""
    needed = finder.cause.needed
    levels = finder.levels(needed) if needed is not None else []
    for level in reversed(levels):
        _attributes_cut_off(finder, level)
        for site in building(finder, level):
            called = site.statement is level.statement and level is not levels[-1]  # what it hands on is gone back from
            if not called and site.statement is level.statement:
                continue
            bound = set(map(id, targets_of(site.statement)))
            by_name: dict[str, list[tuple[Site, object]]] = {}
            for node in headed(site.statement):
                path = path_of(node)
                value = finder.value(path) if path and id(node) not in bound else None
                if isinstance(value, Tensor) and (finder.holds(value) or finder.is_freed(value)):
                    by_name.setdefault(path, []).append((site, node))
            near = levels if called else [level]
            _cut_paths(finder, level, {path: nodes for path, nodes in by_name.items() if any(
                _step_is_served(finder, one, finder.value(path)) for one in near) and not any(
                _leads_to(finder, finder.value(path), _updated(finder, one)) for one in near)}, "second", "an actor's")


def _attributes_cut_off(finder: Finder, level: Site) -> None:
    """A function that the second loss was computed by reads what the first pass went through from attributes: cut it off there."""
    updated, nodes = _updated(finder, level), dict[str, list[tuple[Site, Any]]]()
    for site in finder.code.sites if finder.cause.needed is not None else ():
        if site.function is None or site.function.name not in _called(finder, level):
            continue
        bound = set(map(id, targets_of(site.statement)))
        for node in headed(site.statement):
            plain = isinstance(node, tree.Attribute) and id(node) not in bound
            value = finder.value(path_of(node)) if plain and path_of(node) else None
            if isinstance(value, Tensor) and finder.is_freed(value) and not _leads_to(finder, value, updated):
                nodes.setdefault(path_of(node), []).append((site, node))
    if nodes and _step_is_served(finder, level, *map(finder.value, nodes)):
        _cut_paths(finder, level, nodes, "second")


def _called(finder: Finder, level: Site) -> set[str]:
    """Return the names of the functions that compute what a pass goes back from, in the statements after the first pass."""
    first = finder.cause.freed
    after = [site.line for site in (finder.levels(first) if first is not None else ()) if site.same_scope(level)]
    return {path_of(node.func).rpartition(".")[2] for site in building(finder, level) if site.line > max(after, default=0)
            for node in headed(site.statement) if isinstance(node, tree.Call)}


def _step_is_served(finder: Finder, level: Site, *cut: object) -> bool:
    """Whether the optimizer that steps after a backward still gets a gradient from it, where its graph ends at some tensors."""
    updated = _updated(finder, level)
    return any(_leads_to(finder, finder.value(path), updated, set(map(finder.root, cut))) for path in reads(level.statement))


def _updated(finder: Finder, level: Site) -> set[int]:
    """Return what the optimizer updates that steps after a backward, or whose gradients are reset before it."""
    near = sorted((site for site in finder.code.sites if site.same_block(level)), key=lambda site: site.line)
    steps = [call for site in near if site.line > level.line and (call := call_in(site, "step")) is not None]
    resets = [call for site in near if site.line < level.line and (call := call_in(site, "zero_grad")) is not None]
    call = next(iter([*steps[:1], *resets[-1:]]), None)  # at the top level nothing is known of what comes after a failure
    owner = finder.value_of(call.func.value) if call is not None and isinstance(call.func, tree.Attribute) else None
    return {id(tensor_of(one)) for group in attribute(owner, "param_groups") or () for one in group["params"]}


def _leads_to(finder: Finder, value: object, leaves: set[int], without: set[Any] | None = None) -> bool:
    """Whether a tensor's graph, without what is below some nodes, has one of some leaves."""
    root = finder.root(value)
    below = nodes_below(root, without or set()) if root is not None else ()
    return any(id(getattr(node, "variable", None)) in leaves for node in islice(below, MOST_NODES))


def _nearest_to_shared(finder: Finder, paths: list[str]) -> list[str]:
    """Leave out the tensors that were computed from another one of them: the cut belongs where what is shared ends."""
    roots = {path: finder.root(finder.value(path)) for path in paths}
    below = {path: set(map(id, islice(nodes_below(root), MOST_NODES))) - {id(root)} for path, root in roots.items()}
    return [path for path in paths if not any(id(roots[other]) in below[path] for other in paths)]


def _above(finder: Finder, level: Site) -> list[Site]:
    """Return the statements of the same function before one, and it, the nearest first."""
    near = [site for site in finder.code.sites if site.same_scope(level)
            and site.line <= level.line and not isinstance(site.statement, tree.FunctionDef | tree.ClassDef)]
    return sorted(near, key=lambda site: -site.line)


def _read_for(site: Site, level: Site) -> Iterator[object]:
    """Yield the expressions of a statement; of one that binds several results at once, those of the ones that a pass reads."""
    value = getattr(site.statement, "value", None)
    targets, wanted = targets_of(site.statement), set(reads(level.statement))
    if not isinstance(value, tree.Tuple) or len(value.elts) != len(targets) or not wanted & written(site.statement):
        yield from headed(site.statement)
        return
    for target, part in zip(targets, value.elts, strict=True):
        if path_of(target) in wanted:
            yield from inside(part)


def _handed(finder: Finder, site: Site, level: Site) -> list[tuple[Any, str]]:
    """Return the arguments with the failing graph that a statement hands to a module or a function of the script's."""
    found = []
    for node in _read_for(site, level):
        if not isinstance(node, tree.Call):
            continue
        name = path_of(node.func)
        if not name or name.split(".")[0] in {"torch", "F", "nn"} or not _is_own(finder, name):
            continue
        for argument in node.args:
            for part in inside(argument):
                path = path_of(part)
                value = finder.value(path) if path and isinstance(part, tree.Name | tree.Attribute) else None
                if isinstance(value, Tensor) and (finder.holds(value) or finder.is_freed(value)):
                    found.append((part, path))
    return found


def _is_own(finder: Finder, name: str) -> bool:
    """Whether a name calls a module or a function of the script's, and no method of a tensor."""
    value = finder.value(name)
    return is_module(value) or bool(finder.code.functions(name.rpartition(".")[2]))
