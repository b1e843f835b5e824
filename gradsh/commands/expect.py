"""`expect error`: a statement that is meant to fail, as an assertion of a script."""

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

from gradsh.commands.record import AfterColon, KindName, command
from gradsh.contracts.state import State
from gradsh.text.fault import fail
from gradsh.text.kinds import KINDS
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The kind and the message of the failure that came, as expected."""

    kind: str
    message: str


@command(
    "expect", "Run a statement that must fail, with the named kind if there is one.",
    examples=[
        "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nbackward z\nexpect error freed: backward z",
        "expect error: ones(2) + ones(3)",
    ],
)
def run(
    state: State, what: Literal["error"], kind: KindName | None = None, statement: AfterColon | None = None
) -> Report:
    """The failure is shown and does not count.

    Fails with kind `expect` where the statement succeeds or fails with another kind.
    """
    del what
    if kind is not None and kind not in KINDS:
        raise fail("value", f"{kind} is not a kind of error; the kinds are {', '.join(KINDS)}", ValueError)
    failed = state.control.attempt(cast(Callable[[], object], statement))
    wanted = f"a failure of kind {kind}" if kind is not None else "a failure"
    if failed is None:
        raise fail("expect", f"expected {wanted}, but the statement succeeded", AssertionError)
    problem = failed.problem
    if kind is not None and problem.kind != kind:
        message = f"expected {wanted}, but it failed with kind {problem.kind}: {_first_sentence(problem.message)}"
        raise fail("expect", message, AssertionError, got=problem.kind)
    state.control.show_failure(failed)
    return Report(problem.kind, problem.message)


def _first_sentence(text: str) -> str:
    head, dot, _ = text.split("\n", 1)[0].partition(". ")
    return head + dot.strip()


def view(report: Report) -> View:
    """Say nothing: the failure itself was told."""
    del report
    return Lines(())
