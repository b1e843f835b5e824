"""Colours line by line: what is typed again and again is lexed once, and a pasted script of 5,000 lines stays editable."""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from gradsh.commands import USAGE
from gradsh.language.tokens import pieces
from gradsh.render.style import printable, width_of

_COMMAND = re.compile(r"\s*(?:(?:grad>|>>>) )?(\w+)(?!\s*(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=))(?![.,:(\[])(?=\s|$)")
_OPTION = re.compile(r"(?<=\s)--[A-Za-z][\w-]*")
_QUOTES = re.compile(r"\"\"\"|'''")


class ShellLexer(Lexer):
    """prompt_toolkit's view of the token table."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return a function that gives the coloured line of a number."""
        lines = document.lines
        states = _states(tuple(lines)) if '"""' in document.text or "'''" in document.text else None

        def line(number: int) -> StyleAndTextTuples:
            if number >= len(lines):
                return []
            return list(coloured(lines[number], states[number] if states else ""))

        return line


@lru_cache(maxsize=4)
def _states(lines: tuple[str, ...]) -> list[str]:
    """The quotes that are open at the start of each line."""
    states, state = [], ""
    for line in lines:
        states.append(state)
        state = _after(line, state)
    return states


@lru_cache(maxsize=20_000)
def _after(line: str, state: str) -> str:
    if not state and '"""' not in line and "'''" not in line:
        return ""
    if state:
        end = line.find(state)
        return state if end < 0 else _after(line[end + 3 :], "")
    for start, end, kind in pieces(line):
        quote = _QUOTES.match(line[start:end].lstrip("rRbBuUfF"))
        if kind == "string" and quote and not (end - start >= 6 and line[start:end].endswith(quote[0])):
            return quote[0]
    return ""


@lru_cache(maxsize=20_000)
def coloured(line: str, state: str = "") -> tuple[tuple[str, str], ...]:
    """Return a line as (style class, text); `state` is the quote that is open where it starts."""
    out: list[tuple[str, str]] = []
    at = 0
    if state:
        end = line.find(state)
        if end < 0:
            return (("class:grad.string", line),)
        at = end + 3
        out.append(("class:grad.string", line[:at]))
    command = _COMMAND.match(line) if not at else None
    name = command.span(1) if command and command[1] in USAGE else None
    options = [found.span() for found in _OPTION.finditer(line)] if name else []
    base = at
    for start, end, kind in pieces(line[base:]):
        start, end = start + base, end + base
        if name == (start, end):
            kind = "command"
        elif any(low <= start < high for low, high in options):
            kind = "option"
        if start > at:
            out.append(("", line[at:start]))
        out.append((f"class:grad.{kind}", line[start:end]))
        at = end
    if at < len(line):
        out.append(("", line[at:]))
    return tuple(out)


def clip(text: str, width: int) -> str:
    """Return a text as wide as fits."""
    text = printable(text)
    return text if width_of(text) <= width else f"{text[: max(1, width - 1)]}…"


def clipped(fragments: Any, width: int) -> StyleAndTextTuples:
    """Return the fragments of a line that fit into a width."""
    out: StyleAndTextTuples = []
    for style, text in fragments:
        if width <= 0:
            break
        out.append((style, clip(text, width)))
        width -= width_of(text)
    return out


def underlined(fragments: Any, first: int, last: int | None) -> StyleAndTextTuples:
    """Return the fragments of a line with the characters from `first` up to `last` (None: the end) underlined."""
    out: StyleAndTextTuples = []
    at = 0
    for style, text in fragments:
        edges = [0, *(edge - at for edge in (first, last) if edge is not None and 0 < edge - at < len(text)), len(text)]
        for begin, end in pairwise(edges):
            inside = at + begin >= first and (last is None or at + begin < last)
            out.append((f"{style} class:here" if inside else style, text[begin:end]))
        at += len(text)
    return out
