"""`quit`: ends the run after this statement."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.contracts.state import State
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The exit status."""

    status: int


@command("quit", "End the session or the script.", examples=["quit"])
def run(state: State, status: int = 0) -> Report:
    """`quit N` ends with exit status N."""
    state.control.leave(status)
    return Report(status)


def view(report: Report) -> View:
    """Say nothing."""
    del report
    return Lines(())
