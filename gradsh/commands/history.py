"""`history`: the statements that were run."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.state import Entry, State
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The statements, oldest first, and how many earlier ones are not listed."""

    entries: tuple[Entry, ...]
    omitted: int


@command("history", "List the statements that were run; failed ones are marked.", examples=["x = ones(2)\nhistory\nhistory 1"])
def run(state: State, last: int | None = None) -> Report:
    """Return the last statements (all without a number)."""
    entries = tuple(state.history)
    kept = entries if last is None else entries[len(entries) - last :] if 0 < last <= len(entries) else entries
    return Report(kept, len(entries) - len(kept))


def view(report: Report) -> View:
    """Shape the list: line number, mark of a failure, text."""
    if not report.entries:
        return Lines(("no statement was run yet",))
    width = max(len(str(entry.line)) for entry in report.entries)
    lines = []
    for entry in report.entries:
        first, *rest = entry.text.split("\n")
        lines.append(f"{entry.line:>{width}} {'|' if entry.ok else '!'} {first}".rstrip())
        lines += [f"{'':>{width}} | {line}".rstrip() for line in rest]
    return Lines(tuple(lines))
