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
FONT = 'font-family="DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, Noto Sans Mono, Courier New, monospace" font-size="11"'
"""The font of pictures, by name: a machine may have no font for the word monospace."""
RESET = "\x1b[0m"
LINKING = frozenset({
    "iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra",
})
LINKING_SIGNS = ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
"""What terminals that know links put into TERM_PROGRAM and TERM, and variables that they set."""
NARROWEST = 24
"""Columns that every terminal is taken to have."""


class Style(NamedTuple):
    """The look of text output. `file` is the one that runs, which places name; empty at a prompt.

    `width` is that of the terminal, to which lines are wrapped; None where there is none, and lines stay as long as they are.
    `links` says that the terminal opens what an escape sequence (OSC 8) makes a link.
    """

    colour: bool = False
    ascii: bool = False
    width: int | None = None
    file: str = ""
    links: bool = False

    def paint(self, role: str, text: str) -> str:
        """Return `text` in the colour of `role`, or as it is where no colour is wanted."""
        return f"{COLOURS[role]}{text}{RESET}" if self.colour and text and role in COLOURS else text

    def link(self, text: str, file: str) -> str:
        """Return `text` as a link to a file, or as it is where the terminal knows none."""
        if not self.links or file.startswith("<"):
            return text
        from urllib.parse import quote

        return f"\x1b]8;;file://{quote(os.uname().nodename + os.path.abspath(file))}\x1b\\{text}\x1b]8;;\x1b\\"  # noqa: PTH100

    def pick(self, drawn: str, plain: str) -> str:
        """Return `drawn` where the terminal can show it, else its ASCII stand-in."""
        return plain if self.ascii else drawn


def style_for(stream: object, *, plain: bool = False) -> Style:
    """Return the style that suits a stream: colour for a terminal or where it is asked for, ASCII where its encoding asks for it."""
    isatty = getattr(stream, "isatty", None)
    terminal = bool(isatty and isatty())
    quiet = plain or bool(os.environ.get("ACCESSIBLE"))
    colour = not quiet and wants_colour(terminal=terminal)
    return Style(
        colour=colour,
        ascii=quiet or _is_dumb() or not _can_draw(stream),
        width=width_of_terminal(stream) if terminal else None,
        links=colour and knows_links(terminal=terminal),
    )


def choose_colour(when: str) -> None:
    """Have this process and those that it starts follow `--color`: auto, always or never."""
    if when == "never":
        os.environ["NO_COLOR"] = "1"
    elif when == "always":
        os.environ["FORCE_COLOR"] = "1"
        os.environ.pop("NO_COLOR", None)


def wants_colour(*, terminal: bool) -> bool:
    """Whether there is to be colour: NO_COLOR forbids it, FORCE_COLOR and CLICOLOR_FORCE ask for it, else a terminal decides."""
    if os.environ.get("NO_COLOR"):
        return False
    return _is_set("FORCE_COLOR") or _is_set("CLICOLOR_FORCE") or (terminal and not _is_dumb())


def knows_links(*, terminal: bool) -> bool:
    """Whether the terminal is one that is known to make links of OSC 8; FORCE_HYPERLINK says so of any."""
    if "FORCE_HYPERLINK" in os.environ:
        return _is_set("FORCE_HYPERLINK")
    version = os.environ.get("VTE_VERSION", "")
    named = os.environ.get("TERM_PROGRAM") in LINKING or os.environ.get("TERM") in LINKING
    return terminal and (named or any(map(os.environ.get, LINKING_SIGNS)) or (version.isdigit() and int(version) >= 5000))


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in {"", "0"}


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"


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
