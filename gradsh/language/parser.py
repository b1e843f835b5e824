"""The front door of the language: `parse` makes a `Program` of a source, `is_complete` tells the prompt whether to wait.

The grammar stands in the functions of the classes below, one rule each: `ExpressionParser`, `AtomParser`,
`FunctionParser`, `CommandParser`, `SimpleStatementParser`, `BlockParser`, each built on the one before.
"""

import sys
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gradsh.language.command_line import CommandGrammar
from gradsh.language.lexer import lex
from gradsh.language.parser_base import MAX_DEPTH, IncompleteError
from gradsh.language.parser_blocks import BlockParser
from gradsh.language.scanner import Tokens
from gradsh.language.tree import ClassDef, For, FunctionDef, If, Program, Try, While, With
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span

MAX_TEXT = 10_000_000
"""How many characters a text may have."""

_FRAMES = 12
"""How many calls of the parser one level of nesting may take."""

_COMPOUND = (ClassDef, For, FunctionDef, If, Try, While, With)


def _advise(*mistake: Any) -> Problem:
    from gradsh.language.advice import advise

    return advise(*mistake)


BlockParser.advise = staticmethod(_advise)


def parse(source: Source, grammars: Mapping[str, CommandGrammar], bound: Container[str] = ()) -> Program:
    """Return the tree of `source`. `bound` holds the names that the session has bound.

    Raises ProblemError with a Problem of kind `syntax`, or `limit` for what is too long or nested too deep.
    """
    return _parse(source, grammars, bound)[0]


def _parse(
    source: Source, grammars: Mapping[str, CommandGrammar], bound: Container[str]
) -> tuple[Program, Tokens]:
    """Return the tree and the tokens of `source`."""
    if len(source.text) > MAX_TEXT:
        place = Label("needed", Span(source.first_line, 1, source.first_line, 2), "", source)
        message = f"the text has more than {MAX_TEXT:,} characters"
        raise ProblemError(Problem("limit", message, (place,), ("split it into several files",)))
    parser = BlockParser(lex(source), grammars, bound)
    try:
        with _room_for_calls():
            program = parser.program()
    except RecursionError:
        parser.fail("the statement is nested too deep", "give inner parts names of their own", kind="limit")
    if "global" in parser.kinds or "nonlocal" in parser.kinds:
        from gradsh.language.names import check_declarations

        check_declarations(program)
    return program, parser.tokens


def is_complete(text: str, grammars: Mapping[str, CommandGrammar], bound: Container[str] = ()) -> bool | Problem:
    """Return whether `text` can be run: True; False if more lines are needed; a Problem if no more lines help.

    As at Python's prompt, a text that ends in a block is complete when an empty line follows it.
    """
    try:
        program, tokens = _parse(Source("", text), grammars, bound)
    except IncompleteError:
        return False
    except ProblemError as error:
        return error.problem
    if tokens.open_end:
        return False
    if not program.body or not isinstance(program.body[-1], _COMPOUND):
        return True
    last = program.body[-1].span
    one_line = last.end_line == last.line and "\n" not in text.strip()
    return text.endswith("\n") and (one_line or not text.rstrip(" \t").rpartition("\n")[2])


@contextmanager
def _room_for_calls() -> Iterator[None]:
    """Let Python nest calls as deep as the deepest text that is allowed needs it."""
    limit = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    needed = depth + MAX_DEPTH * _FRAMES
    if needed > limit:
        sys.setrecursionlimit(needed)
    try:
        yield
    finally:
        if needed > limit:
            sys.setrecursionlimit(limit)
