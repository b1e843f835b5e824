"""`diff`: what the last statement changed."""

from collections import Counter

from gradsh.commands.record import command
from gradsh.commands.words import count, listed
from gradsh.contracts.state import Entry, State
from gradsh.engine.graph.node import LAST
from gradsh.probe.changes import Changes, changes
from gradsh.view.shapes import Lines, View

_LOOKS = frozenset({
    "diff", "graph", "buffers", "memory", "holders", "leaks", "plan", "vars", "why", "help", "explain", "history", "watch",
    "save", "set", "check", "tour",
})
"""Commands that change nothing: `diff` looks past them."""


@command(
    "diff", "Show what the last statement changed: nodes, saved tensors, frees, gradients, versions, names.",
    examples=["x = ones(2, requires_grad=True)\ny = (x * x).exp()\ndiff\nbackward y.sum()\ndiff"],
)
def run(state: State) -> Changes:
    """Shows nothing after `undo`, or before the first statement."""
    place = next((i for i in reversed(range(len(state.history))) if _counts(state.history[i])), None)
    if place is None:
        return Changes("", 0, True, (), (), (), (), (), ())
    entry = state.history[place]
    after = state.history[place + 1].mark if place + 1 < len(state.history) else LAST
    unit, leaves = state.written
    written = [leaf for leaf in (one() for one in leaves.values()) if leaf is not None] if unit == entry.unit else []
    return changes(
        (entry.text, entry.line, entry.ok), entry.unit, (entry.mark, after), state.names_in_reach(), state.control.unit_of,
        written, _names(entry.text),
    )


def _counts(entry: Entry) -> bool:
    return entry.command not in _LOOKS


def _names(text: str) -> list[str]:
    """Return the names that a statement binds or deletes."""
    from gradsh.commands import GRAMMARS
    from gradsh.compiler.scopes import bound_names
    from gradsh.language.parser import parse
    from gradsh.text.problem import ProblemError
    from gradsh.text.span import Source

    try:
        body = parse(Source("", text), GRAMMARS, frozenset()).body
    except ProblemError:
        return []
    return list(dict.fromkeys(name for name, _ in bound_names(body)))


def view(report: Changes) -> View:
    """Shape the changes: a line for each kind of change."""
    if not report.text:
        return Lines(("no statement has run yet",))
    first, *more = report.text.split("\n")
    lines = [f"line {report.line}: {first}{' …' if more else ''}" + ("" if report.ok else "  (failed)")]
    lines += [f"  bound {name}: {what}" for name, what in report.bound]
    if report.dropped:
        lines.append(f"  dropped {', '.join(report.dropped)}")
    if report.made:
        lines += _made(report)
    if report.freed:
        size = sum(nbytes for _, _, nbytes in report.freed)
        names = [f"{node}.{name}" for node, name, _ in report.freed]
        lines.append(f"  freed {count(len(report.freed), 'buffer')}, {size:,} B: {listed(names)}")
    if report.wrote:
        lines.append(f"  wrote {listed(report.wrote)}")
    for name, before, now in report.bumped:
        lines.append(f"  wrote {name} in place: version {before} to {now}")
    return Lines(tuple(lines) if len(lines) > 1 else (lines[0], "  changed nothing in the graph"))


def _made(report: Changes) -> list[str]:
    kinds = Counter(one.node for one in report.made)
    names = [f"{number} × {name}" if number > 1 else name for name, number in kinds.most_common()]
    saved = [size for one in report.made for _, size in one.saved]
    keeps = f"; they save {count(len(saved), 'tensor')}, {sum(saved):,} B" if saved else "; they save nothing"
    return [f"  made {count(len(report.made), 'node')}: {listed(names, 5)}{keeps}"]
