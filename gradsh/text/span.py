"""A place in a source text, and the text itself: `Source` and `Span`."""

from gradsh.text.tuples import NamedTuple


class Span(NamedTuple):
    """A half-open stretch of a source: lines and columns count from 1, columns in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: "Span") -> "Span":
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.line, self.column, other.end_line, other.end_column)

    def covers(self, other: "Span") -> bool:
        """Tell whether the span contains another."""
        return self[:2] <= other[:2] and other[2:] <= self[2:]


class Source:
    """A named text and its lines (without line ends). `first_line` is the number that its first line is shown with."""

    __slots__ = ("first_line", "lines", "name", "text")

    def __init__(self, name: str, text: str, first_line: int = 1) -> None:
        self.name = name
        self.text = text
        self.first_line = first_line
        self.lines = text.split("\n")

    def line(self, number: int) -> str:
        """Return the text of the line shown as `number`, or an empty string where there is none."""
        index = number - self.first_line
        return self.lines[index] if 0 <= index < len(self.lines) else ""


def text_of(source: Source, span: Span) -> str:
    """Return the text that a span covers."""
    lines = [source.line(number) for number in range(span.line, span.end_line + 1)]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)
