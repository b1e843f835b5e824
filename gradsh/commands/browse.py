"""`browse`: the graph as a log that fills the screen, with a pane for the node at the cursor."""

from contextlib import suppress
from typing import NamedTuple

from gradsh.commands import plan as planning
from gradsh.commands.record import command
from gradsh.commands.walking import TakeBack, take_steps
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.engine.ambient import current
from gradsh.engine.autograd.backward import backward
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.probe.log import GraphLog, LogRow
from gradsh.probe.names import roots_of
from gradsh.probe.rewind import Rewind
from gradsh.probe.walk import Pauses
from gradsh.view.shapes import Lines, View

_MOST = 200
_LANES = 16


class Report(NamedTuple):
    """The rows of the log, as far as they are shown; `seen` tells that a person has seen them on the screen."""

    rows: tuple[LogRow, ...]
    total: int
    seen: bool = False


@command(
    "browse", "Show the graph as a log that fills the screen: fold, search, filter, plan, step through a backward, see the source.",
    examples=["x = ones(2, requires_grad=True)\nh = x.exp()\nz = (h * x).sum()\nbrowse z"],
)
def run(state: State, *targets: Tensor) -> Report:
    """Without a tensor: the graphs of all variables. Where there is no terminal that can be drawn on, the log is printed.

    Each row is a node, from the latest to the earliest; each column an open branch. `?` shows the keys. A backward that is run on the
    screen is a true one, and is taken back when the screen closes.
    """
    variables = state.names_in_reach()
    roots = [node for node in map(node_of, targets) if node is not None] if targets else [node for _, node in roots_of(variables)]
    log = GraphLog(list(dict.fromkeys(roots)), variables, state.line_of, state.control.scopes_of)
    if log.nodes and state.control.browse(log, TargetPasses(state, targets)):
        return Report((), len(log.units), seen=True)
    return Report(tuple(log.rows(0, _MOST)), len(log.units))


class TargetPasses:
    """What the screen asks about backwards from the tensors that were named."""

    def __init__(self, state: State, targets: tuple[Tensor, ...]) -> None:
        self.state = state
        self.targets = targets

    def foretell(self) -> str:
        """Return what a backward would do, in words."""
        found = planning.foretell(self.state, self.targets, None, False, False, None)
        if found.failure is not None:
            return f"backward would fail: error[{found.failure.kind}]"
        would = found.would
        freed = f"free {count(len(would.freed), 'buffer')}, release {would.gave_back:,} B"
        return f"backward would run {count(would.ran, 'node')}, {freed}, write {count(len(would.wrote), 'gradient')}"

    def run(self, stepper: Pauses) -> str:
        """Run a backward node by node and take it back; return how it failed, empty where it did not."""
        roots = [one.grad_fn for one in self.targets if one.grad_fn is not None]
        before = Rewind(roots)

        def steps() -> None:
            with suppress(TakeBack):
                take_steps(self.state, lambda recorder: backward(self.targets, observer=recorder), stepper, before, account=False)

        ambient = current()
        watch, ambient.passes = ambient.passes, None  # what is taken back is none of the program's passes
        try:
            failed = self.state.control.attempt(steps)
        finally:
            before.restore()
            ambient.passes = watch
        return "" if failed is None else f"error[{failed.problem.kind}]: {failed.problem.message.splitlines()[0]}"


def lanes_text(row: LogRow) -> str:
    """Return the branches of a row: `│ ●─┐`."""
    width = max([len(row.lanes), row.own + 1, *(lane + 1 for lane, _ in row.joins)])
    cells = [[" ", " "] for _ in range(width)]
    for lane, is_open in enumerate(row.lanes):
        cells[lane][0] = "│" if is_open else " "
    cells[row.own][0] = "●"
    for lane, begins in row.joins:
        first, last = sorted((row.own, lane))
        for between in range(first, last):
            cells[between][1] = "─"
            if between not in {row.own, lane}:
                cells[between][0] = {" ": "─", "│": "┼"}.get(cells[between][0], cells[between][0])
        right = lane > row.own
        cells[lane][0] = ("┐" if right else "┌") if begins else ("┤" if right else "├")
    text = "".join(a + b for a, b in cells)
    return (text if width <= _LANES else text[: 2 * _LANES - 1] + "…").rstrip()


def row_text(row: LogRow) -> str:
    """Return what a row says beside its branches."""
    size = f"  {row.nbytes:,} B {row.state}" if row.nbytes else f"  {row.state}" if row.state else ""
    return f"{'+ ' if row.folded else ''}{row.title}{size}" + (f"  line {row.line}" if row.line is not None else "")


def view(report: Report) -> View:
    """Shape the log, unless a person has seen it."""
    if report.seen:
        return Lines(())
    if not report.total:
        return Lines(("no graph: no tensor has a grad_fn",))
    lines = [f"{lanes_text(row)}  {row_text(row)}" for row in report.rows]
    left = report.total - len(report.rows)
    return Lines((*lines, *([f"{count(left, 'row')} more; at a terminal `browse` shows all"] if left else [])))
