"""Mistakes that people make often, told better than "invalid syntax": Python 2, other languages, IPython, typos.

Looked at only when the parser has already failed, so that nothing here costs a program that is right.
"""

import re
from collections.abc import Callable
from difflib import get_close_matches

from gradsh.language.parser_base import Cursor
from gradsh.language.tokens import KEYWORDS
from gradsh.text.problem import Problem
from gradsh.text.span import Span

_OR_TRACE = "or run the program on PyTorch: `gradsh trace FILE`"
_REFUSED = {
    "async": ("async is not part of the language: statements run one after the other", f"remove the word, {_OR_TRACE}"),
    "await": ("await is not part of the language: statements run one after the other", f"remove the word, {_OR_TRACE}"),
    "type": ("type aliases are not part of the language", "write `Name = value`"),
}

_OPTIONS = re.compile(r"\w+\s+--[A-Za-z]")

_STATEMENTS = (
    "assert", "class", "def", "del", "elif", "for", "from", "global", "if", "import", "raise", "return", "while", "with",
)

_HELP = {
    "an expression": "put a name, a number or another expression here",
    "the end of the statement": "begin the next statement on its own line, or put an operator, a comma or ; in between",
    "a name": "a name begins with a letter or _",
}

_VALUES = frozenset({"NAME", "NUMBER", "STRING", "FSTART", ")", "]", "}", "None", "True", "False", "..."})
"""Kinds that an expression may end with."""

_BEGINS = frozenset({"NAME", "NUMBER", "STRING", "FSTART", "None", "True", "False", "lambda", "not", "(", "[", "{"})
"""Kinds that begin a new expression where an operator was due."""


def advise(cursor: Cursor, expected: str, shown: str, help_lines: tuple[str, ...]) -> Problem:
    """Return a problem with the words for the mistake at the cursor: for a known one, or of what was expected."""
    known = next((problem for rule in _RULES if (problem := rule(cursor, expected)) is not None), None)
    if known is not None:
        return known
    ways = help_lines or (_general_help(cursor, expected),)
    place = cursor.label("needed", cursor.here(), "")
    return Problem("syntax", f"invalid syntax: expected {expected}, found {shown}", (place,), ways)


def _general_help(cursor: Cursor, expected: str) -> str:
    """Return the help line where the mistake is no known one."""
    kind = cursor.kinds[cursor.i]
    if kind in {"NEWLINE", "END"} and expected == "an expression":
        return "finish the expression on this line, or put it in ( ) to go on with it on the next"
    if kind == ":" and expected == "the end of the statement":
        return "a block begins with if, for, while, def, class, with or try"
    known = next((text for what, text in _HELP.items() if expected.startswith(what)), "")
    return known or f"put {expected} here"


def _problem(cursor: Cursor, message: str, help_line: str, span: Span | None = None) -> Problem:
    """Return a problem at the cursor, or at `span`."""
    return Problem("syntax", message, (cursor.label("needed", span or cursor.here(), ""),), (help_line,))


def _line(cursor: Cursor) -> str:
    """Return the text of the line that the failing statement begins on."""
    return cursor.tokens.source.line(cursor.spans[cursor.statement_start].line).strip()


def _at_line_start(cursor: Cursor) -> bool:
    """Return whether the cursor's token is the first of its line."""
    return cursor.i == 0 or cursor.kinds[cursor.i - 1] in {"NEWLINE", "INDENT", "DEDENT"}


def _refused(cursor: Cursor, expected: str) -> Problem | None:
    kind, start = cursor.kinds[cursor.i], cursor.statement_start
    if kind in {"async", "await"}:
        return _problem(cursor, *_REFUSED[kind])
    word = cursor.texts[start]
    if cursor.kinds[start] == "NAME" and word in _REFUSED and cursor.i == start + 1 and kind in _BEGINS:
        return _problem(cursor, *_REFUSED[word], span=cursor.spans[start])
    return None


def _python2(cursor: Cursor, expected: str) -> Problem | None:
    start, kind = cursor.statement_start, cursor.kinds[cursor.i]
    word = cursor.texts[start]
    if cursor.kinds[start] == "NAME" and word in {"print", "exec"} and cursor.i == start + 1 and kind in _BEGINS:
        end = cursor.i
        while cursor.kinds[end] not in {"NEWLINE", ";", "END", "ERROR"}:
            end += 1
        tokens = cursor.tokens
        rest = tokens.source.text[tokens.starts[cursor.i] : tokens.ends[end - 1]]
        message = f"Missing parentheses in call to '{word}'. Did you mean {word}(...)?"
        return _problem(cursor, message, f"write {word}({rest})", cursor.spans[start].to(cursor.spans[end - 1]))
    if cursor.kinds[start] == "raise" and kind == ",":
        return _problem(cursor, "invalid syntax: raise takes one exception", 'write raise ValueError("text")')
    if kind == "<>":
        return _problem(cursor, "invalid syntax: '<>' is no operator", "write !=")
    return None


def _shell(cursor: Cursor, expected: str) -> Problem | None:
    kind = cursor.kinds[cursor.i]
    if cursor.i == cursor.statement_start or _at_line_start(cursor):
        if kind in {"%", "!"} or cursor.texts[cursor.i] == "%":
            return _problem(cursor, "invalid syntax: gradsh does not have this IPython magic", "remove the line")
        if kind in {">>", "..."} or _line(cursor).startswith((">>>", "...")):
            return _problem(cursor, "invalid syntax: the line begins with a prompt", "remove the prompt")
    if _line(cursor).startswith("Traceback (most recent call last)"):
        return _problem(cursor, "invalid syntax: this is the traceback of a run, not the program", "remove it and the lines below it",
                        cursor.spans[cursor.statement_start])
    words = _line(cursor).split()[:2]
    if words and words[0] in {"pip", "conda", "python", "$"} and cursor.i == cursor.statement_start + 1:
        return _problem(cursor, "invalid syntax: this is a line for a terminal", "remove the line; nothing is installed here",
                        cursor.spans[cursor.statement_start])
    return None


def _other_languages(cursor: Cursor, expected: str) -> Problem | None:
    kind, before = cursor.kinds[cursor.i], cursor.kinds[cursor.i - 1] if cursor.i else ""
    adjoins = cursor.i > 0 and cursor.tokens.ends[cursor.i - 1] == cursor.tokens.starts[cursor.i]
    if kind in {"&", "|"} and before == kind and adjoins:
        word = "and" if kind == "&" else "or"
        return _problem(cursor, f"invalid syntax: '{kind}{kind}' is no operator", f"write {word}",
                        cursor.spans[cursor.i - 1].to(cursor.spans[cursor.i]))
    if kind == "!":
        return _problem(cursor, "invalid syntax: '!' is no operator", "write not")
    if kind in {"NEWLINE", ";", ")"} and before in {"+", "-"} and cursor.i > 1 and cursor.kinds[cursor.i - 2] == before:
        return _problem(cursor, f"invalid syntax: '{before}{before}' is no operator", f"write {before}= 1",
                        cursor.spans[cursor.i - 2].to(cursor.spans[cursor.i - 1]))
    if kind == "if" and before == "else":
        return _problem(cursor, "invalid syntax: 'else if'", "write elif", cursor.spans[cursor.i - 1].to(cursor.spans[cursor.i]))
    if kind == "{" and expected == "':'":
        return _problem(cursor, "expected ':'", "a block is opened by : and indented; there are no braces around it")
    return None


def _lonely_clause(cursor: Cursor, expected: str) -> Problem | None:
    kind = cursor.kinds[cursor.i]
    owners = {"else": "if, for, while or try", "elif": "if", "except": "try", "finally": "try"}
    if kind in owners and expected in {"an expression", "the end of the statement"} and _at_line_start(cursor):
        message = f"invalid syntax: '{kind}' without a block of {owners[kind]} before it"
        return _problem(cursor, message, f"indent it as the {owners[kind]} that it belongs to")
    return None


def _colon(cursor: Cursor, expected: str) -> Problem | None:
    if expected != "':'" or cursor.kinds[cursor.i] not in {"NEWLINE", "return", "pass", "NAME"}:
        return None
    if cursor.kinds[cursor.statement_start] in {"if", "while", "for", "def", "class", "with", "try", "else", "except"}:
        word = cursor.texts[cursor.statement_start]
        return _problem(cursor, "expected ':'", f"put : behind the {word}, ahead of its block")
    return _problem(cursor, "expected ':'", "put : here")


def _equals(cursor: Cursor, expected: str) -> Problem | None:
    if cursor.kinds[cursor.i] == "=" and expected in {"':'", "')'", "']'", "'}'", "'else'"}:
        message = "invalid syntax. Maybe you meant '==' or ':=' instead of '='?"
        return _problem(cursor, message, "compare with ==; assign on a line of its own")
    if cursor.kinds[cursor.i] == ":=":
        return _problem(cursor, "invalid syntax: ':=' stands in brackets or in a condition only", "write =")
    return None


def _keyword_as_name(cursor: Cursor, expected: str) -> Problem | None:
    kind = cursor.kinds[cursor.i]
    if kind not in KEYWORDS or "name" not in expected:
        return None
    if kind == "import":
        return _problem(cursor, f"invalid syntax: expected {expected}, found 'import'", "write `from module import name`")
    return _problem(cursor, f"invalid syntax: '{kind}' is a keyword and no name", f"call it {kind}_")


def _option(cursor: Cursor, expected: str) -> Problem | None:
    text = cursor.tokens.source.text[cursor.tokens.starts[cursor.i] :][:40]
    match = re.match(r"--[A-Za-z][\w-]*", text)
    word = cursor.texts[cursor.statement_start]
    if match and cursor.kinds[cursor.i] == "OPTION":
        return _problem(cursor, f"invalid syntax: expected {expected}, found the option {match[0]}",
                        "put the expression in front of the option")
    adjoining = cursor.i == cursor.statement_start + 1 and cursor.kinds[cursor.i] in _BEGINS
    if word not in cursor.grammars or not cursor.is_bound(word):
        return None
    if adjoining or _OPTIONS.match(_line(cursor)):
        return _problem(cursor, f"'{word}' is a variable of the program here, so it does not start the command",
                        f"rename the variable, or del {word} first", cursor.spans[cursor.statement_start])
    return None


def _typo(cursor: Cursor, expected: str) -> Problem | None:
    start = cursor.statement_start
    if cursor.i != start + 1 or cursor.kinds[start] != "NAME" or cursor.kinds[cursor.i] not in _BEGINS | {"-", ":"}:
        return None
    word = cursor.texts[start]
    if word in cursor.grammars:
        return None
    near = get_close_matches(word, [name for name in (*cursor.grammars, *_STATEMENTS) if name != word], 1, 0.65)
    if not near:
        return None
    shown = cursor.texts[cursor.i] or "the end of the line"
    message = f"invalid syntax: '{word}' begins no statement that goes on with '{shown}'"
    return _problem(cursor, message, f"did you mean {near[0]}?", cursor.spans[start])


def _comma(cursor: Cursor, expected: str) -> Problem | None:
    if expected not in {"')'", "']'", "'}'"} or cursor.kinds[cursor.i] not in _BEGINS:
        return None
    if cursor.i == 0 or cursor.kinds[cursor.i - 1] not in _VALUES:
        return None
    return _problem(cursor, "invalid syntax. Perhaps you forgot a comma?", "put a comma or an operator here",
                    cursor.spans[cursor.i - 1].to(cursor.spans[cursor.i]))


_RULES: tuple[Callable[[Cursor, str], Problem | None], ...] = (
    _refused, _python2, _shell, _other_languages, _lonely_clause, _option, _typo, _colon, _equals, _keyword_as_name, _comma,
)  # fmt: skip
