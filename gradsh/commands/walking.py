"""`backward --step`: the walk through a pass, shown step by step where a person is there to say how to go on.

A step back takes back what the pass did: gradients and saved tensors are as before the pass, and it runs again up to there.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gradsh.commands import words
from gradsh.commands.stepping import Debugger, is_name, line_asked, size_asked
from gradsh.contracts.state import State
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, make
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import PassReport
from gradsh.probe.rewind import Rewind
from gradsh.probe.snapshot import nodes_below_all
from gradsh.probe.walk import GradientStep, Pauses, Step, StepRecorder
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View

PROMPT = "step (next, until WHERE, back, quit, help)> "
WORDS = (
    "next (n, Enter)    run the next node",
    "until WHERE (u)    run up to a node, a module, a variable, a leaf, `x.grad`, `line 3`, `nan`, `inf`, `|g| > 1e3` or a condition",
    "break WHERE        stop there in this backward and later ones (`break` lists the stops, `break off` forgets them)",
    "back [N] (b)       take back the last node, or N: gradients and saved tensors, too",
    "continue (c)       run up to the next stop that `break` keeps",
    "rest (r)           run the remaining nodes",
    "quit (q, Ctrl-C)   stop the backward here; what it has done stays",
    "abort              stop the backward; gradients and saved tensors are as before it",
    "anything else      is evaluated: `x.grad`, `grad_in`, `grad_out`, `buffers`",
)
_STAYS = "what backward has done so far stays"
_BACK = "gradients and saved tensors are as before it"


class WalkReport(NamedTuple):
    """A pass with its steps; `shown` tells that a person has seen them already."""

    steps: tuple[Step, ...]
    account: PassReport
    shown: bool = False


class TakeBack(BaseException):
    """Ends a pass that is to be taken back, and run again up to step `to` (None: not at all)."""

    def __init__(self, to: int | None) -> None:
        super().__init__()
        self.to = to


def walk(state: State, roots: Iterable[Node], observed: Callable[[StepRecorder], None]) -> WalkReport:
    """Run a pass from `roots` under the eyes of a recorder of steps; return them and the account."""
    roots = list(roots)
    if not state.control.interactive():
        variables = state.names_in_reach()
        recorder = StepRecorder(state.line_of, Names(variables), ModulePaths(variables))
        observed(recorder)
        recorder.finish()
        return WalkReport(tuple(recorder.steps), state.report_of(recorder))
    stepper, before = _Stepper(state, roots), Rewind(roots)
    try:
        recorder = take_steps(state, observed, stepper, before)
    except TakeBack:
        raise fail("interrupt", f"backward was aborted; {_BACK}") from None
    before.forget()  # else it would hold what the pass freed
    if stepper.until:
        state.control.show((f"backward ended before reaching {stepper.until}",))
    return WalkReport(tuple(recorder.steps), state.report_of(recorder), shown=True)


def take_steps(
    state: State, observed: Callable[[StepRecorder], None], stepper: Pauses, before: Rewind, *, account: bool = True,
) -> StepRecorder:
    """Run a pass, again for each step back; return what recorded it. Raises TakeBack for one that was taken back for good."""
    variables = state.names_in_reach()
    while True:
        recorder = StepRecorder(state.line_of, Names(variables), ModulePaths(variables), stepper, before, account=account)
        try:
            observed(recorder)
            stepper.over = True
            recorder.finish()
            return recorder
        except TakeBack as asked:
            nodes = before.restore()
            if state.meter is not None:
                state.meter.freed(nodes, back=True)
            if asked.to is None:
                raise
            stepper.begin(asked.to)


class _Stepper(Debugger):
    """Stops after each step and asks how to go on; `over` tells that the pass itself has ended."""

    prompt = PROMPT
    words = WORDS

    def __init__(self, state: State, roots: list[Node]) -> None:
        super().__init__(state)
        self.roots = roots
        self.begin(0)

    def begin(self, shown: int) -> None:
        """Begin the pass, up to the step of that number without a stop."""
        self.skipped, self.rest, self.over = shown - 1, False, False

    def skips(self, node: Node, number: int) -> bool:
        """Whether a node is passed by: the pass goes on to its end, or up to a step that is known."""
        del node
        return self.rest or number <= self.skipped or (self.free and not self.breaks)

    def __call__(self, recorder: StepRecorder) -> None:
        """Take a step that has just been done; return when the next one may run."""
        number = recorder.number
        if number <= self.skipped or self.rest or (number > self.skipped + 1 and not self.stops(recorder)):
            return
        self.skipped = -1
        self.control.show(step_lines(recorder.step()))
        self.converse(recorder)

    def command(self, place: StepRecorder, word: str, rest: str) -> bool | None:
        """Follow the words that only a pass has."""
        number = place.number
        if word in {"r", "rest"} and not rest:
            self.rest = True
            return True
        if word == "back" and (not rest or rest.isdigit()):
            to = number - int(rest or 1)
            if to >= 1:
                raise TakeBack(to)
            most = f"`back {number - 1}` goes to the first node" if number > 1 else "this is as far as it can be taken back"
            self.control.show((f"{most}; `abort` leaves the pass",))
            return False
        if word == "abort" and not rest:
            raise TakeBack(None)
        return None

    def quit(self, answered: bool) -> bool:
        """Stop the pass where it is, unless it is over."""
        if self.over:
            return True
        raise fail("interrupt", f"backward was {'stopped with `quit`' if answered else 'interrupted'}; {_STAYS}")

    def towards(self, place: StepRecorder, condition: str) -> bool:
        """Go on to a condition; a name must be that of a node that has yet to run."""
        if is_name(condition) and condition not in {"nan", "inf"} and not self._is_ahead(place, condition.removesuffix(".grad")):
            self.control.show((f"no remaining node is called {condition}",))
            return False
        return super().towards(place, condition)

    def _is_ahead(self, place: StepRecorder, name: str) -> bool:
        """Whether a node that has yet to run or its module, or a leaf that has yet to be written, goes by a name."""
        written = {id(leaf) for leaf, _ in place.written}
        for node in nodes_below_all(self.roots):
            if isinstance(node, AccumulateGrad):
                if id(node.variable) not in written and place.names.of_leaf(node.variable) == name:
                    return True
            elif (place.latest is None or node.seq < place.latest.seq) and name in place.names_of(node):
                return True
        return False

    def reached(self, place: StepRecorder, condition: str) -> bool | None:
        """Whether the latest step meets a condition."""
        arrays = [_array(one) for one in place.sent if one is not None]
        if condition in {"nan", "inf"}:
            found = np.isnan if condition == "nan" else np.isinf
            return any(bool(found(one).any()) for one in arrays)
        if (line := line_asked(condition)) is not None:
            stands = None if place.latest is None else place.line_of(place.latest.location)
            return stands is not None and int(stands) == line
        if (size := size_asked(condition)) is not None:
            return any(size(float(np.abs(one).max())) for one in arrays if one.size)
        if condition.endswith(".grad"):
            return condition.removesuffix(".grad") in place.written_leaves()
        return condition in place.names_of_latest() if is_name(condition) else None

    def names(self, place: StepRecorder) -> Mapping[str, Any]:
        """Return the gradients that arrived at the latest node and that it sent on."""
        return {"grad_in": _given(place.arrived), "grad_out": _given(place.sent)}


def _array(value: object) -> Any:
    return value.array if isinstance(value, Tensor) else np.asarray(value)


def _given(values: Iterable[object]) -> Any:
    """Return gradients as a program has them: one alone, or a tuple."""
    found = tuple(one if one is None or isinstance(one, Tensor) else make(np.array(one)) for one in values)
    return found[0] if len(found) == 1 else found


def step_lines(step: Step) -> list[str]:
    """Return a step as lines: the node, what arrived and went out, what became of its saved tensors, what it wrote."""
    names = f"{', '.join(step.variables)}  " if step.variables else ""
    line = f"  line {step.line}" if step.line is not None else ""
    hooks = f"  {words.count(step.hooks, 'hook')}" if step.hooks else ""
    module = f"  in {step.module}" if step.module else ""
    out = [f"{step.number}. {names}{step.node}{line}{module}{hooks}"]
    out += [f"     in   {_gradient(one)}" for one in step.arrived] or ["     in   nothing"]
    out += [f"     out  {_gradient(one)}" for one in step.sent]
    for name, size, fate in step.buffers:
        out.append(f"     {fate} {name} {size:,} B")
    return out + [f"     {one}" for one in step.wrote]


def _gradient(one: GradientStep) -> str:
    to = f" to {one.to}" if one.to else ""
    return f"{one.shape} {one.values}{to}"


def view(report: WalkReport) -> View:
    """Shape the walk, unless a person has seen it, and then the account."""
    steps = [] if report.shown else [line for step in report.steps for line in step_lines(step)]
    return Lines((*steps, words.account(report.account)))
