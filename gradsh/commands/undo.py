"""`undo`: takes the session back one statement, by running the others again, muted, from the recorded seed."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.state import Entry, State
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View

_PATIENCE = 2.0
"""Seconds of replay above which a person is asked first."""
_WITHOUT_EFFECT = frozenset({"undo", "save", "history", "help", "explain", "tour", "quit"})
"""Commands that are not repeated: they change nothing, or only outside."""


class Report(NamedTuple):
    """The statement that was undone (None: there was none, or the person declined), and how many were run again."""

    undone: str | None
    line: int
    replayed: int
    declined: bool = False


@command(
    "undo", "Take back the last statement: gradients, versions and freed buffers, too.",
    examples=["x = ones(2, requires_grad=True)\ny = (x * x).sum()\nbackward y\nundo\nbackward y"],
)
def run(state: State) -> Report:
    """Run all statements but the last one anew. Raises (kind `value`) inside a block."""
    if not state.call.top:
        raise fail("value", "undo stands for itself: it takes no effect inside a loop or a function", ValueError)
    entries = [entry for entry in state.history if first_word(entry) not in _WITHOUT_EFFECT]
    if not entries:
        return Report(None, 0, 0)
    *rest, last = entries
    seconds = sum(entry.seconds for entry in rest)
    if seconds > _PATIENCE and state.control.interactive():
        answer = state.control.ask(f"running {len(rest):,} statements again takes about {seconds:.0f} s; undo? [y/N] ")
        if (answer or "").strip().lower() not in {"y", "yes"}:
            return Report(None, 0, 0, declined=True)
    state.control.replay(rest)
    return Report(last.text, last.line, len(rest))


def first_word(entry: Entry) -> str:
    """Return the first word of a statement: its command's name, if it is one."""
    head = entry.text.split(None, 1)
    return head[0] if head else ""


def view(report: Report) -> View:
    """Shape the answer."""
    if report.declined:
        return Lines(("nothing undone",))
    if report.undone is None:
        return Lines(("nothing to undo",))
    first, *more = report.undone.split("\n")
    return Lines((f"undid line {report.line}: {first}{' …' if more else ''}",))
