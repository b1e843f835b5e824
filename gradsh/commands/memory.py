"""`memory`: bytes by owner, now and at the peak, and which variable keeps which graph alive."""

from typing import Literal

from gradsh.commands import buffers
from gradsh.commands.record import command
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.probe.memory import Keeper, MemoryReport, memory_report
from gradsh.view.shapes import Chart, Column, Group, Lines, Row, Table, View

_MOST = 12


@command(
    "memory", "Show the bytes by owner, now and at the peak, and which variable keeps which graph alive.",
    examples=["x = ones(100, requires_grad=True)\ny = (x * 2).exp()\nz = y.sum()\nmemory\nmemory --by line\nbackward z\nmemory"],
)
def run(state: State, *, by: Literal["module", "line", "op", "function", "variable"] | None = None) -> MemoryReport:
    """The peak is measured in a session, and in scripts that ask for it.

    Bytes are measured at the end of each statement and before each backward, in loops and functions too. Memory
    that exists only within one expression, or only while a backward runs, is not counted. `--by` groups the bytes that live
    graphs keep by what saved them, or by the variables that hold the graphs.
    """
    variables = state.names_in_reach()
    if state.meter is not None:
        state.meter.sample(variables, state.call.line, ())  # now may be the peak
    report = memory_report(variables, state.meter)
    return report if by is None else report._replace(by=by, groups=buffers.run(state, live=True, by=by).groups)


OWNERS = (
    ("leaves and parameters", "leaves"), ("gradients", "gradients"), ("held by other variables", "variables"),
    ("saved, held by graphs alone", "graph"), ("total", "total"),
)


def view(report: MemoryReport) -> View:
    """Shape two tables (owners, keepers), the timeline, and the peak's story."""
    columns = [Column("owner"), Column("now", "bytes")]
    if report.peak is not None:
        columns.append(Column("at the peak", "bytes"))
    rows = []
    for words, field in OWNERS:
        cells = (words, getattr(report.now, field))
        rows.append(Row((*cells, getattr(report.peak, field)) if report.peak is not None else cells))
    parts: list[View] = [Table(tuple(columns), tuple(rows), _saved(report))]
    keepers = [one for one in report.keepers if one.nbytes or one.nodes]
    if report.by:
        parts.append(buffers.groups_table(report.by, report.groups, (), "nothing is saved"))
    elif keepers:
        parts.append(_keepers(keepers))
    if report.timeline:
        values = [value for _, value in report.timeline]
        points = tuple((f"line {line}", value) for line, value in report.timeline)
        parts.append(Chart("bytes", points, values.index(max(values))))
    if report.peak is not None and report.peak_line is not None:
        held = ", ".join(f"{name} {size:,} B" for name, size in report.peak_held[:4])
        alive = f": {held}" if held else ""
        graphs = f", {report.peak.graph:,} B held by graphs alone" if report.peak.graph else ""
        parts.append(Lines((f"peak: {report.peak.total:,} B at line {report.peak_line}{alive}{graphs}",)))
    return Group(tuple(parts))


def _saved(report: MemoryReport) -> tuple[str, ...]:
    now = report.now
    if not now.nodes:
        return ("no graph is alive",)
    line = f"{count(now.nodes, 'node')} alive; saved tensors use {now.saved:,} B, {now.graph:,} B of it held by graphs alone"
    if not report.recomputed:
        return (line,)
    return (line, f"{count(report.recomputed, 'saved tensor')} not kept: a checkpoint recomputes them for backward")


def _keepers(keepers: list[Keeper]) -> View:
    rows = []
    for one in keepers[:_MOST]:
        nodes, saved = (one.nodes, one.saved) if one.nodes else (None, None)
        rows.append(Row((one.name, one.nbytes, nodes, saved)))
    columns = (Column("variable"), Column("bytes", "bytes"), Column("nodes kept alive", "count"), Column("saved by them", "bytes"))
    return Table(columns, tuple(rows), omitted=max(0, len(keepers) - _MOST), more="`--format json` has them all")
