"""`plan … --if CHANGE` and `plan … --best SIZE`: a pass as it would be after a change, beside that of today."""

from collections.abc import Sequence
from typing import NamedTuple

from gradsh.commands.words import count, listed
from gradsh.contracts.state import State
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.probe.snapshot import nodes_below
from gradsh.probe.what_if import Outlook, Proposal, Prospect, Supposition, propose
from gradsh.process.limits import bytes_of
from gradsh.text.fault import fail
from gradsh.view.shapes import Cell, Column, Lines, Row, Table, View

CHANGES = "retain T, detach T, checkpoint MODULE or no_grad MODULE"


class WhatIf(NamedTuple):
    """The pass today and after each of some changes; `failing` are those after which nothing would require a gradient."""

    outlooks: tuple[Outlook, ...]
    failing: tuple[str, ...] = ()


def what_if(state: State, tensors: Sequence[Tensor], changes: Sequence[str], retain: bool) -> WhatIf:
    """Foresee the pass from `tensors` after each change. Raises kind `value` for a change that cannot be read."""
    graph = _graph(state, tensors, retain)
    wanted = [Supposition(), *(_change(state, graph, text) for text in changes)]
    found = [(change.what, graph.outlook(change)) for change in wanted]
    return WhatIf(tuple(one for _, one in found if one is not None), tuple(what for what, one in found if one is None))


def best(state: State, tensors: Sequence[Tensor], size: str, retain: bool) -> Proposal:
    """Propose modules to checkpoint so that the pass needs at most `size` bytes at its peak."""
    try:
        wanted = bytes_of(size)
    except ValueError as error:
        raise fail("value", f"--best: {error}", ValueError) from None
    return propose(_graph(state, tensors, retain), wanted)


def _graph(state: State, tensors: Sequence[Tensor], retain: bool) -> Prospect:
    roots = [node for node in map(node_of, tensors) if node is not None]
    if not roots:
        raise fail("no_grad", "the tensors have no graph", tensor=tensors[0])
    return Prospect(list(dict.fromkeys(roots)), state.names_in_reach(), retain)


def _change(state: State, graph: Prospect, text: str) -> Supposition:
    word, _, name = text.strip().partition(" ")
    name = name.strip()
    match word:
        case "retain":
            return Supposition(text, retained=frozenset(nodes_below(_node(state, name))))
        case "detach":
            return Supposition(text, cut=(_node(state, name),))
        case "checkpoint":
            _within(graph, name)
            return Supposition(text, checkpointed=(name,))
        case "no_grad":
            return Supposition(text, cut=frozenset(_within(graph, name)))
    raise fail("value", f"--if: {text!r} is no change; write {CHANGES}", ValueError)


def _node(state: State, name: str) -> Node:
    node = state.node_of(name)
    if node is None:
        raise fail("value", f"--if: {name or 'nothing'} is no tensor with a graph", ValueError)
    return node


def _within(graph: Prospect, path: str) -> list[Node]:
    found = graph.within(path)
    if not found:
        known = list(graph.modules())
        told = f" (modules: {', '.join(known[:8])}{', …' if len(known) > 8 else ''})" if known else "; the graph has no modules"
        raise fail("value", f"--if: no node of the graph was made in {path or 'nothing'}{told}", ValueError)
    return found


_ROWS = (
    ("nodes to run", "nodes"), ("nodes to compute again", "recomputed"), ("saved", "saved"), ("freed", "freed"), ("kept", "kept"),
    ("peak", "peak"),
)


def view(report: WhatIf) -> View:
    """Shape the table: a column for today and for each change."""
    columns = (Column(""), *(Column(one.what) for one in report.outlooks))
    rows = tuple(Row((words, *(_cell(field, getattr(one, field)) for one in report.outlooks))) for words, field in _ROWS)
    notes = [f"{what}: nothing would require a gradient, and backward would fail" for what in report.failing]
    notes.append("bytes of saved tensors (leaves left out) and of gradients; nothing was run or changed")
    return Table(columns, rows, tuple(notes))


def _cell(field: str, number: int) -> Cell:
    return f"{number:,}" if field in {"nodes", "recomputed"} else f"{number:,} B"


def proposal_view(report: Proposal) -> View:
    """Shape the proposal: the modules, the peak before and after, the price."""
    today, then = report.today, report.then
    if not report.modules:
        return Lines((f"fits as it is: the peak is {today.peak:,} B of {report.size:,} B" if report.fits
                      else f"the peak is {today.peak:,} B, above {report.size:,} B, and the graph has no modules to checkpoint",))
    head = "checkpoint" if report.fits else f"no choice of modules fits into {report.size:,} B; the nearest: checkpoint"
    price = f"{count(then.recomputed, 'node')} computed again (of {today.nodes:,})"
    return Lines((f"{head} {listed(report.modules, 12)}", f"  peak {then.peak:,} B instead of {today.peak:,} B; price: {price}"))
