"""`fix`: shows the best edit for the last failure as a diff and, where a person types, applies it and shows what changed."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.commands.undo import LOOKS, in_story
from gradsh.contracts.state import Entry, State
from gradsh.probe.gradients import Change, changed, gradients_of
from gradsh.text.fault import fail
from gradsh.text.fix import Edit, Fix, applied, difference
from gradsh.view.shapes import Column, Group, Lines, Row, Table, View

_MOST = 8
"""Leaves whose gradients are shown."""

class Report(NamedTuple):
    """The fix that was taken (its number of how many), its diff, and what became of it in the session."""

    number: int
    among: int
    words: str
    effect: str
    tried: bool
    diff: tuple[str, ...]
    outcome: str
    gradients: tuple[Change, ...] = ()
    """Where it was applied: the leaves whose gradients are others now."""


@command(
    "fix", "Show the best fix of the last failure, or the Nth, as a diff; at the prompt, apply it to the session.",
    examples=["x = ones(2, requires_grad=True)\nz = (x * x).sum()\nz.backward()\nexpect error freed: z.backward()\nfix\nfix 2"],
)
def run(state: State, n: int = 1) -> Report:
    """Fails with kind `value` where there is no fix of that number."""
    if state.failed is None:
        raise fail("value", "no statement has failed", ValueError)
    state.failed = state.control.tried(state.failed)
    fixes = [one for one in state.failed.problem.fixes if one.edits]
    if not 1 <= n <= len(fixes):
        known = f"there are {len(fixes)}" if fixes else "no edit that was tried helps"
        raise fail("value", f"there is no fix {n}: {known}", ValueError)
    fix, entries = fixes[n - 1], [one for one in state.history if in_story(one) and one.command not in LOOKS]
    diff = difference(state.failed.source.lines, fix.edits, state.failed.source.first_line)
    if len({entry.source for entry in entries}) > 1 or not diff:
        diff = tuple(line for entry in entries for line in difference(entry.text.split("\n"), _mine(fix, entry), entry.line)) or diff
    report = Report(n, len(fixes), fix.words, fix.effect, fix.tried, diff, "")
    modules = {edit.file for edit in fix.edits} - {state.failed.source.name, *(entry.source for entry in entries)}
    if modules:
        return report._replace(outcome=f"edit {', '.join(sorted(modules))}, then run the script again (`gradsh fix FILE --apply` edits it)")
    if not (state.call.top and state.control.interactive()):
        return report
    before = gradients_of(state.variables)
    outcome = _applied(state, fix, entries)
    return report._replace(outcome=outcome, gradients=changed(before, gradients_of(state.variables)))


def _mine(fix: Fix, entry: Entry) -> tuple[Edit, ...]:
    lines = entry.text.count("\n") + 1
    return tuple(edit for edit in fix.edits if edit.file == entry.source and entry.line <= edit.line < entry.line + lines)


def _applied(state: State, fix: Fix, entries: list[Entry]) -> str:
    """Run the session again with the edits; say whether the error is gone."""
    new = [entry._replace(text="\n".join(applied(entry.text.split("\n"), _mine(fix, entry), entry.line)[0])) for entry in entries]
    at = state.failed.top if state.failed is not None else 0
    failed_before = {entry.line for entry in entries if not entry.ok}
    state.control.replay(new)
    fail_now = {entry.line for entry in state.history if not entry.ok}
    if fail_now - failed_before or at in fail_now:
        told = state.failed.problem if state.failed is not None else None
        return f"applied; a statement now fails: {told.title or told.message.splitlines()[0]}" if told else "applied; a statement now fails"
    others = "".join(f"; line {line} still fails" for line in sorted(fail_now))
    return f"applied to the session: the error is gone{others}; `undo` takes it back"


def view(report: Report) -> View:
    """Shape the diff and what became of it."""
    head = f"fix {report.number} of {report.among}: {report.words}" + (f" ({report.effect})" if report.effect else "")
    tried = "tried in a copy of the program: the error is gone" if report.tried else "not tried: advice"
    lines = Lines((head, *report.diff, report.outcome or tried))
    return Group((lines, table_of(report.gradients))) if report.outcome else lines


def table_of(changes: tuple[Change, ...]) -> Table:
    """Shape the gradients that changed."""
    columns = (Column("leaf"), Column("gradient before"), Column("gradient now"))
    more = len(changes) - _MOST
    return Table(columns, tuple(Row(tuple(one)) for one in changes[:_MOST]), (f"and {more} more",) if more > 0 else (),
                 empty="no gradient changed")
