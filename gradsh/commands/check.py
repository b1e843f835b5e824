"""`check`: compares the gradients of an expression with difference quotients."""

from collections.abc import Callable
from typing import Any, cast

from gradsh.commands.record import Lazy, command
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.check import CheckReport, InputCheck, check
from gradsh.view.shapes import Lines, View


@command(
    "check", "Compare an expression's gradients with difference quotients, and say which element is off.",
    examples=[
        "x = tensor([1., 2.], requires_grad=True)\ncheck (x * x).exp().sum()\ncheck x.tanh() --inputs x",
    ],
)
def run(state: State, expression: Lazy, *, inputs: tuple[Tensor, ...] | None = None) -> CheckReport:
    """Check the gradients with respect to the inputs (all leaves that the expression reaches, without any)."""
    return check(cast(Callable[[], Any], expression), inputs, state.names_in_reach(), state.line_of)


def view(report: CheckReport) -> View:
    """Shape the answer: a line for each input, and what is probably at fault."""
    lines = [_input(one) for one in report.inputs]
    if report.cause == "function":
        for name, line in report.suspects:
            lines.append(f"  its own backward is to be doubted: {name}" + (f", called on line {line}" if line is not None else ""))
    if report.cause == "cut":
        lines.append("  the value depends on it, but autograd does not know: a `detach`, `.data`, `.item()` or no_grad cuts the history")
    if report.cause == "kink":
        lines.append("  no function of the script's own is on the way: the point may lie at a kink, or the value may jump")
    if not report.double:
        lines.append("  in single precision: the expression does not run in double, so only large errors show")
    return Lines(tuple(lines))


def _input(one: InputCheck) -> str:
    some = f"{one.checked:,} of {one.elements:,} elements" if one.checked < one.elements else count(one.elements, "element")
    if one.ok:
        return f"{one.name}: gradients agree ({some}, largest difference {one.largest:.1g})"
    worst = one.worst
    place = f"[{', '.join(map(str, worst.index))}]" if worst.index else ""
    numbers = f"autograd gives {worst.analytic:.6g}, the difference quotient {worst.numeric:.6g}"
    return f"{one.name}: off at {one.name}{place}: {numbers} ({some})"
