"""Fixes where a history is missing or in the way: let it go on, ask for a gradient, update without one, make a leaf."""

import re
from typing import Any

from gradsh.diagnosis.code import Draft, Site, base_of, headed, inside, path_of, tail_of, targets_of, text_of
from gradsh.diagnosis.fixes import Finder, call_in, with_keyword
from gradsh.diagnosis.history import CUTTING, silenced
from gradsh.diagnosis.out_of_place import anew
from gradsh.diagnosis.provenance import Origin
from gradsh.language import tree
from gradsh.text.span import Span

_FACTORIES = frozenset({
    "tensor", "zeros", "ones", "rand", "randn", "full", "empty", "linspace", "eye", "arange", "zeros_like", "ones_like", "rand_like",
    "randn_like", "full_like", "logspace", "normal",
})
_WHOLE = frozenset({"tensor", "arange", "full"})
_ENDING = CUTTING - {"argmax", "argmin", "argsort"}
_GOES_ON = "the history goes on"


def no_grad(finder: Finder) -> None:
    """Let the history go on where it was cut; else ask for a gradient where the leaves are made."""
    for origin in finder.cause.cuts:
        site = finder.code.at(origin.span, origin.source)
        if site is None:
            continue
        if origin.cut:
            _uncut(finder, site, origin)
    _frozen(finder)
    for origin in finder.cause.cuts if not finder.fixes and not any(one.cut for one in finder.cause.cuts) else ():
        site = finder.code.at(origin.span, origin.source)
        if site is not None:
            ask_for_gradient(finder, site)
    _create_graph(finder)
    _asked_here(finder)


def _uncut(finder: Finder, site: Site, origin: Origin) -> None:
    statement, source = site.statement, site.source
    if isinstance(statement, tree.FunctionDef) or (origin.node is not None and any(
        one is origin.node for one in getattr(site.statement, "decorator_list", ())
    )):
        _undecorated(finder, origin)
        return
    call = origin.node if isinstance(origin.node, tree.Call) else None
    if call is not None and getattr(call.func, "attr", "") == "mark_non_differentiable":
        finder.offer(f"let the result have a gradient: leave out line {site.line}", Draft().remove(site),
                     "its backward then says which")
        return
    silent = silenced(site)
    if silent is not None:
        _out_of_silence(finder, site, silent)
    for node in headed(statement):
        if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr in _ENDING:
            text = f".{node.func.attr}({', '.join(text_of(source, one.span) for one in node.args)})"
            finder.offer(f"leave out `{text}` on line {node.span.line}", Draft().replace(
                source, tail_of(node), ""), _GOES_ON)
        elif isinstance(node, tree.Attribute) and node.attr == "data":
            finder.offer(f"leave out `.data` on line {node.span.line}", Draft().replace(
                source, tail_of(node), ""), _GOES_ON)
        elif isinstance(node, tree.Attribute) and node.attr == "grad" and path_of(node.value):
            finder.offer(f"a `.grad` has no history: get one that has, on line {node.span.line}",
                         _grad_again(finder, site, node), "costs a graph of the gradient")
    _uncopied(finder, site)
    _all_uncut(finder, site)


def _all_uncut(finder: Finder, site: Site) -> None:
    """Leave out everything on a line that cuts, where it is more than one thing."""
    ends: list[Span] = []
    for node in headed(site.statement):
        method = isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr in CUTTING and not node.args
        if method or (isinstance(node, tree.Attribute) and node.attr == "data"):
            ends.append(tail_of(node))
    if len(ends) > 1:
        finder.offer(f"leave out what cuts the history on line {site.line}", Draft().replace_all(
            (site.source, span, "") for span in ends), _GOES_ON)


def _grad_again(finder: Finder, site: Site, node: tree.Attribute) -> Draft:
    """`y.backward()` … `x.grad`: the gradient as a function's result, with a history."""
    name = path_of(node.value)
    passes = [one for one in finder.code.sites if one.same_block(site) and one.line < site.line and call_in(one, "backward") is not None]
    call = call_in(passes[0], "backward") if passes else None
    for one in passes:
        call = call_in(one, "backward") or call
    if call is None or not isinstance(call.func, tree.Attribute):
        return Draft()
    root = text_of(site.source, call.func.value.span)
    new = f"gradient, = torch.autograd.grad({root}, {name}, create_graph=True)"
    return Draft().replace(passes[-1].source, call.span, new).replace(site.source, node.span, "gradient")


def _undecorated(finder: Finder, origin: Origin) -> None:
    line = origin.source.line(origin.span.line)
    if line.strip().startswith("@"):
        span = Span(origin.span.line, 1, origin.span.line, len(line) + 1)
        finder.offer(f"leave out `{line.strip()}` on line {origin.span.line}", Draft().replace(origin.source, span, ""),
                     "what the function computes then has a history")


def _out_of_silence(finder: Finder, site: Site, silent: tree.With) -> None:
    """Take a statement out of the block in which nothing is recorded, or record it there."""
    line = silent.span.line
    block = next((one for one in finder.code.sites if one.statement is silent), None)
    if block is None:
        return
    words = f"take line {site.line} out of the `with` of line {line}"
    span = site.statement.span
    if len(silent.body) == len(silent.items) == 1 and silent.body[0] is site.statement and span.line == span.end_line:
        unwrapped = Draft().replace(site.source, Span(line, 1, line, len(site.source.line(line)) + 1), block.indent + site.text)
        if site.line != line:
            unwrapped.replace(site.source, Span(site.line, 1, site.line, len(site.source.line(site.line)) + 1), "")
        finder.offer(words, unwrapped, "its history is then kept")
    elif not isinstance(site.statement, tree.Return):
        finder.offer(f"record line {site.line}: put it into `with torch.enable_grad():`",
                     Draft().wrap(site, "with torch.enable_grad():"), "its history is then kept")
    header = silent.items[0].context_expr
    if len(silent.items) == 1:
        finder.offer(f"record the block of line {line}: `with torch.enable_grad():`",
                     Draft().replace(block.source, header.span, "torch.enable_grad()"), "its history is then kept")


def _uncopied(finder: Finder, site: Site) -> None:
    source = site.source
    for node in headed(site.statement):
        if not isinstance(node, tree.Call):
            continue
        name = path_of(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
        if name in {"tensor", "as_tensor", "asarray", "FloatTensor", "from_numpy"} and node.args:
            first = node.args[0]
            inner = text_of(source, first.span)
            copies = "it copied the numbers only"
            if isinstance(first, tree.List | tree.ListComp | tree.Tuple):
                _replaced(finder, site, node, f"torch.stack({inner})", copies)
            elif isinstance(first, tree.GeneratorExp):
                _replaced(finder, site, node, f"torch.stack(list({inner}))", copies)
            else:
                _replaced(finder, site, node, inner if path_of(first) or isinstance(first, tree.Call) else f"({inner})", copies)
                _replaced(finder, site, node, f"torch.stack({inner})", copies)
            _without_items(finder, site, node, first)
        elif name in {"argmax", "argmin"}:
            word = "amax" if name == "argmax" else "amin"
            text = text_of(source, node.span)
            _replaced(finder, site, node, text.replace(name, word, 1), "values have a gradient, indices have none")
            _replaced(finder, site, node, text.replace(name, "softmax" if node.args or node.keywords else word, 1),
                      "values have a gradient, indices have none")
        elif name in {"max", "min", "sort", "topk"}:
            for part in headed(site.statement):
                if isinstance(part, tree.Subscript) and part.value is node and text_of(source, part.slice.span) == "1":
                    finder.offer(f"use the values, not the indices: `[0]` on line {site.line}",
                                 Draft().replace(source, part.slice.span, "0"), "indices have no gradient")
                elif isinstance(part, tree.Attribute) and part.value is node and part.attr == "indices":
                    finder.offer(f"use the values, not the indices, on line {site.line}", Draft().replace(
                        source, part.span, text_of(source, part.value.span) + ".values"), "indices have no gradient")
    _values_instead(finder, site)
    for node in headed(site.statement):
        if isinstance(node, tree.Compare):
            text = text_of(source, node.span)
            left, right = text_of(source, node.left.span), text_of(source, node.comparators[0].span)
            op = node.ops[0]
            if op in {">", ">=", "<", "<="} and len(node.ops) == 1:
                sign = f"({left}) - ({right})" if op[0] == ">" else f"({right}) - ({left})"
                _replaced(finder, site, node, f"torch.sigmoid({sign})", f"`{text}` is a step: the gradient then is that of a soft one")


def _values_instead(finder: Finder, site: Site) -> None:
    """The indices are needed where they are; take the values where the history is needed."""
    needed = finder.site(finder.cause.needed)
    names = {path_of(one) for one in targets_of(site.statement)}
    if needed is None or not isinstance(site.statement, tree.Assign):
        return
    value, source = site.statement.value, site.source
    text = text_of(source, value.span)
    new = text[: -len("[1]")] + "[0]" if text.endswith("[1]") else text.replace("argmax", "amax").replace("argmin", "amin")
    for part in headed(needed.statement):
        if isinstance(part, tree.Name) and part.id in names and new != text and "\n" not in text:
            finder.offer(f"take the values, not the indices: `{new}` on line {needed.line}",
                         Draft().replace(needed.source, part.span, new), "values have a gradient, indices have none")


def _without_items(finder: Finder, site: Site, node: tree.Call, first: Any) -> None:
    """`torch.tensor([x.item() for …])`: the items, stacked, keep their histories."""
    source = site.source
    items = [part for part in inside(first) if isinstance(part, tree.Call) and isinstance(part.func, tree.Attribute)
             and part.func.attr in {"item", "detach"}]
    if items and isinstance(first, tree.List | tree.ListComp):
        build = Draft().replace(source, node.func.span, "torch.stack").replace_all(
            (source, tail_of(part), "") for part in items if isinstance(part.func, tree.Attribute))
        finder.offer(f"stack the tensors themselves on line {site.line}: `torch.stack([…])` without `.item()`", build,
                     "numbers have no history")


def _replaced(finder: Finder, site: Site, node: Any, text: str, effect: str) -> None:
    if "\n" in text:
        return
    finder.offer(f"write `{text}` on line {node.span.line}" if len(text) < 70 else f"write line {node.span.line} with a history",
                 Draft().replace(site.source, node.span, text), effect)


def ask_for_gradient(finder: Finder, site: Site) -> None:
    """Ask for a gradient where a leaf is made."""
    statement, source = site.statement, site.source
    for node in headed(statement):
        if not isinstance(node, tree.Call):
            continue
        text = text_of(source, node.span)
        name = path_of(node.func).rpartition(".")[2]
        if name in _FACTORIES and "\n" not in text:
            new = needing(text, name)
            finder.offer(f"ask for a gradient where it is made: `{new}` on line {node.span.line}",
                         Draft().replace(source, node.span, new), "for what is to be learnt")
    for target in targets_of(statement):
        path = path_of(target)
        if path and isinstance(statement, tree.Assign):
            finder.offer(f"ask for a gradient where it is made: `{path}.requires_grad_()` after line {site.line}",
                         Draft().insert(site, "after", f"{path}.requires_grad_()"), "for what is to be learnt")
    if isinstance(statement, tree.Return) and statement.value is not None:
        value = statement.value
        text = text_of(source, value.span)
        finder.offer(f"ask for a gradient where it is made: `.requires_grad_()` on line {site.line}",
                     Draft().replace(source, value.span, f"{text}.requires_grad_()"), "for what is to be learnt")


def needing(text: str, name: str) -> str:
    """Return the text of a factory's call with a gradient asked for; whole numbers become floating point."""
    if re.search(r"requires_grad\s*=\s*False", text):
        return re.sub(r"requires_grad\s*=\s*False", "requires_grad=True", text)
    head, _, inside_ = text.partition("(")
    inner = inside_[:-1].rstrip().removesuffix(",")
    whole = name in _WHOLE and re.search(r"\d", inner) and "." not in inner and "dtype" not in inner
    parts = [part for part in (inner, "dtype=torch.float32" if whole else "", "requires_grad=True") if part]
    return f"{head}({', '.join(parts)})"


def _frozen(finder: Finder) -> None:
    """Do not freeze what is to be learnt."""
    for site in finder.code.sites:
        for node in headed(site.statement):
            if isinstance(node, tree.Call) and getattr(node.func, "attr", "") == "requires_grad_" and node.args and (
                isinstance(node.args[0], tree.Constant) and node.args[0].value is False
            ):
                finder.offer(f"do not freeze what is to be learnt: leave out `False` on line {site.line}",
                             Draft().replace(site.source, node.args[0].span, "True"))
        if isinstance(site.statement, tree.Assign) and isinstance(site.statement.value, tree.Constant) and (
            site.statement.value.value is False
        ) and any(isinstance(one, tree.Attribute) and one.attr == "requires_grad" for one in site.statement.targets):
            finder.offer(f"do not freeze what is to be learnt: `requires_grad = True` on line {site.line}",
                         Draft().replace(site.source, site.statement.value.span, "True"))
    _unfrozen_calls(finder)


def _unfrozen_calls(finder: Finder) -> None:
    """Leave out the call of a function that freezes: `freeze(model)`."""
    freezing = {site.function.name for site in finder.code.sites if site.function is not None and re.search(
        r"requires_grad(_\(False|\s*=\s*False)", site.text) and not isinstance(site.statement, tree.FunctionDef)}
    for site in finder.code.sites:
        call = site.statement.value if isinstance(site.statement, tree.Expr) else None
        if isinstance(call, tree.Call) and path_of(call.func).rpartition(".")[2] in freezing:
            finder.offer(f"do not freeze what is to be learnt: leave out line {site.line}", Draft().remove(site))


def _create_graph(finder: Finder) -> None:
    """A gradient that is differentiated again needs a graph of its own."""
    for site in finder.code.sites:
        for node in headed(site.statement):
            if isinstance(node, tree.Call):
                name = path_of(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
                text = text_of(site.source, node.span)
                if (name in {"grad", "vjp", "jvp", "hvp", "jacobian"} and "autograd" in text) or name == "backward":
                    new = with_keyword(text, "create_graph=True")
                    if new is not None and (name != "backward" or ".grad" in site.source.text):
                        finder.offer(f"let the gradient have a history: `create_graph=True` on line {site.line}",
                                     Draft().replace(site.source, node.span, new),
                                     "costs a graph of the gradient")


def _asked_here(finder: Finder) -> None:
    """Ask for the gradient just before it is needed: of the tensor that a hook or `retain_grad` is set on, of an input."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    for name in ("register_hook", "retain_grad", "register_post_accumulate_grad_hook"):
        call = call_in(needed, name)
        if call is not None and isinstance(call.func, tree.Attribute) and (path := path_of(call.func.value)):
            finder.offer(f"ask for its gradient first: `{path}.requires_grad_()` before line {needed.line}",
                         Draft().insert(needed, "before", f"{path}.requires_grad_()"), "for what is to be learnt")
            if name == "retain_grad":
                finder.offer(f"leave out line {needed.line}: what requires no grad gets none", Draft().remove(needed))
    call = call_in(needed, "grad")
    if call is not None and len(call.args) > 1:
        for part in inside(call.args[1]):
            path = path_of(part)
            if not path or getattr(finder.value(path), "requires_grad", True):
                continue
            bound = [site for site in finder.code.sites if any(path_of(one) == path for one in targets_of(site.statement))]
            for site in bound[:2]:
                finder.offer(f"ask for its gradient before it is used: `{path}.requires_grad_()` after line {site.line}",
                             Draft().insert(site, "after", f"{path}.requires_grad_()"),
                             "for what is to be learnt")
            first = next((site for site in sorted(finder.code.sites, key=lambda one: one.line) if site.function is needed.function
                          and site.line < needed.line and path in _read_by(site)), None)
            if first is not None and needed.function is not None:
                finder.offer(f"ask for its gradient before it is used: `{path}.requires_grad_()` before line {first.line}",
                             Draft().insert(first, "before", f"{path}.requires_grad_()"),
                             "for what is to be learnt")


def _read_by(site: Site) -> list[str]:
    from gradsh.diagnosis.code import reads

    return [] if isinstance(site.statement, tree.FunctionDef | tree.ClassDef) else reads(site.statement)


# --- written in place where that may not be -------------------------------------------------------------------------


def leaf_inplace(finder: Finder) -> None:
    """An update goes into `no_grad`; part of a computation makes a new tensor."""
    site = finder.site(finder.cause.needed)
    if site is None:
        return
    update = _is_update(finder, site)
    if update:
        _unrecorded(finder, site)
        _anew(finder, site)
    else:
        _anew(finder, site)
        _unrecorded(finder, site)
    _late_leaf(finder, site)


def _is_update(finder: Finder, site: Site) -> bool:
    """Whether a write looks like an update or an initialisation of what learns, not like part of a forward."""
    from gradsh.engine.graph.tensor import Parameter

    if ".grad" in site.text or isinstance(finder.cause.tensor, Parameter) or re.search(
        r"\.(fill|zero|uniform|normal|copy|clamp)_\(", site.text
    ):
        return True
    return not any(call_in(one, "backward") or isinstance(one.statement, tree.Return) for one in finder.code.sites
                   if one.function is site.function and one.line > site.line)


def _unrecorded(finder: Finder, site: Site) -> None:
    effect = "autograd does not follow the update, which then counts as given"
    finder.offer(f"if it is an update: put line {site.line} into `with torch.no_grad():`",
                 Draft().wrap(site, "with torch.no_grad():"), effect, changes=effect)


def _anew(finder: Finder, site: Site) -> None:
    place = finder.cause.needed
    assert place is not None
    new = anew(site.statement, site.source, place.span)
    path = _target(site)
    effect = f"{path or 'it'} is then a new tensor and no leaf: the gradient goes through it to the leaf"
    if new is not None and not rebinding_is_lost(finder, site, path):
        finder.offer(f"if it is part of the computation: `{new[1]}` on line {site.line}",
                     Draft().replace(site.source, *new), effect, changes=effect)
    if path:
        line = f"{path} = {path}.clone()"
        if not rebinding_is_lost(finder, site, path):
            finder.offer(f"if it is part of the computation: `{line}` before line {site.line}",
                         Draft().insert(site, "before", line), effect, changes=effect)
    _cloned_view(finder, effect)


def _cloned_view(finder: Finder, effect: str) -> None:
    """The view that is written: take it of a copy, where the base is not read any more."""
    for origin in finder.cause.cuts:
        site = finder.code.at(origin.span, origin.source)
        if site is None or not isinstance(site.statement, tree.Assign):
            continue
        value = site.statement.value
        text = text_of(site.source, value.span)
        plain = isinstance(value, tree.Name | tree.Attribute | tree.Call | tree.Subscript) and "\n" not in text
        if plain and finder.case.story == "view_inplace" and not isinstance(site.statement.targets[0], tree.Tuple | tree.List):
            finder.offer(f"copy what the view shows: `{text}.clone()` on line {site.line}",
                         Draft().replace(site.source, value.span, f"{text}.clone()"),
                             effect, changes=effect)


def _target(site: Site) -> str:
    from gradsh.runtime.activation import Place

    place = Place(site.statement.span, site.source, (), 0, site.statement.span, ())
    from gradsh.diagnosis.fixes_version import _written_path

    return _written_path(site, place)


def rebinding_is_lost(finder: Finder, site: Site, path: str) -> bool:
    """Whether a new tensor under this name would be thrown away: nothing in its function reads the name any more.

    A name that a parameter, a loop or a view gave stands for a tensor that others read.
    """
    if "." in path or not path:
        return False
    after = [one for one in finder.code.sites if one.function is site.function and one.statement is not site.statement
             and (one.line > site.line or (site.loops and one.loops[: len(site.loops)] == site.loops))]
    if not any(path in _read_by(one) for one in after):
        return True
    given = [one for one in finder.code.sites if one.function is site.function and isinstance(one.statement, tree.For)
             and any(path_of(target) == path for target in targets_of(one.statement))]
    return bool(given) and not any(path in _read_by(one) for one in after if one.line > site.line)


def _late_leaf(finder: Finder, site: Site) -> None:
    """The leaf is written before it learns: ask for its gradient after the write."""
    for origin in finder.cause.cuts:
        made = finder.code.at(origin.span, origin.source)
        if made is None or not made.same_block(site) or made.line >= site.line:
            continue
        for node in headed(made.statement):
            if isinstance(node, tree.keyword) and node.arg == "requires_grad" and (path := _target(site)):
                build = Draft().replace(made.source, node.value.span, "False").insert(site, "after", f"{path}.requires_grad_()")
                finder.offer(f"fill it first, then ask for its gradient: `{path}.requires_grad_()` after line {site.line}", build,
                             "autograd does not follow what was written before")


def view_inplace(finder: Finder) -> None:
    """Write out of place, or to a copy; where the base is what is meant, write to a part of it."""
    site, place = finder.site(finder.cause.needed), finder.cause.needed
    if site is None or place is None:
        return
    path = _target(site)
    effect = "what it is a view of stays as it was"
    new = anew(site.statement, site.source, place.span)
    lost = rebinding_is_lost(finder, site, path)
    if new is not None and not lost:
        finder.offer(f"write line {site.line} out of place: `{new[1]}`", Draft().replace(site.source, *new), effect)
    if path and not lost:
        finder.offer(f"write to a copy: `{path} = {path}.clone()` before line {site.line}",
                     Draft().insert(site, "before", f"{path} = {path}.clone()"), effect)
    _view_where_recorded(finder)
    _whole_copied(finder, site, path)
    _cloned_view(finder, effect)
    _unrecorded(finder, site)


def _view_where_recorded(finder: Finder) -> None:
    """A view that was made where nothing is recorded: make it outside of that block."""
    for origin in finder.cause.cuts:
        site = finder.code.at(origin.span, origin.source)
        silent = None if site is None else silenced(site)
        if site is not None and silent is not None:
            _out_of_silence(finder, site, silent)


def _whole_copied(finder: Finder, site: Site, path: str) -> None:
    """Several views of one tensor, from a call or a loop: let each be a tensor of its own."""
    for origin in finder.cause.cuts:
        made = finder.code.at(origin.span, origin.source)
        if made is None:
            continue
        value = made.statement.value if isinstance(made.statement, tree.Assign) else getattr(made.statement, "iter", None)
        if value is None or "\n" in text_of(made.source, value.span):
            continue
        text = text_of(made.source, value.span)
        new = f"[part.clone() for part in {text}]"
        if isinstance(value, tree.Call):
            finder.offer(f"let each be a tensor of its own: `{new}` on line {made.line}",
                         Draft().replace(made.source, value.span, new),
                         "what they are views of stays as it was")
    del site, path


def not_leaf(finder: Finder) -> None:
    """Make it a leaf, or cut the history instead of freezing."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    for node in headed(needed.statement):
        if isinstance(node, tree.Attribute) and node.attr in {"requires_grad", "requires_grad_"} and (path := path_of(node.value)):
            effect = "what was computed before gets no gradient from here"
            finder.offer(f"cut the history instead: `{path} = {path}.detach()` on line {needed.line}",
                         Draft().replace(needed.source, needed.statement.span, f"{path} = {path}.detach()"),
                         effect, changes=effect)
            finder.offer(f"leave out line {needed.line}", Draft().remove(needed),
                         "it then requires grad as before: the gradient then goes through it")
        elif isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] == "deepcopy" and node.args:
            inner = text_of(needed.source, node.args[0].span)
            new = f"{inner}.detach().clone()"
            finder.offer(f"copy the values: `{new}` on line {needed.line}",
                         Draft().replace(needed.source, node.span, new), "the copy has no history")
    for origin in finder.cause.cuts:
        site = finder.code.at(origin.span, origin.source)
        if site is None:
            continue
        _made_leaf(finder, site, origin)
    _grad_kept(finder, needed)


def _made_leaf(finder: Finder, site: Site, origin: Origin) -> None:
    effect = "it is then what learns, not what it was made of"
    text = text_of(origin.source, origin.span)
    node = finder.expression(origin.span, origin.source)
    targets = targets_of(site.statement)
    path = path_of(targets[0]) if len(targets) == 1 else ""
    if path:
        finder.offer(f"make it a leaf: `{path} = {path}.detach().requires_grad_()` after line {site.statement.span.end_line}",
                     Draft().insert(site, "after", f"{path} = {path}.detach().requires_grad_()"), effect, changes=effect)
    if node is not None and "\n" not in text:
        plain = isinstance(node, tree.Call | tree.Name | tree.Attribute | tree.Subscript)
        new = f"{text if plain else f'({text})'}.detach().requires_grad_()"
        finder.offer(f"make it a leaf: `{new}` on line {site.line}",
                     Draft().replace(origin.source, origin.span, new), effect, changes=effect)
        if "nn.Parameter" in text or path_of(base_of(getattr(node, "func", None))) == "nn.Parameter":
            return
        finder.offer(f"make it a parameter: `nn.Parameter({text}.detach())` on line {site.line}" if plain else
                     f"make it a parameter on line {site.line}", Draft().replace(
                         origin.source, origin.span, f"torch.nn.Parameter(({text}).detach())"), effect, changes=effect)


def _grad_kept(finder: Finder, needed: Site) -> None:
    """A hook for leaves on a tensor that is none: `retain_grad` and a plain hook serve there."""
    call = call_in(needed, "register_post_accumulate_grad_hook")
    if call is not None and isinstance(call.func, tree.Attribute):
        text = text_of(needed.source, call.func.span).replace("register_post_accumulate_grad_hook", "register_hook")
        finder.offer(f"set a plain hook: `{text}(…)` on line {needed.line}",
                     Draft().replace(needed.source, call.func.span, text), "it is given the gradient")
