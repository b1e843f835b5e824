"""Words joined by `and`, `or`, `not` and brackets: what `-k` chooses by, and under which conditions a `skip` holds."""

import platform
import re
import sys
from collections.abc import Callable, Iterator

from gradsh.text.script_options import Excuse, ScriptOptions
from gradsh.version import __version__

WORD = re.compile(r"\s*([()]|[^\s()<>=!]+(?:\s*[<>=!]=?\s*[^\s()<>=!]+)?)")
COMPARISON = re.compile(r"(\w+)\s*(==|!=|<=|>=|<|>)\s*(.+)")


def holds(expression: str, word_holds: Callable[[str], bool]) -> bool:
    """Whether an expression holds; `word_holds` tells it of each word. Raises ValueError where it is none.

    or: and ("or" and)*; and: not ("and" not)*; not: "not" not | "(" or ")" | WORD
    """
    words = list(_words(expression))
    found = _any(words, word_holds)
    if words:
        raise ValueError(f"{words[0]!r} stands where `and` or `or` was expected")
    return found


def _words(expression: str) -> Iterator[str]:
    at = 0
    while expression[at:].strip():
        match = WORD.match(expression, at)
        if match is None:
            raise ValueError(f"{expression[at:].strip()!r} is no word")
        yield match[1]
        at = match.end()


def _any(words: list[str], word_holds: Callable[[str], bool]) -> bool:
    found = _all(words, word_holds)
    while words and words[0] == "or":
        words.pop(0)
        found |= _all(words, word_holds)
    return found


def _all(words: list[str], word_holds: Callable[[str], bool]) -> bool:
    found = _one(words, word_holds)
    while words and words[0] == "and":
        words.pop(0)
        found &= _one(words, word_holds)
    return found


def _one(words: list[str], word_holds: Callable[[str], bool]) -> bool:
    word = words.pop(0) if words else ""
    if word == "not":
        return not _one(words, word_holds)
    if word == "(":
        found = _any(words, word_holds)
        if not words or words.pop(0) != ")":
            raise ValueError("a bracket is not closed")
        return found
    if word in {"", ")", "and", "or"}:
        raise ValueError(f"{word!r} stands where a word was expected" if word else "a word is missing at the end")
    return word_holds(word)


def excuse(options: ScriptOptions) -> Excuse | None:
    """Return the first `skip` that holds here, or else the first `xfail`. Raises ValueError for a condition that is none."""
    held = [one for one in options.excuses if not one.condition or holds(one.condition, _here)]
    return next((one for kind in ("skip", "xfail") for one in held if one.kind == kind), None)


def _here(word: str) -> bool:
    """Whether a word of a condition holds for this process: `numpy<2.1`, `platform==darwin`."""
    match = COMPARISON.fullmatch(word)
    if match is None or match[1] not in FACTS:
        raise ValueError(f"{word!r} is no comparison of {', '.join(FACTS)} with something")
    name, sign, wanted = match.groups()
    fact = FACTS[name]()
    if name in {"platform", "machine"}:
        if sign not in {"==", "!="}:
            raise ValueError(f"{name} is compared by == or !=")
        return (fact == wanted) is (sign == "==")
    want = tuple(map(int, re.findall(r"\d+", wanted)))
    have = tuple(map(int, re.findall(r"\d+", fact)))[: len(want)]  # 2.1.3 is a 2.1, and no later one
    return {"==": have == want, "!=": have != want, "<": have < want, "<=": have <= want, ">": have > want, ">=": have >= want}[sign]


def _numpy() -> str:
    import numpy as np

    return np.__version__


def _gradsh() -> str:
    return __version__


FACTS: dict[str, Callable[[], str]] = {
    "numpy": _numpy, "python": platform.python_version, "gradsh": _gradsh, "platform": lambda: sys.platform,
    "machine": platform.machine,
}
