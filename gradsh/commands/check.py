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
    "check", "Compare the gradients of an expression with finite differences, and name the wrong elements.",
    examples=[
        "x = tensor([1., 2.], requires_grad=True)\ncheck (x * x * x).sum()\ncheck 1 / x --inputs x",
    ],
)
def run(state: State, expression: Lazy, *, inputs: tuple[Tensor, ...] | None = None) -> CheckReport:
    """`--inputs` names the tensors to check; without it, all leaves that the expression uses."""
    return check(cast(Callable[[], Any], expression), inputs, state.names_in_reach(), state.line_of)


def view(report: CheckReport) -> View:
    """Shape the answer: a line for each input, and what is probably at fault."""
    lines = [_input(one) for one in report.inputs]
    if report.cause == "function":
        for name, line in report.suspects:
            lines.append(f"  check the backward of this function: {name}" + (f", called on line {line}" if line is not None else ""))
    if report.cause == "cut":
        lines.append("  the value depends on it, but autograd does not see it: a `detach`, `.data`, `.item()` or no_grad ends the graph")
    if report.cause == "kink":
        lines.append("  the graph has no custom function: the function may not be differentiable at this point")
    if not report.double:
        lines.append("  checked in single precision (the expression does not run in double): only large errors are found")
    return Lines(tuple(lines))


def _input(one: InputCheck) -> str:
    some = f"{one.checked:,} of {one.elements:,} elements" if one.checked < one.elements else count(one.elements, "element")
    if one.ok:
        return f"{one.name}: gradients agree ({some}, largest difference {one.largest:.1g})"
    worst = one.worst
    place = f"[{', '.join(map(str, worst.index))}]" if worst.index else ""
    numbers = f"autograd gives {worst.analytic:.6g}, the difference quotient {worst.numeric:.6g}"
    return f"{one.name}: wrong at {one.name}{place}: {numbers} ({some})"
