"""Static facts about a block of our tree: which names it binds in its own scope, whether it yields, whose program it is."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gradsh.language import tree
from gradsh.language.command_line import OptionValue
from gradsh.language.node import SyntaxNode, expr, stmt
from gradsh.text.span import Span

_SCOPES = (tree.FunctionDef, tree.ClassDef, tree.Lambda)
_CATCH_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def annotations_of(node: tree.FunctionDef) -> list[expr]:
    """Return the annotations of a function: of its parameters, then of what it returns."""
    given = node.args
    parameters = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    written = [*(one.annotation for one in parameters if one is not None), node.returns]
    return [one for one in written if one is not None]


def children(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the nodes directly below one, in the order they are written."""
    for name in node._fields:
        yield from _nodes(getattr(node, name))


def _nodes(value: object) -> Iterator[SyntaxNode]:
    if isinstance(value, SyntaxNode):
        yield value
    elif isinstance(value, OptionValue):
        yield from _nodes(value.value)
    elif isinstance(value, list):
        for one in value:
            yield from _nodes(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _nodes(one)


def walk(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield a node and all below it, in the order they are written, iteratively: it may be deep."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(list(children(one))))


def _own(nodes: list[Any]) -> Iterator[SyntaxNode]:
    """Yield every node of a block that belongs to its own scope, iteratively: the block may be deep."""
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _SCOPES):
            outer = getattr(node, "decorator_list", []) + getattr(node, "bases", [])
            parameters = getattr(node, "args", None)
            if parameters is not None:
                outer += [*parameters.defaults, *(default for default in parameters.kw_defaults if default is not None)]
            stack.extend(reversed(outer))
        else:
            stack.extend(reversed(list(children(node))))


def yields(body: list[Any]) -> bool:
    """Tell whether a function with this body is a generator."""
    return any(isinstance(node, tree.Yield | tree.YieldFrom) for node in _own(body))


def bound_names(body: list[Any]) -> Iterator[tuple[str, Span]]:
    """Yield each name that the block binds in its own scope, with its place (a name may come several times)."""
    for node in _own(body):
        match node:
            case tree.FunctionDef() | tree.ClassDef():
                yield node.name, node.span
            case tree.Assign():
                yield from _targets(node.targets)
            case tree.AugAssign() | tree.AnnAssign():
                yield from _targets([node.target])
            case tree.For():
                yield from _targets([node.target])
            case tree.NamedExpr():
                yield node.target.id, node.target.span
            case tree.withitem() if node.optional_vars is not None:
                yield from _targets([node.optional_vars])
            case tree.match_case():
                yield from captures(node.pattern)
            case tree.ExceptHandler() if node.name is not None:
                yield node.name, node.span
            case tree.Import() | tree.ImportFrom():
                for item in node.names:
                    yield item.asname or item.name.partition(".")[0], item.span
            case tree.Delete():
                yield from _targets(node.targets)
            case _:
                continue


def _targets(nodes: Sequence[object]) -> Iterator[tuple[str, Span]]:
    for node in nodes:
        if isinstance(node, tree.Name):
            yield node.id, node.span
        elif isinstance(node, tree.Tuple | tree.List):
            yield from _targets(node.elts)
        elif isinstance(node, tree.Starred):
            yield from _targets([node.value])


def captures(pattern: object) -> Iterator[tuple[str, Span]]:
    """Yield each name that a case's pattern binds, where it is written."""
    match pattern:
        case tree.Name() if pattern.id != "_":
            yield pattern.id, pattern.span
        case tree.NamedExpr():
            yield from captures(pattern.value)
            yield pattern.target.id, pattern.target.span
        case tree.Call():
            parts = [*pattern.args, *(word.value for word in pattern.keywords)]
            for part in parts:
                yield from captures(part)
        case tree.BinOp():
            yield from captures(pattern.left)
            yield from captures(pattern.right)
        case tree.Dict():
            for part in pattern.values:
                yield from captures(part)
        case tree.List() | tree.Tuple():
            for part in pattern.elts:
                yield from captures(part)
        case tree.Starred():
            yield from captures(pattern.value)
        case _:
            return


def bound_by(statement: object) -> Iterator[tuple[str, Span]]:
    """Yield each name that a statement itself binds, not what the statements inside it bind."""
    match statement:
        case tree.FunctionDef() | tree.ClassDef():
            yield statement.name, statement.span
        case tree.Assign() | tree.Delete():
            yield from _targets(statement.targets)
        case tree.AugAssign() | tree.AnnAssign() | tree.For():
            yield from _targets([statement.target])
        case tree.With():
            yield from _targets([item.optional_vars for item in statement.items])
        case tree.Import() | tree.ImportFrom():
            for item in statement.names:
                yield item.asname or item.name.partition(".")[0], item.span
        case tree.Expr() | tree.If() | tree.While() | tree.Return():
            value = getattr(statement, "value", None) or getattr(statement, "test", None)
            for node in [] if value is None else own_expressions(value):
                if isinstance(node, tree.NamedExpr):
                    yield node.target.id, node.span
        case _:
            return


def statements_of(body: list[Any]) -> Iterator[Any]:
    """Yield every statement of a block's own scope, in the order they are written."""
    return (node for node in _own(body) if isinstance(node, stmt))


def own_expressions(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield an expression and all inside it that is evaluated with it (not the bodies of lambdas)."""
    return _own([node])


def falls_back(node: tree.Try) -> bool:
    """Tell whether a `try` goes on by another way where an import in it fails."""
    return any(_catches_import(one.type) and not any(map(_gives_up, statements_of(one.body))) for one in node.handlers)


def _catches_import(kind: object) -> bool:
    parts = kind.elts if isinstance(kind, tree.Tuple) else [kind]
    return any(part is None or (isinstance(part, tree.Name) and part.id in _CATCH_IMPORTS) for part in parts)


def _gives_up(statement: stmt) -> bool:
    """Tell whether a statement raises, or calls what ends a program."""
    called = statement.value.func if isinstance(statement, tree.Expr) and isinstance(statement.value, tree.Call) else None
    ends = called.id if isinstance(called, tree.Name) else called.attr if isinstance(called, tree.Attribute) else ""
    return isinstance(statement, tree.Raise) or ends in {"exit", "quit", "_exit"}


def tried_imports(nodes: Iterable[SyntaxNode]) -> Iterator[tree.Import | tree.ImportFrom]:
    """Yield the imports among the nodes' `try` blocks for which the program has another way."""
    for node in nodes:
        if isinstance(node, tree.Try) and falls_back(node):
            yield from (one for one in statements_of(node.body) if isinstance(one, tree.Import | tree.ImportFrom))


def is_python(body: Iterable[stmt]) -> bool:
    """Whether a text is a program of PyTorch's, not a script of gradsh's own: it imports torch, and no statement is a command."""
    imports = False
    for statement in body:
        if isinstance(statement, tree.Command):
            return False
        if isinstance(statement, tree.Import):
            imports = imports or any(one.name.partition(".")[0] == "torch" for one in statement.names)
        elif isinstance(statement, tree.ImportFrom):
            imports = imports or (statement.module or "").partition(".")[0] == "torch"
    return imports
