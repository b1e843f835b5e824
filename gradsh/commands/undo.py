"""`undo`: takes the session back one statement, by running the others again, muted, from the recorded seed.

What a script brought in (`load`, `tour`, `init.grad`) is taken back as one.
"""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.contracts.state import Entry, State
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View

_PATIENCE = 2.0
"""Seconds of replay above which a person is asked first."""
OUTSIDE = frozenset({"undo", "redo", "save", "load", "history", "help", "explain", "tour", "quit", "reset"})
"""Commands that are no part of a session's story: they act on the session itself, or the statements they ran tell it."""
LOOKS = frozenset({"graph", "buffers", "plan", "memory", "leaks", "holders", "vars", "diff", "why", "check"})
"""Commands that only look: there is nothing to undo in them."""


class Undone(NamedTuple):
    """Statements that were taken back, and how many stood before them: with another number `redo` has lost its place."""

    before: int
    entries: tuple[Entry, ...]


class Report(NamedTuple):
    """The statements that were undone (none: there were none, or the person declined), and how many were run again."""

    undone: tuple[Entry, ...]
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
    entries = repeated(state)
    if not entries:
        return Report((), 0)
    at = len(entries) - 1
    source = entries[at].source
    while source != state.call.source.name and at and entries[at - 1].source == source:
        at -= 1
    rest, taken = entries[:at], entries[at:]
    if not agreed(state, sum(entry.seconds for entry in rest), len(rest), "undo"):
        return Report((), 0, declined=True)
    stack = [*redoable(state), Undone(len(rest), tuple(taken))]
    replayed = state.control.replay(rest)
    if replayed < len(rest):
        stack.append(Undone(replayed, tuple(rest[replayed:])))
        taken = rest[replayed:] + taken
    state.extras["undo"] = stack
    return Report(tuple(taken), replayed)


def repeated(state: State) -> list[Entry]:
    """Return the statements that make the session what it is: those since the last `reset` that have an effect."""
    return [entry for entry in state.history if in_story(state, entry) and entry.command not in LOOKS]


def in_story(state: State, entry: Entry) -> bool:
    """Whether a statement belongs to what the session did, and so into a script of it; the shell's settings do not."""
    if entry.command == "set":
        words = entry.text.split()
        return len(words) > 2 and words[1] not in state.settings.preferences
    return entry.command not in OUTSIDE


def redoable(state: State) -> list[Undone]:
    """Return what `redo` can bring back, the next one last; nothing once another statement was run."""
    stack: list[Undone] = state.extras.get("undo", [])
    return stack if stack and stack[-1].before == len(repeated(state)) else []


def agreed(state: State, seconds: float, number: int, verb: str) -> bool:
    """Whether a replay is short, or the person, asked, wants it all the same."""
    if seconds <= _PATIENCE or not state.control.interactive():
        return True
    answer = state.control.ask(f"running {number:,} statements again takes about {seconds:.0f} s; {verb}? [y/N] ")
    return (answer or "").strip().lower() in {"y", "yes"}


def told(verb: str, entries: tuple[Entry, ...]) -> str:
    """Return the line that says what was undone or brought back."""
    if len({entry.source for entry in entries}) > 1:
        return f"{verb} {len(entries)} statements"
    if len(entries) > 1:
        return f"{verb} the {len(entries)} statements of {entries[0].source}"
    first, *more = entries[0].text.split("\n")
    return f"{verb} line {entries[0].line}: {first}{' …' if more else ''}"


def view(report: Report) -> View:
    """Shape the answer."""
    if report.declined:
        return Lines(("nothing undone",))
    return Lines((told("undid", report.undone) if report.undone else "nothing to undo",))
