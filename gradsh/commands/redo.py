"""`redo`: runs again, muted, what `undo` took back last."""

from typing import NamedTuple

from gradsh.commands.record import check_alone, command
from gradsh.commands.undo import Undone, redoable, told
from gradsh.contracts.state import Entry, State
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The statements that were run again; none where nothing was undone, or another statement came since."""

    redone: tuple[Entry, ...]
    said: str = "nothing to redo"


@command(
    "redo", "Restore what the last `undo` took back.",
    examples=["x = ones(2, requires_grad=True)\ny = x * 2\nundo\nredo\ny"],
)
def run(state: State) -> Report:
    """Runs the undone statements again. Fails with kind `value` inside a block."""
    check_alone(state, "redo")
    stack: list[Undone] = redoable(state)
    if not stack:
        return Report(())
    *rest, last = stack
    for entry in last.entries:
        if entry.cut:
            state.history.append(entry)
            continue
        state.control.run_text(entry.text, entry.source, muted=True, first_line=int(entry.line))
    state.extras["undo"] = rest
    return Report(last.entries, told("redid", last.entries, state))


def view(report: Report) -> View:
    """Shape the answer."""
    return Lines((report.said,))
