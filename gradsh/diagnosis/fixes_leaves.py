"""Fixes that say what is a leaf and what needs a gradient: ask for one, do not freeze, make a leaf of a result."""

import re

from gradsh.diagnosis.code import (
    FACTORIES,
    STORING,
    Draft,
    Site,
    base_of,
    callable_by_name,
    closed,
    drawn_from,
    freezes,
    freezing,
    headed,
    inside,
    path_of,
    reads,
    silenced,
    targets_of,
)
from gradsh.diagnosis.fixes import Finder, call_in, with_keyword
from gradsh.diagnosis.provenance import Origin
from gradsh.language import tree
from gradsh.probe.foreign import tensor_of
from gradsh.probe.modules import is_module, parameters_of
from gradsh.probe.snapshot import nodes_below
from gradsh.text.span import Span, text_of

_WHOLE = frozenset({"tensor", "arange", "full"})


_DATA = re.compile(r"(?i)x\d*|y\d*|xs|ys|z|t|data|batch|inputs?|inp|targets?|labels?|obs\w*|im(g|ages?)|noise|samples?|[xyt]_\w+|real|lr")


def learnt(finder: Finder, made: list[Site]) -> list[Site]:
    """Return those of the statements which make leaves that make what is to be learnt, as the script tells.

    A leaf whose `.grad` is read, that an optimizer is given or that is updated is learnt; what is named as data are is not.
    """
    read = {path for one in finder.code.sites for path in reads(one.statement) if path.endswith(".grad")}
    given = {path for one in finder.code.sites if any("optim" in path for path in reads(one.statement)) for path in reads(one.statement)}
    updated = {path_of(one.statement.target) for one in finder.code.sites if isinstance(one.statement, tree.AugAssign)}
    for loop in [one.statement for one in finder.code.sites if isinstance(one.statement, tree.For)]:
        items = [path_of(one) for one in targets_of(loop)]
        given |= {path_of(drawn_from(loop, name)) for name in items if f"{name}.grad" in read or name in updated}
    made = [site for site in made if not isinstance(site.statement, tree.For)] or made

    def names(site: Site) -> list[str]:
        return [path_of(one) for one in targets_of(site.statement)]

    sure = [site for site in made if any(f"{name}.grad" in read or name in given or name in updated for name in names(site))]
    data = [site for site in made if names(site) and all(_DATA.fullmatch(name) for name in names(site))]
    summed = [site for site in made if any(one.same_scope(site) and one.statement is not site.statement
              and set(names(one)) & set(names(site)) & set(reads(one.statement)) for one in finder.code.sites)]
    likely = [site for site in made if site not in data and site not in summed and not _computed(finder, site)]
    return sure or likely or made


def _computed(finder: Finder, site: Site) -> bool:
    """Whether a statement computes with tensors, modules or objects that have names: what it gives is no leaf to be learnt."""
    called = {path_of(node.func) for node in headed(site.statement) if isinstance(node, tree.Call)}
    values = [(path, finder.value(path)) for path in reads(site.statement)]
    return any(is_module(value) or hasattr(value, "grad_fn") or (path in called and _is_object(value)) for path, value in values)


def _is_object(value: object) -> bool:
    """Whether what is called is an object of one of the script's classes."""
    return hasattr(value, "__dict__") and not callable_by_name(value)


def ask_for_gradient(finder: Finder, site: Site) -> None:
    """Ask for a gradient where a leaf is made."""
    statement, source = site.statement, site.source
    made = [(source, node.span, needing(text_of(source, node.span), path_of(node.func).rpartition(".")[2])) for node in headed(statement)
            if isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] in FACTORIES]
    if len(made) > 1 and isinstance(getattr(statement, "value", None), tree.List | tree.Tuple | tree.Dict):
        finder.offer(f"set it where they are created: `requires_grad=True` on line {site.line}",
                     Draft().replace_all(made), "if it is to be trained")
    call = statement.value if isinstance(statement, tree.Expr) else None
    if isinstance(call, tree.Call) and getattr(call.func, "attr", "") == "append" and isinstance(call.args[0], tree.BinOp):
        new = f"{closed(source, call.args[0])}.requires_grad_()"
        finder.offer(f"make it require grad where it is created: `{new}` on line {site.line}",
                     Draft().replace(source, call.args[0].span, new), "if it is to be trained")
    for node in headed(statement):
        if not isinstance(node, tree.Call):
            continue
        text = text_of(source, node.span)
        name = path_of(node.func).rpartition(".")[2]
        if name in FACTORIES and "\n" not in text:
            new = needing(text, name)
            finder.offer(f"make it require grad where it is created: `{new}` on line {node.span.line}",
                         Draft().replace(source, node.span, new), "if it is to be trained")
    for target in targets_of(statement):
        path = path_of(target)
        if path and isinstance(statement, tree.Assign) and not _computed(finder, site):
            finder.offer(f"make it require grad where it is created: `{path}.requires_grad_()` after line {site.line}",
                         Draft().insert(site, "after", f"{path}.requires_grad_()"), "if it is to be trained")
    if isinstance(statement, tree.Return) and statement.value is not None:
        value = statement.value
        text = text_of(source, value.span)
        finder.offer(f"make it require grad where it is created: `.requires_grad_()` on line {site.line}",
                     Draft().replace(source, value.span, f"{text}.requires_grad_()"), "if it is to be trained")


def needing(text: str, name: str) -> str:
    """Return the text of a factory's call with a gradient asked for; whole numbers become floating point."""
    if re.search(r"requires_grad\s*=\s*False", text):
        return re.sub(r"requires_grad\s*=\s*False", "requires_grad=True", text)
    head, _, inside_ = text.partition("(")
    inner = inside_[:-1].rstrip().removesuffix(",")
    whole = name in _WHOLE and re.search(r"\d", inner) and not re.search(r"[./]|dtype", inner)
    parts = [part for part in (inner, "dtype=torch.float32" if whole else "", "requires_grad=True") if part]
    return f"{head}({', '.join(parts)})"


def frozen(finder: Finder) -> None:
    """Do not freeze what is to be learnt."""
    _unfrozen_for_optimizer(finder)
    for site, value in freezing(finder.code):
        finder.offer(f"do not freeze it if it is to be trained: `{'requires_grad = ' if isinstance(site.statement, tree.Assign) else ''}"
                     f"True` on line {site.line}", Draft().replace(site.source, value.span, "True"), "all of it then learns")
    _unfrozen_calls(finder)


def _unfrozen_for_optimizer(finder: Finder) -> None:
    """An optimizer is given a part of a model that was frozen as a whole: let that part learn."""
    for site in finder.code.sites:
        if not any("optim" in path for path in reads(site.statement)):
            continue
        for node in headed(site.statement):
            owner = path_of(node.func.value) if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) else ""
            module = finder.value(owner) if "." in owner else None
            if is_module(module) and not any(one.requires_grad for _, one in parameters_of(module)):
                finder.offer(f"unfreeze what the optimizer updates: `{owner}.requires_grad_()` before line {site.line}",
                             Draft().insert(site, "before", f"{owner}.requires_grad_()"), "everything else stays frozen")


def _unfrozen_calls(finder: Finder) -> None:
    """Leave out the call of a function that freezes: `freeze(model)`."""
    freezing = {site.function.name for site in finder.code.sites if site.function is not None and freezes(site.statement)}
    for site in finder.code.sites:
        call = site.statement.value if isinstance(site.statement, tree.Expr) else None
        if isinstance(call, tree.Call) and path_of(call.func).rpartition(".")[2] in freezing:
            finder.offer(f"do not freeze it if it is to be trained: remove line {site.line}", Draft().remove(site))


def create_graph(finder: Finder) -> None:
    """A gradient that is differentiated again needs a graph of its own."""
    failed = finder.site(finder.cause.needed)
    for site in finder.code.sites:
        if site is failed and not site.loops:
            continue
        for node in headed(site.statement):
            if isinstance(node, tree.Call):
                name = path_of(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
                text = text_of(site.source, node.span)
                if (name in {"grad", "vjp", "jvp", "hvp", "jacobian"} and "autograd" in text) or name == "backward":
                    new = with_keyword(text, "create_graph=True")
                    if new is not None and (name != "backward" or ".grad" in site.source.text):
                        finder.offer(f"make the gradient differentiable: `create_graph=True` on line {site.line}",
                                     Draft().replace(site.source, node.span, new),
                                     "costs a graph for the gradient")


def differentiable(finder: Finder) -> None:
    """A backward of the script's own that computes with tensors has a graph where it is not told to have none."""
    for site, node in finder.code.named("once_differentiable"):
        if isinstance(site.statement, tree.FunctionDef):
            line = node.span.line
            whole = Span(line, 1, line, len(site.source.line(line)) + 1)
            finder.offer(f"remove `@once_differentiable` on line {line}", Draft().replace(site.source, whole, ""),
                         "its backward then has a graph, if it computes with tensors alone")


def asked_here(finder: Finder) -> None:
    """Ask for the gradient of the tensor that a hook or `retain_grad` is set on, just before."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    for name in ("register_hook", "retain_grad", "register_post_accumulate_grad_hook"):
        call = call_in(needed, name)
        if call is not None and isinstance(call.func, tree.Attribute) and (path := path_of(call.func.value)):
            finder.offer(f"make it require grad first: `{path}.requires_grad_()` before line {needed.line}",
                         Draft().insert(needed, "before", f"{path}.requires_grad_()"), "if it is to be trained")


def inputs_asked(finder: Finder) -> None:
    """Ask for the gradient of an input of `autograd.grad` before it is used."""
    needed = finder.site(finder.cause.needed)
    call = None if needed is None else call_in(needed, "grad")
    if needed is not None and call is not None and len(call.args) > 1:
        for part in inside(call.args[1]):
            path = path_of(part)
            if not path or finder.tensor(finder.value(path)) is None or finder.learns(finder.value(path)):
                continue
            tensor, top = finder.value(path), finder.case.machine.variables()
            bound = [site for site in finder.code.sites if path in map(path_of, targets_of(site.statement))
                     and ("." in path or site.same_scope(needed) or (site.function is None and top.get(path) is tensor))]
            for site in sorted(bound, key=lambda one: (not one.same_scope(needed), one.line > needed.line, -one.line))[:3]:
                finder.offer(f"make it require grad before it is used: `{path}.requires_grad_()` after line {site.line}",
                             Draft().insert(site, "after", f"{path}.requires_grad_()"),
                             "if it is to be trained")
            first = next((site for site in sorted(finder.code.sites, key=lambda one: one.line) if site.function is needed.function
                          and site.line < needed.line and path in read_by(site)), None)
            if first is not None and needed.function is not None:
                finder.offer(f"make it require grad before it is used: `{path}.requires_grad_()` before line {first.line}",
                             Draft().insert(first, "before", f"{path}.requires_grad_()"),
                             "if it is to be trained")


def read_by(site: Site) -> list[str]:
    """Return the paths that a statement reads, none of a definition."""
    return [] if isinstance(site.statement, tree.FunctionDef | tree.ClassDef) else reads(site.statement)


# --- a result in the place of a leaf --------------------------------------------------------------------------------


def not_leaf(finder: Finder) -> None:
    """Make it a leaf, or cut the history instead of freezing."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    for node in headed(needed.statement):
        if isinstance(node, tree.Attribute) and node.attr in {"requires_grad", "requires_grad_"} and path_of(base_of(node.value)):
            _flagged(finder, needed, text_of(needed.source, node.value.span))
        elif isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] == "deepcopy" and node.args:
            new = f"{closed(needed.source, node.args[0])}.detach().clone()"
            finder.offer(f"copy the values: `{new}` on line {needed.line}",
                         Draft().replace(needed.source, node.span, new), "the copy has no graph")
    if "deepcopy" in finder.case.message:
        _stored_for_copy(finder, needed)
    elif not (_is_frozen(finder) and finder.fixes) and not _leaves_given(finder, needed):
        for origin in finder.cause.cuts:
            site = finder.code.at(origin.span, origin.source)
            if site is not None:
                _made_leaf(finder, site, origin)
    _grad_kept(finder, needed)


def _is_frozen(finder: Finder) -> bool:
    """Whether a flag was to be set to False, whose refusal names the way."""
    return "var_no_grad" in finder.case.message


def _flagged(finder: Finder, needed: Site, text: str) -> None:
    """A flag of a result: what is to be frozen is detached; what has to have a gradient has it, unless it is to be a leaf."""
    cut, leaf = f"{text} = {text}.detach()", f"{text} = {text}.detach().requires_grad_()"
    effect = "earlier operations get no gradient from here"
    if any(text == path_of(target) for loop in needed.loops if isinstance(loop, tree.For) for target in targets_of(loop)):
        finder.offer(f"leave results out: `if {text}.is_leaf:` around line {needed.line}", Draft().wrap(needed, f"if {text}.is_leaf:"),
                     "what is computed keeps its graph")
    elif _is_frozen(finder):
        finder.offer(f"detach it instead: `{cut}` on line {needed.line}", Draft().replace(needed.source, needed.statement.span, cut),
                     effect, changes=effect)
    read = any(f"{text}.grad" in reads(one.statement) for one in finder.code.sites)
    retained = any(call_in(one, "retain_grad") for one in finder.code.sites)
    if not _is_frozen(finder) and read and not retained:
        finder.offer(f"make it a leaf: `{leaf}` on line {needed.line}", Draft().replace(needed.source, needed.statement.span, leaf),
                     effect, changes=effect)
    finder.offer(f"remove line {needed.line}", Draft().remove(needed),
                 "it then requires grad as before: the gradient then flows through it")


def _leaves_given(finder: Finder, needed: Site) -> bool:
    """An optimizer is given what was computed from parameters that are read elsewhere: give it these; tell whether it can be."""
    root = finder.root(finder.cause.tensor)
    below = nodes_below(root) if root is not None else ()
    leaves = {id(tensor_of(node.variable)) for node in below if getattr(node, "variable", None) is not None}
    levels = finder.levels(finder.cause.needed) if finder.cause.needed is not None else []
    call = next((node for level in reversed(levels) for node in headed(level.statement)
                 if isinstance(node, tree.Call) and "optim" in path_of(node.func) and node.args), None)
    for name, module in finder.modules() if call is not None and leaves else ():
        own = [f"{name}.{path}" for path, one in parameters_of(module) if id(one) in leaves]
        if call is not None and own and "[" not in name:
            new = f"[{', '.join(own)}]" if isinstance(call.args[0], tree.List) else f"{name}.parameters()"
            finder.offer(f"give the optimizer the parameters it was computed from: `{new}` on line {call.span.line}",
                         Draft().replace(needed.source, call.args[0].span, new), "the parameters that the forward reads are then trained")
            return True
    return False


def _stored_for_copy(finder: Finder, needed: Site) -> None:
    """A result that an object stores in an attribute stands in the way of its copy: store it without its history."""
    call = call_in(needed, "deepcopy")
    copied = text_of(needed.source, call.args[0].span) if call is not None and call.args else ""
    for site in finder.code.sites:
        value = site.statement.value if isinstance(site.statement, tree.Assign) else None
        for target in targets_of(site.statement) if value is not None else ():
            if value is None or not isinstance(target, tree.Attribute) or finder.root(finder.value(path_of(target))) is None:
                continue
            if not any(one.function is site.function and path_of(target) in read_by(one) for one in finder.code.sites):
                new = f"{closed(site.source, value)}.detach()"  # else the forward itself goes on from there
                finder.offer(f"store it without its graph: `{new}` on line {site.line}",
                             Draft().replace(site.source, value.span, new), f"what {path_of(target)} holds then has no graph")
            for owner in dict.fromkeys([owner for owner, _ in finder.owners(target.attr)[:1]] + ([copied] if copied else [])):
                cut = f"{owner}.{target.attr} = {owner}.{target.attr}.detach()"
                finder.offer(f"detach it before the copy: `{cut}` before line {needed.line}",
                             Draft().insert(needed, "before", cut), "only a tensor without a graph can be copied")


def _made_leaf(finder: Finder, site: Site, origin: Origin) -> None:
    effect = "it then learns, not the tensors that it was computed from"
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
        finder.offer(f"register a plain hook: `{text}(…)` on line {needed.line}",
                     Draft().replace(needed.source, call.func.span, text), "the hook receives the gradient")


# --- no gradient yet ------------------------------------------------------------------------------------------------


def without_gradient(finder: Finder) -> None:
    """A `.grad` is None: a result stands in the place of the leaf, the leaf asked for none, or no backward has run yet."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    for node in headed(needed.statement):
        if not isinstance(node, tree.Attribute) or node.attr != "grad":
            continue
        owner = text_of(needed.source, node.value.span)
        again = [site for site in finder.code.sites if site.same_block(needed) and isinstance(site.statement, tree.Assign)
                 and _updates(site, site.statement)]
        if any(owner in _bound_texts(site) for site in again):
            _in_place(finder, again)
            _leaves_again(finder, again)
            continue
        call = needed.statement.value if isinstance(needed.statement, tree.Expr) else None
        if isinstance(call, tree.Call) and path_of(call.func) == "setattr" and len(call.args) == 3:
            finder.offer(f"make it a leaf again: `.detach().requires_grad_()` on line {needed.line}", Draft().replace(
                needed.source, call.args[2].span, f"{closed(needed.source, call.args[2])}.detach().requires_grad_()"), _NO_PART)
            continue
        value, path = finder.value(path_of(node.value)), path_of(node.value)
        _comprehended(finder, value)
        _kept_where_stored(finder, value)
        bound = [site for site in finder.code.sites if path and site.line < needed.line
                 and path in map(path_of, targets_of(site.statement))]
        for site in bound[-1:] if value is not None else ():
            if finder.root(value) is not None:
                finder.offer(f"keep the gradient of a result: `{path}.retain_grad()` after line {site.statement.span.end_line}",
                             Draft().insert(site, "after", f"{path}.retain_grad()"), f"{path} is not a leaf")
                if not any(is_module(finder.value(one)) for one in reads(site.statement)):  # else those would learn nothing
                    _leaves_again(finder, [site])
            elif finder.tensor(value) is not None and not finder.learns(value):
                ask_for_gradient(finder, site)
        if isinstance(needed.statement, tree.Expr | tree.AugAssign) and finder.root(value) is None:
            finder.offer(f"check for a missing gradient: `if {owner}.grad is not None:` around line {needed.line}",
                         Draft().wrap(needed, f"if {owner}.grad is not None:"))


def _kept_where_stored(finder: Finder, value: object) -> None:
    """A result that a container gives: let it keep its gradient where it is stored."""
    for site in finder.code.sites if finder.root(value) is not None else ():
        statement = site.statement
        call = statement.value if isinstance(statement, tree.Expr) and isinstance(statement.value, tree.Call) else None
        target = next((one for one in targets_of(statement) if isinstance(one, tree.Subscript)), None)
        owner = call.func.value if call is not None and isinstance(call.func, tree.Attribute) and call.func.attr in STORING else target
        stored = path_of(call.args[-1]) if call is not None and call.args else path_of(getattr(statement, "value", None))
        container = finder.value(path_of(base_of(owner))) if owner is not None else None
        parts = container.values() if isinstance(container, dict) else container if isinstance(container, list | tuple) else ()
        if stored and any(part is value for part in parts):
            finder.offer(f"keep the gradient of a result: `{stored}.retain_grad()` before line {site.line}",
                         Draft().insert(site, "before", f"{stored}.retain_grad()"), f"{stored} is not a leaf")


def _comprehended(finder: Finder, value: object) -> None:
    """Results that a comprehension computes stand in the place of leaves: make leaves of them."""
    for site in finder.code.sites if finder.root(value) is not None else ():
        made = site.statement.value if isinstance(site.statement, tree.Assign) else None
        part = made.value if isinstance(made, tree.DictComp) else made.elt if isinstance(made, tree.ListComp) else None
        container = finder.value(path_of(targets_of(site.statement)[0])) if part is not None else None
        held = container.values() if isinstance(container, dict) else container if isinstance(container, list) else ()
        if part is not None and any(one is value for one in held):
            new = f"{closed(site.source, part)}.detach().requires_grad_()"
            finder.offer(f"make it a leaf: `{new}` on line {part.span.line}", Draft().replace(site.source, part.span, new), _NO_PART)


_NO_PART = "earlier operations are then not part of the graph"


def _bound_texts(site: Site) -> list[str]:
    """Return the texts of what a statement binds or writes."""
    return [text_of(site.source, one.span) for one in targets_of(site.statement)]


def _updates(site: Site, statement: tree.Assign) -> bool:
    """Whether a statement binds a name anew from its own gradient, as `w = w - lr * w.grad` does."""
    return any(isinstance(node, tree.Attribute) and node.attr == "grad" and text_of(site.source, node.value.span) in _bound_texts(site)
               for node in inside(statement.value))


def _in_place(finder: Finder, sites: list[Site]) -> None:
    """Let updates that no history follows write into the leaves: `w -= lr * w.grad` for `w = w - lr * w.grad`."""
    parts, new = [], []
    for site in sites:
        value = getattr(site.statement, "value", None)
        target = targets_of(site.statement)[0]
        if not isinstance(value, tree.BinOp) or value.op not in ("+", "-") or silenced(site) is None \
                or path_of(value.left) != path_of(target):
            return
        new.append(f"{text_of(site.source, target.span)} {value.op}= {text_of(site.source, value.right.span)}")
        parts.append((site.source, site.statement.span, new[-1]))
    finder.offer(f"update it in place: `{new[0]}` on line {' and '.join(str(site.line) for site in sites)}",
                 Draft().replace_all(parts), "the leaf then stays the leaf and keeps its .grad")


def _leaves_again(finder: Finder, sites: list[Site]) -> None:
    """Make leaves of what some statements bind."""
    lines = " and ".join(str(site.line) for site in sites)
    values = [(site.source, site.statement.value) for site in sites if isinstance(site.statement, tree.Assign)]
    finder.offer(f"make it a leaf again: `.detach().requires_grad_()` on line {lines}", Draft().replace_all(
        (source, value.span, f"{closed(source, value)}.detach().requires_grad_()") for source, value in values),
        _NO_PART)
