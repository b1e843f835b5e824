"""Static facts about the names of a tree: how each scope binds, reads and declares them, by Python's rules.

The walk goes by a list of its own and not by recursion, so that no chain of operators is too long for it.
"""

from collections.abc import Iterator

from gradsh.language import tree
from gradsh.language.node import SyntaxNode
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span


class NameScope:
    """A module, function, class or comprehension: its names, and how it uses them, in the order of the text."""

    __slots__ = ("bound", "children", "declared", "kind", "parameters", "parent", "uses")

    def __init__(self, kind: str, parent: "NameScope | None") -> None:
        self.kind = kind
        self.parent = parent
        self.children: list[NameScope] = []
        self.bound: set[str] = set()
        self.parameters: set[str] = set()
        self.declared: dict[str, tuple[str, Span]] = {}
        self.uses: list[tuple[str, str, Span]] = []
        if parent is not None:
            parent.children.append(self)

    def bind(self, name: str, span: Span, how: str = "assigned to") -> None:
        """Note that the scope binds `name`."""
        self.uses.append((how, name, span))
        self.bound.add(name)

    def walk(self) -> Iterator["NameScope"]:
        """Yield this scope and all below it."""
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting.extend(reversed(scope.children))


class _Walk:
    """A walk over a tree, in the order of the text."""

    def run(self, root: SyntaxNode) -> NameScope:
        """Return the scope of `root`, filled with all below it."""
        top = NameScope("module", None)
        waiting: list[tuple[object, NameScope, bool]] = [(root, top, False)]
        while waiting:
            item, scope, store = waiting.pop()
            if isinstance(item, tree.Name):
                if store:
                    scope.bind(item.id, item.span)
                else:
                    scope.uses.append(("used", item.id, item.span))
            elif isinstance(item, list):
                waiting.extend((part, scope, store) for part in reversed(item))
            elif isinstance(item, SyntaxNode):
                waiting.extend(reversed(list(self.parts(item, scope, store))))
        return top

    def parts(self, node: SyntaxNode, scope: NameScope, store: bool) -> Iterator[tuple[object, NameScope, bool]]:
        """Yield the parts of `node`, each with its scope and whether it is a target; note what `node` itself binds."""
        match node:
            case tree.Tuple() | tree.List():
                yield node.elts, scope, store
            case tree.Starred():
                yield node.value, scope, store
            case tree.Assign():
                yield node.value, scope, False
                yield node.targets, scope, True
            case tree.AugAssign():
                yield node.target, scope, False
                yield node.value, scope, False
                yield node.target, scope, True
            case tree.AnnAssign():
                if node.value is not None or isinstance(node.target, tree.Name):
                    yield node.value, scope, False
                    yield node.target, scope, True
            case tree.For():
                yield node.iter, scope, False
                yield node.target, scope, True
                yield node.body, scope, False
                yield node.orelse, scope, False
            case tree.withitem():
                yield node.context_expr, scope, False
                yield node.optional_vars, scope, True
            case tree.Delete():
                yield node.targets, scope, True
            case tree.NamedExpr():
                yield node.value, scope, False
                yield node.target, _around_comprehensions(scope), True
            case tree.FunctionDef() | tree.Lambda():
                yield from self.function(node, scope)
            case tree.ClassDef():
                yield [node.decorator_list, node.bases, node.keywords], scope, False
                scope.bind(node.name, node.span)
                yield node.body, NameScope("class", scope), False
            case tree.ListComp() | tree.SetComp() | tree.DictComp() | tree.GeneratorExp():
                yield from self.comprehended(node, scope)
            case tree.Command():
                yield node.arguments, scope, False
                yield [option.value for option in node.options.values()], scope, False
                yield node.tail, scope, False
            case _:
                self.note(node, scope)
                for name in node._fields:
                    yield getattr(node, name), scope, False

    def note(self, node: SyntaxNode, scope: NameScope) -> None:
        """Note what imports, handlers and declarations bind or declare."""
        match node:
            case tree.Import():
                for item in node.names:
                    scope.bind(item.asname or item.name.partition(".")[0], item.span, "imported")
            case tree.ImportFrom():
                for item in node.names:
                    if item.name != "*":
                        scope.bind(item.asname or item.name, item.span, "imported")
            case tree.ExceptHandler() if node.name:
                scope.bind(node.name, node.span)
            case tree.Global() | tree.Nonlocal():
                word = "global" if isinstance(node, tree.Global) else "nonlocal"
                for name in node.names:
                    scope.uses.append((word, name, node.span))
                    scope.declared.setdefault(name, (word, node.span))

    def function(self, node: tree.FunctionDef | tree.Lambda, scope: NameScope) -> Iterator[tuple[object, NameScope, bool]]:
        """Yield the parts of a function: defaults belong to the scope around it, annotations are not read."""
        if isinstance(node, tree.FunctionDef):
            yield node.decorator_list, scope, False
        yield [node.args.defaults, node.args.kw_defaults], scope, False
        if isinstance(node, tree.FunctionDef):
            scope.bind(node.name, node.span)
        inner = NameScope("function", scope)
        for name in _parameters(node.args):
            inner.parameters.add(name)
            inner.bound.add(name)
        yield node.body, inner, False

    def comprehended(
        self, node: tree.ListComp | tree.SetComp | tree.DictComp | tree.GeneratorExp, scope: NameScope
    ) -> Iterator[tuple[object, NameScope, bool]]:
        """Yield the parts of a comprehension: its first iterable belongs to the scope around it."""
        inner = NameScope("comprehension", scope)
        yield node.generators[0].iter, scope, False
        for number, clause in enumerate(node.generators):
            yield from self.clause(clause, inner, first=number == 0)
        elements = [node.key, node.value] if isinstance(node, tree.DictComp) else [node.elt]
        yield elements, inner, False

    def clause(self, clause: tree.comprehension, inner: NameScope, first: bool) -> Iterator[tuple[object, NameScope, bool]]:
        """Yield the parts of one `for … in … if …`."""
        if not first:
            yield clause.iter, inner, False
        yield clause.target, inner, True
        yield clause.ifs, inner, False


def _around_comprehensions(scope: NameScope) -> NameScope:
    """Return the scope that `:=` in a comprehension binds in."""
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope


def _parameters(args: tree.arguments) -> Iterator[str]:
    """Yield the names of all parameters."""
    single = [item for item in (args.vararg, args.kwarg) if item is not None]
    for item in [*args.posonlyargs, *args.args, *args.kwonlyargs, *single]:
        yield item.arg


def check_declarations(program: tree.Program) -> None:
    """Raise ProblemError for a `global` or `nonlocal` that Python refuses."""
    for scope in _Walk().run(program).walk():
        seen: dict[str, set[str]] = {}
        for use, name, span in scope.uses:
            before = seen.setdefault(name, set())
            if use in {"global", "nonlocal"}:
                _check_declaration(program.source, scope, use, name, span, before)
            before.add(use)


def _check_declaration(source: Source, scope: NameScope, word: str, name: str, span: Span, before: set[str]) -> None:
    """Check one name of a declaration; `before` says how the scope has used the name already."""
    if name in scope.parameters:
        _fail(source, span, f"name '{name}' is parameter and {word}", "rename the parameter")
    if before & {"global", "nonlocal"} - {word}:
        _fail(source, span, f"name '{name}' is nonlocal and global", "leave one of the two")
    if "used" in before:
        _fail(source, span, f"name '{name}' is used prior to {word} declaration", "move the declaration to the top")
    elif "assigned to" in before:
        _fail(source, span, f"name '{name}' is assigned to before {word} declaration", "move the declaration to the top")
    if word == "nonlocal" and not _bound_around(scope, name):
        _fail(source, span, f"no binding for nonlocal '{name}' found",
              "bind it in a function around this one, or declare it global")


def _bound_around(scope: NameScope, name: str) -> bool:
    """Return whether a function around `scope` binds `name`."""
    around = scope.parent
    while around is not None and around.parent is not None:
        word = around.declared.get(name, ("", None))[0]
        if around.kind == "function" and name in around.bound and word != "global":
            return True
        around = around.parent
    return False


def _fail(source: Source, span: Span, message: str, help_line: str) -> None:
    """Raise the problem at `span`."""
    raise ProblemError(Problem("syntax", message, (Label("needed", span, "", source),), (help_line,)))
