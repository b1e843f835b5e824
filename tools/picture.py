"""Draws a session as a terminal shows it: it is run, in colour, and the colours become spans of an SVG picture."""

import re
from collections.abc import Iterator
from html import escape

from gradsh.golden.documents import MORE, PROMPT, Fence, replies, turns
from gradsh.render.style import Style
from gradsh.run.read import Script
from gradsh.run.script import RunOptions
from gradsh.shell.lexer import coloured

Run = tuple[str, str]
"""A colour and the text that has it."""

WIDTH, LINE, CHARACTER, MARGIN = 108, 18, 7.85, 16
PAPER, INK, DIM = "#1a1b26", "#c0caf5", "#565f89"
ANSI = {"1;31": "#f7768e", "1;33": "#e0af68", "1;32": "#9ece6a", "1;36": "#7dcfff", "31": "#f7768e", "33": "#e0af68",
        "32": "#9ece6a", "36": "#7dcfff", "2": DIM}
TYPED = {"command": "#7aa2f7", "option": "#7aa2f7", "keyword": "#bb9af7", "number": "#ff9e64", "string": "#9ece6a"}
ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def session_picture(text: str, title: str) -> str:
    """Return the session (its turns are typed anew) as an SVG document."""
    rows = list(_lines(text))
    size = f'width="{int(WIDTH * CHARACTER) + 2 * MARGIN}" height="{LINE * len(rows) + 2 * MARGIN}"'
    font = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>', f"<title>{escape(title)}</title>",
           f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>']
    for number, row in enumerate(rows):
        spans = "".join(f'<tspan fill="{colour}">{escape(text)}</tspan>' for colour, text in row)
        out.append(f'<text x="{MARGIN}" y="{LINE * (number + 1) + MARGIN - 5}" xml:space="preserve">{spans}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _lines(text: str) -> Iterator[list[Run]]:
    """The lines of the terminal: what is typed after its prompts, then what it shows."""
    typed = [turn.typed for turn in turns(Fence(1, tuple(text.splitlines())))]
    shown_in_colour = replies(Script("README.md", text), typed, RunOptions(), Style(colour=True, width=WIDTH))
    for one, (shown, _) in zip(typed, shown_in_colour, strict=True):
        for number, line in enumerate(one.split("\n")):
            code = [(TYPED.get(kind.removeprefix("class:grad."), INK), text) for kind, text in coloured(line)]
            yield [(ANSI["1;32"], MORE if number else PROMPT), *_joined(code)]
        yield from map(_painted, shown)


def _painted(line: str) -> list[Run]:
    """A line of output, by its escape sequences."""
    colour, out = INK, []
    for number, piece in enumerate(ESCAPE.split(line)):
        if number % 2:
            colour = ANSI.get(piece, INK)
        elif piece:
            out.append((colour, piece))
    return out


def _joined(runs: list[Run]) -> list[Run]:
    """Neighbours of one colour as one."""
    out: list[Run] = []
    for colour, text in runs:
        if out and out[-1][0] == colour:
            out[-1] = (colour, out[-1][1] + text)
        else:
            out.append((colour, text))
    return out
