"""`top`: what the program holds now and what grows; `gradsh run --top` and `set top on` show it while a statement runs."""

from gradsh.commands.memory import OWNERS
from gradsh.commands.record import command
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.probe.meter import Meter
from gradsh.probe.tally import Tally
from gradsh.probe.top import GradientNorm, LargeSaved, TopReport, TopSampler
from gradsh.view.shapes import Cell, Column, Group, Row, Table, View

_ROOM = 24
"""Rows of the table where nothing bounds it."""
_FIXED = 12
"""Rows that it has at least: titles, owners, sums."""


@command(
    "top", "Show nodes, bytes by owner, the largest saved tensors and gradient norms.",
    examples=["x = ones(100, requires_grad=True)\nz = (x * 2).exp().sum()\nbackward z --retain\ntop"],
)
def run(state: State) -> TopReport:
    """`set top on` shows it while a statement runs, `gradsh run --top FILE` while a script does, with what an iteration adds."""
    variables = state.names_in_reach()
    meter = state.meter
    sampler = TopSampler(meter if meter is not None and meter.tally is not None else Meter(Tally()), state.line_of)
    sampler.take(variables, state.call.line)
    sampler.note_gradients(variables)
    return sampler.report()


def view(report: TopReport, room: int = _ROOM) -> View:
    """Shape three tables of about `room` rows: owners, the largest saved tensors, gradients."""
    left = max(2, room - _FIXED)
    gradients = min(len(report.gradients), max(left // 2, left - len(report.largest)))
    parts = [_owners(report), _largest(report.largest, left - gradients), _gradients(report, gradients)]
    return Group(tuple(part for part in parts if part is not None))


def _owners(report: TopReport) -> Table:
    growth = report.growth
    columns = [Column("owner"), Column("now", "bytes")]
    if growth is not None:
        columns.append(Column("an iteration adds", "growth"))
    rows = []
    for words, field in OWNERS:
        cells: tuple[Cell, ...] = (words, getattr(report.now, field))
        rows.append(Row(cells if growth is None else (*cells, getattr(growth, field))))
    return Table(tuple(columns), tuple(rows), _summary(report))


def _summary(report: TopReport) -> tuple[str, ...]:
    adds = f", an iteration adds {report.growth.nodes:,.3g}" if report.growth is not None else ""
    rate = f", {report.rate:,.3g} a second" if report.rate is not None else ""
    where = (f"line {report.line}, iteration {report.iteration:,}{rate}",) if report.iteration else ()
    return (f"{count(report.now.nodes, 'node')} alive{adds}; peak {report.peak:,} B", *where)


def _largest(largest: tuple[LargeSaved, ...], room: int) -> Table | None:
    columns = (
        Column("largest saved"), Column("shape", "shape"), Column("count", "count"), Column("storage", "bytes"),
        Column("saved on", "line"),
    )
    rows = tuple(Row((one.saved, one.shape, one.number, one.nbytes, one.line), "live") for one in largest[:room])
    return Table(columns, rows) if rows else None


def _gradients(report: TopReport, room: int) -> Table | None:
    if report.norm is None:
        return None
    columns = (Column("gradient"), Column("norm"), Column("largest element"))
    largest = max((one.largest for one in report.gradients), default=0.0)
    every = GradientNorm("all", report.norm, largest)
    return Table(columns, tuple(Row((one.leaf, f"{one.norm:.4g}", f"{one.largest:.4g}")) for one in (every, *report.gradients[:room])))
