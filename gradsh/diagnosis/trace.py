"""The frames of the script that an exception passed through, as places in the source, outermost first."""

from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradsh.compiler import runtime_names
from gradsh.text.span import Source, Span

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

_OPTIMIZED = 1  # CO_OPTIMIZED: a function, with variables of its own
_INLINE = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


class TraceStep(NamedTuple):
    """One frame: the expression that was running, the innermost statement around it, and the function's name."""

    span: Span
    statement: Span
    source: Source
    function: str
    code: Any
    offset: int


def trace_of(machine: "Machine", error: BaseException) -> list[TraceStep]:
    """Return the script's frames in the exception's traceback, outermost first.

    A comprehension and the argument of a command run in frames of their own, but where they stand: such a frame takes
    the place of the one around it.
    """
    steps: list[TraceStep] = []
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        code, offset = frame.f_code, trace.tb_lasti
        if machine.owns(frame):
            step = _step(machine, code, offset)
            if steps and _stands_in(code, step, steps[-1]):
                steps[-1] = step._replace(function=steps[-1].function)
            else:
                steps.append(step)
        trace = trace.tb_next
    return steps


def _step(machine: "Machine", code: CodeType, offset: int) -> TraceStep:
    unit = machine.units.of(code)
    assert unit is not None
    span = machine.units.span(code, offset)
    return TraceStep(span, machine.units.statement(code, span.line), unit.source, code.co_name, code, offset)


def _stands_in(code: CodeType, inner: TraceStep, outer: TraceStep) -> bool:
    if runtime_names.THUNK in code.co_varnames:
        return True
    return code.co_name in _INLINE and inner.source is outer.source and outer.statement.covers(inner.span)


def local_variables(machine: "Machine", error: BaseException) -> dict[int, dict[str, object]]:
    """Return the variables of the functions that the exception passed through, by the id of their code (innermost wins)."""
    found: dict[int, dict[str, Any]] = {}
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if machine.owns(frame) and frame.f_code.co_flags & _OPTIMIZED:
            found[id(frame.f_code)] = machine.values(frame.f_locals)
        trace = trace.tb_next
    return found
