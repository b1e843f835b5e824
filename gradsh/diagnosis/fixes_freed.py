"""Fixes for a buffer that an earlier backward freed: compute it anew, cut it off, keep it, or go back once."""

from collections.abc import Callable
from itertools import product
from typing import Any

from gradsh.diagnosis.code import Draft, Site, headed, inside, path_of, reads, targets_of, written
from gradsh.diagnosis.explain_graph import trunk_of
from gradsh.diagnosis.fixes import Finder, attribute, call_in, held, with_keyword
from gradsh.diagnosis.fixes_shared import building, cut_off, cut_unserved, second_cut_off
from gradsh.diagnosis.fixes_state import OWN, carried, in_each_pass, memory_emptied
from gradsh.diagnosis.slices import dedented, slice_before, writes_on
from gradsh.language import tree
from gradsh.probe.modules import is_module
from gradsh.probe.snapshot import nodes_below
from gradsh.runtime.activation import Place
from gradsh.text.span import text_of

UPDATED = "the gradient then is that of the values at that line, with the updates made before it"


def freed(finder: Finder) -> None:
    """Offer what fits: a graph that is shared by passes is built anew or cut, one of two results is kept or gone back through once."""
    cause = finder.cause
    if cause.freed is None:
        _written_to_keep(finder)
        return
    in_each_pass(finder)
    apart = not _same_result(finder)  # else both passes go through one graph, and what is cut off for one is for the other
    if apart:
        cut_unserved(finder, cause.freed)
    called = cause.needed is not None and finder.parting(cause.freed, cause.needed) is not None  # one function, called twice
    if cause.repeated and not called:
        if cause.carried:
            carried(finder)
            again(finder)
        else:
            again(finder)
            carried(finder)
        _summed(finder)
        _unless_tried(finder, retained, doubtful=_steps_between(finder))
        memory_emptied(finder)
    else:
        stepped = _steps_between(finder)
        if stepped and apart:
            cut_off(finder, cause.freed)
        if apart:
            second_cut_off(finder)
        cut = bool(finder.fixes)
        _unless_tried(finder, retained, doubtful=stepped)
        if not stepped and apart:  # the gradients of both passes add up
            cut_off(finder, cause.freed)
        if cause.carried and not cut:
            carried(finder)
        _unless_tried(finder, one_pass, doubtful=stepped)
        repeated_forward(finder)
        if cause.carried:
            again(finder)
        _pinned(finder)


def _unless_tried(finder: Finder, rule: Callable[[Finder], None], *, doubtful: bool) -> None:
    """Offer what a rule finds; where that is doubtful, as after a step between two passes, only if a trial shows that it works."""
    known = len(finder.fixes)
    rule(finder)
    if doubtful:
        finder.fixes[known:] = [fix._replace(guess=True) for fix in finder.fixes[known:]]


def _same_result(finder: Finder) -> bool:
    """Whether two statements go back from one result: from one path that nothing binds between them."""
    freed, needed = finder.cause.freed, finder.cause.needed
    parted = finder.parting(freed, needed) if freed is not None and needed is not None else None
    if parted is None:
        return False
    first, second = parted
    root = _plain_root(first)
    return root != "" and root == _plain_root(second) and not any(
        root in written(site.statement) for site in finder.code.sites if site.same_scope(first) and first.line < site.line < second.line)


def _steps_between(finder: Finder) -> bool:
    """Whether an optimizer steps after the pass that freed the buffer and before the one that needs it."""
    freed, needed = finder.cause.freed, finder.cause.needed
    parted = finder.parting(freed, needed) if freed is not None and needed is not None else None
    levels = finder.levels(freed) if freed is not None else []
    return any(call_in(site, "step") is not None for level in levels for site in finder.code.sites
               if site.same_block(level) and site.line > level.line
               and not (parted is not None and site.same_block(parted[1]) and site.line > parted[1].line))


def _written_to_keep(finder: Finder) -> None:
    """Nothing tells which statement freed it (a saved tensor is read through `_saved_…`): keep the graph in every pass before."""
    for site in finder.code.sites:
        for node in headed(site.statement):
            if isinstance(node, tree.Call) and getattr(node.func, "attr", "") == "backward":
                _keep(finder, site, node)


def retained(finder: Finder) -> None:
    """Keep the buffers in the pass that frees them."""
    place = finder.cause.freed
    site = finder.site(place)
    if place is None or site is None:
        return
    call = finder.expression(place.span, place.source)
    if isinstance(site.statement, tree.Command):
        text = finder.text(place)
        if text.startswith("backward ") and "--retain" not in text:
            finder.offer(f"keep it with `{text} --retain` on line {site.line}",
                         Draft().replace(place.source, place.span, f"{text} --retain"), _cost(finder))
        return
    found: list[Any] = [call] if isinstance(call, tree.Call) else list(filter(_is_pass, headed(site.statement)))
    if len(found) == 1:
        _through_gradient(finder, site, found[0])
        _keep(finder, site, found[0])


def _through_gradient(finder: Finder, site: Site, call: tree.Call) -> None:
    """What is gone back from was computed from the gradient that the first pass gave, as a penalty is."""
    cause = finder.cause
    parted = finder.parting(cause.freed, cause.needed) if cause.freed is not None and cause.needed is not None else None
    new = with_keyword(text_of(site.source, call.span), "create_graph=True")
    given = path_of(call.func).rpartition(".")[2] == "grad" and site.function is not None
    if new is not None and (given or (parted is not None and any(
            one.statement is parted[0].statement for one in building(finder, parted[1])))):
        effect = f"the gradient then flows through the gradient of line {call.span.line} too, as a gradient penalty needs"
        finder.offer(f"make the gradient differentiable: `create_graph=True` on line {call.span.line}",
                     Draft().replace(site.source, call.span, new), effect, changes=effect)


def _is_pass(node: object) -> bool:
    """Whether an expression runs a backward pass: of a line that PyTorch ran, no more than the line is known."""
    return isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] in {"backward", "grad"}


def _keep(finder: Finder, site: Site, call: tree.Call) -> None:
    text = text_of(site.source, call.span)
    new = with_keyword(text, "retain_graph=True")
    if new is not None:
        finder.offer(f"keep it with `retain_graph=True` on line {call.span.line}: `{new}`" if len(new) < 60 else
                     f"keep it with `retain_graph=True` on line {call.span.line}",
                     Draft().replace(site.source, call.span, new), _cost(finder))


def _cost(finder: Finder) -> str:
    """Return what it costs to keep the graph: its bytes, each pass anew where it grows."""
    nbytes = kept_bytes(finder)
    size = f"keeps {amount(nbytes)}" if nbytes else "keeps the saved tensors"
    if finder.cause.carried:
        return f"{size} more in each iteration: the graph grows"
    return f"{size} until a backward without it"


def kept_bytes(finder: Finder) -> int:
    """Return the bytes that the graph of the failing node saves, as far as it can be seen."""
    roots = [node for scope in finder.scopes()[:1] for value in scope.values()
             if finder.holds(value, 1) and (node := finder.root(value)) is not None]
    seen: set[Any] = set()
    total = 0
    for root in roots or [finder.cause.node]:
        for node in nodes_below(root, seen):
            total += sum(entry.nbytes for entry in node.saved)
    return total


def amount(nbytes: int) -> str:
    """Return bytes in words: `512 B`, `2.1 MB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} B"


# --- anew in each pass ----------------------------------------------------------------------------------------------


def again(finder: Finder) -> None:
    """The graph was built once, and is gone through several times: build it in each pass, where it is read."""
    cause = finder.cause
    needed, saved = cause.needed, cause.saved
    failed = finder.site(needed)
    if needed is None or saved is None or failed is None:
        return
    saving = finder.levels(saved)
    for reader in reversed(finder.levels(needed)):
        sources = _built_outside(finder, reader)
        if sources:
            reader = _first_reader(finder, reader, sources)
        elif reader.function is not None:
            sources, reader = _in_function(finder, reader)
        if not sources:
            continue
        if _is_data(finder, reader, sources):
            _detached_before(finder, sources)
        lines = _listed(sources)
        words = f"compute it again in each iteration: line{'s' if len(sources) > 1 else ''} {lines} before line {reader.line}"
        if all(site.function is reader.function for site in sources):
            moved = Draft()
            for site in sources:
                moved.remove(site)
            finder.offer(words, moved.insert(reader, "before", *dedented(sources)), OWN, changes=OWN)
        finder.offer(words, Draft().insert(reader, "before", *dedented(sources)), OWN, changes=OWN)
        for path in (written(sources[-1].statement) & set(reads(reader.statement))) - {_plain_root(failed)}:
            effect = f"the tensors that {path} was computed from get no gradient"
            finder.offer(f"if it is data: `{path} = {path}.detach()` after line {sources[-1].statement.span.end_line}",
                         Draft().insert(sources[-1], "after", f"{path} = {path}.detach()"), effect, changes=effect)
        if len(sources) > 1 and not any(_plain_root(failed) in written(site.statement) for site in sources):
            _detached_before(finder, sources)
    _read_again(finder, saving)


def _is_data(finder: Finder, reader: Site, sources: list[Site]) -> bool:
    """Whether the loop computes itself what a statement before it computed: what came before is then data, such as old values."""
    values = {text_of(site.source, site.statement.value.span) for site in sources if isinstance(site.statement, tree.Assign)}
    return any(site.loops and reader.loops and site.loops[-1] is reader.loops[-1] and isinstance(site.statement, tree.Assign)
               and text_of(site.source, site.statement.value.span) in values for site in finder.code.sites)


def _detached_before(finder: Finder, sources: list[Site]) -> None:
    """What was computed before a loop, of several, may be data: cut it all off."""
    draft, lines = Draft(), []
    for site in sources:
        for path in written(site.statement):
            draft.insert(site, "after", f"{path} = {path}.detach()")
            lines.append(f"`{path} = {path}.detach()` after line {site.statement.span.end_line}")
    effect = f"line {_listed(sources)} then gives no gradient: each gradient is that of one iteration"
    finder.offer(f"if it is data: {', '.join(lines)}", draft, effect, changes=effect)


def _built_outside(finder: Finder, reader: Site) -> list[Site]:
    """Return the statements outside of the innermost loop around a reader that build what it reads."""
    if not reader.loops:
        return []
    first = reader.loops[-1].span.line
    sources = [site for site in slice_before(finder, reader, freed=True) if site.line < first]
    saved = finder.cause.saved
    if not sources and saved is not None:  # what functions read, or a call that stores its results
        sources = [site for site in finder.levels(saved) if isinstance(site.statement, tree.Expr | tree.Assign)
                   and site.same_scope(reader) and site.line < first and not site.loops]
        sources = list({id(site.statement): site for site in sources}.values())  # a comprehension runs in a frame of its own
    bound_in_loop = {path for site in finder.code.sites if any(loop is reader.loops[-1] for loop in site.loops)
                     for path in written(site.statement)}
    sources = [site for site in sources if not (written(site.statement) & bound_in_loop and _is_computed(finder, site))]
    return [] if any(_makes_what_learns(finder, site) for site in sources) else sources


def _is_computed(finder: Finder, site: Site) -> bool:
    """Whether a statement computes with what learns: each pass leaves such a result to the next, and does not begin anew."""
    called = [path_of(node.func) for node in headed(site.statement) if isinstance(node, tree.Call)]
    return any(is_module(finder.value(path)) for path in called if path) or any(
        finder.learns(finder.value(path)) for path in reads(site.statement))


def _makes_what_learns(finder: Finder, site: Site) -> bool:
    """Whether a statement makes a leaf, a module, or an object that has one or an optimizer: made again, it would begin anew."""
    values = [finder.value(path) for path in written(site.statement)]
    leaves = any(finder.learns(value) and finder.root(value) is None for value in values)
    return leaves or any(is_module(one) or attribute(one, "param_groups") is not None
                         for value in values for one in (value, *(part for _, part in held(value))))


def _first_reader(finder: Finder, reader: Site, sources: list[Site]) -> Site:
    """Return the first statement of a loop that reads what some statements before the loop compute."""
    names = {path for site in sources for path in written(site.statement)}
    inside_it = [site for site in finder.code.sites if site.loops == reader.loops and site.same_block(reader) and site.line <= reader.line]
    readers = [site for site in inside_it if names & set(map(path_of, inside(site.statement)))]
    return min(readers or inside_it, key=lambda site: site.line, default=reader)


def _in_function(finder: Finder, reader: Site) -> tuple[list[Site], Site]:
    """Return the statements outside of a function that build what it reads on the way to a reader, and who reads it first."""
    outer = [one for one in reader.parents if isinstance(one, tree.FunctionDef)]
    enclosing = outer[-2] if len(outer) > 1 else None
    local = [site for site in finder.code.sites if site.function is reader.function]
    found: list[Site] = []
    first, seen = reader, set[str]()
    wanted = [(path, reader) for path in reads(reader.statement)]
    while wanted:
        path, by = wanted.pop(0)
        if path in seen or "." in path:
            continue
        seen.add(path)
        binders = [site for site in local if path in written(site.statement) and site.line < by.line]
        if binders:
            wanted += [(one, binders[-1]) for one in reads(binders[-1].statement)]
            continue
        makers = [site for site in finder.code.sites if site.function is enclosing and path in written(site.statement)
                  and isinstance(site.statement, tree.Assign) and _is_gone_through(finder, finder.value(path))]
        if makers and all(makers[-1].statement is not one.statement for one in found):
            found.append(makers[-1])
            inside_it = by.function is reader.function
            first = min(first, by, key=lambda site: site.line) if inside_it else first
            wanted += [(one, makers[-1]) for one in reads(makers[-1].statement)]
    return sorted(found, key=lambda site: site.line), first


def _is_gone_through(finder: Finder, value: object) -> bool:
    """Whether a tensor has the failing node in its graph, or one that an earlier pass has gone through."""
    return finder.holds(value) or finder.is_freed(value)


def _read_again(finder: Finder, saving: list[Site]) -> None:
    """A function computed it once into an attribute: compute it where other functions read the attribute."""
    for site in reversed(saving):
        for path in written(site.statement):
            if "." not in path or site.function is None or not isinstance(site.statement, tree.Assign):
                continue
            lines = _movable(finder, site)
            for reader in finder.code.sites if lines else ():
                if reader.function is None or reader.function is site.function or path not in reads(reader.statement):
                    continue
                finder.offer(f"compute it again in each iteration: `{'; '.join(lines)}` before line {reader.line}",
                             Draft().insert(reader, "before", *lines), OWN, changes=OWN)


def _movable(finder: Finder, site: Site) -> list[str]:
    """Return a statement of a method, after those that compute what it reads, as another method can run them; none: nothing can.

    A parameter is read from the attribute in which the method stores it.
    """
    local = [one for one in finder.code.sites if one.function is site.function and one.line < site.line
             and isinstance(one.statement, tree.Assign)]
    stored = {path_of(one.statement.value): path_of(target) for one in local if isinstance(one.statement, tree.Assign)
              for target in targets_of(one.statement) if "." in path_of(target) and isinstance(one.statement.value, tree.Name)}
    given = {one.arg for one in site.function.args.args[1:]} if site.function is not None else set()
    found, wanted = [site], list(reads(site.statement))
    while wanted:
        path = wanted.pop(0)
        made = next((one for one in reversed(local) if path in written(one.statement)), None)
        if path in stored or "." in path or (made is None and path not in given):
            continue
        if made is None:
            return []
        if made not in found:
            found.insert(0, made)
            wanted += reads(made.statement)
    return [_renamed(one, stored) for one in sorted(found, key=lambda one: one.line)]


def _renamed(site: Site, names: dict[str, str]) -> str:
    """Return the text of a statement of one line with other names."""
    text = site.text
    for node in sorted(headed(site.statement), key=lambda one: one.span, reverse=True):
        if isinstance(node, tree.Name) and node.id in names and "\n" not in text:
            at = node.span.column - site.statement.span.column
            text = text[:at] + names[node.id] + text[at + len(node.id):]
    return text


def _listed(sites: list[Site]) -> str:
    numbers = [str(site.line) for site in sites]
    return numbers[0] if len(numbers) == 1 else f"{', '.join(numbers[:-1])} and {numbers[-1]}"


# --- two passes -----------------------------------------------------------------------------------------------------


def repeated_forward(finder: Finder, after: Place | None = None) -> None:
    """Compute the second result again before its backward."""
    needed = finder.cause.needed
    if needed is None:
        return
    first = after or finder.cause.freed
    stepped = any(call_in(site, "step") for site in finder.code.sites)  # else the graph can be kept
    for level, whole in product(reversed(finder.levels(needed)), (False, True) if stepped else (False,)):
        needs = slice_before(finder, level)
        freed = slice_before(finder, level, freed=True) if needs else []
        sources = [site for site in (freed if whole else needs) if not (first is not None and _later(site, first))]
        near = [site for site in sources if not level.loops or (site.loops and site.loops[-1] is level.loops[-1])]
        simple = [site for site in near if isinstance(site.statement, tree.Assign) and site.alone()]
        partial = len(simple) < len(sources) or (not whole and len(freed) > len(needs)) or writes_on(simple)
        if not simple:
            simple = _storing_call(finder, level, first)
        if not simple:
            continue
        reader = _first_after(finder, level, simple, first)
        words = f"compute it again: repeat line{'s' if len(simple) > 1 else ''} {_listed(simple)} before line {reader.line}"
        finder.offer(words, Draft().insert(reader, "before", *dedented(simple)),
                     "costs a forward, keeps no buffers", changes=f"costs a forward; {UPDATED}", guess=partial)


def _storing_call(finder: Finder, level: Site, first: Place | None) -> list[Site]:
    """Return the call, before a statement and the first pass, whose function stores what the failing node saved."""
    saved, around = finder.cause.saved, {id(one) for one in (*level.parents, level.statement)}
    return [site for site in (finder.levels(saved) if saved is not None else ()) if isinstance(site.statement, tree.Expr)
            and site.line < level.line and any(id(one) in around for one in site.block) and site.alone()
            and not (first is not None and _later(site, first))][:1]


def _first_after(finder: Finder, level: Site, sources: list[Site], first: Place | None) -> Site:
    """Return the first statement after the first pass that reads what some statements compute, at the latest `level`."""
    names = {path for site in sources for path in written(site.statement)}
    after = [site for site in finder.code.sites if first is not None and site.same_block(level) and _later(site, first)
             and site.line < level.line and isinstance(site.statement, tree.Assign) and names & set(reads(site.statement))]
    return min(after, key=lambda site: site.line, default=level)


def _later(site: Site, place: Place) -> bool:
    return site.line > place.span.line and site.function is None and not place.calls


def one_pass(finder: Finder) -> None:
    """Go back once from the sum of both results."""
    cause = finder.cause
    if cause.freed is None or cause.needed is None:
        return
    parted = finder.parting(cause.freed, cause.needed)
    if parted is None:
        return
    roots = [_plain_root(site) for site in parted]
    if not all(roots) or roots[0] == roots[1]:
        return
    first, second = parted
    new = f"({roots[0]} + {roots[1]}).backward()"
    finder.offer(f"call backward once, on the sum: `{new}` on line {second.line} instead of both",
                 Draft().remove(first).replace(second.source, second.statement.span, new),
                 "the gradients are the same")


def _summed(finder: Finder) -> None:
    """A loop goes back from losses that share a graph, with no step between: add them up, and go back once after it."""
    needed = finder.site(finder.cause.needed)
    loop = next((one for one in finder.code.sites if needed is not None and needed.loops and one.statement is needed.loops[-1]), None)
    root = "" if needed is None else _plain_root(needed)
    inner = [site for site in finder.code.sites if loop is not None and any(one is loop.statement for one in site.loops)]
    bound = any(root in written(site.statement) for site in [loop, *inner] if site is not None)
    if needed is None or loop is None or not bound or any(call_in(site, word) for site in inner for word in ("step", "zero_grad")):
        return
    names = {path for site in finder.code.sites for path in written(site.statement)}
    total = next(name for name in ("total", "total_loss", "sum_of_losses") if name not in names)
    finder.offer(f"call backward once, on the sum: `{total} = {total} + {root}` on line {needed.line}, `{total}.backward()` after the loop",
                 Draft().insert(loop, "before", f"{total} = 0").replace(needed.source, needed.statement.span, f"{total} = {total} + {root}")
                 .insert(loop, "after", f"{total}.backward()"), "the gradients are the same")


def _plain_root(site: Site) -> str:
    statement = site.statement
    if isinstance(statement, tree.Command) and statement.name == "backward" and len(statement.arguments) == 1 and not statement.options:
        return path_of(statement.arguments[0])
    call = statement.value if isinstance(statement, tree.Expr) else None
    if isinstance(call, tree.Call) and isinstance(call.func, tree.Attribute) and call.func.attr == "backward" and not (
        call.args or call.keywords
    ):
        return path_of(call.func.value)
    return ""


# --- pins, gradsh's own ---------------------------------------------------------------------------------------------


def _pinned(finder: Finder) -> None:
    """Pin what both results share, or the first of them."""
    cause = finder.cause
    parted = finder.parting(cause.freed, cause.needed) if cause.freed is not None and cause.needed is not None else None
    if parted is None or not parted[0].alone() or not finder.case.machine.has_pins:
        return
    first = parted[0]
    trunk = trunk_of(finder.case, _plain_root(first), _plain_root(parted[1]))
    if trunk:
        finder.offer(f"pin the part that both share: `retain {trunk}` before line {first.line}",
                     Draft().insert(first, "before", f"retain {trunk}"),
                     "gradsh only; the rest is freed as usual", here=True)
    elif _plain_root(first):
        root = _plain_root(first)
        finder.offer(f"pin the graph: `retain {root}` before line {first.line}",
                     Draft().insert(first, "before", f"retain {root}"),
                     "gradsh only; keeps only the pinned buffers", here=True)
