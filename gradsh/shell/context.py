"""What the cursor is in: read off the tokens before it, without parsing (the text is half typed)."""

import re
from collections.abc import Container
from typing import NamedTuple

from gradsh.commands import USAGE
from gradsh.language.tokens import pieces

WINDOW = 20_000
"""How many characters before the cursor are looked at."""
_NO_COMMAND = re.compile(r"(?!\.{1,2}(?:/|$))(?:\s*(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)|[.,:(\[])")
_OPTION = re.compile(r"(?:^|\s)--(?P<name>[\w-]*)$")
_VALUE = re.compile(r"(?:^|\s)--(?P<name>[\w-]+)(?:\s+|=)(?P<value>[^\s=]*)$")
_MODULE = re.compile(r"\s*(?:from|import)\s+(?P<path>[\w.]*)$")
_MEMBER = re.compile(r"\s*from\s+(?P<path>[\w.]+)\s+import\s+(?:[\w\s,]*,\s*|\(\s*)?(?P<name>\w*)$")

Part = tuple[str, str]
"""A step of an owner's expression: ("name", x), ("attribute", x), ("item", text), ("call", ""), ("value", text)."""


class Token(NamedTuple):
    """A piece of the text before the cursor."""

    start: int
    end: int
    kind: str
    text: str


class CallContext(NamedTuple):
    """A call that the cursor is in: what is called, how many arguments are before it, the keyword it is at, those given."""

    callee: tuple[Part, ...]
    place: int
    keyword: str
    given: tuple[str, ...]


class CursorContext(NamedTuple):
    """Where the cursor is.

    `kind`: name, attribute (of `owner`), key (of `owner`, with its quote), option, value (of `option`, in a command),
    argument (of a command, the `place`-th),
    module, member (of the module `path`) or nothing. `word` is what is typed of it already; `first` whether a
    statement begins here.
    """

    kind: str
    word: str = ""
    owner: tuple[Part, ...] = ()
    command: str = ""
    option: str = ""
    place: int = 0
    path: str = ""
    first: bool = False
    call: CallContext | None = None


def context(text: str, bound: Container[str] = ()) -> CursorContext:
    """Return where the cursor is, at the end of `text`; `bound` holds the names that the program has bound."""
    if len(text) > WINDOW:
        text = text[text.find("\n", len(text) - WINDOW) + 1 :]
    tokens = [Token(start, end, kind, text[start:end]) for start, end, kind in pieces(text)]
    word = ""
    opened, start = _structure(text, tokens, len(text))
    if not opened and (command := _command(text[start:], word, bound)) and _at_file(command, text[start:]):
        return _in_command(command, text[start:], word, None)
    if tokens and tokens[-1].end == len(text) and _closed_off(tokens[-1]):
        return _in_key(tokens) or CursorContext("nothing")
    if tokens and tokens[-1].end == len(text) and tokens[-1].kind in {"name", "keyword"}:
        word = tokens.pop().text
    opened, start = _structure(text, tokens, len(text) - len(word))
    indexed = not word and opened and opened[-1] == len(tokens) - 1 and tokens[-1].text == "["
    if indexed and (key := _in_key([*tokens, Token(len(text), len(text), "string", "")])):
        return key
    call = _call(tokens, opened)
    statement = text[start:]
    line = statement[: len(statement) - len(word)] if word else statement
    if tokens and tokens[-1].text == "." and tokens[-1].end == len(text) - len(word):
        if imported := _imported(statement):
            return imported
        return CursorContext("attribute", word, chain(tokens, len(tokens) - 2), call=call)
    if imported := _imported(statement):
        return imported
    command = _command(statement, word, bound)
    if command and not opened:
        return _in_command(command, statement, word, call)
    return CursorContext("name", word, command=command, first=not line.strip(), call=call)


def _closed_off(token: Token) -> bool:
    """Whether the cursor stands in a comment or an unfinished string, or right behind a number."""
    if token.kind in {"comment", "number"}:
        return True
    if token.kind != "string":
        return False
    body = token.text.lstrip("rRbBuUfF")
    quote = body[:3] if body[:3] in {'"""', "'''"} else body[:1]
    return len(body) < 2 * len(quote) or not body.endswith(quote)


def _in_key(tokens: list[Token]) -> CursorContext | None:
    """The key that is begun by the last token, behind a bracket that adjoins what is indexed."""
    if len(tokens) < 3 or tokens[-2].text != "[" or tokens[-2].start != tokens[-3].end:
        return None
    owner = chain(tokens, len(tokens) - 3)
    return CursorContext("key", tokens[-1].text, owner) if owner else None


def _at_file(command: str, statement: str) -> bool:
    """Whether the cursor is in the argument of a command that takes a file: no expression, whatever stands in it."""
    from gradsh.commands import GRAMMARS

    first = GRAMMARS[command].positionals[:1]
    return bool(first) and first[0].kind == "file" and not re.search(r"\s--", statement)


def first_line(text: str) -> str:
    """Return the line in which the statement at the end of a text begins; within its brackets, the last line."""
    opened, start = _structure(text, [Token(start, end, kind, text[start:end]) for start, end, kind in pieces(text)], len(text))
    at = len(text) if opened else start
    return text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]


def _structure(text: str, tokens: list[Token], end: int) -> tuple[list[int], int]:
    """The indices of the brackets that are open at the cursor, and where its statement starts."""
    opened: list[int] = []
    start = last = 0
    for index, token in enumerate(tokens):
        if not opened and "\n" in text[last : token.start]:
            start = token.start
        last = token.end
        if token.text in {"(", "[", "{"}:
            opened.append(index)
        elif token.text in {")", "]", "}"} and opened:
            opened.pop()
        elif token.text == ";" and not opened:
            start = token.end
    if not opened and "\n" in text[last:end]:
        start = end
    return opened, start


def _call(tokens: list[Token], opened: list[int]) -> CallContext | None:
    """The innermost call among the open brackets."""
    for index in reversed(opened):
        before = tokens[index - 1] if index else None
        if tokens[index].text != "(" or before is None or before.end != tokens[index].start:
            continue
        if before.kind == "name" or before.text in {")", "]"}:
            return _arguments(chain(tokens, index - 1), tokens[index + 1 :])
    return None


def _arguments(callee: tuple[Part, ...], tokens: list[Token]) -> CallContext:
    depth = place = 0
    keyword = ""
    given = []
    for index, token in enumerate(tokens):
        if token.text in {"(", "[", "{"}:
            depth += 1
        elif token.text in {")", "]", "}"}:
            depth -= 1
        elif depth == 0 and token.text == ",":
            place, keyword = place + 1, ""
        elif depth == 0 and token.text == "=" and index:
            keyword = tokens[index - 1].text
            given.append(keyword)
    return CallContext(callee, place, keyword, tuple(given))


def chain(tokens: list[Token], index: int) -> tuple[Part, ...]:
    """Return the steps of the expression that ends with token `index`; empty for one that is not followed."""
    parts: list[Part] = []
    while index >= 0:
        token = tokens[index]
        if token.text in {")", "]"}:
            opening = _opening(tokens, index)
            if opening < 1 or (tokens[opening - 1].kind != "name" and tokens[opening - 1].text not in {")", "]"}):
                literal = "[]" if token.text == "]" else ""
                return (("value", literal), *reversed(parts)) if opening >= 0 else ()
            inner = "".join(one.text for one in tokens[opening + 1 : index])
            parts.append(("call", "") if token.text == ")" else ("item", inner))
            index = opening - 1
        elif token.kind == "string":
            return (("value", "''"), *reversed(parts))
        elif token.kind != "name":
            return ()
        elif index > 0 and tokens[index - 1].text == ".":
            parts.append(("attribute", token.text))
            index -= 2
        else:
            return (("name", token.text), *reversed(parts))
    return ()


def _opening(tokens: list[Token], index: int) -> int:
    depth = 0
    for at in range(index, -1, -1):
        if tokens[at].text in {")", "]", "}"}:
            depth += 1
        elif tokens[at].text in {"(", "[", "{"}:
            depth -= 1
            if depth == 0:
                return at
    return -1


def _imported(statement: str) -> CursorContext | None:
    if found := _MEMBER.match(statement):
        return CursorContext("member", found["name"], path=found["path"])
    if found := _MODULE.match(statement):
        return CursorContext("module", found["path"].rpartition(".")[2], path=found["path"].rpartition(".")[0])
    return None


def _command(statement: str, word: str, bound: Container[str]) -> str:
    """The name of the command that the statement is, once a blank is behind it."""
    found = re.match(r"\s*(\w+)(?=\s)", statement)
    if found is None or found[1] not in USAGE:
        return ""
    rest = statement[found.end() :]
    if _NO_COMMAND.match(rest.lstrip()):
        return ""
    return "" if found[1] in bound and not re.match(r"\s+[\w\"']", rest) else found[1]


def _in_command(command: str, statement: str, word: str, call: CallContext | None) -> CursorContext:
    from gradsh.commands import GRAMMARS

    grammar = GRAMMARS[command]
    if found := _OPTION.search(statement):
        return CursorContext("option", found["name"], command=command)
    found = _VALUE.search(statement)
    if found and found["name"] in grammar.options and grammar.options[found["name"]].arity != "flag":
        option = grammar.options[found["name"]]
        typed = word if option.kind == "expr" else found["value"]
        return CursorContext("value", typed, command=command, option=found["name"], call=call)
    words = re.sub(r"\s--[\w-]+", " ", statement).split()
    typed = "" if statement[-1:].isspace() else words[-1]
    place = len(words) - 1 - bool(typed)
    first = words[1] if place > 0 else ""
    typed = typed if _takes_words(command, place) else word
    return CursorContext("argument", typed, command=command, place=place, path=first, call=call)


def _takes_words(command: str, place: int) -> bool:
    """Whether the argument is a word, a file or a text rather than an expression."""
    from gradsh.commands import GRAMMARS

    places = GRAMMARS[command].positionals
    return bool(places) and places[min(place, len(places) - 1)].kind in {"word", "file", "text"}
