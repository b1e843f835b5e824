"""Python files as the diagnosis reads a program: each file is one unit, its syntax tree in the form of gradsh's own."""

import ast
import linecache
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gradsh.compiler.lower import characters
from gradsh.compiler.scopes import children
from gradsh.language import tree
from gradsh.language.node import SyntaxNode, stmt
from gradsh.runtime.activation import Units, statement_lines
from gradsh.text.span import Source, Span

_STANDS_FOR = {
    "AsyncFor": "For", "AsyncWith": "With", "AsyncFunctionDef": "FunctionDef", "TryStar": "Try", "TypeAlias": "Pass",
    "TemplateStr": "JoinedStr", "Interpolation": "FormattedValue",
}
"""Python's classes without a counterpart -> the nearest of the tree's."""
_OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "MatMult": "@", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "LShift": "<<",
    "RShift": ">>", "BitAnd": "&", "BitXor": "^", "BitOr": "|", "UAdd": "+", "USub": "-", "Invert": "~", "Not": "not", "And": "and",
    "Or": "or", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not", "In": "in",
    "NotIn": "not in",
}


class FileUnit:
    """A file of the user's: its source and one statement that holds all of its statements."""

    __slots__ = ("code", "commands", "lines", "source", "statements", "stmt")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.code: Any = None
        self.commands: tuple[()] = ()
        whole = Span(1, 1, len(source.lines) + 1, 1)
        self.statements = _statements(source)
        self.stmt: stmt = tree.If(whole, tree.Constant(whole, True), self.statements, [])
        self.lines = _by_line(self.stmt)


def _by_line(whole: stmt) -> dict[int, Span]:
    """Return the innermost statement of each line; of several on one line the last that binds or returns a value, else the first."""
    found: dict[int, Span] = {}
    makes = {id(node.span) for node in _statements_in(whole) if isinstance(node, tree.Assign | tree.AugAssign | tree.Return)}
    for line, span in statement_lines(whole):
        known = found.get(line)
        beside = known is not None and known is not whole.span and (span.line, span.column) >= (known.end_line, known.end_column)
        if not beside or id(span) in makes:
            found[line] = span
    return {line: span for line, span in found.items() if span is not whole.span}


def _statements_in(whole: stmt) -> Iterator[stmt]:
    stack: list[SyntaxNode] = [whole]
    while stack:
        node = stack.pop()
        if isinstance(node, stmt):
            yield node
        stack.extend(children(node))


class Sources:
    """The user's files that places lie in, read when they are first asked for."""

    def __init__(self) -> None:
        self._units: dict[str, FileUnit] = {}
        self.name_of: Callable[[str], str] = str
        """How a file is named to a person."""

    def of(self, code: Any) -> FileUnit:
        """Return the unit that a code object belongs to."""
        return self.file(code.co_filename)

    def file(self, filename: str) -> FileUnit:
        """Return the unit of a file."""
        found = self._units.get(filename)
        if found is None:
            text = "".join(linecache.getlines(filename))
            found = self._units[filename] = FileUnit(Source(self.name_of(filename), text.removesuffix("\n")))
        return found

    def forget(self, filename: str) -> None:
        """Read a file anew when it is next asked for."""
        self._units.pop(filename, None)

    def before(self, _: FileUnit) -> Iterator[FileUnit]:
        """Yield nothing: a file is one unit."""
        return iter(())

    def all(self) -> Iterator[FileUnit]:
        """Yield the units that were asked for."""
        return iter(tuple(self._units.values()))

    def span(self, code: Any, offset: int) -> Span:
        """Return the expression at an instruction; of a negative offset, the statement on that line."""
        if offset < 0:
            return self.statement(code, -offset)
        line, end_line, column, end_column = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
        if line is None or end_line is None or column is None or end_column is None:
            return self.statement(code, line or code.co_firstlineno)
        source = self.of(code).source
        start = characters(source.line(line), column) + 1
        return Span(line, start, end_line, characters(source.line(end_line), end_column) + 1)

    def statement(self, code: object, line: int) -> Span:
        """Return the innermost statement that covers a line."""
        unit = self.of(code)
        return unit.lines.get(line) or Span(line, 1, line, len(unit.source.line(line)) + 1)


class ScriptUnits(Units):
    """The statements of a script that PyTorch's engine runs, and the user's files that these import."""

    def __init__(self) -> None:
        super().__init__()
        self.files = Sources()

    def of(self, code: object) -> Any:
        """Return the unit that a code object belongs to."""
        return super().of(code) or self.files.of(code)

    def span(self, code: Any, offset: int) -> Span:
        """Return the expression at an instruction; of a negative offset, the statement on that line."""
        if super().of(code) is None:
            return self.files.span(code, offset)
        return self.statement(code, -offset) if offset < 0 else super().span(code, offset)

    def statement(self, code: object, line: int) -> Span:
        """Return the innermost statement that covers a line."""
        return self.files.statement(code, line) if super().of(code) is None else super().statement(code, line)


def _statements(source: Source) -> list[stmt]:
    try:
        module = ast.parse(source.text)
        return [_converted(one, source, Span(1, 1, 1, 1)) for one in module.body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _converted(node: ast.AST, source: Source, around: Span) -> Any:
    """Return a node of Python's tree as one of gradsh's."""
    name = type(node).__name__
    if name in _OPERATORS:
        return _OPERATORS[name]
    span = _span(node, source) or around
    if isinstance(node, ast.Await):
        return _converted(node.value, source, span)
    if isinstance(node, ast.Match):
        inner = [_converted(one, source, span) for case in node.cases for one in case.body]
        return tree.If(span, _converted(node.subject, source, span), inner, [])
    kind = getattr(tree, _STANDS_FOR.get(name, name))
    fresh: SyntaxNode = object.__new__(kind)
    fresh.span = span
    for field in kind._fields:
        setattr(fresh, field, _field(getattr(node, field, None), source, span))
    return fresh


def _field(value: object, source: Source, around: Span) -> object:
    if isinstance(value, ast.AST):
        return _converted(value, source, around)
    if isinstance(value, list):
        return [_field(one, source, around) for one in value]
    return value


def _span(node: Any, source: Source) -> Span | None:
    if getattr(node, "end_col_offset", None) is None:
        return None
    start = characters(source.line(node.lineno), node.col_offset) + 1
    return Span(node.lineno, start, node.end_lineno, characters(source.line(node.end_lineno), node.end_col_offset) + 1)
