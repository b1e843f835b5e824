"""Where a value came from, followed through the script's functions: the line that ended a history, or made a leaf.

The frames that failed are alive, so their variables can be asked. A function that has returned is read statically: its
parameters stand for the arguments of the call.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from gradsh.compiler.scopes import bound_by, children, statements_of
from gradsh.diagnosis.code import (
    FACTORIES,
    WITH_INDICES,
    Code,
    Site,
    callable_by_name,
    constant,
    display_part,
    drawn_from,
    freezing,
    inside,
    is_silent,
    path_of,
    place_in_targets,
    silenced,
    targets_of,
)
from gradsh.diagnosis.context import (
    Context,
    arguments_of,
    called,
    is_tensor_other,
    makes_numbers,
    part_of,
    registrations,
    stored_by,
)
from gradsh.diagnosis.fixes import attribute
from gradsh.diagnosis.provenance import (
    Origin,
    Origins,
    creates,
    expression_at,
    holds_tensor,
    latest,
    place_of,
    requires,
)
from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.probe.modules import is_module, parameters_of
from gradsh.text.span import Span

_DEPTH = 24
CUTTING = frozenset({"detach", "item", "numpy", "tolist", "argmax", "argmin", "long", "int", "bool", "detach_", "argsort"})
"""Methods whose results have no history."""
COPYING = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "Tensor", "FloatTensor"})
_NAMESPACES = frozenset({"torch", "nn", "F", "np", "math", "optim"})


class History:
    """Follows values for one failure."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.code = Code(origins.machine)
        self.contexts = self._frames()
        self.leaf: Any = None
        self._item: Any = None
        """The place or key of the part of a container that is followed; None: all of it."""
        self._seen: set[tuple[int, int, object]] = set()

    def _frames(self) -> list[Context]:
        found: list[Context] = []
        for frame in self.origins.frames:
            step = frame.step
            site = self.code.at(step.span, step.source)
            function = site.function if site is not None and frame.local is not None else None
            outer = found[-1] if found else None
            arguments: dict[str, tuple[expr, Context]] = {}
            if function is not None and outer is not None:
                call = self._call_at(len(found) - 1)
                arguments = arguments_of(call, function, outer) if call is not None else {}
            found.append(Context(site, function, frame.local, arguments, step.statement, outer))
        return found

    def _call_at(self, index: int) -> tree.Call | None:
        step = self.origins.frames[index].step
        unit = self.origins.machine.units.of(step.code)
        node = None if unit is None else expression_at(unit, step.span)
        return node if isinstance(node, tree.Call) else None

    # -------------------------------------------------------------- asking

    def cuts(self, operands: list[expr]) -> list[Origin]:
        """Return the places where the history of operands without one was cut, or that made the leaves below them."""
        if not self.contexts:
            return []
        self.leaf = None
        self._seen.clear()
        found = [origin for operand in operands for origin in self._follow(operand, self.contexts[-1], _DEPTH)]
        cut = [one for one in found if one.cut]  # a statement that is read twice was followed once
        return list({(id(one.source), one.span): one for one in [*found, *cut]}.values())

    def cuts_of(self, value: object) -> list[Origin]:
        """Return the same for a value that a name holds; for a parameter, the statements above that tell some to need no gradient."""
        if self.contexts and any(base.__name__ == "Parameter" for base in type(value).__mro__):
            now = self.contexts[0].before
            return [Origin(site.statement.span, site.source, False, site.statement)
                    for site in sorted((site for site, _ in freezing(self.code)), key=self._order)
                    if site.function is not None or now is None or site.statement.span[:2] < now[:2]]
        heads = [re.split(r"[.[]", name)[0] for name in self.origins.names_of(value)[:1]]
        return self.cuts([tree.Name(Span(1, 1, 1, 1), head) for head in heads])

    def made(self, operand: expr, leaf: object) -> list[Origin]:
        """Return the places that may have made a leaf which an expression gives."""
        if not self.contexts:
            return []
        self.leaf = leaf
        self._seen.clear()
        found = self._follow(operand, self.contexts[-1], _DEPTH)
        return list({(id(one.source), one.span): one for one in found}.values())

    # -------------------------------------------------------------- following

    def _follow(self, node: Any, context: Context, depth: int) -> list[Origin]:
        key = (id(node), id(context.function), self._item)
        if depth == 0 or node is None or key in self._seen:
            return []
        self._seen.add(key)
        match node:
            case tree.Name():
                return self._name(node.id, context, depth)
            case tree.Attribute():
                if node.attr == "data" and self.leaf is None and self._may(node.value, context, depth):
                    return self._here(node, context, cut=True)
                if node.attr == "grad" or (node.attr == "indices" and isinstance(node.value, tree.Call)):
                    return self._here(node, context, cut=True)
                return self._attribute(node, context, depth)
            case tree.Call():
                return self._call(node, context, depth)
            case tree.Compare() if self._may(node, context, depth):
                return self._here(node, context, cut=True)
            case tree.Lambda() | tree.Constant():
                return []
            case tree.Subscript():
                return self._part(node.value, constant(node.slice), context, depth)
            case tree.Dict() | tree.Tuple() | tree.List() if (part := display_part(node, self._item)) is not None:
                return self._part(part, None, context, depth)
            case tree.ListComp() | tree.GeneratorExp():
                bound = {path_of(one.target): (one.iter, context) for one in node.generators}
                return self._follow(node.elt, context._replace(arguments={**context.arguments, **bound}), depth - 1)
        parts = (child for child in children(node) if not isinstance(child, stmt))
        return [origin for part in parts for origin in self._follow(part, context, depth - 1)]

    def _part(self, node: object, item: object, context: Context, depth: int) -> list[Origin]:
        """Follow an expression for one part of its value."""
        return self._for(item, lambda: self._follow(node, context, depth - 1))

    def _for(self, item: object, follow: Callable[[], list[Origin]]) -> list[Origin]:
        around, self._item = self._item, item
        try:
            return follow()
        finally:
            self._item = around

    def _name(self, name: str, context: Context, depth: int) -> list[Origin]:
        live = part_of(self._live(name, context), self._item)
        if self.leaf is None and live is not None and holds_tensor(live) and requires(live):
            return []
        if self.leaf is not None and is_tensor_other(live, self.leaf):
            return []
        bound = self._binder(name, context)
        if bound is None:
            if name in context.arguments:
                value, outer = context.arguments[name]
                return self._follow(value, outer, depth - 1)
            return []
        place = place_in_targets(bound[0].statement, name)
        found = self._for(self._item if place is None else place, lambda: self._statement(*bound, depth))
        return [*found, *self._written_into(name, bound[0], context, depth)]

    def _written_into(self, name: str, bound: Site, context: Context, depth: int) -> list[Origin]:
        """Follow what statements write into a tensor or a container after it was bound, and where: `image[rows] = value`."""
        found: list[Origin] = []
        for site, parts in self._stores(name, bound) if self.leaf is None else ():
            inner = self._at(site, context)
            found += [one for part in parts for one in self._part(part, None, inner, depth) if one.cut]
        return found

    def _stores(self, name: str, bound: Site) -> Iterator[tuple[Site, list[object]]]:
        """Yield the statements that put something into what a statement bound, and what; also of functions that share it."""
        last = name.rpartition(".")[2]
        for site in self.code.sites:
            here = site.function is bound.function and site.source is bound.source
            if (site.line <= bound.line) if here else (bound.function is not None and last == name):
                continue
            owner, parts = stored_by(site.statement)
            path = path_of(owner)
            if path == name or (path and last != name and path.endswith(f".{last}")):
                yield site, parts

    @staticmethod
    def _at(site: Site, context: Context) -> Context:
        """Return the context of another statement: the same one where it stands in the same function."""
        if site.function is context.function:
            return context._replace(site=site, before=site.statement.span)
        return Context(site, site.function, None, {}, site.statement.span)

    def _binder(self, name: str, context: Context) -> tuple[Site, Context] | None:
        """Return the statement that last bound a name before a place, in its function, else at the top level."""
        body = context.function.body if context.function is not None else None
        if body is not None and context.site is not None:
            found = latest(body, name, context.before)
            if found is not None:
                return self._site(found, context.site), context._replace(before=found.span)
            if name in {one.arg for one in context.function.args.args}:  # type: ignore[union-attr]
                return None
        for site in reversed(self._top()):
            if context.function is None and context.before is not None and context.site is not None and (
                site.source is context.site.source and site.statement.span[:2] >= context.before[:2]
            ):
                continue
            if isinstance(site.statement, tree.AugAssign) and silenced(site) is not None:
                continue  # an update in place: it is what it was
            if any(bound == name for bound, _ in bound_by(site.statement)) and not isinstance(site.statement, tree.Delete):
                return site, Context(site, None, None, {}, site.statement.span)
        return None

    def _top(self) -> list[Site]:
        """Return the statements of the top level, also those inside its loops, in the order of the text."""
        found = [site for site in self.code.sites if site.function is None and site.owner is None]
        return sorted(found, key=lambda site: self._order(site))

    def _order(self, site: Site) -> tuple[int, int, int]:
        return (site.source.first_line, *site.statement.span[:2])

    def _site(self, statement: stmt, near: Site) -> Site:
        return next((site for site in self.code.sites if site.statement is statement), near)

    def _statement(self, site: Site, context: Context, depth: int) -> list[Origin]:
        statement = site.statement
        context = context._replace(site=site, before=statement.span)
        value = getattr(statement, "value", None)
        if isinstance(statement, tree.For):
            value = statement.iter
        elif isinstance(statement, tree.With):
            value = statement.items[0].context_expr
        if value is None or isinstance(statement, tree.FunctionDef | tree.ClassDef):
            return []
        if self.leaf is None and silenced(site) is not None and self._may(value, context, depth):
            return [self._origin(site, cut=True)]
        part, names = display_part(value, self._item), [path_of(one) for one in targets_of(statement)]
        if part is not None and len(names) == len(value.elts):
            names = [names[self._item]]
            found = self._part(part, None, context, depth)
        else:
            part, found = value, self._follow(value, context, depth - 1)
        if isinstance(part, tree.List) and not part.elts:
            for one, parts in (each for name in names for each in self._stores(name, site)):
                found += [origin for inner in parts for origin in self._follow(inner, self._at(one, context), depth - 1)]
        if isinstance(statement, tree.AugAssign):
            found += self._follow(statement.target, context, depth - 1)
        return found or ([self._origin(site, cut=False)] if creates(value) else [])

    def _attribute(self, node: tree.Attribute, context: Context, depth: int) -> list[Origin]:
        path = path_of(node)
        live = self._live(path, context) if path else None
        if self.leaf is None and live is not None and holds_tensor(live) and requires(live):
            return []
        binders = [site for site in self.code.sites
                   if any(isinstance(one, tree.Attribute) and one.attr == node.attr for one in targets_of(site.statement))]
        here = [site for site in binders if site.function is context.function
                and (context.before is None or site.statement.span[:2] < context.before[:2])]
        for site in sorted(here or binders, key=self._order)[-1:]:
            return [*self._statement(site, self._at(site, context), depth), *self._written_into(path, site, context, depth)]
        for site in self.code.sites:
            for call in registrations(site.statement):
                if call.args[1:] and isinstance(call.args[0], tree.Constant) and call.args[0].value == node.attr:
                    return self._follow(call.args[1], Context(site, site.function, None, {}, site.statement.span), depth - 1) or [
                        self._origin(site, cut=False)]
        return [] if not isinstance(node.value, tree.Call) else self._follow(node.value, context, depth - 1)

    def _call(self, node: tree.Call, context: Context, depth: int) -> list[Origin]:
        func = node.func
        name = func.attr if isinstance(func, tree.Attribute) else path_of(func)
        receiver = func.value if isinstance(func, tree.Attribute) and path_of(func.value).split(".")[0] not in _NAMESPACES else None
        function = self._function(node, context)
        if function is not None:
            return self._enter(node, function, context, depth)
        inputs: list[Any] = [*([receiver] if receiver is not None else []), *node.args, *(word.value for word in node.keywords)]
        module = self._live(path_of(func), context) if path_of(func) else None
        if self.leaf is None and is_module(module):
            inner = [one for site in self._forwards(module) for one in self._enter(node, site, context, depth) if one.cut]
            if inner := [one for one in inner if one.statement is not getattr(context.site, "statement", None)]:
                return inner
            if any(True for _ in parameters_of(module)) and not requires(module):
                cut = [one for argument in inputs for one in self._part(argument, None, context, depth) if one.cut]
                return cut or [*self._frozen(), *self._follow(func, context, depth - 1)]
        if name in FACTORIES - COPYING and receiver is None:
            return self._here(node, context, cut=False)
        if self._item == 1 and name in WITH_INDICES and self._may(inputs[0], context, depth):
            return self._here(node, context, cut=True)
        if self.leaf is not None:
            found = [origin for one in inputs for origin in self._part(one, None, context, depth)] if name in {
                "parameters", "list", "chain", "zip", "enumerate", "reversed", "values", "items", "requires_grad_", "to"} else []
            return found or self._here(node, context, cut=False)
        if name == "grad" and receiver is None:
            return [] if any(word.arg == "create_graph" for word in node.keywords) else self._here(node, context, cut=True)
        may = any(self._may(one, context, depth) for one in inputs)
        if (name in CUTTING or name == "sample") and inputs and self._may(inputs[0], context, depth):
            return self._here(node, context, cut=True)
        if may and (name in COPYING or not self._has_history(node, context)):
            deeper = [origin for one in inputs for origin in self._part(one, None, context, depth) if origin.cut]
            return [*(origin._replace(before=makes_numbers(origin.node)) for origin in deeper), *self._here(node, context, cut=True)]
        found = [origin for one in inputs for origin in self._part(one, None, context, depth)]
        return found or self._here(node, context, cut=False)

    def _frozen(self) -> list[Origin]:
        """Return the latest statement of the top level that tells parameters to need no gradient, else those of functions."""
        found = sorted((site for site, _ in freezing(self.code)), key=self._order)
        outside = [site for site in found if site.function is None][-1:]
        return [self._origin(site, cut=False) for site in outside or found]

    def _has_history(self, node: tree.Call, context: Context) -> bool:
        """Whether the inputs of a call may have lost their history before it: none of its live ones requires grad."""
        paths = [path for part in inside(node) if (path := path_of(part))]
        live = [value for path in paths if (value := self._live(path, context)) is not None]
        return not any(holds_tensor(value) and requires(value) for value in live)

    def _function(self, node: tree.Call, context: Context) -> Site | None:
        """Return the definition of the script's function that a call runs."""
        func = node.func
        name = func.attr if isinstance(func, tree.Attribute) else path_of(func)
        owner = ""
        if isinstance(func, tree.Call) and path_of(func.func):
            owner, name = path_of(func.func), "forward"
        elif isinstance(func, tree.Attribute) and name == "apply":
            owner, name = path_of(func.value), "forward"
        else:
            value = (self._live(path_of(func), context) or self._drawn(path_of(func), context)) if path_of(func) else None
            if value is not None and hasattr(value, "__dict__") and not callable_by_name(value):
                owner, name = type(value).__name__, "forward" if is_module(value) else "__call__"
        found = self.code.functions(name)
        if owner:
            found = [site for site in found if site.owner is not None and site.owner.name == owner]
        elif isinstance(func, tree.Name):
            found = [site for site in found if site.owner is None]
        return found[0] if found else None

    def _forwards(self, module: object) -> list[Site]:
        """Return the definitions of what the modules compute which a module holds, the last one's first."""
        inner, names = [module], []
        while inner:
            parts = list((attribute(inner.pop(), "_modules") or {}).values())
            inner += parts
            names += [type(one).__name__ for one in reversed(parts)]
        return [site for site in self.code.functions("forward") if site.owner is not None and site.owner.name in names]

    def _drawn(self, name: str, context: Context) -> object:
        """Return an item of what a loop goes over, for the name that it binds."""
        bound = self._binder(name, context)
        loop = None if bound is None else bound[0].statement
        held = self._live(path_of(drawn_from(loop, name)), bound[1]) if bound is not None and isinstance(loop, tree.For) else None
        modules = attribute(held, "_modules")
        return next(iter(modules.values() if modules else held if isinstance(held, list | tuple) else ()), None)

    def _enter(self, node: tree.Call, site: Site, context: Context, depth: int) -> list[Origin]:
        function = site.statement
        assert isinstance(function, tree.FunctionDef)
        arguments = arguments_of(node, function, context)
        silent = next((one for one in function.decorator_list if is_silent(one)), None)
        if self.leaf is None:
            found: list[Origin] = []
            if silent is not None:
                found.append(Origin(silent.span, site.source, True, function, silent))
            for statement in statements_of(function.body):
                if isinstance(statement, tree.Expr) and isinstance(statement.value, tree.Call) and (
                    getattr(statement.value.func, "attr", "") == "mark_non_differentiable"
                ):
                    found.append(Origin(statement.span, site.source, True, statement, statement.value))
            if found:
                return found
        found = []
        for statement in statements_of(function.body):
            if isinstance(statement, tree.Return) and statement.value is not None:
                place = self._site(statement, site)
                inner = Context(place, function, None, arguments, statement.span, context)
                if self.leaf is None and silenced(place) is not None and self._may(statement.value, inner, depth):
                    found.append(self._origin(place, cut=True))
                else:
                    found += self._follow(statement.value, inner, depth - 1)
        return found or self._here(node, context, cut=self.leaf is None and self._may(node, context, depth))

    # -------------------------------------------------------------- values

    def _live(self, path: str, context: Context) -> object:
        head, *rest = path.split(".")
        if self._is_bound_later(head, context):
            return None
        if context.local is not None and head in context.local:
            value = context.local[head]
        elif head in context.arguments and (path := path_of(context.arguments[head][0])):
            value = self._live(path, context.arguments[head][1])
        elif context.function is None or head not in {one.arg for one in context.function.args.args}:
            value = self.origins.machine.program.get(head)
        elif head == "self":
            value = next((one.local["self"] for one in self.contexts if one.local and "self" in one.local
                          and rest and attribute(one.local["self"], rest[0]) is not None), None)
        else:
            value = None
        for name in rest:
            value = attribute(value, name)
        return value

    def _is_bound_later(self, name: str, context: Context) -> bool:
        """Whether a statement after a place bound a name again: what it holds now is not what was read there."""
        frame = next((one for one in self.contexts if one.function is context.function and one.local is context.local), None)
        if frame is None or frame.before == context.before:
            return False
        now, then = self._binder(name, frame), self._binder(name, context)
        return now is not None and (then is None or now[0].statement is not then[0].statement)

    def _may(self, node: Any, context: Context, depth: int) -> bool:
        """Whether an expression may require grad: what it reads does, or computes with parameters of a module."""
        if depth <= 0:
            return False
        for part in inside(node):
            path = path_of(part)
            if not path or isinstance(part, tree.Call):
                continue
            value = self._live(path, context)
            if value is not None and (holds_tensor(value) or is_module(value)):
                if requires(value):
                    return True
                continue
            if isinstance(part, tree.Name):
                if part.id in context.arguments:
                    inner, outer = context.arguments[part.id]
                    if self._may(inner, outer, depth - 4):
                        return True
                elif (bound := self._binder(part.id, context)) is not None:
                    value = getattr(bound[0].statement, "value", None) or getattr(bound[0].statement, "iter", None)
                    value = display_part(value, place_in_targets(bound[0].statement, part.id)) or value
                    if value is not None and self._may(value, bound[1], depth - 4):
                        return True
                    if isinstance(value, tree.List) and any(
                        self._may(one, self._at(site, context), depth - 4)
                        for site, parts in self._stores(part.id, bound[0]) for one in parts
                    ):
                        return True
                elif self._is_given_by_hook(part.id, context.function):
                    return True
        return False

    @cached_property
    def _called(self) -> set[str]:
        return {"forward", *called(self.code)}

    def _is_given_by_hook(self, name: str, function: tree.FunctionDef | None) -> bool:
        """Whether a name is a parameter of a function that no line of the script calls."""
        return function is not None and name in {one.arg for one in function.args.args} and function.name not in self._called

    def _here(self, node: object, context: Context, *, cut: bool) -> list[Origin]:
        if context.site is None:
            return []
        return [self._origin(context.site, cut=cut, node=node)]

    @staticmethod
    def _origin(site: Site, *, cut: bool, node: object = None) -> Origin:
        span = place_of(site.statement)
        if isinstance(site.statement, tree.Return) and site.statement.value is not None:
            span = site.statement.value.span
        return Origin(span, site.source, cut, site.statement, node)
