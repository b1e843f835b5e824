"""Fixes for a saved tensor that was written: write a new tensor, save a copy, or go back before the write."""

from typing import Any

from gradsh.diagnosis.code import Draft, Site, base_of, headed, inside, path_of, reads, targets_of, written
from gradsh.diagnosis.fixes import Finder, call_in
from gradsh.diagnosis.fixes_freed import again, amount, repeated_forward
from gradsh.diagnosis.fixes_shared import cut_off
from gradsh.diagnosis.fixes_state import carried, in_each_pass
from gradsh.diagnosis.out_of_place import anew
from gradsh.language import tree
from gradsh.runtime.activation import Place
from gradsh.text.span import text_of

_STAYS = "the saved tensor is not changed"


def version(finder: Finder) -> None:
    """Offer what fits the write: an optimizer's step is meant, another write can make a new tensor."""
    cause = finder.cause
    writes = list({(id(place.source), place.span): place for place in cause.writes}.values())
    steps = [place for place in writes if is_step(finder, place)]
    others = [place for place in writes if place not in steps]
    if cause.carried and steps:
        carried(finder)
    in_each_pass(finder)
    if steps:
        again(finder)
        cut_off(finder, steps[-1])
        _repeat_after(finder, steps[-1])
        for place in steps[:2]:
            _backward_first(finder, place)
    inplace_modules(finder, others, _STAYS)
    if len(others) > 1:
        _all_out_of_place(finder, others)
    for place in others[:4]:
        _out_of_place(finder, place)
    _copy_saved(finder)
    for place in others[:3]:
        _copy_written(finder, place)
        _backward_first(finder, place)
    if len(others) > 1:
        _all_copied(finder, others)
    _as_list(finder, others)
    if not steps:
        repeated_forward(finder, cause.writes[-1] if cause.writes else None)
    if (cause.carried and not steps) or not finder.fixes:
        carried(finder)
    _mutation_allowed(finder)


def is_step(finder: Finder, place: Place) -> bool:
    """Whether a write is an optimizer's step, which is meant to write in place."""
    site = finder.site(place)
    return site is not None and call_in(site, "step") is not None


def _repeat_after(finder: Finder, step: Place) -> None:
    """Compute the loss again after the step, as a generator's is after the discriminator's."""
    repeated_forward(finder, step)


def _backward_first(finder: Finder, write: Place) -> None:
    """Run the failing backward before the write, where both are reached from one block."""
    needed = finder.cause.needed
    parted = None if needed is None else finder.parting(write, needed)
    if parted is None:
        return
    first, second = parted
    if second.line < first.line:
        return
    between = [site for site in finder.code.sites if site.same_block(first) and first.line <= site.line <= second.line]
    bound = {path for site in between if site.statement is not second.statement for path in written(site.statement)}
    if bound.isdisjoint(reads(second.statement)):
        finder.offer(f"run the backward first: move line {second.line} before line {first.line}",
                     Draft().remove(second).insert(first, "before", *second.text.split("\n")),
                     "the saved tensor is used before it changes")
    read = {path for site in between if site.statement is not first.statement for path in reads(site.statement)}
    if not is_step(finder, write) and written(first.statement).isdisjoint(read):
        finder.offer(f"write after the backward: move line {first.line} after line {second.line}",
                     Draft().remove(first).insert(second, "after", *first.text.split("\n")),
                     "the saved tensor is used before it changes")


def _out_of_place(finder: Finder, place: Place) -> None:
    site = finder.site(place)
    new = None if site is None else anew(site.statement, site.source, place.span)
    if site is not None and new is not None:
        shown = new[1] if "(" in new[1] or " " in new[1] else f"{new[1]}(…)"
        finder.offer(f"write line {site.line} out of place: `{shown}`", Draft().replace(site.source, *new), _STAYS)


def _all_out_of_place(finder: Finder, places: list[Place]) -> None:
    sites = [(site, anew(site.statement, site.source, place.span)) for place in places if (site := finder.site(place)) is not None]
    lines = ", ".join(str(site.line) for site, _ in sites)
    finder.offer(f"write lines {lines} out of place",
                 Draft().replace_all((site.source, *new) for site, new in sites if new is not None), _STAYS)


def _copy_written(finder: Finder, place: Place) -> None:
    """Write to a copy: what was saved is then another tensor."""
    site = finder.site(place)
    path = "" if site is None else written_path(site)
    if site is None or not path:
        return
    finder.offer(f"write to a copy: `{path} = {path}.clone()` before line {site.line}",
                 Draft().insert(site, "before", f"{path} = {path}.clone()"), f"{_STAYS}{_copied(finder)}")


def _all_copied(finder: Finder, places: list[Place]) -> None:
    pairs = [(site, path) for place in places if (site := finder.site(place)) is not None and (path := written_path(site))]
    firsts = list({path: (site, path) for site, path in reversed(pairs)}.values())
    draft = Draft()
    for site, path in firsts:
        draft.insert(site, "before", f"{path} = {path}.clone()")
    if len(firsts) > 1:
        finder.offer(f"write to copies: `.clone()` before lines {', '.join(str(site.line) for site, _ in firsts)}",
                     draft, _STAYS)


def _copied(finder: Finder) -> str:
    return f"; costs a copy of {amount(finder.cause.nbytes)}" if finder.cause.nbytes else ""


def written_path(site: Site) -> str:
    """Return the path of the tensor that a statement writes."""
    statement = site.statement
    if isinstance(statement, tree.AugAssign):
        return path_of(base_of(statement.target))
    if isinstance(statement, tree.Assign) and (subscripts := [one for one in targets_of(statement) if isinstance(one, tree.Subscript)]):
        return path_of(base_of(subscripts[0]))
    for node in headed(statement):
        if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr.endswith("_"):
            owner: Any = node.func.value
            while isinstance(owner, tree.Call) and isinstance(owner.func, tree.Attribute):
                owner = owner.func.value
            return path_of(base_of(owner))
    return ""


def _copy_saved(finder: Finder) -> None:
    """Save a copy: of an operand, or of the result where that is what is saved."""
    saved = finder.cause.saved
    site = finder.site(saved)
    if saved is None or site is None:
        return
    expression = finder.expression(saved.span, saved.source)
    if expression is None:
        return
    if finder.cause.name in {"result", "output", "outputs"} or isinstance(expression, tree.Call):
        text = text_of(saved.source, saved.span)
        plain = isinstance(expression, tree.Call | tree.Name | tree.Attribute | tree.Subscript)
        result = f"{text}.clone()" if plain else f"({text}).clone()"
        offer_result = (f"copy what line {saved.span.line} saves: `{result}`" if len(result) < 60 else
                        f"copy the result that line {saved.span.line} saves, with `.clone()`")
        finder.offer(offer_result, Draft().replace(saved.source, saved.span, result), f"{_STAYS}{_copied(finder)}")
    called = {id(node.func) for node in inside(expression) if isinstance(node, tree.Call)}
    operands = [node for node in inside(expression)
                if id(node) not in called and isinstance(node, tree.Name | tree.Attribute | tree.Subscript)
                and path_of(base_of(node)) and _is_tensor(finder, node)]
    outer = [node for node in operands if not any(other is not node and any(part is node for part in inside(other))
                                                  for other in operands)]
    for node in outer[:4]:
        text = text_of(saved.source, node.span)
        finder.offer(f"copy what line {node.span.line} saves: `{text}.clone()`",
                     Draft().replace(saved.source, node.span, f"{text}.clone()"),
                     f"{_STAYS}{_copied(finder)}", guess=expression is not node and finder.tensor(finder.value(path_of(node))) is None)
    same = {text_of(saved.source, node.span) for node in outer}
    if len(same) == 1 and len(outer) > 1:
        text = next(iter(same))
        finder.offer(f"copy what line {saved.span.line} saves: `{text}.clone()`", Draft().replace_all(
            (saved.source, node.span, f"{text}.clone()") for node in outer), _STAYS)


def _is_tensor(finder: Finder, node: object) -> bool:
    path = path_of(base_of(node))
    if path.split(".")[0] in {"torch", "F", "nn", "math", "np"} or finder.code.functions(path.rpartition(".")[2]):
        return False
    value = finder.value(path)
    return finder.tensor(value) is not None or (value is None and path != "self")


def inplace_modules(finder: Finder, writes: list[Place], effect: str) -> None:
    """An activation that writes its input: let it make a new tensor."""
    if not any((site := finder.site(place)) is not None and _writes_by_call(site, place) for place in writes):
        return
    found: list[tuple[Site, Any, str]] = []
    for site in finder.code.sites:
        for node in headed(site.statement):
            if isinstance(node, tree.Call) and (new := without_inplace(site, node)) is not None:
                found.append((site, node, new))
    for site, node, new in found[:6]:
        finder.offer(f"make it return a new tensor: `{new}` on line {site.line}",
                     Draft().replace(site.source, node.span, new), effect)
    if len(found) > 1:
        finder.offer("make all activations return new tensors: `inplace=False`", Draft().replace_all(
            (site.source, node.span, new) for site, node, new in found), effect)


def _writes_by_call(site: Site, place: Place) -> bool:
    text = text_of(place.source, place.span)
    return "inplace" in text or not (text.endswith("_") or isinstance(site.statement, tree.AugAssign))


def without_inplace(site: Site, node: tree.Call) -> str | None:
    """Return a call that has `inplace=True` (or makes an activation with True) without it."""
    text = text_of(site.source, node.span)
    keyword = next((word for word in node.keywords if word.arg == "inplace"), None)
    if keyword is not None and isinstance(keyword.value, tree.Constant) and keyword.value.value is True:
        start = text.rfind("inplace")
        return text[:start] + text[start:].replace("True", "False", 1) if "\n" not in text else None
    name = path_of(node.func).rpartition(".")[2]
    if name in {"ReLU", "ReLU6", "SiLU", "Mish", "Hardswish", "SELU"} and len(node.args) == 1 and (
        isinstance(node.args[0], tree.Constant) and node.args[0].value is True
    ):
        return f"{path_of(node.func)}()"
    return None


def _mutation_allowed(finder: Finder) -> None:
    """Let PyTorch copy what is written of saved tensors, from the top-level statement that saved to the one that fails."""
    saved, needed = finder.cause.saved, finder.cause.needed
    if saved is None or needed is None:
        return
    first, last = (_outermost(finder, place) for place in (saved, needed))
    if first is None or last is None or first.source is not last.source or not (first.alone() and last.alone()) or first.line > last.line:
        return
    header = "with torch.autograd.graph.allow_mutation_on_saved_tensors():"
    end = last.statement.span.end_line
    lines = f"lines {first.line} to {end}" if first.line != end else f"line {end}"
    draft = Draft().insert(first, "before", header).indent(first.source, first.line, end)
    finder.offer(f"copy saved tensors before they are written: {lines} in `{header}`", draft,
                 "the gradients are those of the values that were saved; costs a copy of each one that is written", last=True)


def _outermost(finder: Finder, place: Place) -> Site | None:
    """Return the top-level statement around a place."""
    levels = finder.levels(place)
    outer = next(iter((*levels[0].parents, levels[0].statement)), None) if levels else None
    return next((site for site in finder.code.sites if site.statement is outer), None)


def _as_list(finder: Finder, writes: list[Place]) -> None:
    """A result that is filled piece by piece: gather the pieces in a list, and stack them."""
    for place in writes[:2]:
        site = finder.site(place)
        if site is None or not isinstance(site.statement, tree.Assign) or not site.loops:
            continue
        target = next((one for one in targets_of(site.statement) if isinstance(one, tree.Subscript)), None)
        path = path_of(base_of(target)) if target is not None else ""
        made = next((one for one in finder.code.sites if one.function is site.function and isinstance(one.statement, tree.Assign)
                     and any(path_of(each) == path for each in targets_of(one.statement)) and one.line < site.line), None)
        loop = next((one for one in finder.code.sites if one.statement is site.loops[-1]), None)
        if target is None or made is None or loop is None or not isinstance(made.statement, tree.Assign):
            continue
        dim = _dim_of(target)
        if dim is None:
            continue
        value = text_of(site.source, site.statement.value.span)
        stacked = f"{path} = torch.stack({path}{f', dim={dim}' if dim else ''})"
        draft = Draft().replace(made.source, made.statement.value.span, "[]").insert(loop, "after", stacked)
        draft.replace(site.source, site.statement.span, f"{path}.append({value})")
        finder.offer(f"collect the parts in a list: `{path}.append(…)` on line {site.line}, `{stacked}` after the loop", draft,
                     "no saved tensor is written")


def _dim_of(target: Any) -> int | None:
    """Return the dim along which a subscript picks one place: `out[t]` 0, `out[:, t]` 1."""
    index = target.slice
    if isinstance(index, tree.Name):
        return 0
    if isinstance(index, tree.Tuple) and isinstance(index.elts[-1], tree.Name) and all(
        isinstance(one, tree.Slice) and one.lower is None and one.upper is None for one in index.elts[:-1]
    ):
        return len(index.elts) - 1
    return None

