"""`buffers`: the table of saved tensors, with totals that count each memory once."""

from dataclasses import dataclass
from typing import Literal

from gradsh.commands.record import command
from gradsh.engine.node import Node
from gradsh.engine.tensor import Tensor
from gradsh.probe.buffers import BufferRow, BufferTotals, buffer_rows, totals_of
from gradsh.probe.names import roots_of
from gradsh.state import State
from gradsh.view.shapes import Column, Row, Table, View

_MOST = 200


@dataclass(frozen=True, slots=True)
class Report:
    """The rows that were asked for, and the totals of all."""

    rows: tuple[BufferRow, ...]
    totals: BufferTotals
    nodes: int


@command(
    "buffers",
    "List the tensors saved for backward: state, bytes, who else holds the memory, lines.",
    examples=["x = ones(2, requires_grad=True)\nz = x.exp().sum()\nbuffers z", "buffers --live"],
)
def run(
    state: State,
    *targets: Tensor,
    live: bool = False,
    freed: bool = False,
    sort: Literal["graph", "line", "bytes"] = "graph",
) -> Report:
    """Return the saved tensors below the targets (below every variable's tensor without any)."""
    variables = state.names_in_reach()
    if targets:
        roots: list[Node] = [tensor.grad_fn for tensor in targets if tensor.grad_fn is not None]
    else:
        roots = [node for _, node in roots_of(variables)]
    rows = buffer_rows(roots, variables, state.line_of)
    if live != freed:
        rows = [row for row in rows if (row.state == "freed") == freed]
    if sort == "line":
        rows.sort(key=lambda row: row.saved_line or 0)
    elif sort == "bytes":
        rows.sort(key=lambda row: -row.nbytes)
    return Report(tuple(rows), totals_of(roots, variables), len(set(roots)))


_COLUMNS = (
    Column("node"), Column("saved"), Column("shape", "shape"), Column("dtype"), Column("bytes", "bytes"), Column("state"),
    Column("also held by", "names"), Column("version"), Column("saved on", "line"),
)


def view(report: Report) -> View:
    """Shape the table."""
    rows = tuple(
        Row(
            (row.node, row.name, row.shape, row.dtype, row.nbytes, _state(row), row.held_by, _version(row), row.saved_line),
            row.state,
        )
        for row in report.rows[:_MOST]
    )
    empty = "nothing is saved: the nodes of these graphs keep no tensors" if report.nodes else "no graph: no tensor has a grad_fn"
    return Table(_COLUMNS, rows, _totals(report.totals), max(0, len(report.rows) - _MOST), "--sort bytes, or name a tensor", empty)


def _state(row: BufferRow) -> str:
    if row.state == "freed" and row.freed_line is not None:
        return f"freed by line {row.freed_line}"
    return row.state


def _version(row: BufferRow) -> str:
    if row.version is None:
        return ""
    return str(row.version) if row.version == row.current_version else f"{row.version}, now {row.current_version}"


def _totals(totals: BufferTotals) -> tuple[str, ...]:
    if not totals.entries and not totals.freed:
        return ()
    lines = []
    if totals.entries:
        memories = "memory" if totals.memories == 1 else "memories"
        saved = "saved tensor" if totals.entries == 1 else "saved tensors"
        lines.append(
            f"{totals.entries:,} {saved}, {totals.nbytes:,} B, in {totals.memories:,} {memories} of {totals.unique_bytes:,} B: "
            f"{totals.parameter_bytes:,} B leaves, {totals.variable_bytes:,} B held by variables, "
            f"{totals.graph_bytes:,} B by the graph alone"
        )
    if totals.freed:
        lines.append(f"{totals.freed:,} freed")
    return tuple(lines)
