"""A failure's story as text: the marked places of a problem with the lines they stand on, and edits of these lines."""

import re
from typing import NamedTuple

from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source

_EXPECTED = re.compile(r"expect error(?:\s+\w+)?:\s*")


class Edit(NamedTuple):
    """A change of one line: `replace` it, or put text `before` or `after` it. The text is indented as it stands."""

    line: int
    how: str
    text: str


class Way(NamedTuple):
    """A way out: what to do, in words, what it costs or when it fits, and the edits that do it (none: only words)."""

    words: str
    fits: str
    edits: tuple[Edit, ...] = ()


class Story:
    """The labels of a problem by role, and the lines they stand on (without `expect error:`, which no edit is to keep)."""

    def __init__(self, problem: Problem, source: Source) -> None:
        self.problem = problem
        self.source = source

    def first(self, role: str) -> Label | None:
        """Return the first label of a role."""
        return next((one for one in self.problem.labels if one.role == role), None)

    def every(self, role: str) -> list[Label]:
        """Return all labels of a role."""
        return [one for one in self.problem.labels if one.role == role]

    def same_source(self, a: Label, b: Label) -> bool:
        """Tell whether two labels stand in one text."""
        return (a.source or self.source) is (b.source or self.source)

    def line(self, label: Label) -> str:
        """Return the whole line on which a label begins, without a comment."""
        return _EXPECTED.sub("", without_comment(self._raw(label)), count=1)

    def _raw(self, label: Label) -> str:
        return (label.source or self.source).line(label.span.line)

    def text(self, label: Label) -> str:
        """Return what a label marks, of one line."""
        end = label.span.end_column - 1 if label.span.end_line == label.span.line else None
        return self._raw(label)[label.span.column - 1 : end].strip()

    def replaced(self, label: Label, new: str) -> Edit:
        """Return the edit that puts other text in the place of what a label marks."""
        line = self._raw(label)
        start, end = label.span.column - 1, label.span.end_column - 1
        return Edit(label.span.line, "replace", _EXPECTED.sub("", line[:start] + new + line[end:], count=1))


def indent_of(line: str) -> str:
    """Return the blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def without_comment(line: str) -> str:
    """Return a line without the comment at its end; one with a quote before it is left as it is."""
    code, mark, _ = line.partition("#")
    return line if not mark or "'" in code or '"' in code else code.rstrip()
