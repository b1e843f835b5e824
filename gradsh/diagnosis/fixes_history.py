"""Fixes where a history is missing: let it go on where it was cut."""

from typing import Any

from gradsh.diagnosis.code import (
    WITH_INDICES,
    Draft,
    Site,
    closed,
    headed,
    is_false,
    path_of,
    reads,
    silenced,
    tail_of,
    targets_of,
)
from gradsh.diagnosis.fixes import Finder, attribute, call_in, held
from gradsh.diagnosis.fixes_leaves import (
    ask_for_gradient,
    asked_here,
    create_graph,
    differentiable,
    frozen,
    inputs_asked,
    learnt,
)
from gradsh.diagnosis.fixes_numbers import GOES_ON, bound_to, in_torch, without_items
from gradsh.diagnosis.history import CUTTING
from gradsh.diagnosis.provenance import Origin
from gradsh.language import tree
from gradsh.text.span import Span, text_of

_OF_VALUES = frozenset({"item", "tolist", "detach", "cpu", "numpy"})
"""Methods that ask a tensor for its values, which a number is."""
_ENDING = CUTTING - {"argmax", "argmin", "argsort"}


def no_grad(finder: Finder) -> None:
    """Let the history go on where it was cut; else ask for a gradient where the leaves are made."""
    inputs_asked(finder)
    _given_to_optimizer(finder)
    given = bool(finder.fixes)
    cuts = [origin for origin in finder.cause.cuts if not _is_copy(origin)] or finder.cause.cuts  # a copy of values is meant
    for origin in cuts if not finder.fixes else ():
        site = finder.code.at(origin.span, origin.source)
        if origin.source.line(origin.span.line).lstrip().startswith("@"):
            _undecorated(finder, origin)
        elif origin.cut and site is not None:
            _uncut(finder, site, origin)
    _other_part(finder)
    _switched_on(finder)
    if not given and not (finder.fixes and _learnt_already(finder)):
        frozen(finder)
    wanted = "One of the differentiated Tensors" in finder.case.message  # an input: no optimizer has to have it
    if not any(one.cut for one in finder.cause.cuts) and (wanted or not (finder.fixes or _learnt_already(finder))):
        made = [site for origin in finder.cause.cuts if (site := finder.code.at(origin.span, origin.source)) is not None]
        offered = {edit.line for fix in finder.fixes for edit in fix.edits}
        for site in learnt(finder, [site for site in made if site.statement.span.end_line not in offered]):
            ask_for_gradient(finder, site)
    create_graph(finder)
    differentiable(finder)
    asked_here(finder)


def _is_copy(origin: Origin) -> bool:
    """Whether what ended a history was written to copy values."""
    return any(text in origin.source.line(origin.span.line) for text in (".detach().clone()", ".clone().detach()"))


def _given_to_optimizer(finder: Finder) -> None:
    """An optimizer has plain tensors alone that ask for no gradient: these are to be learnt."""
    for given in _groups(finder):
        plain = [one for one in given if type(one).__name__ != "Parameter"]
        if len(plain) == len(given) and not any(getattr(one, "requires_grad", True) for one in given):
            for site in finder.code.sites:
                if any(finder.value(path_of(target)) is one for one in plain for target in targets_of(site.statement)):
                    ask_for_gradient(finder, site)


def _groups(finder: Finder) -> list[list[object]]:
    """Return what the optimizers in reach update."""
    holders = [one for scope in finder.scopes() for value in scope.values() for one in (value, *(part for _, part in held(value)))]
    return [group["params"] for holder in holders for group in attribute(holder, "param_groups") or ()]


def _learnt_already(finder: Finder) -> bool:
    """Whether an optimizer has what asks for a gradient: another leaf is not what is to be learnt."""
    return any(getattr(one, "requires_grad", False) for group in _groups(finder) for one in group)


def _other_part(finder: Finder) -> None:
    """What is gone back from reads a part of a container, of which another part has a history: go back from that."""
    needed = finder.site(finder.cause.needed)
    for site in finder.code.sites if needed is not None else ():
        bound = set(map(path_of, targets_of(site.statement)))
        if needed is None or not site.same_scope(needed) or not isinstance(site.statement, tree.Assign) or not bound & set(
            reads(needed.statement)
        ):
            continue
        for owner in [path_of(node.value) for node in headed(site.statement) if isinstance(node, tree.Subscript)]:
            held = finder.value(owner) if owner else None
            for key, part in held.items() if isinstance(held, dict) else ():
                if finder.root(part) is not None and part.numel() == 1 and isinstance(key, str):
                    new = f'{owner}["{key}"]'
                    finder.offer(f"call backward on the tensor that has a graph: `{new}` on line {site.line}",
                                 Draft().replace(site.source, site.statement.value.span, new), "the other one has no graph")


def _uncut(finder: Finder, site: Site, origin: Origin) -> None:
    call = origin.node if isinstance(origin.node, tree.Call) else None
    if call is not None and getattr(call.func, "attr", "") == "mark_non_differentiable":
        finder.offer(f"let the result require grad: remove line {site.line}", Draft().remove(site),
                     "its backward then defines the gradient")
        return
    silent = silenced(site)
    if silent is not None:
        out_of_silence(finder, site, silent)
    ends_left_out(finder, site)
    _uncopied(finder, site)
    _all_uncut(finder, site)
    in_torch(finder, site)


def number(finder: Finder, name: str) -> None:
    """A number is asked for what a tensor has (`loss.backward()`): let it stay a tensor where it is computed."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    for node in headed(needed.statement):
        if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr == name:
            inner = node.func.value
            if isinstance(inner, tree.Call) and isinstance(inner.func, tree.Attribute) and inner.func.attr == "item":
                asked = node if name in _OF_VALUES else inner
                finder.offer(f"remove `.{name if asked is node else 'item'}()` on line {needed.line}",
                             Draft().replace(needed.source, tail_of(asked), ""), "it is a number already" if asked is node else GOES_ON)
    owners = [path_of(node.value) for node in headed(needed.statement) if isinstance(node, tree.Attribute) and node.attr == name]
    for site in finder.code.sites:
        if site.same_scope(needed) and {path_of(one) for one in targets_of(site.statement)} & set(owners):
            called = {path_of(node.func).rpartition(".")[2] for node in headed(site.statement) if isinstance(node, tree.Call)}
            ends_left_out(finder, site)
            for one in finder.code.sites:
                if isinstance(one.statement, tree.Return) and one.function is not None and one.function.name in called:
                    ends_left_out(finder, one)


def ends_left_out(finder: Finder, site: Site) -> None:
    """Leave out the calls of a statement that end a history."""
    statement, source = site.statement, site.source
    for node in headed(statement):
        if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr == "sample":
            _replaced(finder, site, node.func, f"{text_of(source, node.func.value.span)}.rsample",
                      "the sample is then a function of the parameters")
        elif isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr in _ENDING:
            if (rounded := _rounded(node.func.value)) is not None:
                value, whole = closed(source, rounded), text_of(source, node.func.value.span)
                _replaced(finder, site, node, f"({value} + ({whole} - {value}).detach())",
                          "a rounding is a step: the gradient then passes straight through it")
                continue
            _end_left_out(finder, site, node, f".{node.func.attr}({', '.join(text_of(source, one.span) for one in node.args)})")
        elif isinstance(node, tree.Call) and path_of(node.func) in {"float", "int"} and len(node.args) == 1:
            finder.offer(f"remove `{path_of(node.func)}(…)` on line {node.span.line}",
                         Draft().replace(source, node.span, closed(source, node.args[0])), GOES_ON)
        elif isinstance(node, tree.Attribute) and node.attr == "data":
            _end_left_out(finder, site, node, ".data")
        elif isinstance(node, tree.Attribute) and node.attr == "grad" and path_of(node.value):
            finder.offer(f"a `.grad` has no graph: compute one that has, on line {node.span.line}",
                         _grad_again(finder, site, node), "costs a graph for the gradient")


def _end_left_out(finder: Finder, site: Site, node: Any, text: str) -> None:
    """Remove what ends a history, and the whole statement where it does nothing else: `x = x.detach()`."""
    statement = site.statement
    method: Any = node.func if isinstance(node, tree.Call) else node
    kept = path_of(method.value)
    if kept and site.alone() and isinstance(statement, tree.Assign) and statement.value is node \
            and [path_of(one) for one in statement.targets] == [kept]:
        finder.offer(f"remove `{text_of(site.source, statement.span)}` on line {site.line}", Draft().remove(site), GOES_ON)
    else:
        finder.offer(f"remove `{text}` on line {node.span.line}", Draft().replace(site.source, tail_of(node), ""), GOES_ON)


def _rounded(node: object) -> Any:
    """Return what a call rounds, None for any other expression."""
    if not isinstance(node, tree.Call) or not isinstance(node.func, tree.Attribute) or node.func.attr not in {
        "round", "floor", "ceil", "trunc", "fix"
    }:
        return None
    return node.args[0] if path_of(node.func.value) == "torch" and node.args else node.func.value


def _all_uncut(finder: Finder, site: Site) -> None:
    """Leave out everything on a line that cuts, where it is more than one thing."""
    ends: list[Span] = []
    for node in headed(site.statement):
        method = isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr in CUTTING and not node.args
        if method or (isinstance(node, tree.Attribute) and node.attr == "data"):
            ends.append(tail_of(node))
    if len(ends) > 1:
        finder.offer(f"remove what ends the graph on line {site.line}", Draft().replace_all(
            (site.source, span, "") for span in ends), GOES_ON)


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
    span = Span(origin.span.line, 1, origin.span.line, len(line) + 1)
    finder.offer(f"remove `{line.strip()}` on line {origin.span.line}", Draft().replace(origin.source, span, ""),
                 "the result of the function then has a graph")


def out_of_silence(finder: Finder, site: Site, silent: tree.With) -> None:
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
        finder.offer(words, unwrapped, "the operation is then recorded")
    elif site.statement is silent.body[-1] and span.line == span.end_line:
        whole = Span(site.line, 1, site.line, len(site.source.line(site.line)) + 1)
        finder.offer(words, Draft().replace(site.source, whole, block.indent + site.text), "the operation is then recorded")
    elif not isinstance(site.statement, tree.Return):
        finder.offer(f"record line {site.line}: put it in `with torch.enable_grad():`",
                     Draft().wrap(site, "with torch.enable_grad():"), "the operation is then recorded")
    header = silent.items[0].context_expr
    if len(silent.items) == 1:
        finder.offer(f"record the block of line {line}: `with torch.enable_grad():`",
                     Draft().replace(block.source, header.span, "torch.enable_grad()"), "the operation is then recorded")


def _switched_on(finder: Finder) -> None:
    """`set_grad_enabled(False)` as a statement lasts: let it last for the rest of its block, or end it where a history is needed."""
    for site in finder.code.sites:
        call = site.statement.value if isinstance(site.statement, tree.Expr) else None
        if not isinstance(call, tree.Call) or path_of(call.func).rpartition(".")[2] != "set_grad_enabled" or not is_false(*call.args):
            continue
        place = next(index for index, one in enumerate(site.block) if one is site.statement)
        rest = site.block[place + 1 :]
        if rest and site.function is not None:
            lasting = Draft().replace(site.source, site.statement.span, "with torch.no_grad():")
            finder.offer(f"turn recording off for this block only: `with torch.no_grad():` on line {site.line}",
                         lasting.indent(site.source, rest[0].span.line, rest[-1].span.end_line), "later operations are recorded")
        for origin in finder.cause.cuts:
            where = finder.code.at(origin.span, origin.source)
            if where is not None and where.function is None:
                finder.offer(f"turn recording on again: `torch.set_grad_enabled(True)` before line {where.line}",
                             Draft().insert(where, "before", "torch.set_grad_enabled(True)"), "the operation is then recorded")
                break


def _uncopied(finder: Finder, site: Site) -> None:
    source = site.source
    for node in headed(site.statement):
        if not isinstance(node, tree.Call):
            continue
        name = path_of(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
        if name in {"tensor", "as_tensor", "asarray", "FloatTensor", "from_numpy"} and node.args:
            first = node.args[0]
            inner = text_of(source, first.span)
            copies = "it copies only the values"
            if isinstance(first, tree.List | tree.ListComp | tree.Tuple):
                _replaced(finder, site, node, f"torch.stack({inner})", copies)
            elif isinstance(first, tree.GeneratorExp):
                _replaced(finder, site, node, f"torch.stack(list({inner}))", copies)
            else:
                _replaced(finder, site, node, inner if path_of(first) or isinstance(first, tree.Call) else f"({inner})", copies)
                _replaced(finder, site, node, f"torch.stack({inner})", copies)
            without_items(finder, site, node, first)
        elif name == "state_dict" and isinstance(node.func, tree.Attribute):
            owner = text_of(source, node.func.value.span)
            _replaced(finder, site, node, f"dict({owner}.named_parameters())", "a state_dict holds values without a graph")
        elif name == "one_hot" and node.args and (scores := _scores(node.args[0])) is not None:
            new = f"{closed(source, scores)}.softmax(-1)"
            _replaced(finder, site, node, new, "a one-hot choice has no gradient: the softmax replaces it and has one")
        elif name in {"argmax", "argmin"}:
            word = "amax" if name == "argmax" else "amin"
            text = text_of(source, node.span)
            _softly(finder, site, node)
            _replaced(finder, site, node, text.replace(name, word, 1), "values have a gradient, indices have none")
        elif name in WITH_INDICES:
            _swapped(finder, site, node)
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
                _replaced(finder, site, node, f"torch.sigmoid({sign})", f"`{text}` has no gradient: the sigmoid replaces it and has one")
            elif op in {"==", "!="}:
                _scored(finder, site, node)


def _softly(finder: Finder, site: Site, node: tree.Call) -> None:
    """`x.argmax(1)`: the place that is expected, of places as likely as the softmax says."""
    scores = _scores(node)
    rest = [one for one in (*node.args, *node.keywords) if one is not scores]
    dim = rest[0].value if len(rest) == 1 and isinstance(rest[0], tree.keyword) else rest[0] if len(rest) == 1 else None
    if scores is None or dim is None:
        return
    values, at = closed(site.source, scores), text_of(site.source, dim.span)
    likely = f"{values}.softmax({at})" + ("" if at == "-1" else f".movedim({at}, -1)")
    _replaced(finder, site, node, f"({likely} @ torch.arange(float({values}.shape[{at}])))",
              "the expected index (soft argmax): the gradient flows through the softmax")


def _swapped(finder: Finder, site: Site, node: tree.Call) -> None:
    """`_, found = x.max(1)` binds the indices: bind the values to that name."""
    targets = site.statement.targets if isinstance(site.statement, tree.Assign) and site.statement.value is node else []
    for target in targets:
        if isinstance(target, tree.Tuple) and len(target.elts) == 2:
            values, indices = (text_of(site.source, one.span) for one in target.elts)
            finder.offer(f"use the values, not the indices: `{indices}, {values}` on line {site.line}",
                         Draft().replace(site.source, target.span, f"{indices}, {values}"), "indices have no gradient")


def _scored(finder: Finder, site: Site, node: tree.Compare) -> None:
    """`(scores.argmax(1) == labels).float().mean()` is an accuracy: what is trained is the cross entropy."""
    statement, source = site.statement, site.source
    value = statement.value if isinstance(statement, tree.Assign | tree.Return) else None
    sides = [node.left, node.comparators[0]]
    for side, other in (sides, sides[::-1]):
        scores = _scores(bound_to(finder, site, side))
        if scores is not None and value is not None and not isinstance(value, tree.Dict | tree.Tuple):
            new = f"torch.nn.functional.cross_entropy({text_of(source, scores.span)}, {text_of(source, other.span)})"
            _replaced(finder, site, value, new, "an accuracy has no gradient: the cross entropy replaces it and has one")


def _scores(node: object) -> Any:
    """Return the expression of which `argmax`, or `max` for its indices, is taken."""
    while isinstance(node, tree.Subscript):
        node = node.value
    if not isinstance(node, tree.Call) or (getattr(node.func, "attr", "") or path_of(node.func)) not in {"argmax", "max"}:
        return None
    owner = node.func.value if isinstance(node.func, tree.Attribute) and path_of(node.func.value) != "torch" else None
    return owner if owner is not None else node.args[0] if node.args else None


def _values_instead(finder: Finder, site: Site) -> None:
    """The indices are needed where they are; take the values where the history is needed."""
    names = {path_of(one) for one in targets_of(site.statement)}
    if not isinstance(site.statement, tree.Assign):
        return
    value, source = site.statement.value, site.source
    text = text_of(source, value.span)
    new = text[: -len("[1]")] + "[0]" if text.endswith("[1]") else text.replace("argmax", "amax").replace("argmin", "amin")
    scores = _scores(value)
    news = [new, *([text_of(source, scores.span)] if scores is not None else [])]
    for reader in finder.code.sites:
        for part in headed(reader.statement) if reader.same_scope(site) and reader.line > site.line else ():
            if isinstance(part, tree.Name) and part.id in names and new != text and "\n" not in text:
                for one in news:
                    finder.offer(f"take the values, not the indices: `{one}` on line {reader.line}",
                                 Draft().replace(reader.source, part.span, one), "values have a gradient, indices have none")


def _replaced(finder: Finder, site: Site, node: Any, text: str, effect: str) -> None:
    if "\n" in text:
        return
    finder.offer(f"write `{text}` on line {node.span.line}" if len(text) < 70 else f"write line {node.span.line} so that it has a graph",
                 Draft().replace(site.source, node.span, text), effect)
