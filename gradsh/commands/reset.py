"""`reset`: forgets every variable, pin and setting, and starts from the seed again."""

from typing import NamedTuple

from gradsh.commands.record import check_alone, command
from gradsh.contracts.state import State
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """How many variables were forgotten."""

    variables: int


@command("reset", "Remove every variable, pin and setting, and set the seed again.", examples=["x = ones(2)\nreset\nvars"])
def run(state: State) -> Report:
    """Fails with kind `value` inside a block."""
    check_alone(state, "reset")
    number = len(state.names_in_reach())
    state.control.reset()
    return Report(number)


def view(report: Report) -> View:
    """Shape the answer."""
    return Lines((f"forgot {report.variables} variable{'' if report.variables == 1 else 's'}",))
