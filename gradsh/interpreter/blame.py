"""Turns an exception into a Problem: the one place where a failure becomes text and spans for people."""

from typing import TYPE_CHECKING

from gradsh.interpreter.trace import trace_of
from gradsh.text.problem import Label, Problem

if TYPE_CHECKING:
    from gradsh.interpreter.lower import Unit
    from gradsh.interpreter.machine import Failed, Machine


def blame(machine: "Machine", error: BaseException, unit: "Unit | None") -> "Failed":
    """Return a failure as data."""
    from gradsh.interpreter.classify import kind_of
    from gradsh.interpreter.machine import Failed
    steps = trace_of(machine, error)
    kind = kind_of(error)
    labels = tuple(Label("called", s.span, "", s.source) for s in steps[:-1])
    last = steps[-1]
    return Failed(Problem(kind, str(error), (*labels, Label("needed", last.span, "", last.source))), last.statement.line,
                  unit.stmt.span.line, last.source, type(error).__name__)
