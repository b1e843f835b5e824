"""`plan`: what a backward pass would do, told without running it."""

from gradsh.commands import plan_fits, plan_if, words
from gradsh.commands.plan_fits import Fit
from gradsh.commands.plan_if import WhatIf
from gradsh.commands.record import Name, Size, command
from gradsh.contracts.state import State
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.plan import Foreseen, PassPlan, plan
from gradsh.probe.what_if import Proposal
from gradsh.view.shapes import Lines, View


@command(
    "plan",
    "Dry run of a backward: what it would run, free, keep and write, or how it would fail. Changes nothing.",
    examples=[
        "x = ones(2, requires_grad=True)\ny = (x * x).sum()\nplan y\nbackward y\nplan y",
        "x = ones(2, requires_grad=True)\nplan x * 2",
        "batch = 8\nnet = nn.Linear(4, 4)\nloss = net(randn(batch, 4)).exp().sum()\nplan loss --fits 1M --vary batch",
        (
            'net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh())\nh = net(randn(64, 4))\nloss = h.pow(2).sum()\n'
            'plan loss --if "retain h" --if "checkpoint net[1]"\nplan loss --best 4K'
        ),
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
    fits: Size | None = None,
    vary: Name | None = None,
    if_: list[str] | None = None,
    best: Size | None = None,
) -> PassPlan | Fit | WhatIf | Proposal:
    """Takes the arguments of `backward`.

    `--fits SIZE` (such as 24G) shows the bytes of a training step and whether it fits. `--vary NAME` finds the
    largest value that fits for an integer that the program assigns at the top level: the program so far runs again
    in copies, without output, with other values.

    `--if CHANGE` shows the pass beside what it would be after a change, and changes nothing: `--if "retain h"`,
    `"detach h"`, `"checkpoint net.layers[0]"`, `"no_grad encoder"`. `--best SIZE` proposes modules to checkpoint so that
    the peak fits.
    """
    if if_:
        return plan_if.what_if(state, (first, *more), if_, retain)
    if best is not None:
        return plan_if.best(state, (first, *more), str(best), retain)
    found = foretell(state, (first, *more), grad, retain, create_graph, inputs)
    if found.failure is not None or (fits is None and vary is None):
        return found
    return plan_fits.fit(state, fits or "", vary or "")


def foretell(
    state: State, tensors: tuple[Tensor, ...], grad: list[Tensor] | None, retain: bool, create_graph: bool,
    inputs: tuple[Tensor, ...] | None,
) -> PassPlan:
    """Return the plan, with the session's names, lines and pins."""
    pins = [f"`retain {name}`" for name in dict.fromkeys(pin.name for pin in state.pins)]
    return plan(tensors, grad or None, retain, create_graph, inputs, state.names_in_reach(), state.line_of, pins)


def view(report: PassPlan | Fit | WhatIf | Proposal) -> View:
    """Shape the plan: one line, the failure if there would be one, and what was assumed; or the bytes of a step or a change."""
    if isinstance(report, WhatIf):
        return plan_if.view(report)
    if isinstance(report, Proposal):
        return plan_if.proposal_view(report)
    if isinstance(report, Fit):
        return plan_fits.view(report)
    would = report.would
    failure = report.failure
    lines: list[str] = []
    if failure is not None:
        lines.append(f"would fail: error[{failure.kind}]: {_cause(failure)}")
        if would.ran:
            done = _did(report)
            lines.append(f"before that it would run {words.count(would.ran - len(would.wrote), 'node')}" + (f"; {done}" if done else ""))
    else:
        parts = [f"would run {words.count(would.ran, 'node')}", words.freed_words(would, "free"), words.kept_words(would, "keep")]
        text = ", ".join(part for part in parts if part)
        lines.append(f"{text}; {words.written_words(would.wrote, 'write', 'add to', 'write no gradient')}")
    lines += [f"assumed: {one}" for one in report.assumes]
    return Lines(tuple(lines))


def _did(report: PassPlan) -> str:
    would = report.would
    parts = []
    if would.freed:
        parts.append(words.freed_words(would, "free"))
    if would.wrote:
        parts.append(words.written_words(would.wrote, "write", "add to"))
    return "; ".join(parts)


def _cause(failure: Foreseen) -> str:
    what = f"{failure.node}.{failure.saved}" if failure.saved else failure.node
    saved = f", saved on line {failure.saved_line}" if failure.saved_line is not None else ""
    if failure.kind == "freed":
        by = f"line {failure.freed_line} freed" if failure.freed_line is not None else "is freed"
        return f"backward needs {what}{saved}, which {by}"
    if failure.kind == "version":
        lines = ", ".join(map(str, failure.modified_lines))
        by = f"line {lines}" if lines else "a write"
        return f"backward needs {what}{saved}, which {by} modified in place"
    return failure.message.split("\n")[0]
