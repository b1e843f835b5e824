"""`tour`: a guided session in seven steps, ending with the reader's own snippet.

Where a person is there, each statement waits for Enter (or for what is typed instead); a script sees all of it at once.
"""

from typing import NamedTuple

from gradsh.commands.record import check_alone, command
from gradsh.contracts.state import State
from gradsh.view.shapes import Lines, View

SOURCE = "<tour>"
FAILS = "\n#! ..."
"""Below a statement: its failure is announced."""


class Stop(NamedTuple):
    """A step of the tour: what is said first, the statements, whether the last one fails, and what is said after them."""

    title: str
    before: tuple[str, ...]
    statements: tuple[str, ...]
    after: tuple[str, ...] = ()
    fails: bool = False


STOPS = (
    Stop(
        "A graph starts at a leaf",
        ("Backward writes gradients to leaves that require grad. The prefix `torch.` is optional.",),
        ("x = ones(2, 3, requires_grad=True)",),
    ),
    Stop(
        "Each operation on it becomes a node",
        ("Assignments print nothing. Autograd records each operation as a node.",),
        ("y = x.mean(dim=1).squeeze() + 3", "z = y.pow(2).mean()"),
    ),
    Stop(
        "Show the graph",
        ("`graph` draws variable names, operations, shapes and lines. A dot marks a saved tensor.",),
        ("graph z",),
        ("Only pow saved a tensor. The derivatives of mean, squeeze and add need none.",),
    ),
    Stop(
        "Run backward",
        ("The nodes below y save nothing, so this backward frees nothing and can be repeated.",),
        ("backward y --grad ones(2)",),
    ),
    Stop(
        "A backward frees what its nodes saved",
        ("Backward from z runs pow, and frees what pow saved.",),
        ("backward z", "backward y --grad ones(2)"),
        ("A second backward from y still works: nothing below y was saved.",),
    ),
    Stop(
        "The second backward fails",
        ("It needs the tensor that the first one freed. The message shows the three lines involved, and the fixes.",),
        ("backward z",),
        ("`explain freed` explains the error; `plan z` predicts it; `backward z --retain` keeps the tensor.",),
        fails=True,
    ),
)
YOURS = (
    "7 of 7: Your own snippet",
    "Paste any PyTorch snippet and look at it with `graph`, `buffers`, `memory` and `help`.",
    "`undo` removes the statements of this tour.",
)


class Report(NamedTuple):
    """How many steps were taken, of how many."""

    steps: int
    of: int


@command("tour", "A guided session in seven steps: a graph, its buffers, what a backward frees, and the second-backward error.",
         examples=["tour"])
def run(state: State) -> Report:
    """Uses the variables x, y and z. Fails with kind `value` inside a block."""
    check_alone(state, "tour")
    total = len(STOPS) + 1
    show = state.control.show
    if state.control.interactive():
        show(("Press Enter to run the proposed statement, or type another one; `q` ends the tour. The tour uses x, y and z.",))
    line = 1
    for number, stop in enumerate(STOPS, 1):
        show(("", f"{number} of {total}: {stop.title}", *stop.before))
        for statement in stop.statements:
            announced = FAILS if stop.fails and statement is stop.statements[-1] else ""
            after = _take(state, statement, announced, line)
            if after is None:
                return Report(number - 1, total)
            line = after
        show(stop.after)
    show(("", *YOURS))
    return Report(total, total)


def _take(state: State, statement: str, announced: str, line: int) -> int | None:
    """Run a statement, and before it what the person would rather; return the next line, None to end the tour."""
    control = state.control
    control.show((f"grad> {statement}",))
    while control.interactive():
        answer = control.ask("tour> ")
        if answer is None or answer.strip() in {"q", "quit"}:
            return None
        if not answer.strip() or _same(answer, statement):
            break
        control.run_text(answer, SOURCE, first_line=line)
        line += answer.count("\n") + 1
    control.run_text(statement + announced, SOURCE, first_line=line)
    return line + 1


def _same(one: str, other: str) -> bool:
    return "".join(one.split()) == "".join(other.split())


def view(report: Report) -> View:
    """Say where an unfinished tour ended."""
    return Lines(() if report.steps == report.of else (f"the tour ended after {report.steps} of {report.of} steps",))
