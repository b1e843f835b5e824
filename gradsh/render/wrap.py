"""Breaks lines at words to the width of a terminal: the lines that follow are indented, code in backquotes stays whole."""

import re

from gradsh.render.style import Style, width_of

_PIECES = re.compile(r"\s+|[^\s`]*`[^`]+`[^\s`]*|\[--[^\]]*\]\S*|\S*\d B\b\S*|line \d\S*|\S+")
"""Blanks, code in backquotes, an option with its value, a number of bytes, the number of a line, a word."""
_SECOND_COLUMN = re.compile(r"\s*\S+(?: \S+)*\s{2,}(?=\S)")
_INDENT = 2
"""Columns by which the further lines of a sentence are indented, beyond its own indent."""


def wrap(text: str, width: int | None, hang: int | None = None, used: int = 0) -> list[str]:
    """Return one line of text as lines of at most `width` columns (None: no terminal, so the line stays as it is).

    `used` columns of the first line are taken by what stands before the text. The further lines are indented by `hang`
    columns: by default to the second column of two, else a little more than the line itself.
    """
    if width is None or used + width_of(text) <= width:
        return [text]
    hang = min(_natural(text, width - 16) if hang is None else hang, max(0, width - 16))
    out, line, taken, blanks = [], "", used, ""
    for piece in _PIECES.findall(text):
        if piece.isspace():
            blanks = piece
            continue
        for part in _parts(piece, width - hang):
            if taken + len(blanks) + width_of(part) > width and (line.strip() or taken > hang):
                out.append(line.rstrip())
                line, taken, blanks = " " * hang, hang, ""
            line += blanks + part
            taken += len(blanks) + width_of(part)
            blanks = ""
    return [*out, line.rstrip()]


def _natural(text: str, most: int) -> int:
    """Return where the second column begins, of a text that has two (the first no wider than `most`), else its indent and more."""
    column = _SECOND_COLUMN.match(text)
    return column.end() if column and column.end() <= most else len(text) - len(text.lstrip()) + _INDENT


def _parts(piece: str, room: int) -> list[str]:
    """Return a word as it is where a line has room for it, else its words or, of a single one, its stretches."""
    if width_of(piece) <= room:
        return [piece]
    words = piece.split(" ")
    if len(words) > 1:
        return [part for word in words[:-1] for part in _parts(word + " ", room)] + _parts(words[-1], room)
    if piece.isascii():
        return [piece[i : i + room] for i in range(0, len(piece), room)]
    out, part = [], ""
    for char in piece:
        if part and width_of(part + char) > room:
            out.append(part)
            part = ""
        part += char
    return [*out, part]


def clipped(text: str, style: Style, used: int = 0) -> str:
    """Return a text, such as a path, without as much of its beginning as the terminal has no room for."""
    room = None if style.width is None else max(1, style.width - used)
    if room is None or width_of(text) <= room:
        return text
    dots = style.pick("…", "...")
    while text and width_of(text) + len(dots) > room:
        text = text[1:]
    return dots + text
