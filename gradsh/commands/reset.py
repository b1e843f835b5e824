"""`reset`: forgets every variable, pin and setting, and starts from the seed again."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.contracts.state import State
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """How many variables were forgotten."""

    variables: int


@command("reset", "Forget every variable, pin and setting, and start from the seed again.", examples=["x = ones(2)\nreset\nvars"])
def run(state: State) -> Report:
    """Begin anew. Raises (kind `value`) inside a block."""
    if not state.call.top:
        raise fail("value", "reset stands for itself: it takes no effect inside a loop or a function", ValueError)
    number = len(state.names_in_reach())
    state.control.reset()
    return Report(number)


def view(report: Report) -> View:
    """Shape the answer."""
    return Lines((f"forgot {report.variables} variable{'' if report.variables == 1 else 's'}",))
