"""`backward --step`: the walk through a pass, shown step by step where a person is there to say how to go on."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gradsh.commands import words
from gradsh.contracts.state import Control, State
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.probe.names import Names
from gradsh.probe.passes import PassReport, Recorder
from gradsh.probe.snapshot import node_name, nodes_below
from gradsh.probe.walk import GradientStep, Step, StepRecorder
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View

PROMPT = "step (next, until NODE, back, rest, quit)> "
WORDS = (
    "next (n, Enter)   run the next node",
    "until NODE (u)    run up to a node: an operation, a variable or a leaf",
    "back (b)          show the previous node again",
    "rest (r)          run the remaining nodes",
    "quit (q, Ctrl-C)  stop the backward here",
)
_STAYS = "what backward has done so far stays"


class WalkReport(NamedTuple):
    """A pass with its steps; `shown` tells that a person has seen them already."""

    steps: tuple[Step, ...]
    account: PassReport
    shown: bool = False


def walk(state: State, roots: Iterable[Node], observed: Callable[[Recorder], None]) -> WalkReport:
    """Run a pass from `roots` under the eyes of a recorder of steps; return them and the account."""
    names = Names(state.names_in_reach())
    stepper = _Stepper(state.control, names, roots) if state.control.interactive() else None
    recorder = StepRecorder(state.line_of, names, stepper)
    observed(recorder)
    if stepper is not None:
        stepper.over = True
    recorder.finish()
    if stepper is not None and stepper.until:
        state.control.show((f"backward ended before reaching {stepper.until}",))
    return WalkReport(tuple(recorder.steps), state.report_of(recorder), stepper is not None)


class _Stepper:
    """Stops after each step and asks how to go on; `over` tells that the pass itself has ended."""

    def __init__(self, control: Control, names: Names, roots: Iterable[Node]) -> None:
        self.control = control
        self.ahead = _names_below(roots, names)
        self.seen: list[Step] = []
        self.place = 0
        self.until = ""
        self.rest = False
        self.over = False

    def __call__(self, step: Step) -> None:
        """Take a step that has just been done; return when the next one may run."""
        self.seen.append(step)
        self.ahead.subtract(_names_of(step))
        if self.rest or (self.until and self.until not in _names_of(step)):
            return
        self.until = ""
        self._show(len(self.seen) - 1)
        while not self._goes_on():
            pass

    def _show(self, place: int) -> None:
        self.place = place
        self.control.show(_step_lines(self.seen[place]))

    def _goes_on(self) -> bool:
        """Follow one answer; return whether it lets the pass go on."""
        answer = self.control.ask(PROMPT)
        word, _, name = ("" if answer is None else answer.strip()).partition(" ")
        if answer is None or word in {"q", "quit"}:
            if self.over:
                return True
            raise fail("interrupt", f"backward was {'interrupted' if answer is None else 'stopped with `quit`'}; {_STAYS}", RuntimeError)
        if word in {"", "n", "next"}:
            return self._forward()
        if word in {"u", "until"} and name:
            return self._towards(name.strip())
        if word in {"r", "rest"}:
            self.rest = True
            return True
        if word in {"b", "back"}:
            self._show(max(0, self.place - 1))
        else:
            self.control.show(WORDS)
        return False

    def _forward(self) -> bool:
        if self.place == len(self.seen) - 1:
            return True
        self._show(self.place + 1)
        return False

    def _towards(self, name: str) -> bool:
        """Go on to a node by its name: among the steps after the one that is shown, else among what has yet to run."""
        for place in range(self.place + 1, len(self.seen)):
            if name in _names_of(self.seen[place]):
                self._show(place)
                return False
        if self.ahead[name] > 0:
            self.until = name
            return True
        self.control.show((f"no remaining node is called {name}",))
        return False


def _names_below(roots: Iterable[Node], names: Names) -> Counter[str]:
    """Count the names by which `until` can reach what is below the roots."""
    found: Counter[str] = Counter()
    seen: set[Node] = set()
    for root in roots:
        for node in nodes_below(root, seen):
            leaf = isinstance(node, AccumulateGrad)
            found.update([names.of_leaf(node.variable)] if leaf else {node_name(node) or "", *names.of_node(node)})
    return found


def _names_of(step: Step) -> set[str]:
    """Return the names of a step: its operation, its variables, and the leaves that it wrote."""
    return {step.node, *step.variables, *(one.partition(".grad ")[0] for one in step.wrote)}


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


def _gradient(one: GradientStep) -> str:
    to = f" to {one.to}" if one.to else ""
    return f"{one.shape} {one.values}{to}"


def view(report: WalkReport) -> View:
    """Shape the walk, unless a person has seen it, and then the account."""
    steps = [] if report.shown else [line for step in report.steps for line in _step_lines(step)]
    return Lines((*steps, words.account(report.account)))
