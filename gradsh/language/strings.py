"""What literals mean: the values of numbers and of strings with their prefixes and escapes.

Each function returns the value, or a `Trouble` that says what is wrong and where in the literal.
"""

import re

from gradsh.text.tuples import NamedTuple


class Trouble(NamedTuple):
    """What is wrong with a literal: a sentence, a way out, where in it (offset, length; 0, 0: all of it), the kind."""

    message: str
    help: str
    start: int = 0
    length: int = 0
    kind: str = "syntax"


_ESCAPE = r"(?s)\\(\r?\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^{}]*\}|.)"

_SINGLE = {
    "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\n": "", "\r\n": "",
}  # fmt: skip

_SHORT = {"x": "\\xXX", "u": "\\uXXXX", "U": "\\UXXXXXXXX"}


def number(text: str) -> int | float | Trouble:
    """Return the value of a NUMBER token."""
    if text.isdigit() and (text[0] != "0" or len(text) == 1) and len(text) < 4000:
        return int(text)
    if text[-1] in "jJ":
        return Trouble(
            "complex numbers are not part of the language",
            "keep the real and the imaginary part apart, or run the program on PyTorch: `gradsh trace FILE`",
        )
    try:
        if text[:2].lower() in {"0x", "0o", "0b"}:
            return int(text, 0)
        if any(sign in text for sign in ".eE"):
            return float(text)
        return int(text, 0)
    except ValueError as error:
        return _bad_number(text, str(error))


def _bad_number(text: str, reason: str) -> Trouble:
    """Return what is wrong with a number that Python does not read."""
    if "Exceeds" in reason:
        return Trouble("the number has more digits than an int literal may have (4300)", "compute it, as in 10**5000",
                       kind="limit")
    if text.isdigit():
        digits = text.lstrip("0")
        message = "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers"
        return Trouble(message, f"write {digits}, or 0o{digits} for an octal number")
    base = {"0x": "hexadecimal", "0o": "octal", "0b": "binary"}.get(text[:2].lower(), "decimal")
    return Trouble(f"invalid {base} literal", "write digits, with single underscores only between them")


def string(text: str) -> str | bytes | Trouble:
    """Return the value of a STRING token: prefix, quotes, escapes."""
    quote = text.index(text[-1])
    if "b" not in text[:quote].lower():
        return _text(text)
    if not text.isascii():
        return Trouble("bytes can only contain ASCII literal characters", "write the text without the b, then `.encode()`")
    value = _text(text)
    return value.encode("latin-1", "replace") if isinstance(value, str) else value


def _text(text: str) -> str | Trouble:
    quote = text[-1]
    at = text.index(quote)
    prefix = text[:at].lower()
    width = 3 if text.startswith(quote * 3, at) and len(text) >= at + 6 else 1
    body = text[at + width : len(text) - width]
    if "r" in prefix or "\\" not in body:
        return body if "\r" not in body else body.replace("\r\n", "\n")
    return unescape(body, at + width)


def unescape(body: str, offset: int = 0) -> str | Trouble:
    """Return the text that `body` stands for, its backslash escapes read; unknown ones stay as they are.

    `offset` is added to the place of a trouble.
    """
    trouble: list[Trouble] = []

    def value(match: re.Match[str]) -> str:
        code = match[1]
        if code in _SINGLE:
            return _SINGLE[code]
        try:
            return _code_value(code)
        except (ValueError, KeyError):
            shown = f"truncated {_SHORT[code]} escape" if code in _SHORT else f"\\{code} names no character"
            advice = "write \\\\ for a backslash that is text, or r before the string"
            trouble.append(Trouble(f"(unicode error) {shown}", advice, offset + match.start(), len(match[0])))
            return ""

    text = re.sub(_ESCAPE, value, body.replace("\r\n", "\n"))
    return trouble[0] if trouble else text


def _code_value(code: str) -> str:
    """Return what the escape `code` (without its backslash) stands for; ValueError or KeyError for none."""
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] in "xuU":
        if len(code) == 1:
            raise ValueError(code)
        return chr(int(code[1:], 16))
    if code[0] == "N":
        if len(code) < 2:
            raise KeyError(code)
        from unicodedata import lookup

        return lookup(code[2:-1])
    return "\\" + code
