"""A line as it is told: a number, and the name of its text where that is not the one that a session is about."""

import re

_DIGITS = re.compile(r"(\d+)")


class Line(int):
    """The number of a line. `file` names its text (an imported file, a cell of a notebook); it is "" in what the session is about.

    It is told as `3`, or as `3 of model.py`. Two lines are equal where number and text are; a plain number equals any of that number.
    """

    file: str

    def __new__(cls, number: int, file: str = "") -> "Line":
        """Make the line of a number in a text."""
        self = super().__new__(cls, number)
        self.file = file
        return self

    def __str__(self) -> str:
        short = self.file.rpartition("/")[2] if self.file.startswith("/") else self.file
        return f"{int(self)} of {short}" if short else int.__repr__(self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        return int.__eq__(self, other) is True and (not isinstance(other, Line) or self.file == other.file)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


def file_of(line: object) -> str:
    """Return the name of the text that a line is of, "" for the one that the session is about."""
    return line.file if isinstance(line, Line) else ""


def in_order(line: int | None) -> tuple[list[tuple[int, str]], int]:
    """Return what lines are sorted by: text by text, `cell 2` before `cell 10`, in each by number; first those of no other text."""
    parts = _DIGITS.split(file_of(line))
    return [(int(part) if place % 2 else 0, part) for place, part in enumerate(parts)], int(line or 0)
