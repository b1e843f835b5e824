"""`redo`: runs again, muted, what `undo` took back last."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.commands.undo import Undone, redoable, told
from gradsh.contracts.state import Entry, State
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The statements that were run again; none where nothing was undone, or another statement came since."""

    redone: tuple[Entry, ...]
    said: str = "nothing to redo"


@command(
    "redo", "Bring back what `undo` took back last.",
    examples=["x = ones(2, requires_grad=True)\ny = x * 2\nundo\nredo\ny"],
)
def run(state: State) -> Report:
    """Run the statements that were undone last. Raises (kind `value`) inside a block."""
    if not state.call.top:
        raise fail("value", "redo stands for itself: it takes no effect inside a loop or a function", ValueError)
    stack: list[Undone] = redoable(state)
    if not stack:
        return Report(())
    *rest, last = stack
    for entry in last.entries:
        state.control.run_text(entry.text, entry.source, muted=True, first_line=entry.line)
    state.extras["undo"] = rest
    return Report(last.entries, told("redid", last.entries, state))


def view(report: Report) -> View:
    """Shape the answer."""
    return Lines((report.said,))
