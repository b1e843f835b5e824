"""`backward --step`: the walk through a pass, shown step by step where a person is there to say how to go on."""

from collections.abc import Callable
from typing import NamedTuple

from gradsh.commands import words
from gradsh.commands.backward import account_of
from gradsh.probe.names import Names
from gradsh.probe.passes import PassReport, Recorder
from gradsh.probe.walk import Gradient, Step, Walk
from gradsh.state import State
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class WalkReport(NamedTuple):
    """A pass with its steps."""

    steps: tuple[Step, ...]
    account: PassReport


def walk(state: State, observed: Callable[[Recorder], None]) -> WalkReport:
    """Run a pass under the eyes of a recorder of steps; return them and the account."""
    recorder = Walk(state.line_of, Names(state.names_in_reach()), _stepper(state))
    observed(recorder)
    recorder.finish()
    return WalkReport(tuple(recorder.steps), account_of(state, recorder))


def _stepper(state: State) -> Callable[[Step], None] | None:
    """Return what stops after each step, where a person is there to say how to go on."""
    if not state.control.interactive():
        return None
    seen: list[Step] = []
    skipping = [""]

    def pause(step: Step) -> None:
        seen.append(step)
        place = len(seen) - 1
        if skipping[0]:
            if skipping[0] not in (step.node, *step.variables):
                return
            skipping[0] = ""
        while True:
            state.control.show(_step_lines(seen[place]))
            answer = state.control.ask("step (next, until NODE, back, quit)> ")
            word, _, rest = (answer or "next").strip().partition(" ")
            if word in {"q", "quit"}:
                raise fail("interrupt", "the walk was ended; what it had done stays done", RuntimeError)
            if word in {"b", "back"}:
                place = max(0, place - 1)
            elif place < len(seen) - 1:
                place += 1
            else:
                skipping[0] = rest.strip() if word in {"u", "until"} else ""
                return

    return pause


def _step_lines(step: Step) -> list[str]:
    names = f"{', '.join(step.variables)}  " if step.variables else ""
    line = f"  line {step.line}" if step.line is not None else ""
    hooks = f"  {words.count(step.hooks, 'hook')}" if step.hooks else ""
    out = [f"{step.number}. {names}{step.node}{line}{hooks}"]
    out += [f"     in   {_gradient(one)}" for one in step.arrived] or ["     in   nothing"]
    out += [f"     out  {_gradient(one)}" for one in step.sent]
    for name, size, fate in step.buffers:
        out.append(f"     {fate} {name} {size:,} B")
    return out + [f"     {one}" for one in step.wrote]


def _gradient(one: Gradient) -> str:
    to = f" to {one.to}" if one.to else ""
    return f"{one.shape} {one.values}{to}"


def view(report: WalkReport) -> View:
    """Shape the walk, and then the account."""
    steps = [line for step in report.steps for line in _step_lines(step)]
    return Lines((*steps, words.account(report.account)))
