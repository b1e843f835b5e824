"""`backward`: one pass from all its tensors, told in one line; `--plan` foretells it, `--step` walks it node by node."""

from typing import TYPE_CHECKING

from gradsh.commands import words
from gradsh.commands.record import command
from gradsh.contracts.state import State
from gradsh.engine.autograd.backward import backward
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.passes import PassReport, Recorder
from gradsh.view.shapes import Lines, View

if TYPE_CHECKING:
    from gradsh.commands.walking import WalkReport
    from gradsh.probe.plan import PassPlan


@command(
    "backward",
    "Run backward from the tensors and report what it ran, freed, kept and wrote.",
    examples=[
        "x = ones(2, requires_grad=True)\ny = (x * x).sum()\nbackward y --retain\nbackward y",
        "x = ones(2, requires_grad=True)\ny = (x * x).sum()\nbackward y --plan\nbackward y --step",
    ],
)
def run(
    state: State,
    first: Tensor,
    *more: Tensor,
    grad: list[Tensor] | None = None,
    retain: bool = False,
    create_graph: bool = False,
    inputs: tuple[Tensor, ...] | None = None,
    plan: bool = False,
    step: bool = False,
) -> "PassReport | PassPlan | WalkReport":
    """`--grad` gives one gradient for each tensor, in order.

    `--inputs` names the only tensors whose `.grad` is written. `--plan` is a dry run. `--step` stops after each
    node.
    """
    tensors = (first, *more)
    if plan:
        from gradsh.commands import plan as planning

        return planning.foretell(state, tensors, grad, retain, create_graph, inputs)

    def observed(recorder: Recorder) -> None:
        backward(tensors, grad or None, True if retain else None, create_graph, inputs, observer=recorder)

    if step:
        from gradsh.commands.walking import walk

        return walk(state, [one.grad_fn for one in tensors if one.grad_fn is not None], observed)
    recorder = Recorder(state.line_of)
    observed(recorder)
    return state.report_of(recorder)


def view(report: "PassReport | PassPlan | WalkReport") -> View:
    """Shape the account: one line; the plan; or the walk and then the account."""
    if isinstance(report, PassReport):
        return Lines((words.account(report),))
    from gradsh.commands import plan, walking

    return walking.view(report) if isinstance(report, walking.WalkReport) else plan.view(report)
