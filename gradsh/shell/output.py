"""Where a shell's events go: the terminal, as wide as it is now; a command's long text through a pager, a long value cut."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from gradsh.contracts.events import Event, Result, Value
from gradsh.render.style import Style, style_for, width_of
from gradsh.render.wrap import wrap
from gradsh.run.sinks import TextSink

MOST_ROWS = 50
"""Rows of a value that are shown."""
NO_TERMINAL = 100
"""Columns where no terminal tells how many it has."""


class ShellSink(TextSink):
    """Writes events to the terminal. `paged` says whether long results may go through a pager."""

    def __init__(self, plain: bool, paged: Callable[[], bool] = lambda: False) -> None:
        super().__init__(sys.stdout, sys.stderr, Style(), Style())
        self.plain = plain
        self.colour = True
        self.paged = paged
        self.refresh()

    def refresh(self) -> None:
        """Look at the terminal anew: it may have been resized, or the streams replaced."""
        self.out, self.err = sys.stdout, sys.stderr
        self.style, self.err_style = (self._style(stream) for stream in (sys.stdout, sys.stderr))

    def _style(self, stream: object) -> Style:
        style = style_for(stream, plain=self.plain)
        return style if self.colour else style._replace(colour=False)

    def write(self, event: Event) -> None:
        """Write an event; a command's result that is longer than the screen is paged, a long value is cut."""
        shown = self._text(event, self.style) if type(event) in {Result, Value} and sys.stdout.isatty() else None
        if shown is None:
            super().write(event)
        elif type(event) is Result:
            self.show(shown[1])
        else:
            self.out.write(self._cut(shown[1], self.style.width or NO_TERMINAL))
            self.out.flush()

    def show(self, text: str) -> None:
        """Write a text, through a pager where it is longer than the screen."""
        self.refresh()
        self.out.flush()
        rows = shutil.get_terminal_size((100, 24)).lines
        needed = _rows_of(text, self.style.width or NO_TERMINAL) - 1
        if needed < rows or not self.paged() or not sys.stdout.isatty() or not page(text):
            self.out.write(text)
            self.out.flush()

    def _cut(self, text: str, width: int) -> str:
        """Return as many rows of a value as are shown, and how much more there is."""
        if len(text) <= MOST_ROWS or _rows_of(text, width) - 1 <= MOST_ROWS:
            return text
        kept: list[str] = []
        left = MOST_ROWS
        for line in text.split("\n"):
            if left <= 0:
                break
            kept.append(line[: left * width])
            left -= _rows_of(line, width)
        shown = "\n".join(kept)
        told = f"{self.style.pick('…', '...')} {len(text) - len(shown) - 1:,} more characters; print() shows all"
        return "\n".join([shown, *(self.style.paint("dim", part) for part in wrap(told, width)), ""])


def _rows_of(text: str, width: int) -> int:
    """Return how many rows of a terminal a text takes."""
    return sum(max(1, -(-width_of(line) // width)) for line in text.split("\n"))


def page(text: str) -> bool:
    """Show a text through the pager; return whether there is one. Ctrl-C is the pager's while it runs."""
    import signal

    words = os.environ.get("PAGER", "").split() or ["less"]
    if shutil.which(words[0]) is None:
        return False
    environment = {**os.environ, "LESS": os.environ.get("LESS", "-FRX")}
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: whoever owns that answers interrupts
        return False
    try:
        subprocess.run(words, input=text.encode("utf-8", "replace"), env=environment, check=False)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
