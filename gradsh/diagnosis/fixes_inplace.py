"""Fixes of writes in place that autograd refuses: to a leaf that requires grad, to a view that may not be written."""

import re

from gradsh.diagnosis.code import (
    STORING,
    Draft,
    Site,
    drawn_from,
    headed,
    inside,
    path_of,
    reads,
    silenced,
    targets_of,
    written,
)
from gradsh.diagnosis.fixes import Finder, call_in
from gradsh.diagnosis.fixes_history import out_of_silence
from gradsh.diagnosis.fixes_leaves import read_by
from gradsh.diagnosis.fixes_version import inplace_modules, written_path
from gradsh.diagnosis.out_of_place import anew, under_local_name
from gradsh.engine.graph.tensor import Parameter, last_node_of
from gradsh.language import tree
from gradsh.text.span import text_of


def leaf_inplace(finder: Finder) -> None:
    """An update goes into `no_grad`; part of a computation makes a new tensor."""
    site = finder.site(finder.cause.needed)
    if site is None or finder.cause.needed is None:
        return
    if call_in(site, "backward") is not None or _computes(site):  # what it writes is gone back from
        _anew(finder, site)
        inplace_modules(finder, [finder.cause.needed], "the leaf is not changed")
        return
    _listed_again(finder, site)
    if _is_update(finder, site):
        _unrecorded(finder, site)
        _anew(finder, site)
    else:
        _anew(finder, site)
        if not _writes_a_result(finder, site):
            _unrecorded(finder, site)
    _late_leaf(finder, site)


def _computes(site: Site) -> bool:
    """Whether a statement returns what a call gives that writes on the way, or binds it to another name: it is no update."""
    statement, written_to = site.statement, written_path(site)
    elsewhere = isinstance(statement, tree.Assign) and not any(path_of(target) in {"", written_to} for target in targets_of(statement))
    return isinstance(getattr(statement, "value", None), tree.Call) and (elsewhere or isinstance(statement, tree.Return))


def _listed_again(finder: Finder, site: Site) -> None:
    """A loop over a list updates its leaves by what has a history: make a list of new tensors, through which the gradient goes."""
    loop, place = site.loops[-1] if site.loops else None, finder.cause.needed
    path, value = written_path(site), getattr(site.statement, "value", None)
    if not isinstance(loop, tree.For) or len(loop.body) != 1 or place is None or value is None:
        return
    items, new = drawn_from(loop, path), anew(site.statement, site.source, place.span)
    followed = any(getattr(finder.value(one), "requires_grad", False) for one in reads(value) if one.split(".")[0] != path)
    result = new[1].partition(" = ")[2] if new is not None else ""
    if path_of(items) and followed and result and isinstance(items, tree.Name):
        line = (f"{items.id} = [{result} for {text_of(site.source, loop.target.span)} in {text_of(site.source, loop.iter.span)}]")
        finder.offer(f"make new tensors instead of writing to the leaves: `{line}` on line {loop.span.line}",
                     Draft().replace(site.source, loop.span, line), "the gradient then flows through the update")


def _is_update(finder: Finder, site: Site) -> bool:
    """Whether a write looks like an update or an initialisation of what learns, not like part of a forward."""
    if _is_written_as_one(finder, site):
        return not _is_local_view(finder, site)
    return not any(call_in(one, "backward") or isinstance(one.statement, tree.Return) for one in finder.code.sites
                   if one.function is site.function and one.line > site.line)


def _is_written_as_one(finder: Finder, site: Site) -> bool:
    """Whether a write shows by itself that it is an update or an initialisation."""
    initialises = re.search(r"\.(fill|zero|uniform|normal|copy|clamp)_\(", site.text) is not None
    return initialises or ".grad" in site.text or isinstance(finder.cause.tensor, Parameter)


def _is_local_view(finder: Finder, site: Site) -> bool:
    """Whether what is written is a view that the function made for itself, which it reads afterwards, by what has a gradient."""
    near, path = [one for one in finder.code.sites if one.same_scope(site)], written_path(site)
    made = any(one.line < site.line and isinstance(one.statement, tree.Assign) and path in map(path_of, targets_of(one.statement))
               and any(part.startswith("self.") for part in reads(one.statement)) for one in near)
    return made and _writes_a_result(finder, site) and any(one.line > site.line and path in read_by(one) for one in near)


def _writes_a_result(finder: Finder, site: Site) -> bool:
    """Whether what a statement writes into a tensor needs a gradient itself: unrecorded it would get none."""
    value = getattr(site.statement, "value", None)
    return value is not None and any(finder.learns(finder.value(path)) for path in reads(value))


def _unrecorded(finder: Finder, site: Site) -> None:
    effect = "autograd does not follow the update; the new value is a constant to it"
    last = _last_update(finder, site)
    lines = f"line {site.line}" if last is site else f"lines {site.line} to {last.line}"
    finder.offer(f"if it is an update: put {lines} in `with torch.no_grad():`",
                 Draft().wrap(site, "with torch.no_grad():", last), effect, changes=effect)
    for loop in [one for one in finder.code.sites if any(one.statement is loop for loop in site.loops)]:
        if not any(isinstance(part, tree.Call) and getattr(part.func, "attr", "") == "backward" for part in inside(loop.statement)):
            finder.offer(f"if it is an update: put the loop of line {loop.line} in `with torch.no_grad():`",
                         Draft().wrap(loop, "with torch.no_grad():"), effect, changes=effect)


def _last_update(finder: Finder, site: Site) -> Site:
    """Return the last of the statements from one on, one below the other, that write into leaves that require grad."""
    last = site
    for one in sorted(finder.code.sites, key=lambda one: one.line):
        if one.line > last.line and one.same_block(site):
            written_to = finder.tensor(finder.value(written_path(one)))
            if written_to is None or not (written_to.requires_grad and last_node_of(written_to) is None):
                break
            last = one
    return last


def _anew(finder: Finder, site: Site) -> None:
    place = finder.cause.needed
    assert place is not None
    new = anew(site.statement, site.source, place.span)
    path = written_path(site)
    effect = f"{path or 'it'} is then a new tensor and no leaf: the gradient then flows through it to the leaf"
    if new is not None and new[0] != site.statement.span:
        effect = "the result is then a new tensor: the gradient then flows through it to the leaf, which keeps its values"
    if new is not None and not _rebinding_is_lost(finder, site, path):
        finder.offer(f"if it is part of the computation: `{new[1]}` on line {site.line}",
                     Draft().replace(site.source, *new), effect, changes=effect, guess=".grad" in site.text)
    if path:
        line = f"{path} = {path}.clone()"
        if new is None and not _rebinding_is_lost(finder, site, path):
            finder.offer(f"if it is part of the computation: `{line}` before line {site.line}",
                         Draft().insert(site, "before", line), effect, changes=effect)
        if "." in path:
            name, draft = under_local_name(finder.code, site, path)
            finder.offer(f"if it is part of the computation: `{name} = {path}.clone()` before line {site.line}, `{name}` from there on",
                         draft.insert(site, "before", f"{name} = {path}.clone()"), effect, changes=effect)
    _cloned_view(finder, effect)


def _cloned_view(finder: Finder, effect: str) -> None:
    """The view that is written: take it of a copy, where the base is not read any more."""
    for origin in finder.cause.cuts:
        site = finder.code.at(origin.span, origin.source)
        if site is None or not isinstance(site.statement, tree.Assign | tree.Return) or site.statement.value is None:
            continue
        value = site.statement.value
        text = text_of(site.source, value.span)
        plain = isinstance(value, tree.Name | tree.Attribute | tree.Call | tree.Subscript) and "\n" not in text
        several = isinstance(site.statement, tree.Assign) and isinstance(site.statement.targets[0], tree.Tuple | tree.List)
        if plain and finder.case.story == "view_inplace" and not several:
            finder.offer(f"copy the view: `{text}.clone()` on line {site.line}",
                         Draft().replace(site.source, value.span, f"{text}.clone()"),
                             effect, changes=effect)


def _rebinding_is_lost(finder: Finder, site: Site, path: str) -> bool:
    """Whether a new tensor under this name would be thrown away: nothing in its function reads the name any more, or a module refuses it.

    A name that a parameter, a loop or a view gave stands for a tensor that others read. A parameter's attribute takes parameters only.
    """
    if "." in path or not path:
        return any(one.__name__ == "Parameter" for one in type(finder.value(path)).__mro__)
    if site.function is None and not site.loops and not _is_written_as_one(finder, site):
        return False  # the rest of the program may read it
    after = [one for one in finder.code.sites if one.function is site.function and one.statement is not site.statement
             and (one.line > site.line or (site.loops and one.loops[: len(site.loops)] == site.loops))]
    given = any(path == path_of(target) for loop in site.loops if isinstance(loop, tree.For) for target in targets_of(loop))
    return not any(_is_kept(one, path) if given else path in read_by(one) for one in after)


def _is_kept(site: Site, path: str) -> bool:
    """Whether a statement stores, binds or returns a value itself, not what it computes from it."""
    value = getattr(site.statement, "value", None)
    if isinstance(site.statement, tree.Expr) and isinstance(value, tree.Call) and getattr(value.func, "attr", "") in STORING:
        return path in map(path_of, value.args)
    return isinstance(site.statement, tree.Assign | tree.Return) and path == path_of(value)


def _late_leaf(finder: Finder, site: Site) -> None:
    """The leaf is written before it learns: ask for its gradient after the write."""
    for origin in finder.cause.cuts:
        made = finder.code.at(origin.span, origin.source)
        if made is None or not made.same_block(site) or made.line >= site.line:
            continue
        path = _path_of_leaf(finder, made) or written_path(site)
        for node in headed(made.statement):
            if isinstance(node, tree.keyword) and node.arg == "requires_grad" and path:
                build = Draft().replace(made.source, node.value.span, "False").insert(site, "after", f"{path}.requires_grad_()")
                finder.offer(f"fill it first, then set requires_grad: `{path}.requires_grad_()` after line {site.line}", build,
                             "autograd does not record the writes before it")


def _path_of_leaf(finder: Finder, made: Site) -> str:
    """Return the path under which a statement bound the leaf, of which another path may hold a view."""
    return next((path for path in written(made.statement) if finder.tensor(finder.value(path)) is finder.cause.tensor), "")


def view_inplace(finder: Finder) -> None:
    """Write out of place, or to a copy; where the base is what is meant, write to a part of it."""
    site, place = finder.site(finder.cause.needed), finder.cause.needed
    if site is None or place is None:
        return
    path = written_path(site)
    effect = "its base tensor is not changed"
    new = anew(site.statement, site.source, place.span)
    lost = _rebinding_is_lost(finder, site, path)
    if new is not None and not lost:
        finder.offer(f"write line {site.line} out of place: `{new[1]}`", Draft().replace(site.source, *new), effect)
    elif path and not lost:
        finder.offer(f"write to a copy: `{path} = {path}.clone()` before line {site.line}",
                     Draft().insert(site, "before", f"{path} = {path}.clone()"), effect)
    _view_where_recorded(finder)
    if "multiple views" in str(finder.case.error):
        _whole_copied(finder)
    if not lost:
        _cloned_view(finder, effect)
    inplace_modules(finder, [place], "its input is not changed")
    if not _writes_a_result(finder, site) and not _computes(site):
        _unrecorded(finder, site)


def _view_where_recorded(finder: Finder) -> None:
    """A view that was made where nothing is recorded: make it outside of that block."""
    for origin in finder.cause.cuts:
        site = finder.code.at(origin.span, origin.source)
        silent = None if site is None else silenced(site)
        if site is not None and silent is not None:
            out_of_silence(finder, site, silent)


def _whole_copied(finder: Finder) -> None:
    """Several views of one tensor, from a call or a loop: let each be a tensor of its own."""
    sites = [made for origin in finder.cause.cuts if (made := finder.code.at(origin.span, origin.source)) is not None]
    sites += [one for made in sites for one in finder.code.sites if one.same_block(made) and one.line < made.line
              and isinstance(one.statement, tree.Assign) and written(one.statement) & set(reads(made.statement))]
    for made in sites:
        site, loop = finder.site(finder.cause.needed), made.statement if isinstance(made.statement, tree.For) else None
        value = getattr(made.statement, "value", None) if loop is None or site is None else drawn_from(loop, written_path(site))
        if value is None or "\n" in text_of(made.source, value.span):
            continue
        text = text_of(made.source, value.span)
        new = f"[part.clone() for part in {text}]"
        if isinstance(made.statement, tree.For) and isinstance(value, tree.Name):
            rows = f"({text}[place] for place in range(len({text})))"
            finder.offer(f"iterate over the rows of a copy: `{text} = {text}.clone()` before line {made.line}, `{rows}` in it",
                         Draft().insert(made, "before", f"{text} = {text}.clone()").replace(made.source, value.span, rows),
                         "its source is not changed")
        if loop is not None and site is not None:
            _joined_again(finder, made, loop, site)
        if isinstance(value, tree.Call) and not (loop is not None and site is not None and _parts_are_lost(finder, made, value, site)):
            finder.offer(f"make each a separate tensor: `{new}` on line {made.line}",
                         Draft().replace(made.source, value.span, new),
                         "their base tensor is not changed")
        if rows := _one_by_one(made, value):
            finder.offer(f"take the parts one by one: `{rows}` on line {made.line}", Draft().replace(made.source, value.span, rows),
                         "each is then a view that may be written")


def _one_by_one(made: Site, value: object) -> str:
    """Return what gives the views that `unbind` gives, each by a call of its own."""
    if not isinstance(value, tree.Call) or not isinstance(value.func, tree.Attribute) or value.func.attr != "unbind":
        return ""
    owner = [] if path_of(value.func.value) == "torch" else [value.func.value]
    parts = [*owner, *value.args, *(word.value for word in value.keywords)]
    base, dim, *_ = [*(text_of(made.source, one.span) for one in parts), "0"]
    return f"[{base}.select({dim}, place) for place in range({base}.shape[{dim}])]" if path_of(parts[0]) else ""


def _parts_are_lost(finder: Finder, made: Site, value: tree.Call, site: Site) -> bool:
    """Whether copies of a loop's parts would be thrown away: what they are parts of is read after the loop."""
    if made.function is not site.function:
        return _rebinding_is_lost(finder, site, written_path(site))
    base = path_of(value.func.value) if isinstance(value.func, tree.Attribute) else ""
    return any(one.same_scope(made) and one.line > made.statement.span.end_line and base in read_by(one) for one in finder.code.sites)


def _joined_again(finder: Finder, made: Site, loop: tree.For, site: Site) -> None:
    """A loop that writes each part of a tensor: join the parts, written anew, to the tensor."""
    call, place = loop.iter, finder.cause.needed
    func = call.func if isinstance(call, tree.Call) else None
    if not isinstance(func, tree.Attribute) or func.attr not in {"chunk", "split", "unbind"} or len(loop.body) != 1 or place is None:
        return
    path, part = path_of(func.value), path_of(loop.target)
    new = anew(site.statement, site.source, place.span)
    head, _, value = new[1].partition(" = ") if new is not None else ("", "", "")
    if not path or head != part or not isinstance(call, tree.Call):
        return
    given = call.args[0 if func.attr == "unbind" else 1 :]
    dim = next((word.value for word in call.keywords if word.arg == "dim"), given[0] if given else None)
    join = "stack" if func.attr == "unbind" else "cat"
    at = f", dim={text_of(made.source, dim.span)}" if dim is not None else ""
    line = f"{path} = torch.{join}([{value} for {part} in {text_of(made.source, call.span)}]{at})"
    finder.offer(f"join the parts, written anew: `{line}` on line {made.line}", Draft().replace(made.source, loop.span, line),
                 "its source is not changed")
