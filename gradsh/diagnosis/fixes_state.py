"""Fixes for a graph that is carried from one pass to the next: in a variable, an attribute, a list, a dictionary."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradsh.diagnosis.code import (
    STORING,
    Draft,
    Site,
    base_of,
    detached,
    headed,
    inside,
    keyed_path,
    path_of,
    reads,
    targets_of,
)
from gradsh.diagnosis.fixes import Finder, attribute
from gradsh.diagnosis.fixes_leaves import read_by
from gradsh.diagnosis.slices import dedented, slice_before
from gradsh.language import tree
from gradsh.text.span import text_of

STOPS = "the gradient then does not reach earlier iterations"
_HOLDING = (list, tuple, dict, deque, int, float, type(None))
"""What may hold graphs; a sum begins as a number, and of None nothing is known."""
_FEW = 100
"""Items of a container that are looked at."""
OWN = "each iteration then has its own graph, and the gradient then is that of the iteration"


class Carrier(NamedTuple):
    """What carries a graph: its path, the statement that stores it, how (`bound`, `added`, `stored`), its value now."""

    path: str
    site: Site
    how: str
    value: Any
    stored: object


def carried(finder: Finder) -> None:
    """Offer to cut what carries the graph, where it is bound, and after the pass that freed it."""
    cause = finder.cause
    freed = finder.site(cause.freed or cause.needed)
    begun_anew = _begun_anew(finder)
    lasting = [one for one in _carriers(finder) if not _is_of_call(finder, one, begun_anew)]
    carriers = sorted(_without_initial(lasting), key=lambda one: (
        not finder.holds(one.value), freed is None or not one.site.loops or not one.site.same_scope(freed)))
    sure = [one for one in carriers if finder.holds(one.value)]
    below = finder.below_failing()
    sure = [one for one in sure if finder.holds_any(one.value, below)] or sure  # another one keeps the graph, and did not bring it here
    bound = {one.path: one for one in carriers if one.how == "bound" and (finder.holds(one.value) or finder.is_freed(one.value))}
    together = len({id(one.site.statement) for one in bound.values()}) == 1
    if together:
        _all_cut(finder, bound, freed)
    initial = [one for one in bound.values() if _is_initial(one)]
    if len(initial) > 1:
        _stored_detached(finder, initial)
    for one in sure or carriers[:6]:
        if one.how == "stored":
            replaced = isinstance(one.value, dict) and not _is_cache(one)
            if replaced and _is_of_tensors(one.value):
                _cut_after(finder, one, freed)
            if not _is_trimmed(finder, one):
                _emptied(finder, one, freed)
            if not _is_of_tensors(one.value):
                continue
            _cut_after(finder, one, freed)
            _cut_where_read(finder, one)
            _stored_detached(finder, [other for other in sure or [one] if other.how == "stored" and other.path == one.path])
            _stored_detached(finder, [one])
        elif one.how == "added":
            if freed is not None and one.path in reads(freed.statement):
                _cut_after(finder, one, freed)
            _stored_detached(finder, [one])
        else:
            _cut(finder, one, freed)
    if not together:
        _all_cut(finder, {path: one for path, one in bound.items() if "." in path}, freed)
    _in_calls(finder)


def _all_cut(finder: Finder, carriers: dict[str, Carrier], freed: Site | None) -> None:
    """Several states that carry graphs, as an LSTM's two do: cut them all."""
    if len(carriers) < 2 or freed is None:
        return
    lines = dict.fromkeys(cut_of(path, one.value) for one in carriers.values() for path in _paths_at(finder, one, freed)[:1])
    finder.offer(f"detach it after each backward: `{'; '.join(lines)}` after line {freed.statement.span.end_line}",
                 Draft().insert(freed, "after", *lines), STOPS, changes=STOPS)
    draft = Draft()
    for one in carriers.values():
        draft.insert(one.site, "before", cut_of(one.path, one.value))
    before = dict.fromkeys(str(one.site.line) for one in carriers.values())
    finder.offer(f"detach it in each iteration: {', '.join(carriers)} with `.detach()` before line {' and '.join(before)}",
                 draft, STOPS, changes=STOPS)


def in_each_pass(finder: Finder) -> None:
    """A loop over results that a comprehension computed before it: compute each in its own pass."""
    needed = finder.cause.needed
    for level in finder.levels(needed) if needed is not None else ():
        for loop in level.loops:
            made = _comprehension(finder, loop, level)
            if isinstance(loop, tree.For) and isinstance(loop.iter, tree.Tuple | tree.List):
                _by_place(finder, loop, loop.iter)
            if made is None or not isinstance(loop, tree.For):
                continue
            source, generator = made[0].source, made[1].generators[0]
            first = next(site for site in finder.code.sites if site.statement is loop.body[0])
            target, items = (text_of(source, one.span) for one in (generator.target, generator.iter))
            line = f"{text_of(level.source, loop.target.span)} = {text_of(source, made[1].elt.span)}"
            draft = Draft().replace(level.source, loop.target.span, target).replace(level.source, loop.iter.span, items)
            finder.offer(f"compute each in its iteration: `for {target} in {items}:` on line {loop.span.line}, `{line}` in it",
                         draft.insert(first, "before", line), OWN, changes=OWN)


def _by_place(finder: Finder, loop: tree.For, items: tree.Tuple | tree.List) -> None:
    """A loop over results that are listed in its header: compute them again in each pass, and take the one whose turn it is."""
    header = next(site for site in finder.code.sites if site.statement is loop)
    first = next(site for site in finder.code.sites if site.statement is loop.body[0])
    sources = [site for site in slice_before(finder, header) if isinstance(site.statement, tree.Assign)]
    listed = ", ".join(text_of(header.source, one.span) for one in items.elts)
    line = f"{text_of(header.source, loop.target.span)} = ({listed})[place]"
    draft = Draft().replace(header.source, loop.target.span, "place").replace(header.source, items.span, f"range({len(items.elts)})")
    if sources:
        finder.offer(f"compute each in its iteration: `{line}` in the loop of line {header.line}, after line "
                     f"{' and '.join(str(site.line) for site in sources)} again",
                     draft.insert(first, "before", *dedented(sources), line), "costs a forward in each iteration", changes=OWN)


def _comprehension(finder: Finder, loop: object, level: Site) -> tuple[Site, Any] | None:
    """Return the statement that binds what a loop goes over to a comprehension with one plain clause, and that."""
    name = path_of(loop.iter) if isinstance(loop, tree.For) else ""
    for site in finder.code.sites:
        value = site.statement.value if isinstance(site.statement, tree.Assign) else None
        if name and site.same_scope(level) and name in map(path_of, targets_of(site.statement)) and isinstance(value, tree.ListComp):
            return (site, value) if len(value.generators) == 1 and not value.generators[0].ifs else None
    return None


def _without_initial(carriers: list[Carrier]) -> list[Carrier]:
    """Leave out where `__init__` sets what another method binds anew, or fills: the graph comes from there."""
    later = [one for one in carriers if not _is_initial(one)]
    return [one for one in carriers if not _is_initial(one) or not any(
        one.path == other.path or (one.value is other.value is not None) for other in later)]


def _begun_anew(finder: Finder) -> set[int]:
    """Return the functions that were called again between the two passes: their own variables carry nothing."""
    freed, needed = finder.cause.freed, finder.cause.needed
    if freed is None or needed is None:
        return set()
    pairs = enumerate(zip(freed.calls, needed.calls, strict=False), start=1)
    first = next((depth for depth, (one, other) in pairs if one != other), None)
    return set() if first is None else {id(level.function) for level in finder.levels(needed)[first:] if level.function is not None}


def _is_of_call(finder: Finder, one: Carrier, functions: set[int]) -> bool:
    """Whether a carrier is a variable of its own of one of some functions."""
    return id(one.site.function) in functions and not _is_shared(one.site, one.path) and any(
        site.same_scope(one.site) and one.path in map(path_of, targets_of(site.statement)) for site in finder.code.sites)


def _is_initial(one: Carrier) -> bool:
    return one.site.function is not None and one.site.function.name == "__init__"


def _carriers(finder: Finder) -> Iterator[Carrier]:
    needed = finder.site(finder.cause.needed)
    loops = needed.loops if needed is not None else ()
    levels = finder.levels(finder.cause.needed) if finder.cause.needed is not None else []
    around = {id(loop) for level in levels for loop in level.loops} | {id(loop) for loop in loops}
    generators = {id(site.function) for site in finder.code.sites  # they go on between passes
                  for node in headed(site.statement) if isinstance(node, tree.Yield | tree.YieldFrom)}
    seen: set[tuple[str, int]] = set()
    for site in finder.code.sites:
        reached = any(id(loop) in around for loop in site.loops) or id(site.function) in generators
        if site.function is None and not reached:
            continue
        for path, how, stored in (*_stores(site), *_stores_by_call(finder, site)):
            state = "." in path or how == "stored" or _is_shared(site, path) or (reached and _outlives(finder, site, path))
            if state and (path, id(site.statement)) not in seen:
                seen.add((path, id(site.statement)))
                value = finder.holder(path)
                leaf = getattr(value, "requires_grad", False) and finder.root(value) is None
                if not leaf and not _has_no_graph(path, stored) and (hasattr(value, "grad_fn") or isinstance(value, _HOLDING)):
                    yield Carrier(path, site, how, value, stored)


def _stores(site: Site) -> Iterator[tuple[str, str, object]]:
    statement = site.statement
    if isinstance(statement, tree.AugAssign):
        base = base_of(statement.target)
        if path := path_of(base):
            yield path, "added" if base is statement.target else "stored", statement.value
    elif isinstance(statement, tree.Assign):
        for target in targets_of(statement):
            base = base_of(target)
            if path := path_of(base):
                yield path, "bound" if base is target else "stored", statement.value
    elif isinstance(statement, tree.Expr) and isinstance(statement.value, tree.Call):
        call = statement.value
        if isinstance(call.func, tree.Attribute) and call.func.attr in STORING and call.args and (
            path := keyed_path(call.func.value)
        ):
            yield path, "stored", call.args[-1]


def _has_no_graph(path: str, stored: object) -> bool:
    """Whether what is stored has no graph: it is a literal, or what learns, or is written to `.data`."""
    return isinstance(stored, tree.Constant) or makes_leaf(stored) or path.endswith(".data")


def makes_leaf(node: object) -> bool:
    """Whether an expression makes what learns: cut off, it would be a plain tensor."""
    return isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] in {"Parameter", "requires_grad_"}


def _stores_by_call(finder: Finder, site: Site) -> Iterator[tuple[str, str, object]]:
    """Yield what a call of a function of the script's stores into a container that it is given."""
    call = site.statement.value if isinstance(site.statement, tree.Expr) else None
    if not isinstance(call, tree.Call):
        return
    for function in finder.code.functions(path_of(call.func).rpartition(".")[2]):
        names = [one.arg for one in function.statement.args.args]  # type: ignore[attr-defined]
        given = dict(zip(names[isinstance(call.func, tree.Attribute) and function.owner is not None:], call.args, strict=False))
        for inner in finder.code.sites:
            for path, how, stored in _stores(inner) if inner.function is function.statement else ():
                if how == "stored" and path in given and path_of(given[path]):
                    yield path_of(given[path]), how, given.get(path_of(stored))


def _outlives(finder: Finder, site: Site, path: str) -> bool:
    """Whether a variable that is bound in a loop is read there as the pass before left it."""
    statement = site.statement
    if isinstance(statement, tree.AugAssign) or path in reads(statement):
        return not _is_bound_before(finder, site, path)
    readers = (finder.code.at(part.span, site.source) for loop in site.loops for one in getattr(loop, "body", ())
               for part in inside(one) if isinstance(part, tree.Name) and part.id == path and part.span[:2] < statement.span[:2])
    return any(reader is not None and path in reads(reader.statement) and not _is_bound_before(finder, reader, path)
               for reader in readers)


def _is_bound_before(finder: Finder, reader: Site, path: str) -> bool:
    """Whether the pass of a loop in which a statement reads a variable always binds it before, without reading it."""
    around = (*reader.parents, reader.statement)
    return any(
        site.loops == reader.loops and site.line < reader.line and site.same_scope(reader)
        and path in map(path_of, targets_of(site.statement)) and path not in reads(site.statement)
        and any(one is part for one in site.block for part in around)
        for site in finder.code.sites
    )


def _is_shared(site: Site, path: str) -> bool:
    """Whether a function binds a variable that is not its own."""
    return site.function is not None and any(
        isinstance(one, tree.Global | tree.Nonlocal) and path in one.names for one in site.function.body)


def _is_cache(one: Carrier) -> bool:
    """Whether a dictionary is filled where it has no such key yet: emptied, it is computed anew."""
    return any(isinstance(parent, tree.If) and one.path in reads(parent.test) for parent in one.site.parents)


def _is_of_tuples(value: object) -> bool:
    """Whether a list, a deque or a dictionary holds tuples of tensors."""
    items = list(value.values() if isinstance(value, dict) else value)[:_FEW] if isinstance(value, list | deque | dict) else []
    return bool(items) and all(isinstance(one, tuple) and all(hasattr(part, "grad_fn") for part in one) for one in items)


def cut_of(path: str, value: object) -> str:
    """Return the statement that cuts the history of what a path holds."""
    part = "tuple(one.detach() for one in part)" if _is_of_tuples(value) else "part.detach()"
    if isinstance(value, dict):
        return f"{path} = {{key: {part} for key, part in {path}.items()}}"
    if isinstance(value, deque):
        return f"{path} = type({path})(({part} for part in {path}), {path}.maxlen)"
    if isinstance(value, list):
        return f"{path} = [{part} for part in {path}]"
    if isinstance(value, tuple):
        make = f"{path}._make" if hasattr(value, "_fields") else "tuple"
        return f"{path} = {make}(part.detach() for part in {path})"
    return f"{path} = {path}.detach()"


def _is_of_tensors(value: object) -> bool:
    """Whether a value, or each part of a container, can be detached as `cut_of` does."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | deque) else ()
    inner = [one for part in parts for one in (part if _is_of_tuples(value) else [part])]
    return all(hasattr(type(one), "detach") for one in inner)


def _cut(finder: Finder, one: Carrier, freed: Site | None) -> None:
    line, site = cut_of(one.path, one.value), one.site
    _computed_anew(finder, one, freed)
    words = f"detach it in each iteration: `{line}`"
    if _is_initial(one):
        _stored_detached(finder, [one])
    if freed is not None and len(site.loops) > (len(freed.loops) if site.function is freed.function else 0):
        _cut_after(finder, one, freed)  # the graph of a pass goes through several turns of that loop
    from_none = _starts_as_none(finder, one)
    if not from_none:
        finder.offer(f"{words} before line {site.line}", Draft().insert(site, "before", line), STOPS, changes=STOPS)
    _cut_after(finder, one, freed)
    if getattr(one.value, "grad_fn", None) is not None and any(True for _ in finder.code.named("grad")):
        first = _first_in_pass(finder, site, one.path)
        finder.offer(f"{words[:-1]}.requires_grad_()` before line {first.line}",
                     Draft().insert(first, "before", f"{line}.requires_grad_()"), STOPS, changes=STOPS)
    if one.path not in reads(site.statement):
        _stored_detached(finder, [one])
        return
    if not from_none:
        _cut_where_read(finder, one)
    if finder.value(one.path) is None:  # nothing more is known of it: it may begin as a number
        _stored_detached(finder, [one])
    if not any(other.same_scope(site) and other.line > site.line and one.path in read_by(other) for other in finder.code.sites):
        finder.offer(f"{words} after line {site.statement.span.end_line}", Draft().insert(site, "after", line), STOPS, changes=STOPS)


def _starts_as_none(finder: Finder, one: Carrier) -> bool:
    """Whether all else that is bound to the path is None: there is nothing to detach before the first iteration."""
    others = [stored for site in finder.code.sites if site is not one.site
              and (site.same_scope(one.site) or ("." in one.path and site.owner is not None and site.owner is one.site.owner))
              for path, _, stored in _stores(site) if path == one.path]
    return bool(others) and all(isinstance(stored, tree.Constant) and stored.value is None for stored in others)


def _first_in_pass(finder: Finder, site: Site, path: str) -> Site:
    """Return the first statement of a loop's pass that reads what another one of the same block binds."""
    readers = [one for one in finder.code.sites if site.loops and one.same_block(site) and path in reads(one.statement)]
    return min([site, *readers], key=lambda one: one.line)


def _computed_anew(finder: Finder, one: Carrier, freed: Site | None) -> None:
    """A result that is computed where there is none (`if self.weight is None:`): let there be none after each backward."""
    guards = [parent.test for parent in one.site.parents if isinstance(parent, tree.If)]
    kept = any(isinstance(test, tree.Compare) and path_of(test.left) == one.path and test.ops[0] == "is" for test in guards)
    if freed is None or not kept:
        return
    for path in _paths_at(finder, one, freed):
        finder.offer(f"compute it again in each iteration: `{path} = None` after line {freed.statement.span.end_line}",
                     Draft().insert(freed, "after", f"{path} = None"), OWN, changes=OWN)


def _cut_after(finder: Finder, one: Carrier, freed: Site | None) -> None:
    if freed is None:
        return
    for path in _paths_at(finder, one, freed):
        cut = cut_of(path, one.value)
        finder.offer(f"detach it after each backward: `{cut}` after line {freed.statement.span.end_line}",
                     Draft().insert(freed, "after", cut), STOPS, changes=STOPS)


def _cut_where_read(finder: Finder, one: Carrier) -> None:
    """Cut what the pass before has left where the statement that stores it anew reads it."""
    source, targets = one.site.source, targets_of(one.site.statement)
    texts = {text_of(source, target.span) for target in targets}
    read = [node for node in headed(one.site.statement) if isinstance(node, tree.Name | tree.Attribute | tree.Subscript)
            and text_of(source, node.span) in texts and all(node is not target for target in targets)]
    for text in dict.fromkeys(text_of(source, node.span) for node in read):
        cut = cut_of(text, one.value).removeprefix(f"{text} = ")
        finder.offer(f"detach it in each iteration: `{cut}` on line {one.site.line}", Draft().replace_all(
            (source, node.span, cut) for node in read), STOPS, changes=STOPS)


def _paths_at(finder: Finder, one: Carrier, site: Site) -> list[str]:
    """Return how a carrier is written at another statement."""
    if one.site.function is site.function and one.site.source is site.source:
        return [one.path]
    whole, mark, key = one.path.partition("[")
    head, _, name = whole.rpartition(".")
    value = finder.value(whole)
    if not head:
        shared = finder.case.machine.variables().get(name) if site.function is None else None
        return [one.path] if one.site.function is None or (shared is not None and shared is value) else []
    found = [(path, owner) for path, owner in finder.owners(name) if value is not None and attribute(owner, name) is value]
    return [f"{path}.{name}{mark}{key}" for path, _ in {id(owner): (path, owner) for path, owner in reversed(found)}.values()][-2:][::-1]


def memory_emptied(finder: Finder) -> None:
    """A memory of a bounded length that keeps graphs in its entries: only what was stored since the last update can be learnt from."""
    freed = finder.site(finder.cause.freed or finder.cause.needed)
    for one in _carriers(finder):
        nested = finder.holds(one.value) and not finder.holds(one.value, 2) and not _is_of_tuples(one.value)
        if one.how == "stored" and nested and _is_trimmed(finder, one):
            _emptied(finder, one, freed, "the gradient then covers only what was stored since")


def _emptied(finder: Finder, one: Carrier, freed: Site | None, effect: str = OWN) -> None:
    """A list or a dictionary that is never emptied: empty it when its pass is over."""
    if freed is None or not isinstance(one.value, list | dict | set | deque):
        return
    ends = [freed]
    step = next((site for site in finder.code.sites if site.same_block(freed) and site.line > freed.line
                 and ".step()" in site.text), None)
    ends += [step] if step is not None else []
    clear = "del {0}[:]" if isinstance(one.value, list) else "{0}.clear()"
    paths = _paths_at(finder, one, freed)
    if isinstance(one.value, list) and not any("." in path for path in paths):
        clear = "{0}.clear()"
    for path in paths:
        line = clear.format(path)
        for end in reversed(ends):
            finder.offer(f"empty it after its backward: `{line}` after line {end.statement.span.end_line}",
                         Draft().insert(end, "after", line), effect, changes=effect)


def _is_trimmed(finder: Finder, one: Carrier) -> bool:
    """Whether a list keeps no more than its last items: what it holds is meant to stay."""
    sliced = [site for site in finder.code.sites for node in headed(site.statement)
              if isinstance(node, tree.Subscript) and isinstance(node.slice, tree.Slice) and path_of(node.value) == one.path]
    return getattr(one.value, "maxlen", None) is not None or any(
        isinstance(site.statement, tree.Delete) or one.path in map(path_of, targets_of(site.statement)) for site in sliced)


def _stored_detached(finder: Finder, stores: list[Carrier]) -> None:
    """Store values without their history."""
    parts = [part for one in stores if one.stored is not None for part in detached(one.site.source, one.stored)]
    if parts:
        lines = " and ".join(dict.fromkeys(str(span.line) for _, span, _ in parts))
        held = " and ".join(dict.fromkeys(one.path for one in stores))
        effect = f"{held} then {'has' if len(stores) == 1 else 'have'} no graph: the gradient then stops there"
        finder.offer(f"store values without their graph: `.detach()` on line {lines}", Draft().replace_all(parts), effect, changes=effect)


def _in_calls(finder: Finder) -> None:
    """A state that a function takes and returns, handed on from call to call: cut it where it is handed in."""
    needed = finder.cause.needed
    if needed is None:
        return
    for level in finder.levels(needed)[:-1]:  # cut where the pass begins, it would find no graph
        bound = {path_of(one) for one in targets_of(level.statement)}
        names = [node for node in headed(level.statement) if isinstance(node, tree.Name) and finder.holds(finder.value(node.id))]
        targets = set(map(id, targets_of(level.statement)))
        states = dict.fromkeys(node.id for node in names if id(node) not in targets
                               and (node.id in bound or (level.loops and not _is_fresh(finder, node.id, level))))
        lines = [cut_of(name, finder.value(name)) for name in states]
        for some in ([lines] if len(lines) > 1 else []) + [[line] for line in lines]:
            finder.offer(f"detach it in each iteration: `{'; '.join(some)}` before line {level.line}",
                         Draft().insert(level, "before", *some), STOPS, changes=STOPS)


def _is_fresh(finder: Finder, name: str, level: Site) -> bool:
    """Whether the same pass of the loop binds the name before the statement reads it."""
    loop = level.loops[-1]
    return any(
        site.line < level.line and any(loop is one for one in site.loops) and name in map(path_of, targets_of(site.statement))
        for site in finder.code.sites
    )
