"""Lowers one top-level statement of our tree to a Python code object.

Operators stay Python's own, so that the statement that succeeds costs what Python costs; attributes, imports, commands
and the few operators that can exhaust the machine go through hooks (`runtime_names.py`). Every generated node carries the
span of ours, so the code object's position table leads back to the exact expression. All names of the top level
are declared global, which turns their lookups into cached ones.
"""

import ast
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.compiler.recursion import deeper
from gradsh.compiler.statements import StatementLowering
from gradsh.language.node import stmt
from gradsh.language.tree import Command
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span


class Unit:
    """A compiled top-level statement: its code, where it stands, and what must be found before it runs.

    `names` are all names it reads or binds, `attributes` all attribute names it reads, `commands` its command lines in
    the order of their numbers; `doubts` what Python's compiler warns of, each with its line.
    """

    __slots__ = ("attributes", "code", "commands", "doubts", "names", "source", "stmt")

    def __init__(self, stmt: stmt, source: Source, code: CodeType, lowering: StatementLowering) -> None:
        self.stmt = stmt
        self.source = source
        self.code = code
        self.names = lowering.names
        self.doubts: tuple[tuple[str, int], ...] = ()
        self.attributes = lowering.attributes
        self.commands: tuple[Command, ...] = tuple(lowering.commands)

    @property
    def statements(self) -> tuple[stmt, ...]:
        """The top-level statements that it holds: one."""
        return (self.stmt,)


def compile_statement(
    statement: stmt, source: Source, filename: str, number: int, lowered: type[StatementLowering] = StatementLowering,
) -> Unit:
    """Return the unit of a top-level statement; `number` is what its commands pass to the hook, `lowered` how it is lowered.

    Raises ProblemError of kind `syntax` for what the language refuses, `limit` for a statement nested too deeply.
    """
    lowering = lowered(source, number)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", SyntaxWarning)
        code = _guarded(statement, source, lambda: _compile(lowering, statement, filename))
    unit = Unit(statement, source, code, lowering)
    unit.doubts = tuple((str(doubt.message), doubt.lineno) for doubt in doubts)
    return unit


def _compile(lowering: StatementLowering, statement: stmt, filename: str) -> CodeType:
    with deeper(20_000):
        body = lowering.top(statement)
    declared = sorted(lowering.top_names())
    place = body[0] if body else None
    first = getattr(place, "lineno", statement.span.line)
    heading: list[ast.stmt] = []
    if declared:
        heading = [ast.Global(declared, lineno=first, col_offset=0, end_lineno=first, end_col_offset=0)]
    return compile(ast.Module([*heading, *body], []), filename, "exec", dont_inherit=True)


def _guarded(statement: stmt, source: Source, action: Callable[[], object]) -> Any:
    """Run `action`, turning what Python's compiler refuses into problems of ours."""
    try:
        return action()
    except SyntaxError as error:
        raise ProblemError(_refused(error, statement, source)) from None
    except (RecursionError, MemoryError):
        text = "the statement is nested too deeply to be run"
        label = Label("needed", Span(*statement.span[:2], statement.span.line, statement.span.column + 1), "", source)
        raise ProblemError(Problem("limit", text, (label,), ("split it into several statements",))) from None


def _refused(error: SyntaxError, statement: stmt, source: Source) -> Problem:
    line = error.lineno or statement.span.line
    column = error.offset or 1
    end_line = error.end_lineno or line
    end_column = error.end_offset or column + 1
    if (end_line, end_column) <= (line, column):
        end_line, end_column = line, column + 1
    span = Span(
        line, characters(source.line(line), column - 1) + 1, end_line, characters(source.line(end_line), end_column - 1) + 1
    )
    return Problem("syntax", str(error.msg).replace(runtime_names.RESERVED, ""), (Label("needed", span, "here", source),))


def characters(text: str, offset: int) -> int:
    """Return the number of characters in the first `offset` UTF-8 bytes of `text`."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))
