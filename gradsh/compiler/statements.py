"""Lowers statements to Python's `ast`: loops and functions note their passes and calls, commands become hook calls."""

import ast
import builtins
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.compiler.expressions import DELETE, GROWING, LOAD, STORE, identifier, operator
from gradsh.compiler.patterns import PatternLowering
from gradsh.compiler.scopes import annotations_of, bound_by, bound_names, falls_back, statements_of, walk, yields
from gradsh.compiler.special import CLASS_ONLY, LOOKUPS, SPECIAL_METHODS, WITHOUT_MEANING, ways_for
from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.text.span import Source, Span

Block = list[ast.stmt]
GENERIC: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


class StatementLowering(PatternLowering):
    """Lowers statements. Each method returns the Python statements that stand for one of ours."""

    def __init__(self, source: Source, number: int) -> None:
        super().__init__(source, number)
        self.functions: list[bool] = []
        """For each function around the statement, innermost last: whether it is a generator."""
        self.tries = False
        """Whether an import here stands in a `try` that goes on by another way where the import fails."""

    def top(self, statement: stmt) -> Block:
        """Lower a top-level statement; the value of an expression is echoed, except that of a string literal."""
        if isinstance(statement, tree.Expr) and not _is_string(statement.value):
            place = self.place(statement.span)
            return [ast.Expr(self.hook(runtime_names.ECHO, place, self.lower(statement.value)), **place)]
        return self.lower([statement])  # type: ignore[no-any-return]

    def top_names(self) -> set[str]:
        """Return every name that the top level may read or bind, the helpers' included."""
        return self.names | self.hooked

    def call(self, name: str, span: Span, *arguments: ast.expr) -> ast.stmt:
        """Return a call of a helper as a statement."""
        place = self.place(span)
        return ast.Expr(self.hook(name, place, *arguments), **place)

    def _Assign(self, node: tree.Assign) -> ast.stmt:
        value = self.lower(node.value)
        lookup = _lookup_of(node) if self.classes and not self.functions else ""
        if lookup:
            place = self.place(node.span)
            value = ast.Call(self.hook(runtime_names.CALLED_BY_PYTHON, place, self.constant(lookup, place)), [value], [], **place)
        return ast.Assign([self.target(target) for target in node.targets], value, **self.place(node.span))

    def _AugAssign(self, node: tree.AugAssign) -> ast.stmt:
        place = self.place(node.span)
        if isinstance(node.target, tree.Name) and node.op in GROWING:
            seen = self.name(node.target.id)
            current = ast.Name(seen, LOAD, **self.place(node.target.span))
            grown = self.hook(GROWING[node.op] + "=", place, current, self.lower(node.value))
            return ast.Assign([ast.Name(seen, STORE, **self.place(node.target.span))], grown, **place)
        return ast.AugAssign(self.target(node.target), operator(node.op), self.lower(node.value), **place)

    def _AnnAssign(self, node: tree.AnnAssign) -> Block:
        place = self.place(node.span)
        if self.classes and not self.functions and isinstance(node.target, tree.Name):
            text = self.annotation(node.annotation)
            read = self.annotated([node.annotation])
            return [ast.AnnAssign(self.target(node.target), text, self.lower(node.value), 1, **place), *read]
        read = [] if self.functions else self.annotated([node.annotation])
        if node.value is not None:
            return [ast.Assign([self.target(node.target)], self.lower(node.value), **place), *read]
        if isinstance(node.target, tree.Name) and self.functions:  # it makes the name local, as in Python
            never = ast.Assign([self.target(node.target)], self.constant(None, place), **place)
            return [ast.If(self.constant(False, place), [never], [], **place)]
        return [ast.Pass(**place), *read]

    def annotated(self, annotations: list[expr]) -> Block:
        """Return statements that read the names in annotations, so that one that is not bound fails as in Python."""
        names = [node for one in annotations for node in walk(one) if isinstance(node, tree.Name) and not hasattr(builtins, node.id)]
        return [ast.Expr(self.lower(name), **self.place(name.span)) for name in names]

    def _Delete(self, node: tree.Delete) -> ast.stmt:
        return ast.Delete([self.target(target, DELETE) for target in node.targets], **self.place(node.span))

    def _Global(self, node: tree.Global) -> ast.stmt:
        names = [self.name(name) for name in node.names]
        place = self.place(node.span)
        return ast.Global(names, **place) if self.functions or self.classes else ast.Pass(**place)

    def _Nonlocal(self, node: tree.Nonlocal) -> ast.stmt:
        return ast.Nonlocal([identifier(name) for name in node.names], **self.place(node.span))

    def _If(self, node: tree.If) -> ast.stmt:
        branches: list[tree.If] = [node]
        while len(branches[-1].orelse) == 1 and isinstance(branches[-1].orelse[0], tree.If):
            branches.append(branches[-1].orelse[0])
        tests = [(branch, self.lower(branch.test), self.lower(branch.body)) for branch in branches]
        rest: Block = self.lower(branches[-1].orelse)
        for branch, test, body in reversed(tests):
            rest = [ast.If(test, body, rest, **self.place(branch.span))]
        return rest[0]

    def _Match(self, node: tree.Match) -> Block:
        """Return an `if` over the cases; the hidden variables are emptied before any case runs, so that they keep nothing alive."""
        place = self.place(node.subject.span)
        self.hooked |= {runtime_names.SUBJECT, runtime_names.BOUND}
        hidden: list[ast.expr] = [ast.Name(name, STORE, **place) for name in (runtime_names.SUBJECT, runtime_names.BOUND)]
        emptied = ast.Assign(hidden, self.constant(None, place), **place)
        subject = ast.Assign(hidden[:1], self.lower(node.subject), **place)
        tests = [(case, self.case_test(case), self.lower(case.body)) for case in node.cases]
        rest: Block = [emptied]
        for case, test, body in reversed(tests):
            rest = [ast.If(test, [emptied, *body], rest, **self.place(case.span))]
        return [subject, *rest]

    def _For(self, node: tree.For) -> Block:
        iterable, target = self.lower(node.iter), self.target(node.target)
        body = [self._advance(node.span), *self.lower(node.body)]
        loop = ast.For(target, iterable, body, self.lower(node.orelse), **self.place(node.span))
        return self._counted(loop, node.span)

    def _While(self, node: tree.While) -> Block:
        test = self.lower(node.test)
        body = [self._advance(node.span), *self.lower(node.body)]
        return self._counted(ast.While(test, body, self.lower(node.orelse), **self.place(node.span)), node.span)

    def _in_generator(self) -> bool:
        return bool(self.functions) and self.functions[-1]

    def _advance(self, span: Span) -> ast.stmt:
        """Return what opens each pass of a loop. A generator is suspended within its loops, so there it only ticks."""
        return self.call(runtime_names.TICK if self._in_generator() else runtime_names.PASS, _head(span))

    def _counted(self, loop: ast.stmt, span: Span) -> Block:
        """Return the loop with its passes counted until it is left, however that happens."""
        if self._in_generator():
            return [loop]
        head = _head(span)
        left = [self.call(runtime_names.FINISH, head)]
        return [self.call(runtime_names.LOOP, head), ast.Try([loop], [], [], left, **self.place(span))]

    def _With(self, node: tree.With) -> ast.stmt:
        items = [
            ast.withitem(
                self.lower(item.context_expr),
                None if item.optional_vars is None else self.target(item.optional_vars),
            )
            for item in node.items
        ]
        return ast.With(items, self.lower(node.body), **self.place(node.span))

    def _Try(self, node: tree.Try) -> ast.Try:
        before, self.tries = self.tries, self.tries or falls_back(node)
        body = self.lower(node.body)
        self.tries = before
        others = self.lower(node.handlers), self.lower(node.orelse), self.lower(node.finalbody)
        return ast.Try(body, *others, **self.place(node.span))

    def _ExceptHandler(self, node: tree.ExceptHandler) -> ast.ExceptHandler:
        kind = self.lower(node.type)
        body = self.lower(node.body)
        head = _head(node.span)
        body.insert(0, self.call(runtime_names.CAUGHT, head, self.constant(_names_interrupt(node.type), self.place(head))))
        return ast.ExceptHandler(kind, node.name and self.name(node.name), body, **self.place(node.span))

    def _FunctionDef(self, node: tree.FunctionDef) -> Block:
        decorators = self.lower(node.decorator_list)
        arguments = self.lower(node.args)
        name = self.name(node.name)
        if name in {"__del__", "__getattr__"}:
            place = self.place(_head(node.span))
            decorators.insert(0, self.hook(runtime_names.CALLED_BY_PYTHON, place, self.constant(name, place)))
        generator = yields(node.body)
        self.functions.append(generator)
        body = self.lower(node.body)
        self.functions.pop()
        if not generator:
            body = self._called(body, node)
        returns = self.any_annotation(node.returns)
        function = ast.FunctionDef(name, arguments, body, decorators, returns, **GENERIC, **self.place(node.span))
        return [*self.annotated(annotations_of(node)), function]

    def _called(self, body: Block, node: tree.FunctionDef) -> Block:
        """Return a function's body with the call noted for as long as it runs; a docstring stays in front."""
        first = node.body[0]
        documented = isinstance(first, tree.Expr) and _is_string(first.value)
        opening, rest = (body[:1], body[1:]) if documented else ([], body)
        if not rest:
            return opening
        head = _head(node.span)
        place = self.place(head)
        unwound = [self.call(runtime_names.UNWIND, head), ast.Raise(None, None, **place)]
        handler = ast.ExceptHandler(None, None, unwound, **place)
        guarded = ast.Try(rest, [handler], [], [self.call(runtime_names.LEAVE, head)], **self.place(node.span))
        return [*opening, self.call(runtime_names.ENTER, head), guarded]

    def _ClassDef(self, node: tree.ClassDef) -> ast.stmt:
        self._check_class(node)
        place = self.place(node.span)
        decorators = self.lower(node.decorator_list)
        bound = tuple(dict(bound_names(node.body)))
        bases: list[ast.expr] = [
            self.hook(runtime_names.BASE, self.place(base.span), self.lower(base), self.constant(bound, place))
            for base in [*node.bases, *(word.value for word in node.keywords if word.arg == "metaclass")]
        ]
        name = self.name(node.name)
        functions, self.functions = self.functions, []
        self.classes.append(node.name)
        body = self.lower(node.body)
        self.classes.pop()
        self.functions = functions
        documented = isinstance(node.body[0], tree.Expr) and _is_string(node.body[0].value)
        first = 1 if documented else 0
        body[first:first] = self._marks(place)
        keywords = [
            ast.keyword(word.arg, self.lower(word.value), **self.place(word.span))
            for word in node.keywords if word.arg not in _OF_THE_CLASS
        ]
        return ast.ClassDef(name, bases, keywords, body, decorators, **GENERIC, **place)

    def _marks(self, place: dict[str, Any]) -> Block:
        """Mark a class as a script's, and keep numpy from putting its instances into arrays of Python objects."""
        self.hooked.add(runtime_names.NO_ARRAY)
        no_array = ast.Name(runtime_names.NO_ARRAY, LOAD, **place)  # also the mark: an Enum takes a descriptor for no member
        values = {
            runtime_names.SCRIPT: no_array, "__array_ufunc__": self.constant(None, place), "__array_interface__": no_array,
        }
        return [ast.Assign([ast.Name(name, STORE, **place)], value, **place) for name, value in values.items()]

    def _check_class(self, node: tree.ClassDef) -> None:
        """Refuse what could change how classes themselves work."""
        for word in node.keywords:
            if word.arg is None or word.arg[0] == "_" or (word.arg == "metaclass" and not _is_abstract(word.value)):
                raise self.refuse(
                    word.span, "metaclasses are not part of gradsh",
                    f"write `class {node.name}:` or name one base class, and set attributes in its body",
                )
        starred = next((base for base in node.bases if isinstance(base, tree.Starred)), None)
        if starred is not None:
            raise self.refuse(starred.span, "the bases of a class are named one by one here", "write the classes themselves")
        methods = {one.name if isinstance(one, tree.FunctionDef) else _lookup_of(one) for one in node.body}
        for name, span in bound_names(node.body):
            if name == "__slots__":
                self._check_slots(node)
            elif name in CLASS_ONLY and name not in methods:
                raise self.refuse(span, f"`{name}` is written as a method here", f"write `def {name}(self, …):`")
            elif name[:2] == "__" == name[-2:] and name not in _DEFINABLE:
                raise self.refuse(span, f"`{name}` is not among the special names of gradsh's classes", ways_for(name))

    def _check_slots(self, node: tree.ClassDef) -> None:
        """Refuse slots other than ordinary names that stand in the class: Python and numpy ask an instance for special ones."""
        for one in statements_of(node.body):
            if isinstance(one, tree.Assign) and any(isinstance(name, tree.Name) and name.id == "__slots__" for name in one.targets):
                listed = one.value.elts if isinstance(one.value, tree.Tuple | tree.List) else [one.value]
                names = [name.value if isinstance(name, tree.Constant) else None for name in listed]
                if all(isinstance(name, str) and (name[:2] != "__" or name in _SLOTS) for name in names):
                    continue
            elif not any(name == "__slots__" for name, _ in bound_by(one)):
                continue
            raise self.refuse(one.span, "`__slots__` is a list of ordinary names here", 'write `__slots__ = ("a", "b")`, or leave it out')

    def _Import(self, node: tree.Import) -> Block:
        lowered: Block = []
        for item in node.names:
            place = self.place(item.span)
            words = (item.name, bool(item.asname), self.tries)
            value = self.hook(runtime_names.IMPORT, place, *(self.constant(word, place) for word in words))
            bound = self.name(item.asname or item.name.partition(".")[0])
            lowered.append(ast.Assign([ast.Name(bound, STORE, **place)], value, **place))
        return lowered

    def _ImportFrom(self, node: tree.ImportFrom) -> Block:
        lowered: Block = []
        path = "." * node.level + (node.module or "")
        for item in node.names:
            place = self.place(item.span)
            if item.name == "*":
                lowered.append(self.call(runtime_names.IMPORT_STAR, item.span, self.constant(path, place)))
                continue
            words = (path, item.name, self.tries)
            value = self.hook(runtime_names.IMPORT_FROM, place, *(self.constant(word, place) for word in words))
            bound = self.name(item.asname or item.name)
            lowered.append(ast.Assign([ast.Name(bound, STORE, **place)], value, **place))
        return lowered

    def _Command(self, node: tree.Command) -> Block:
        place = self.place(node.span)
        index = len(self.commands)
        self.commands.append(node)
        arguments = ast.Tuple([self._thunk(value) for value in node.arguments], LOAD, **place)
        names = [self.constant(name, place) for name in node.options]
        values = [self._option(option.value, place) for option in node.options.values()]
        options = ast.Dict(list(names), values, **place)
        before: Block = []
        tail: ast.expr = self.constant(None, place)
        if node.tail is not None:
            before = self._tail(node.tail)
            self.hooked.add(runtime_names.TAIL)
            tail = ast.Name(runtime_names.TAIL, LOAD, **place)
        scope: ast.expr = self.constant(None, place)
        if self.functions:
            scope = self.hook(runtime_names.LOCALS, place)
        number = (self.constant(self.number, place), self.constant(index, place))
        return [*before, self.call(runtime_names.COMMAND, node.span, *number, arguments, options, tail, scope)]

    def _option(self, value: Any, place: dict[str, Any]) -> ast.expr:
        if value is True or value is False:
            return self.constant(value, place)
        if isinstance(value, list):
            return ast.List([self._thunk(one) for one in value], LOAD, **place)
        return self._thunk(value)

    def _thunk(self, value: expr) -> ast.expr:
        """Return a lambda that evaluates an argument, as often as the command likes, where the command stands."""
        place = self.place(value.span)
        none = self.constant(None, place)
        parameters = ast.arguments([], [], None, [ast.arg(runtime_names.THUNK, None, **place)], [none], None, [])
        return ast.Lambda(parameters, self.lower(value), **place)

    def _tail(self, statement: stmt) -> Block:
        """Return a function that runs the statement after a command, binding names where the command stands."""
        place = self.place(statement.span)
        bound = sorted({identifier(name) for name, _ in bound_names([statement]) if name != "*"})
        outer = bool(self.functions)
        self.functions.append(False)
        body = self.lower([statement])
        self.functions.pop()
        before: Block = []
        if bound and outer:
            never: Block = [
                ast.Assign([ast.Name(name, STORE, **place)], self.constant(None, place), **place) for name in bound
            ]
            before.append(ast.If(self.constant(False, place), never, [], **place))
            body.insert(0, ast.Nonlocal(bound, **place))
        elif bound:
            body.insert(0, ast.Global(bound, **place))
        parameters = ast.arguments([], [], None, [ast.arg(runtime_names.THUNK, None, **place)], [self.constant(None, place)], None, [])
        function = ast.FunctionDef(runtime_names.TAIL, parameters, body, [], None, **GENERIC, **place)
        return [*before, function]


_DEFINABLE = SPECIAL_METHODS | CLASS_ONLY | WITHOUT_MEANING
_OF_THE_CLASS = ("metaclass", "total")
"""Keywords of a class that say what a base says already: the metaclass of ABC, the form of a TypedDict."""
_SLOTS = frozenset({"__dict__", "__weakref__"})


def _lookup_of(statement: stmt) -> str:
    """Return which method of attributes a class takes from elsewhere (`__getattr__ = dict.get`), or ""."""
    match statement:
        case tree.Assign(targets=[tree.Name(id=name)], value=tree.Attribute()) if name in LOOKUPS:
            return name
    return ""


def _is_abstract(node: expr) -> bool:
    """Tell whether a metaclass is that of abstract classes, which a base of theirs brings along."""
    return isinstance(node, tree.Name | tree.Attribute) and (node.id if isinstance(node, tree.Name) else node.attr) == "ABCMeta"


def _is_string(node: expr) -> bool:
    return isinstance(node, tree.Constant) and isinstance(node.value, str)


def _names_interrupt(node: expr | None) -> bool:
    parts = node.elts if isinstance(node, tree.Tuple) else [node]
    return any(isinstance(part, tree.Name) and part.id == "KeyboardInterrupt" for part in parts)


def _head(span: Span) -> Span:
    """Return the first word's place of a compound statement, where its own bookkeeping stands."""
    return Span(span.line, span.column, span.line, span.column + 1)

