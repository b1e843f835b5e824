"""`exit`: another word for `quit`."""

from gradsh.commands.quit import Report, view
from gradsh.commands.record import command
from gradsh.contracts.state import State


@command("exit", "End the session or the script, as `quit`.", examples=["exit"])
def run(state: State, status: int = 0) -> Report:
    """`exit N` ends with exit status N."""
    state.control.leave(status)
    return Report(status)


__all__ = ["run", "view"]
