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
        "A graph begins at a leaf",
        ("A tensor that requires grad is where gradients arrive. `torch.` may be left out.",),
        ("x = ones(2, 3, requires_grad=True)",),
    ),
    Stop(
        "Every operation on it becomes a node",
        ("Nothing is shown, but autograd has noted how to go back.",),
        ("y = x.mean(dim=1).squeeze() + 3", "z = y.pow(2).mean()"),
    ),
    Stop(
        "See the graph",
        ("`graph` draws it: names on their nodes, shapes, lines, and with a dot what a node saved for its backward.",),
        ("graph z",),
        ("Of the five nodes only pow saved a tensor: mean, squeeze and add need none of theirs to go back.",),
    ),
    Stop(
        "Run backward, and be told what it did",
        ("Backward from y passes nodes that save nothing; so it frees nothing, and could be run any number of times.",),
        ("backward y --grad ones(2)",),
    ),
    Stop(
        "A backward frees what its nodes saved",
        ("From z the pass goes through pow. Watch what it frees.",),
        ("backward z", "backward y --grad ones(2)"),
        ("The second pass from y still works: nothing below y was ever saved.",),
    ),
    Stop(
        "The famous error",
        ("A second pass from z needs what the first one freed. The message names the lines of the story, and the ways out.",),
        ("backward z",),
        ("`explain freed` says more about it; `plan z` would have foretold it; `backward z --retain` would have kept it.",),
        fails=True,
    ),
)
YOURS = (
    "7 of 7: Your own snippet",
    "Paste one that puzzles you: it runs as it stands. Then ask: `graph`, `buffers`, `memory`, `help`.",
    "`undo` takes this tour back.",
)


class Report(NamedTuple):
    """How many steps were taken, of how many."""

    steps: int
    of: int


@command("tour", "A guided session in seven steps: a graph, its buffers, what a backward frees, the famous error.", examples=["tour"])
def run(state: State) -> Report:
    """Go through the steps. Raises (kind `value`) inside a block."""
    check_alone(state, "tour")
    total = len(STOPS) + 1
    show = state.control.show
    if state.control.interactive():
        show(("Press Enter to run what is proposed, or type something else first; `q` ends the tour. It uses x, y and z.",))
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
