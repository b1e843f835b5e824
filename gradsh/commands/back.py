"""`back`: takes the session back to a moment that `mark` named."""

from gradsh.commands import undo
from gradsh.commands.record import Word, check_alone, command
from gradsh.contracts.state import State
from gradsh.text.fault import fail
from gradsh.view.shapes import View


@command(
    "back", "Take the session back to a moment that `mark` named: gradients, versions and freed buffers too.",
    examples=["x = ones(2, requires_grad=True)\nmark before\n(x * x).sum().backward()\nback before\nx.grad"],
)
def run(state: State, name: Word) -> undo.Report:
    """Runs the statements before it again, as `undo` does; `redo` runs the others. Fails with kind `value` for an unknown name."""
    check_alone(state, "back")
    marks: dict[str, int] = state.extras.get("mark", {})
    if name not in marks:
        known = f" (marks: {', '.join(marks)})" if marks else "; `mark NAME` marks one"
        raise fail("value", f"no moment is marked {name}{known}", ValueError)
    number = len(undo.steps(state)[1]) - marks[name]
    return undo.run(state, number) if number > 0 else undo.Report((), 0)


def view(report: undo.Report) -> View:
    """Shape the answer."""
    return undo.view(report)
