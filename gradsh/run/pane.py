"""Lines at the bottom of a terminal that are redrawn in place; what a program prints scrolls above them."""

import os
import re
from typing import TextIO

from gradsh.render.style import width_of

_PAINT = re.compile(r"\x1b\[[0-9;]*m")


class Pane:
    """Draws on a stream that is a terminal. Who writes to the terminal otherwise takes the lines away first."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._widths: list[int] = []
        """Columns of the lines that are drawn"""

    def size(self) -> os.terminal_size:
        """Return the size of the terminal as it is now."""
        try:
            return os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            return os.terminal_size((80, 24))

    def draw(self, lines: list[str]) -> None:
        """Put lines in the place of those that are drawn, with one call, so that nothing flickers."""
        text = self._up() + "\n".join(f"\x1b[2K{line}" for line in lines) + "\x1b[J"
        self._widths = [width_of(_PAINT.sub("", line)) for line in lines]
        self._write(text)

    def erase(self) -> None:
        """Take the lines away; the cursor stands where they began."""
        if self._widths:
            self._write(f"{self._up()}\x1b[J")
            self._widths = []

    def _up(self) -> str:
        """Return what leads from the end of the lines to their beginning, also where the terminal has become narrower."""
        columns = max(1, self.size().columns)
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
