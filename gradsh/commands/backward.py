"""`backward`: one pass from all its tensors, told in one line."""

from collections.abc import Sequence

from gradsh.commands.record import command
from gradsh.engine.backward import backward
from gradsh.engine.tensor import Tensor
from gradsh.probe.passes import Buffer, PassReport, Recorder, Written
from gradsh.state import State
from gradsh.view.shapes import Lines, View

_MOST = 4


@command(
    "backward",
    "Run one backward pass from the tensors and say what it ran, freed, kept and wrote.",
    examples=["x = ones(2, requires_grad=True)\ny = (x * x).sum()\nbackward y --retain\nbackward y"],
)
def run(
    state: State,
    first: Tensor,
    *more: Tensor,
    grad: list[Tensor] | None = None,
    retain: bool = False,
    create_graph: bool = False,
    inputs: tuple[Tensor, ...] | None = None,
) -> PassReport:
    """Run the pass. `--grad` gives one cotangent per tensor, in order; `--inputs` the only tensors written."""
    tensors = (first, *more)
    recorder = Recorder(state.line_of)
    keep = True if retain else None
    backward(tensors, grad or None, keep, create_graph, inputs, observer=recorder)
    pins = dict.fromkeys(pin.name for pin in state.pins)
    return recorder.report(state.names_in_reach(), [f"`retain {name}`" for name in pins])


def view(report: PassReport) -> View:
    """Shape the account: one line."""
    parts = [f"ran {_count(report.ran, 'node')}", _freed(report)]
    if report.kept:
        bytes_kept = sum(one.nbytes for one in report.kept)
        parts.append(f"kept {_count(len(report.kept), 'buffer')} ({bytes_kept:,} B, {report.kept_because})")
    return Lines((f"{', '.join(part for part in parts if part)}; {_wrote(report.wrote)}",))


def _freed(report: PassReport) -> str:
    if not report.freed:
        if report.kept:
            return "freed nothing"
        return "freed nothing (they save nothing)" if not report.saving_nodes else "freed nothing"
    shown = ", ".join(_buffer(one) for one in report.freed[:_MOST])
    rest = len(report.freed) - _MOST
    more = f" and {rest} more" if rest > 0 else ""
    back = f", giving back {report.gave_back:,} B" if len(report.freed) > 1 and report.gave_back else ""
    return f"freed {_count(len(report.freed), 'buffer')}: {shown}{more}{back}"


def _buffer(one: Buffer) -> str:
    held = f", memory still held by {' and '.join(one.held_by[:2])}" if one.held_by else ""
    return f"{one.node}.{one.name} ({one.nbytes:,} B{held})"


def _wrote(wrote: Sequence[Written]) -> str:
    if not wrote:
        return "wrote no gradient"
    parts = []
    for words, names in (
        ("wrote", [one.name for one in wrote if one.first]),
        ("added to", [one.name for one in wrote if not one.first]),
    ):
        if names:
            rest = len(names) - _MOST
            listed = ", ".join(f"{name}.grad" for name in names[:_MOST])
            parts.append(f"{words} {listed}" + (f" and {rest} more" if rest > 0 else ""))
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
