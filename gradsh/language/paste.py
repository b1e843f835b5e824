"""Makes a program of what people paste: prompts and outputs, indented blocks, tabs, characters of word processors.

The number of lines never changes, so that errors name the lines of the text that was given.
"""

import re

from gradsh.language.lexer import lex
from gradsh.text.span import Source

_PROMPT = r"[ \t]*(>>> ?|grad>(?: |$)|In ?\[\d+\]:(?: |$))"
_CONTINUED = r"[ \t]*(\.\.\.\.>(?: |$)|\.\.\.:? ?)"
_BANNER = r"\s*(Python \d|IPython |Type [\"'h]|\[GCC|gradsh \d|#|```)"
_FENCE = r"\s*(```|~~~)\s*\w*\s*$"

_MAGIC = (
    r"[ \t]*(![a-z]|\$ +[a-z]|"
    r"%%?(autoreload|cd|conda|config|env|load_ext|matplotlib|pip|prun|pylab|reload_ext|reset|run|time|timeit)\b(?!\s*[=,)]))"
)

_TIMED = r"^([ \t]*)%time(?:it)?(?:[ \t]+-[a-z][ \t]*\d*)*[ \t]+(?![=,)])(?=\S)"

_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_CHARACTERS = {
    **dict.fromkeys(_BLANKS, " "), **dict.fromkeys(_INVISIBLE, ""), "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-",
    "\u2212": "-", "\u2026": "...", "\uff08": "(", "\uff09": ")", "\uff0c": ",", "\uff1a": ":", "\uff1d": "=",
}  # fmt: skip

_STRANGE = (
    r"(?P<kept>#[^\n]*"
    r"|\"\"\"[^\"\\]*(?:(?:\\.|\"(?!\"\"))[^\"\\]*)*\"\"\"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r"|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')"
    r"|(?P<double>[“”„‟«][^“”„‟»\n]*[“”‟»])|(?P<single>[‘’‚‛][^‘’‚‛\n]*[‘’‛])"
    rf"|(?P<backslash>\\[ \t{_BLANKS}]+(?=\n|\Z))|(?P<character>[{''.join(_CHARACTERS)}])"
)
"""What is looked at outside strings and comments (which are kept); compiled when a text needs it."""


def clean(text: str) -> tuple[str, list[str]]:
    """Return `text` as a program with as many lines, and notes that say what was mended.

    To be used on whole texts; a prompt that waits for more lines asks `is_complete` about the text as it was typed.
    """
    notes: list[str] = []
    text = _line_ends(text)
    text = _transcript(text, notes)
    text = _magics(text, notes)
    text = _characters(text, notes)
    text = _dedented(text, notes)
    text = _tabs(text, notes)
    return _last_backslash(text, notes), notes


def _line_ends(text: str) -> str:
    """Return the text without a byte order mark and with Unix line ends."""
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _transcript(text: str, notes: list[str]) -> str:
    """Return the statements of a session's transcript; lines without a prompt, which are its output, become empty."""
    if ">" not in text and "]:" not in text and "```" not in text:
        return text
    lines = text.split("\n")
    fences = [index for index, line in enumerate(lines) if re.match(_FENCE, line)]
    if fences and (fences := sorted({*fences} - _within_strings(text))):
        lines = _fenced(lines, fences, notes)
    first = next((index for index, line in enumerate(lines) if line.strip() and not re.match(_BANNER, line)), None)
    if first is None or not re.match(_PROMPT, lines[first]):
        return "\n".join(lines)
    notes.append("prompts were removed, and lines without one were taken as output")
    for index, line in enumerate(lines):
        if prompt := re.match(_PROMPT, line):
            lines[index] = line[prompt.end() :]
        elif more := re.match(_CONTINUED, line):
            lines[index] = line[more.end() :]
        else:
            lines[index] = ""
    return "\n".join(lines)


def _fenced(lines: list[str], fences: list[int], notes: list[str]) -> list[str]:
    """Return what stands inside Markdown's fences; beside a single fence, both sides."""
    if len(fences) % 2:
        notes.append("the marks of a Markdown block were removed")
        marks = frozenset(fences)
        return ["" if index in marks else line for index, line in enumerate(lines)]
    inside = [False] * len(lines)
    for start, end in zip(fences[::2], fences[1::2], strict=True):
        inside[start + 1 : end] = [True] * (end - start - 1)
    marks = frozenset(fences)
    prose = any(line.strip() and not within for index, (line, within) in enumerate(zip(lines, inside, strict=True)) if index not in marks)
    notes.append("the marks of a Markdown block" + (" and the text around it" if prose else "") + " were removed")
    return [line if within else "" for line, within in zip(lines, inside, strict=True)]


def _magics(text: str, notes: list[str]) -> str:
    """Return the text without the lines that a notebook takes for itself: `%matplotlib inline`, `!pip install torch`."""
    if not any(sign in text for sign in "%!$"):
        return text
    lines = text.split("\n")
    strings = _within_strings(text)
    lines = [line if index in strings else re.sub(_TIMED, r"\1time ", line) for index, line in enumerate(lines)]
    text = "\n".join(lines)
    found = [index for index, line in enumerate(lines) if re.match(_MAGIC, line) and index not in strings]
    if not found:
        return text
    notes.append("the lines of a notebook's or a terminal's own (%, ! and $) were removed")
    left = frozenset(found)
    return "\n".join("" if index in left else line for index, line in enumerate(lines))


def _within_strings(text: str) -> set[int]:
    """Return the numbers, from 0, of the lines that begin inside a string."""
    found: set[int] = set()
    for match in re.finditer(_STRANGE, text, flags=re.DOTALL) if '"""' in text or "'''" in text else ():
        if match["kept"]:
            first = text.count("\n", 0, match.start())
            found.update(range(first + 1, first + 1 + match[0].count("\n")))
    return found


def _characters(text: str, notes: list[str]) -> str:
    """Return the text with typographic quotes, odd blanks and dashes outside strings and comments made plain."""
    if text.isascii() and "\\ " not in text and "\\\t" not in text:
        return text
    mended: set[str] = set()

    def plain(match: re.Match[str]) -> str:
        what, piece = match.lastgroup or "", match[0]
        if what == "kept":
            return piece
        mended.add(what if what != "character" or piece not in _BLANKS + _INVISIBLE else "blank")
        if what == "backslash":
            return "\\"
        if what == "character":
            return _CHARACTERS[piece]
        quote = '"' if what == "double" else "'"
        return quote + piece[1:-1].replace(quote, "\\" + quote) + quote

    text = re.sub(_STRANGE, plain, text, flags=re.DOTALL)
    sentences = {
        "blank": "non-breaking and invisible blanks were made plain", "character": "typographic characters were made plain",
        "backslash": "blanks behind a backslash were removed",
    }  # fmt: skip
    if mended & {"double", "single"}:
        notes.append("typographic quotes were made plain")
    notes.extend(sentence for what, sentence in sentences.items() if what in mended)
    return text


def _dedented(text: str, notes: list[str]) -> str:
    """Return the text without the indentation that all its statements share."""
    lines = text.split("\n")
    first = next((line for line in lines if _is_code(line)), "")
    if not first[:1].isspace():
        return text
    margin = _blanks(first)
    strings = _within_strings(text)
    for line in (line for index, line in enumerate(lines) if _is_code(line) and index not in strings):
        while not line.startswith(margin):
            margin = margin[:-1]
    if not margin:
        return text
    notes.append("the indentation that all lines share was removed")
    return "\n".join(
        line if index in strings else line.removeprefix(margin) if line.startswith(margin) else line.lstrip()
        for index, line in enumerate(lines)
    )


def _is_code(line: str) -> bool:
    """Return whether a line's indentation counts: it is not empty and no comment."""
    stripped = line.lstrip()
    return bool(stripped) and not stripped.startswith("#")


def _blanks(line: str) -> str:
    """Return what a line is indented with."""
    return line[: len(line) - len(line.lstrip())]


def _tabs(text: str, notes: list[str]) -> str:
    """Return the text with its indentation in blanks only, if tabs and blanks are mixed so that it cannot be read."""
    if "\t" not in text or not _indentation_errors(text):
        return text
    for width in (8, 4, 2):
        expanded = "\n".join(
            _blanks(line).expandtabs(width) + line.lstrip() if _is_code(line) else line for line in text.split("\n")
        )
        if not _indentation_errors(expanded):
            notes.append(f"tabs in the indentation were read as {width} columns")
            return expanded
    return text


def _indentation_errors(text: str) -> bool:
    """Return whether a block's depth is unclear, or a line is indented that no colon comes before."""
    tokens = lex(Source("", text))
    for index, kind in enumerate(tokens.kinds):
        if kind == "ERROR" and "indent" in tokens.problems[index].message:
            return True
        if kind == "INDENT" and (index < 2 or tokens.kinds[index - 2] != ":"):
            return True
    return False


def _last_backslash(text: str, notes: list[str]) -> str:
    """Return the text without a backslash that ends its last line, where nothing is left open before it."""
    line = text.rstrip().rpartition("\n")[2]
    if not line.endswith("\\") or "#" in line or re.search(r"[-+*/%@,=(\[{&|^<>\\]\s*\\$", line):
        return text
    notes.append("a backslash behind the last line was removed")
    body = text.rstrip()
    return body[:-1] + text[len(body) :]
