"""`exit`: another word for `quit`."""

from gradsh.commands.quit import Report, view
from gradsh.commands.record import command
from gradsh.contracts.state import State


@command("exit", "End the session or the script, as `quit` does.", examples=["exit"])
def run(state: State, status: int = 0) -> Report:
    """End the run; `status` becomes the exit status."""
    state.control.leave(status)
    return Report(status)


__all__ = ["run", "view"]
