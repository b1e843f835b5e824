"""`why`: tells the whole story of the last failure, or why a tensor or a module's parameters are as they are."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from gradsh.commands.record import command
from gradsh.commands.words import count, listed
from gradsh.contracts.state import Failed, State
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.modules import is_module
from gradsh.probe.why import Asker, BlockingNode, GradientVerdict, ParameterStory, TensorStory
from gradsh.text.fault import fail
from gradsh.text.fix import Edit
from gradsh.view.shapes import Column, Group, Lines, Row, Table, View


class Event(NamedTuple):
    """A step of a failure's story: its line, its role, the line's text, and what happened there."""

    line: int
    role: str
    source: str
    words: str


class ShownFix(NamedTuple):
    """A fix as it is told: the words, what it costs, its edits, whether it was seen to work."""

    words: str
    fits: str
    edits: tuple[Edit, ...]
    tried: bool


class FailureStory(NamedTuple):
    """A failure from its beginning: the heading, the events in order, further facts, the ways out, PyTorch's sentence."""

    kind: str
    title: str
    events: tuple[Event, ...]
    notes: tuple[str, ...]
    ways: tuple[ShownFix, ...]
    help: tuple[str, ...]
    message: str


NOTHING = FailureStory("", "", (), (), (), (), "")
"""The story of no failure."""

Report = FailureStory | TensorStory | tuple[ParameterStory, ...]
_ORDER = {"defined": 0, "built": 1, "operand": 2, "saved": 3, "modified": 4, "freed": 5, "called": 6, "needed": 7}


@command(
    "why", "Explain the last failure, a tensor (whether it requires grad, why its grad is None or zero), or the parameters of a module.",
    examples=[
        "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nbackward z\nexpect error freed: backward z\nwhy",
        "x = ones(2, requires_grad=True)\nh = x.exp()\nc = h.detach()\nwhy h\nwhy c\nwhy x",
        "net = nn.Linear(2, 1)\nnet(ones(1, 2)).sum().backward()\nwhy net",
    ],
)
def run(state: State, subject: object = None) -> Report:
    """Without an argument: the last failure, with its lines and fixes."""
    if not state.call.texts:
        if state.failed is None:
            return NOTHING
        state.failed = state.control.tried(state.failed)
        return _story(state.failed, state.control.told)
    text = state.call.texts[0]
    asker = Asker(state.names_in_reach(), state.line_of, state.control.cuts_of, lambda name: _cleared(state, name))
    if isinstance(subject, Tensor):
        return asker.tensor(subject, text)
    if is_module(subject):
        return asker.parameters(subject)
    raise fail("type", f"why: {text} is {type(subject).__name__}, not a Tensor or a module", TypeError, value=subject)


def _story(failed: Failed, told: Callable[[int, str], int]) -> FailureStory:
    problem = failed.problem
    events = []
    for label in sorted(problem.labels, key=lambda one: _ORDER.get(one.role, 8)):
        source = label.source or failed.source
        events.append(Event(told(label.span.line, source.name), label.role, source.line(label.span.line).strip(), label.text))
    ways = tuple(ShownFix(fix.words, fix.effect, fix.edits, fix.tried) for fix in problem.fixes if fix.edits)
    return FailureStory(problem.kind, problem.title, tuple(events), problem.notes, ways, problem.help, problem.message)


def _cleared(state: State, name: str) -> int | None:
    """Return the line of the statement that cleared gradients after the last pass, if one did."""
    for entry in reversed(state.history):
        if "zero_grad" in entry.text or re.search(rf"{re.escape(name)}\.grad\s*=\s*None", entry.text):
            return entry.line
        if "backward" in entry.text:
            return None
    return None


def view(report: Report) -> View:
    """Shape the story."""
    if report is NOTHING:
        return Lines(("no statement has failed; `why T` explains a tensor",))
    if isinstance(report, FailureStory):
        return Lines(tuple(_failure(report)))
    if isinstance(report, TensorStory):
        return Lines(tuple(_tensor(report)))
    return _parameters(report)


# --- a failure ------------------------------------------------------------------------------------------------------


def _failure(story: FailureStory) -> list[str]:
    lines = [f"error[{story.kind}]: {story.title or story.message.splitlines()[0]}"]
    width = max((len(str(one.line)) for one in story.events), default=1)
    for number, event in enumerate(story.events, 1):
        words = f"  {event.words}" if event.words else f"  {event.role} here"
        lines.append(f"  {number}. line {event.line:>{width}}: {event.source}")
        lines.append(f"     {words.strip()}")
    lines += [f"  note: {note}" for note in story.notes]
    if story.ways:
        lines.append("fixes, best first:")
        for way in story.ways:
            lines.append(f"  - {way.words}" + (f" ({way.fits})" if way.fits else ""))
    else:
        lines += [f"  help: {one}" for one in story.help]
    return lines


# --- a tensor -------------------------------------------------------------------------------------------------------


def _tensor(story: TensorStory) -> list[str]:
    lines = [f"{story.name}: {story.shape} {story.dtype}, {_need(story)}"]
    lines += [f"  line {cut.line}: {_first_line(cut.text)}" + ("  (the graph ends here)" if cut.cut else "  (requires_grad is False)")
              for cut in story.cuts]
    lines += _gradient(story.name, story.gradient, leaf=story.leaf)
    if story.nodes:
        held = f"kept alive by {listed(story.keepers)}" if story.keepers else "kept alive by this expression only"
        lines.append(f"  its graph: {count(story.nodes, 'node')}, {story.nbytes:,} B saved, {held}")
    if story.modified and not story.leaf:
        lines.append(f"  written in place on line {', '.join(map(str, story.modified[:5]))}")
    return lines


def _first_line(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first} …" if rest else first


def _need(story: TensorStory) -> str:
    if story.leaf:
        return "a leaf that requires grad" if story.requires_grad else "does not require grad"
    made = f"made by {story.made_by}" + (f" on line {story.line}" if story.line is not None else "")
    return f"{made}; requires grad because {listed(story.leaves)} {'does' if len(story.leaves) == 1 else 'do'}"


def _gradient(name: str, gradient: GradientVerdict, *, leaf: bool) -> list[str]:
    if gradient.state == "some":
        return [f"  its grad: mean size {gradient.mean:.4g}"]
    if gradient.state == "zero":
        return [f"  its grad is all zeros{_zero(gradient)}", *(_block(one) for one in gradient.blocks)]
    match gradient.cause:
        case "no_need":
            return ["  its grad is None: it does not require grad"]
        case "not_leaf":
            return [f"  its grad is None: it is not a leaf; `{name}.retain_grad()` before the backward keeps its grad"]
        case "cleared":
            return [f"  its grad is None: line {gradient.line} cleared it after the last backward"]
        case "reachable":
            more = f" (also from {listed(gradient.roots[1:])})" if gradient.roots[1:] else ""
            return [f"  its grad is None: no backward has reached it yet; `backward {gradient.roots[0]}` would compute it{more}"]
        case _:
            del leaf
            return ["  its grad is None: no live graph leads to it; it was not used, or its graph is gone"]


def _zero(gradient: GradientVerdict) -> str:
    if gradient.blocks:
        return ": these nodes pass on zeros"
    if gradient.cause == "spent":
        return "; the saved tensors are freed: ask before the backward, or after one with --retain"
    return "" if gradient.roots else "; no live graph leads to it"


def _block(block: BlockingNode) -> str:
    line = f"line {block.line}: " if block.line is not None else ""
    return f"    {line}{block.node}: {block.what}"


# --- a module -------------------------------------------------------------------------------------------------------


def _parameters(stories: tuple[ParameterStory, ...]) -> View:
    rows = tuple(Row((one.name, one.shape, _word(one), _cause(one))) for one in stories)
    have = sum(one.gradient.state == "some" for one in stories)
    columns = (Column("parameter"), Column("shape", "shape"), Column("grad"), Column("why"))
    blocks = {block: None for one in stories for block in one.gradient.blocks}
    total = f"{have} of {count(len(stories), 'parameter')} {'has' if have == 1 else 'have'} a gradient"
    table = Table(columns, rows, (total,), empty="it has no parameters")
    return Group((table, Lines(tuple(_block(one).strip() for one in blocks)))) if blocks else table


def _word(story: ParameterStory) -> str:
    gradient = story.gradient
    return {"some": f"mean {gradient.mean:.4g}", "zero": "zero", "none": "None"}[gradient.state]


_CAUSES: dict[str, str] = {
    "no_need": "frozen: requires_grad is False", "not_leaf": "not a leaf", "not_reached": "no live graph leads to it",
    "blocked": "a node passes on zeros", "spent": "saved tensors freed",
}


def _cause(story: ParameterStory) -> str:
    gradient: Any = story.gradient
    if gradient.cause == "cleared":
        return f"cleared on line {gradient.line}"
    if gradient.cause == "reachable":
        return f"not yet computed; reached from {listed(gradient.roots)}"
    return _CAUSES.get(gradient.cause, "")
