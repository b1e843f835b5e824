"""The part of a source line that is shown: tabs widened, controls pictured, what does not fit left out around the mark."""

from gradsh.render.style import Style, printable, width_of

TAB = 4
NO_TERMINAL = 100
"""Columns of the part of a very long line that is shown where no terminal has a width."""


class Window:
    """A stretch of a line, with `…` where something is left out, as wide as there is room for it.

    `text` is what is shown; `mark` tells where in it, in columns, a stretch of the line stands.
    """

    def __init__(self, line: str, start: int, end: int, style: Style, room: int) -> None:
        """Show `line` around the columns `start` to `end` of it, counted from 1, the last exclusive."""
        self.cells = _cells(line)
        self.places = _places(self.cells)
        self.dots = style.pick("…", "...")
        self.first, self.last = self._stretch(start - 1, end - 1, room)
        left = self.dots if self.first else ""
        right = self.dots if self.last < len(self.cells) else ""
        self.indent = len(left)
        self.text = left + "".join(self.cells[self.first : self.last]) + right

    def _stretch(self, start: int, end: int, room: int) -> tuple[int, int]:
        """Return the first and the last character to show: all where they fit, else as many as do around the mark."""
        cells, places, dots = self.cells, self.places, len(self.dots)
        if places[-1] + max(0, start + 1 - len(cells)) <= room:
            return 0, len(cells)
        start, end = min(start, len(cells)), min(end, len(cells))
        room = max(room, 2 * dots + 2)
        if places[end] <= room - dots:
            first = 0
        else:
            spare = max(0, room - 2 * dots - (places[end] - places[start]))
            first = start
            while first and places[start] - places[first - 1] <= spare * 2 // 3:
                first -= 1
            while first < start and not width_of(cells[first]):
                first += 1  # no accent without its letter
        left = dots if first else 0
        last = first
        while last < len(cells) and places[last + 1] - places[first] <= room - left - (dots if last + 1 < len(cells) else 0):
            last += 1
        while first and last == len(cells) and places[last] - places[first - 1] <= room - (dots if first > 1 else 0):
            first -= 1  # nothing is left out on the right: its room goes to the left
        return first, last

    def holds(self, start: int, end: int) -> bool:
        """Whether a stretch is shown whole."""
        whole = self.last == len(self.cells)
        return self.first <= start - 1 and (whole or end - 1 <= self.last)

    def mark(self, start: int, end: int) -> tuple[int, int]:
        """Return the column at which a stretch begins in the text, from 0, and how many columns of it are shown."""
        begin = self.indent + self._column(max(start - 1, self.first)) - self.places[self.first]
        return begin, max(1, self._column(min(end - 1, max(self.last, start))) - self._column(max(start - 1, self.first)))

    def _column(self, place: int) -> int:
        """Return the column of a character of the whole line; beyond its end, as if blanks followed."""
        end = len(self.cells)
        return self.places[place] if place <= end else self.places[end] + place - end


def window(line: str, start: int, end: int, style: Style, room: int | None) -> Window:
    """Return what is shown of a line in `room` columns; where there is no terminal (None) only very long ones are cut."""
    if room is None:
        room = len(line) * TAB + start if len(line) <= 4 * NO_TERMINAL else NO_TERMINAL
    return Window(line, start, end, style, room)


def _cells(line: str) -> list[str]:
    """Return each character as it is shown: tabs as blanks, controls as their pictures."""
    if "\t" not in line:
        return list(printable(line))
    out: list[str] = []
    column = 0
    for char in line:
        out.append(" " * (TAB - column % TAB) if char == "\t" else printable(char))
        column += width_of(out[-1])
    return out


def _places(cells: list[str]) -> list[int]:
    """Return the column at which each character begins, and at last the width of all."""
    places = [0]
    for cell in cells:
        places.append(places[-1] + width_of(cell))
    return places
