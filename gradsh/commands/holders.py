"""`holders`: everything that keeps a tensor's memory alive, by name."""

from gradsh.commands.record import command
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.memory import HoldersReport, holders_of
from gradsh.view.shapes import Column, Row, Table, View

_MOST = 60


@command(
    "holders", "List everything that keeps the storage of a tensor alive: variables, views, list items, saved tensors, gradients.",
    examples=["x = ones(3, requires_grad=True)\ny = x.exp()\nkept = [y]\nv = y[0]\nz = (y * y).sum()\nholders y"],
)
def run(state: State, tensor: Tensor) -> HoldersReport:
    """Names each holder, and the line that saved it."""
    text = state.call.texts[0] if state.call.texts else "the tensor"
    more = [] if tensor.edge is None else [tensor.edge[0]]
    return holders_of(tensor, text, state.names_in_reach(), state.line_of, more)


_COLUMNS = (Column("held by"), Column("name"), Column("what"), Column("saved on", "line"))


def view(report: HoldersReport) -> View:
    """Shape the table."""
    rows = tuple(Row((one.kind, one.name, one.detail, one.line)) for one in report.holders[:_MOST])
    whole = f" of a storage of {report.memory:,} B" if report.memory != report.nbytes else ""
    total = f"{report.tensor} {report.shape}: {report.nbytes:,} B{whole}, {count(len(report.holders), 'holder')}"
    totals = [total]
    if report.others:
        totals.append(f"and {count(report.others, 'reference')} without a name: a hook, a closure or a temporary value")
    return Table(_COLUMNS, rows, tuple(totals), max(0, len(report.holders) - _MOST), "`--format json` has them all",
                 "nothing with a name holds this storage")
