"""`watch`: evaluates an expression after each statement and shows it when it has changed."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from gradsh.commands.record import Lazy, command
from gradsh.contracts.state import State
from gradsh.view.shapes import Lines, View


class Watch:
    """A watched expression: its text, how it is evaluated, and what was shown of it last. Keeps no value alive."""

    __slots__ = ("evaluate", "shown", "text")

    def __init__(self, text: str, evaluate: Callable[[], object]) -> None:
        self.text = text
        self.evaluate = evaluate
        self.shown = ""


class Report(NamedTuple):
    """What is shown: (expression, value as text); `listed` where it is the list of all that is watched."""

    values: tuple[tuple[str, str], ...]
    listed: bool = False
    removed: tuple[str, ...] = ()


@command(
    "watch", "Show an expression after each statement that changes it. Alone: list the watched expressions.",
    examples=["x = ones(2, requires_grad=True)\nwatch x.grad\nx.sum().backward()\nwatch --off"],
)
def run(state: State, *targets: Lazy, off: bool = False) -> Report:
    """`--off` stops watching the named expressions, or all."""
    texts = state.call.texts[: len(targets)]
    if off:
        removed = tuple(one.text for one in state.watches if not texts or one.text in texts)
        state.watches[:] = [one for one in state.watches if one.text not in removed]
        return Report((), True, removed)
    if not targets:
        return Report(tuple((one.text, one.shown) for one in state.watches), True)
    for text, thunk in zip(texts, targets, strict=True):
        one = Watch(text, cast(Callable[[], Any], thunk))
        one.shown = _evaluated(state, one)
        state.watches[:] = [other for other in state.watches if other.text != text] + [one]
    return Report(tuple((one.text, one.shown) for one in state.watches if one.text in texts))


def _evaluated(state: State, one: Watch) -> str:
    """Return the value's repr, or how its evaluation fails, in a few words."""
    found: list[str] = []
    failed = state.control.attempt(lambda: found.append(repr(one.evaluate())))
    return found[0] if failed is None else f"({failed.problem.kind}: {failed.problem.message.splitlines()[0]})"


def changed(state: State) -> Iterator[tuple[Report, Callable[[], View]]]:
    """Yield (report, view) of each watched expression that has another value than was shown; the session asks."""
    for one in list(state.watches):
        now = _evaluated(state, one)
        if now != one.shown:
            one.shown = now
            report = Report(((one.text, now),))
            yield report, lambda report=report: view(report)  # type: ignore[misc]


def view(report: Report) -> View:
    """Shape the values."""
    if report.removed:
        return Lines((f"no longer watching {', '.join(report.removed)}",))
    if report.listed and not report.values:
        return Lines(("nothing is watched",))
    lines = []
    for text, value in report.values:
        first, *rest = value.split("\n")
        lines += [f"watch {text}: {first}", *(" " * len(f"watch {text}: ") + line for line in rest)]
    return Lines(tuple(lines))
