"""`undo`: takes the session back by a statement or several, by running the others again, muted, from the recorded seed.

What a script brought in (`load`, `tour`, `init.grad`) is taken back as one. Statements that only look are no steps.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gradsh.commands.record import check_alone, command
from gradsh.commands.words import count, listed
from gradsh.contracts.settings import SETTINGS
from gradsh.contracts.state import Entry, State
from gradsh.probe.standing import Standing, standing
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View

_PATIENCE = 2.0
"""Seconds of replay above which a person is asked first."""
OUTSIDE = frozenset({"undo", "redo", "save", "load", "history", "help", "explain", "tour", "quit", "exit", "reset", "fix", "mark", "back"})
"""Commands that are no part of a session's story: they act on the session itself, or the statements they ran tell it."""
LOOKS = frozenset({"graph", "browse", "buffers", "plan", "memory", "top", "leaks", "holders", "vars", "diff", "why", "check"})
"""Commands that only look: there is nothing to undo in them."""
_HALFWAY = frozenset({"", "backward", "time", "expect"})
"""Statements ("") and commands that may have done something before they failed; of others nothing is to be undone."""
_PART = r"[A-Za-z_][\w.]*(?:\[[\w'\":., -]*\][\w.]*)*"
_GLANCE = re.compile(rf"(?:{_PART}|print\((?:{_PART}(?:, *)?)*\)|watch|retain|backward\b.*--plan\b.*)")
"""Statements that show what is there and run nothing."""


class Undone(NamedTuple):
    """Statements that were taken back, and how many steps stood before them: with another number `redo` has lost its place."""

    before: int
    entries: tuple[Entry, ...]


class Report(NamedTuple):
    """The statements that were undone (none: there were none, or the person declined), how many were run again, what came back."""

    undone: tuple[Entry, ...]
    replayed: int
    declined: bool = False
    said: str = "nothing to undo"


@command(
    "undo", "Take back the last statement, or the last N: gradients, versions and freed buffers too.",
    examples=["x = ones(2, requires_grad=True)\ny = (x * x).sum()\nbackward y\nundo\nbackward y", "a = 1\na = 2\na = 3\nundo 2\na"],
)
def run(state: State, n: int = 1) -> Report:
    """Runs the other statements again. Fails with kind `value` inside a block."""
    check_alone(state, "undo")
    if n < 1:
        raise fail("value", f"undo needs a number of at least 1, not {n}", ValueError)
    first, groups = steps(state)
    rest = [*first, *(entry for group in groups[:-n] for entry in group)]
    taken = [entry for group in groups[-n:] for entry in group]
    if not taken:
        return Report((), 0)
    cut = [entry for entry in rest if entry.cut]
    if not agreed(state, sum(entry.seconds for entry in rest if not entry.cut), len(rest) - len(cut), "undo"):
        return Report((), 0, declined=True, said="nothing undone")
    stack, before = redoable(state), standing(state.variables)
    marks = {name: place for name, place in state.extras.get("mark", {}).items() if place <= len(groups[:-n])}
    replayed = state.control.replay(rest)
    stack = [*stack, Undone(len(groups[:-n]), tuple(taken))]
    if replayed < len(rest):
        stack.append(Undone(len(steps(state)[1]), tuple(rest[replayed:])))
        taken = rest[replayed:] + taken
    state.extras |= {"undo": stack, "mark": marks}
    said = [told("undid", taken, state)]
    if back := "; ".join(_back(before, standing(state.variables))):
        said.append(f"  {back}")
    said += [f"  line {entry.line} is not run again (Ctrl-C or a limit ended it): what it did is gone" for entry in cut]
    return Report(tuple(taken), replayed, said="\n".join(said))


_SINGLY = 3
"""Tensors whose versions are told one by one."""


def _back(before: Standing, now: Standing) -> list[str]:
    """Return what is as it was: names, gradients, versions, buffers."""
    parts = [f"{name} is again {what}" for name, what in now.names.items() if before.names.get(name) != what]
    if gone := [name for name in before.names if name not in now.names]:
        parts.append(f"{listed(gone, 5)} {'are' if len(gone) > 1 else 'is'} gone")
    both = [(name, before.tensors[name], new) for name, new in now.tensors.items() if name in before.tensors]
    changed = [(f"{name}.grad", new.grad is None) for name, old, new in both if old.grad != new.grad]
    for words, none in (("None again", True), ("as before", False)):
        if names := [name for name, is_none in changed if is_none == none]:
            parts.append(f"{listed(names)} {'are' if len(names) > 1 else 'is'} {words}")
    bound = [one for one in both if before.names.get(one[0]) == now.names.get(one[0])]
    versions = [(name, new.version) for name, old, new in bound if old.version != new.version]
    if len(versions) > _SINGLY:
        parts.append(f"{listed([name for name, _ in versions])} are back at their versions")
    else:
        parts += [f"{name} is back at version {version}" for name, version in versions]
    if now.live > before.live:
        parts.append(f"{count(now.live - before.live, 'buffer')} restored ({now.nbytes - before.nbytes:,} B)")
    return parts


def steps(state: State) -> tuple[list[Entry], list[list[Entry]]]:
    """Return what stands before the first step, and the steps: a statement with the looks after it, or what a file ran."""
    first: list[Entry] = []
    groups: list[list[Entry]] = []
    for entry in state.history:
        if not in_story(entry) or entry.command in LOOKS:
            continue
        if is_look(entry) or (groups and entry.source == groups[-1][-1].source != state.call.source.name):
            (groups[-1] if groups else first).append(entry)
        else:
            groups.append([entry])
    return first, groups


def is_look(entry: Entry) -> bool:
    """Whether a statement only shows what is there, or is a command that failed and did nothing."""
    if not entry.ok and entry.command not in _HALFWAY:
        return True
    return entry.command in LOOKS or _GLANCE.fullmatch(entry.text) is not None


def in_story(entry: Entry) -> bool:
    """Whether a statement belongs to what the session did, and so into a script of it; the shell's settings do not."""
    if entry.command == "set":
        words = entry.text.split()
        return len(words) > 2 and not (words[1] in SETTINGS and SETTINGS[words[1]].shell)
    return entry.command not in OUTSIDE


def redoable(state: State) -> list[Undone]:
    """Return what `redo` can bring back, the next one last; nothing once another statement was run."""
    stack: list[Undone] = state.extras.get("undo", [])
    return stack if stack and stack[-1].before == len(steps(state)[1]) else []


def agreed(state: State, seconds: float, number: int, verb: str) -> bool:
    """Whether a replay is short, or the person, asked, wants it all the same."""
    if seconds <= _PATIENCE or not state.control.interactive():
        return True
    answer = state.control.ask(f"running {number:,} statements again takes about {seconds:.0f} s; {verb}? [y/N] ")
    return (answer or "").strip().lower() in {"y", "yes"}


def told(verb: str, entries: Sequence[Entry], state: State) -> str:
    """Return the line that says what was undone or brought back."""
    done = [entry for entry in entries if not is_look(entry)]
    first, *more = done[0].text.split("\n")
    if len(done) == 1:
        return f"{verb} line {done[0].line}: {first}{' …' if more else ''}"
    sources = {entry.source for entry in done}
    if len(sources) > 1:
        return f"{verb} {len(done)} statements"
    if sources == {state.call.source.name}:
        first_line, last_line = int(done[0].line), done[-1].line
        return f"{verb} {len(done)} statements" + (f", lines {first_line} to {last_line}" if first_line < last_line else "")
    return f"{verb} the {len(done)} statements of {done[0].source}"


def view(report: Report) -> View:
    """Shape the answer."""
    return Lines(tuple(report.said.split("\n")))
