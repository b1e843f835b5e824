"""Lowers expressions to Python's `ast`: attributes become guarded lookups, names and operators stay Python's own."""

import ast
from functools import cache
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.compiler.special import CLASS_ONLY, SPECIAL_METHODS
from gradsh.language import tree
from gradsh.language.node import SyntaxNode, expr
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span

_OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "@": ast.MatMult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "<<": ast.LShift, ">>": ast.RShift, "&": ast.BitAnd, "^": ast.BitXor, "|": ast.BitOr,
}
_UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert, "not": ast.Not}
_COMPARE: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "is": ast.Is,
    "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}
GROWING = {"*": runtime_names.TIMES, "**": runtime_names.POWER, "<<": runtime_names.SHIFT}
"""Operators whose result can be larger than any memory; each has a hook that looks at its operands first."""
_CHAIN = 150
"""Longest chain of binary operators that Python's compiler is given in one piece."""
_NATIVE_DUNDERS = SPECIAL_METHODS | CLASS_ONLY | {"__name__", "__class__"}
_SMALL = 64

LOAD, STORE, DELETE = ast.Load(), ast.Store(), ast.Del()


def operator(sign: str) -> ast.operator:
    """Return Python's node for a binary operator."""
    return _OPERATORS[sign]()


def identifier(name: str) -> str:
    """Return the name under which Python sees a script's name: one that Python itself gives a meaning is moved away."""
    if len(name) > 4 and name[:2] == "__" == name[-2:] and name not in _NATIVE_DUNDERS:
        return runtime_names.RESERVED + name
    return name


@cache
def _counterpart(name: str) -> tuple[Any, tuple[ast.expr_context, ...]]:
    """Return Python's class of the name, and the context that its nodes have last, where they have one."""
    found = getattr(ast, name)
    return found, (LOAD,) if "ctx" in found._fields else ()


class ExpressionLowering:
    """Lowers expressions, collecting the names, attributes and commands it meets."""

    def __init__(self, source: Source, number: int) -> None:
        self.source = source
        self.number = number
        self.ascii = source.text.isascii()
        self.names: set[str] = set()
        self.hooked: set[str] = set()
        self.attributes: set[str] = set()
        self.commands: list[tree.Command] = []
        self.classes: list[str] = []

    def place(self, span: Span) -> dict[str, Any]:
        """Return where a node stands, in Python's terms: lines from 1, columns in UTF-8 bytes from 0."""
        line, column, end_line, end_column = span
        if self.ascii:
            return {"lineno": line, "col_offset": column - 1, "end_lineno": end_line, "end_col_offset": end_column - 1}
        return {
            "lineno": line, "col_offset": self._bytes(line, column), "end_lineno": end_line,
            "end_col_offset": self._bytes(end_line, end_column),
        }

    def _bytes(self, line: int, column: int) -> int:
        return len(self.source.line(line)[: column - 1].encode(errors="surrogatepass"))

    def refuse(self, span: Span, message: str, *help: str) -> ProblemError:
        """Return the error for something that the language does not have; the caller raises it."""
        return ProblemError(Problem("syntax", message, (Label("needed", span, "here", self.source),), help))

    def hook(self, name: str, place: dict[str, Any], *arguments: ast.expr) -> ast.Call:
        """Return a call of one of the machine's helpers."""
        self.hooked.add(name)
        return ast.Call(ast.Name(name, LOAD, **place), list(arguments), [], **place)

    def constant(self, value: Any, place: dict[str, Any]) -> ast.Constant:
        """Return a constant."""
        return ast.Constant(value, **place)

    def name(self, name: str) -> str:
        """Note a name of the program and return it as Python sees it."""
        seen = identifier(name)
        self.names.add(seen)
        return seen

    def mangled(self, name: str) -> str:
        """Return an attribute's name as Python has it inside a class: `__x` becomes `_Class__x`."""
        if not self.classes or name[:2] != "__" or name[-2:] == "__":
            return name
        owner = self.classes[-1].lstrip("_")
        return f"_{owner}{name}" if owner else name

    def lower(self, value: object) -> Any:
        """Return what stands for a node, a list of nodes, or a field that is none: that itself.

        A class of the tree has a method of its name here, or is lowered to Python's class of that name, field by field.
        """
        if isinstance(value, SyntaxNode):
            return getattr(self, "_" + type(value).__name__, self.alike)(value)
        if not isinstance(value, list):
            return value
        lowered: list[object] = []
        for one in value:
            part = self.lower(one)
            lowered.extend(part) if isinstance(part, list) else lowered.append(part)
        return lowered

    def alike(self, node: SyntaxNode) -> Any:
        """Return Python's node with the same fields."""
        kind, context = _counterpart(type(node).__name__)
        parts = [self.lower(getattr(node, name)) for name in node._fields]
        return kind(*parts, *context, **self.place(node.span))

    def target(self, node: expr, ctx: ast.expr_context = STORE) -> Any:
        """Return a node that binds (or, by `ctx`, unbinds) what the expression names."""
        place = self.place(node.span)
        match node:
            case tree.Name():
                return ast.Name(self.name(node.id), ctx, **place)
            case tree.Attribute():
                self.hooked.add(runtime_names.STORE)
                self.attributes.add(self.mangled(node.attr))
                key = ast.Tuple([self.lower(node.value), self.constant(self.mangled(node.attr), place)], LOAD, **place)
                return ast.Subscript(ast.Name(runtime_names.STORE, LOAD, **place), key, ctx, **place)
            case tree.Subscript():
                return ast.Subscript(self.lower(node.value), self.lower(node.slice), ctx, **place)
            case tree.Starred():
                return ast.Starred(self.target(node.value, ctx), ctx, **place)
            case tree.Tuple():
                return ast.Tuple([self.target(part, ctx) for part in node.elts], ctx, **place)
            case tree.List():
                return ast.List([self.target(part, ctx) for part in node.elts], ctx, **place)
            case _:
                raise self.refuse(node.span, "cannot assign to this expression")

    def _Name(self, node: tree.Name) -> ast.expr:
        return ast.Name(self.name(node.id), LOAD, **self.place(node.span))

    def _Constant(self, node: tree.Constant) -> ast.expr:
        return self.constant(node.value, self.place(node.span))

    def _Attribute(self, node: tree.Attribute) -> ast.expr:
        name = self.mangled(node.attr)
        self.attributes.add(name)
        return self.hook(runtime_names.GET + name, self.place(node.span), self.lower(node.value))

    def _BinOp(self, node: tree.BinOp) -> ast.expr:
        spine: list[tree.BinOp] = []
        left: expr = node
        while isinstance(left, tree.BinOp):
            spine.append(left)
            left = left.left
        result = self.lower(left)
        done: list[ast.expr] = []
        for depth, step in enumerate(reversed(spine), 1):
            place = self.place(step.span)
            result = self._binary(step, result, self.lower(step.right), place)
            if depth % _CHAIN == 0 and depth < len(spine):
                self.hooked.add(runtime_names.PARTIAL)
                done.append(ast.NamedExpr(ast.Name(runtime_names.PARTIAL, STORE, **place), result, **place))
                result = ast.Name(runtime_names.PARTIAL, LOAD, **place)
        return self._chained(done, result, self.place(node.span)) if done else result

    def _chained(self, done: list[ast.expr], last: ast.expr, place: dict[str, Any]) -> ast.expr:
        """Return the value of a chain computed piece by piece, the hidden variable emptied afterwards."""
        emptied = ast.NamedExpr(ast.Name(runtime_names.PARTIAL, STORE, **place), self.constant(None, place), **place)
        pieces = ast.Tuple([*done, last, emptied], LOAD, **place)
        return ast.Subscript(pieces, self.constant(-2, place), LOAD, **place)

    def _binary(self, node: tree.BinOp, left: Any, right: Any, place: dict[str, Any]) -> ast.expr:
        plain = ast.BinOp(left, operator(node.op), right, **place)
        if node.op not in GROWING or _harmless(node):
            return plain
        checked = self.hook(GROWING[node.op], place, left, right)
        if not isinstance(node.left, tree.Name) or not _is_short(node.right):
            return checked
        kind = self.hook(runtime_names.TYPE, place, left)  # the usual case, a tensor, is spared the call of the helper
        self.hooked.add(runtime_names.TENSOR)
        test = ast.Compare(kind, [ast.Is()], [ast.Name(runtime_names.TENSOR, LOAD, **place)], **place)
        return ast.IfExp(test, plain, checked, **place)

    def _UnaryOp(self, node: tree.UnaryOp) -> ast.expr:
        return ast.UnaryOp(_UNARY[node.op](), self.lower(node.operand), **self.place(node.span))

    def _BoolOp(self, node: tree.BoolOp) -> ast.expr:
        sign = ast.And() if node.op == "and" else ast.Or()
        return ast.BoolOp(sign, self.lower(node.values), **self.place(node.span))

    def _Compare(self, node: tree.Compare) -> ast.expr:
        signs = [_COMPARE[sign]() for sign in node.ops]
        return ast.Compare(self.lower(node.left), signs, self.lower(node.comparators), **self.place(node.span))

    def _NamedExpr(self, node: tree.NamedExpr) -> ast.expr:
        return ast.NamedExpr(self.target(node.target), self.lower(node.value), **self.place(node.span))

    def _Lambda(self, node: tree.Lambda) -> ast.expr:
        arguments = self.lower(node.args)
        place = self.place(node.span)  # the tick: a loop of C code that calls the lambda can be stopped
        body = ast.BoolOp(ast.And(), [self.hook(runtime_names.TICK, place), self.lower(node.body)], **place)
        return ast.Lambda(arguments, body, **place)

    def _comprehension(self, node: tree.comprehension) -> ast.comprehension:
        """Lower a `for` clause; it passes a tick, so that an endless one can be stopped."""
        tick = self.hook(runtime_names.TICK, self.place(node.span))
        return ast.comprehension(self.target(node.target), self.lower(node.iter), [tick, *self.lower(node.ifs)], 0)

    def _arguments(self, node: tree.arguments) -> ast.arguments:
        return ast.arguments(*(self.lower(getattr(node, name)) for name in node._fields))

    def _arg(self, node: tree.arg) -> ast.arg:
        return ast.arg(identifier(node.arg), self.any_annotation(node.annotation), **self.place(node.span))

    def any_annotation(self, node: expr | None) -> ast.expr | None:
        """Return an annotation as text, or None where there is none."""
        return None if node is None else self.annotation(node)

    def annotation(self, node: expr) -> ast.expr:
        """Return an annotation as text (its first line): data classes, `singledispatch` and `inspect.signature` read it."""
        span = node.span
        written = self.source.line(span.line)[span.column - 1 : span.end_column - 1 if span.end_line == span.line else None]
        return self.constant(written, self.place(span))


def _is_short(node: expr) -> bool:
    """Tell whether an expression may be lowered twice: it is a name, a constant, or an attribute of a name."""
    return isinstance(node, tree.Name | tree.Constant) or (
        isinstance(node, tree.Attribute) and isinstance(node.value, tree.Name)
    )


def _harmless(node: tree.BinOp) -> bool:
    """Tell whether an operand shows that the result cannot be enormous: a fraction, or a small factor or exponent."""
    for side in (node.left, node.right):
        if isinstance(side, tree.Constant) and isinstance(side.value, float):
            return True
    right = node.right
    small = isinstance(right, tree.Constant) and isinstance(right.value, int) and right.value <= _SMALL
    if node.op == "*":
        left = node.left
        return small or (isinstance(left, tree.Constant) and isinstance(left.value, int) and left.value <= _SMALL)
    return small and node.op == "**" and isinstance(right, tree.Constant) and right.value in {0, 1, 2, 3, 4}

