"""`mark`: names this moment, for `diff` and `back`."""

from typing import NamedTuple

from gradsh.commands.record import Word, check_alone, command
from gradsh.commands.undo import steps
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.view.shapes import Column, Lines, Row, Table, View


class Report(NamedTuple):
    """The named moments, each with how many steps lie before it; the one that was named now."""

    marks: tuple[tuple[str, int], ...]
    named: str = ""


@command(
    "mark", "Name this moment, for `diff NAME` and `back NAME`; list the named moments.",
    examples=["x = ones(2, requires_grad=True)\nmark before\ny = (x * x).sum()\ny.backward()\ndiff before\nback before\nmark"],
)
def run(state: State, name: Word | None = None) -> Report:
    """A name that is marked again stands for the later moment. `undo` and `back` keep the moments up to where they go."""
    marks: dict[str, int] = state.extras.setdefault("mark", {})
    if name is None:
        return Report(tuple(marks.items()))
    check_alone(state, "mark")
    marks[str(name)] = len(steps(state)[1])
    return Report(tuple(marks.items()), str(name))


def view(report: Report) -> View:
    """Shape the list, or the one line that tells of a new mark."""
    if report.named:
        return Lines((f"marked {report.named}, after {count(dict(report.marks)[report.named], 'statement')}",))
    return Table((Column("mark"), Column("statements before it", "count")), tuple(map(Row, report.marks)), empty="no moment is marked")
