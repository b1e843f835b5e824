"""How text may look: colours, box drawing or ASCII, width; and the measures of text on a terminal's grid."""

import os
from contextlib import suppress

from gradsh.text.tuples import NamedTuple

COLOURS = {
    "error": "\x1b[1;31m", "warning": "\x1b[1;33m", "help": "\x1b[1;32m", "note": "\x1b[1;36m",
    "needed": "\x1b[31m", "modified": "\x1b[33m", "freed": "\x1b[33m", "saved": "\x1b[32m", "live": "\x1b[32m",
    "pinned": "\x1b[36m", "dim": "\x1b[2m", "bold": "\x1b[1m", "added": "\x1b[32m", "removed": "\x1b[31m",
    "added word": "\x1b[7;32m", "removed word": "\x1b[7;31m",
}
RESET = "\x1b[0m"
NARROWEST = 24
"""Columns that every terminal is taken to have."""


class Style(NamedTuple):
    """The look of text output. `files` says that several files run, so that places must name theirs.

    `width` is that of the terminal, to which lines are wrapped; None where there is none, and lines stay as long as they are.
    """

    colour: bool = False
    ascii: bool = False
    width: int | None = None
    files: bool = False

    def paint(self, role: str, text: str) -> str:
        """Return `text` in the colour of `role`, or as it is where no colour is wanted."""
        return f"{COLOURS[role]}{text}{RESET}" if self.colour and text and role in COLOURS else text

    def pick(self, drawn: str, plain: str) -> str:
        """Return `drawn` where the terminal can show it, else its ASCII stand-in."""
        return plain if self.ascii else drawn


def style_for(stream: object, *, plain: bool = False, files: bool = False) -> Style:
    """Return the style that suits a stream: colour only for a terminal, ASCII only where its encoding asks for it."""
    isatty = getattr(stream, "isatty", None)
    terminal = bool(isatty and isatty())
    quiet = plain or bool(os.environ.get("NO_COLOR")) or bool(os.environ.get("ACCESSIBLE"))
    dumb = os.environ.get("TERM") == "dumb"
    return Style(
        colour=terminal and not quiet and not dumb,
        ascii=plain or dumb or bool(os.environ.get("ACCESSIBLE")) or not _can_draw(stream),
        width=width_of_terminal(stream) if terminal else None,
        files=files,
    )


def _can_draw(stream: object) -> bool:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        "└─●".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def width_of_terminal(stream: object) -> int:
    """Return the columns of the terminal behind a stream, as it is now; what `COLUMNS` says where it does not know them."""
    columns = 0
    with suppress(OSError, ValueError, AttributeError):
        columns = os.get_terminal_size(stream.fileno()).columns  # type: ignore[attr-defined]
    if not columns:
        import shutil

        columns = shutil.get_terminal_size((80, 24)).columns
    return max(NARROWEST, columns)


def width_of(text: str) -> int:
    """Return the columns that `text` takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(c) in {"Mn", "Me"} else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def printable(text: str) -> str:
    """Return `text` with control characters shown as their pictures, so that a source cannot steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else _picture(c) for c in text)


def _picture(char: str) -> str:
    code = ord(char)
    if code < 32:
        return chr(0x2400 + code)
    return "\u2421" if code == 127 else "\ufffd"


def pad(text: str, width: int, align: str = "left") -> str:
    """Return `text` filled with blanks to `width` columns of a terminal."""
    blanks = " " * max(0, width - width_of(text))
    return blanks + text if align == "right" else text + blanks
