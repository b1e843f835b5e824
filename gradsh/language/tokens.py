"""The token table: keywords, operators and the patterns of the lexer. Highlighting reads the same table (`pieces`)."""

import re
from collections.abc import Iterator

KEYWORDS = frozenset({
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield",
})  # fmt: skip

AUGMENTED = frozenset({"+=", "-=", "*=", "/=", "//=", "%=", "@=", "**=", "<<=", ">>=", "&=", "|=", "^="})

BRACKETS = frozenset("([{)]}")

CLOSING = {"(": ")", "[": "]", "{": "}"}

_STRING = (
    r"""(?:[rRuUbB]|[rR][bB]|[bB][rR])?(?:"""
    r'''"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'''
    r"""|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"""
    r'''|"(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*"'''
    r"""|'(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*')"""
)
_FSTART = r"""(?:[fF][rR]?|[rR][fF])(?:\"\"\"|'''|"|')"""
NUMBERS = (
    r"0[xX][0-9a-fA-F_]*|0[oO][0-9_]*|0[bB][0-9_]*"
    r"|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9][0-9_]*)?[jJ]?"
)
OPERATORS = r"\.\.\.|\*\*=?|//=?|>>=?|<<=?|->|:=|<>|!=|[-+*/%&|^@=<>]=?|[~!:;,(){}\[\]]|\.(?![0-9])"

NAME, OPERATOR, NUMBER, NEWLINE, STRING, FSTART, COMMENT, CONTINUED, NAME_AT_QUOTE = range(1, 10)
"""The groups of `TOKEN`, by number. A name right before a quote is looked at last: it may be a string's prefix."""

TOKEN = re.compile(
    rf"[ \t\f]*(?:([^\W\d]\w*+(?![\"']))|({OPERATORS})|({NUMBERS})|(\r?\n)"
    rf"|({_STRING})|({_FSTART})|(#[^\n]*)|(\\\r?\n)|([^\W\d]\w*))",
    re.DOTALL,
)
"""Blanks, then one token; its group says what it is."""

BLANK_LINES = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\r?\n)*")
"""Lines without a token."""

INDENT = re.compile(r"[ \t\f]*")
"""What a line begins with."""

_CLASSES = {NUMBER: "number", OPERATOR: "operator", STRING: "string", FSTART: "string", COMMENT: "comment"}


def pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, class) for what is to be coloured: keyword, name, number, operator, string, comment, error.

    It reads one line or many, never fails, and takes an f-string for one string. Offsets are in characters.
    """
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            start = INDENT.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
            at = _broken_end(text, start)
            if start < len(text):
                yield start, at, "string" if text[start] in "\"'" else "error"
            continue
        group = match.lastindex or NEWLINE
        start, at = match.span(group)
        if group in {NAME, NAME_AT_QUOTE}:
            yield start, at, "keyword" if match[group] in KEYWORDS else "name"
        elif group == FSTART:
            at = _fstring_end(text, at, match[FSTART])
            yield start, at, "string"
        elif group in _CLASSES:
            yield start, at, _CLASSES[group]


def _broken_end(text: str, start: int) -> int:
    """Return where what is no token ends: an unterminated string at the line's end, else after one character."""
    if start >= len(text) or text[start] not in "\"'":
        return start + 1
    if text[start : start + 3] in {'"""', "'''"}:
        return len(text)
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _fstring_end(text: str, at: int, opening: str) -> int:
    """Return the end of an f-string as an editor sees it: at its next quote that no backslash escapes."""
    quote = opening.lstrip("fFrR")
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        elif text[at] == "\n" and len(quote) == 1:
            return at
        else:
            at += 1
    return len(text)
