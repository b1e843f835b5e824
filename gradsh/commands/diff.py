"""`diff`: what the last statement, or those between two moments, changed; how two graphs differ."""

from collections import Counter

from gradsh.commands import GRAMMARS
from gradsh.commands.record import Word, command
from gradsh.commands.undo import steps
from gradsh.commands.words import count, listed
from gradsh.compiler.scopes import bound_names
from gradsh.contracts.state import Entry, State
from gradsh.engine.graph.node import LAST, Node
from gradsh.language.parser import parse
from gradsh.probe.changes import Changes, changes
from gradsh.probe.compare_graphs import GraphDiff, compare_graphs
from gradsh.text.fault import fail
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source
from gradsh.view.shapes import Column, Lines, Row, Table, View

_LOOKS = frozenset({
    "diff", "graph", "browse", "buffers", "memory", "top", "holders", "leaks", "plan", "vars", "why", "help", "explain", "history", "watch",
    "save", "set", "check", "tour", "mark",
})
"""Commands that change nothing: `diff` looks past them."""


@command(
    "diff", "Show what the last statement changed, or the statements between two moments; compare two graphs.",
    examples=[
        "x = ones(2, requires_grad=True)\ny = (x * x).exp()\ndiff\nbackward y.sum()\ndiff\ndiff 1 4",
        "x = ones(2, requires_grad=True)\na = x.exp().sum()\nb = (x * a).sum()\ndiff a b",
    ],
)
def run(state: State, *moments: Word) -> Changes | GraphDiff:
    """A moment is a line of a statement, or a name of `mark`; `diff A` shows what changed since, `diff A B` what changed between.

    Two tensors are compared by their graphs. Shows nothing after `undo`, or before the first statement.
    """
    words = list(map(str, moments))
    if len(words) > 2:
        raise fail("value", f"diff takes two moments or two tensors, not {len(words)}", ValueError)
    places = [_moment(state, word) for word in words]
    if len(words) == 2 and None in places:
        return compare_graphs(words[0], words[1], (_graph(state, words[0]), _graph(state, words[1])))
    if None in places:
        raise fail("value", f"{words[0]} is no line of a statement that ran, and no mark; `diff A B` compares two tensors", ValueError)
    if words:
        first, last = sorted([*(place for place in places if place is not None), len(state.history)][:2])
        return _between(state, first, last, words)
    place = next((i for i in reversed(range(len(state.history))) if _counts(state.history[i])), None)
    if place is None:
        return Changes("", 0, True, (), (), (), (), (), ())
    return _changes(state, place, place + 1, state.history[place])


def _between(state: State, first: int, last: int, words: list[str]) -> Changes:
    head = f"between {words[0]} and {words[1]}" if len(words) == 2 else f"since {words[0]}"
    number = sum(_counts(entry) for entry in state.history[first:last])
    text = f"{head}: {count(number, 'statement')}"
    if first == last:
        return Changes(text, 0, True, (), (), (), (), (), ())
    return _changes(state, first, last, Entry(text, 0, "", all(entry.ok for entry in state.history[first:last])))


def _moment(state: State, word: str) -> int | None:
    """Return how many statements of the history lie before a moment; None for a word that names none."""
    if word.isdigit():
        return next((i + 1 for i in reversed(range(len(state.history))) if int(state.history[i].line) == int(word)), None)
    marks: dict[str, int] = state.extras.get("mark", {})
    if word not in marks:
        return None
    first, groups = steps(state)
    before = [entry for group in [first, *groups[: marks[word]]] for entry in group]
    return next((i + 1 for i in reversed(range(len(state.history))) if before and state.history[i] is before[-1]), 0)


def _graph(state: State, word: str) -> Node:
    node = state.node_of(word)
    if node is None:
        raise fail("value", f"diff: {word} is no moment (a line, a mark) and no tensor with a graph", ValueError)
    return node


def _changes(state: State, first: int, last: int, entry: Entry) -> Changes:
    """Return what the statements of the history from `first` to before `last` changed."""
    ran = state.history[first:last]
    after = state.history[last].mark if last < len(state.history) else LAST
    units = range(ran[0].unit, ran[-1].unit + 1)
    leaves = {key: one for unit, wrote in state.written.items() if unit in units for key, one in wrote.items()}
    written = [leaf for leaf in (one() for one in leaves.values()) if leaf is not None]
    names = list(dict.fromkeys(name for one in ran for name in _names(one.text)))
    return changes(
        (entry.text, entry.line, entry.ok), units, (ran[0].mark, after), state.names_in_reach(), state.control.unit_of, written, names,
    )


def _counts(entry: Entry) -> bool:
    return entry.command not in _LOOKS


def _names(text: str) -> list[str]:
    """Return the names that a statement binds or deletes."""
    try:
        body = parse(Source("", text), GRAMMARS, frozenset()).body
    except ProblemError:
        return []
    return list(dict.fromkeys(name for name, _ in bound_names(body)))


def view(report: Changes | GraphDiff) -> View:
    """Shape the changes, a line for each kind of change; or the table of two graphs."""
    if isinstance(report, GraphDiff):
        return _compared(report)
    if not report.text:
        return Lines(("no statement has run yet",))
    first, *more = report.text.split("\n")
    place = f"line {report.line}: " if report.line else ""
    lines = [f"{place}{first}{' …' if more else ''}" + ("" if report.ok else "  (failed)")]
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


def _compared(report: GraphDiff) -> View:
    rows = tuple(Row((one.what, *(f"{n:,} B" if one.is_bytes else f"{n:,}" for n in (one.first, one.second)))) for one in report.rows)
    columns = (Column(""), Column(report.first), Column(report.second))
    return Table(columns, rows, (f"{count(report.shared, 'node')} in both graphs",))
