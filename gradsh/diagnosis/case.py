"""One failure while it is being told: where it happened, and what has been said of it."""

import re
from typing import TYPE_CHECKING, Any, TypeVar

from gradsh.compiler import runtime_names as hooks
from gradsh.diagnosis.cause import Cause
from gradsh.diagnosis.classify import LONGEST, kind_of, words_of
from gradsh.diagnosis.code import Code
from gradsh.diagnosis.provenance import Frame, Origins, node_at
from gradsh.diagnosis.trace import local_variables, trace_of
from gradsh.engine.graph.types import Location
from gradsh.language.node import SyntaxNode, expr, stmt
from gradsh.runtime.activation import Place, circumstances
from gradsh.text.fault import fault_of
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

if TYPE_CHECKING:
    from gradsh.compiler.lower import Unit
    from gradsh.runtime.machine import Machine


_Kind = TypeVar("_Kind", bound=SyntaxNode)


class Case:
    """One failure while it is being told: the exception, its fields, where it happened, and what has been said."""

    def __init__(self, machine: "Machine", error: BaseException, unit: "Unit | None") -> None:
        self.machine = machine
        self.error = error
        self.kind = kind_of(error)
        fault = fault_of(error)
        self.story = self.kind if fault is None else fault.kind
        """The kind whose story is told: the engine may know more of a failure than its sentence tells."""
        self.fields: dict[str, Any] = {} if fault is None else fault.fields
        self.steps = trace_of(machine, error)
        self.unit = unit
        variables = local_variables(machine, error)
        self.origins = Origins(machine, [Frame(step, variables.get(id(step.code))) for step in self.steps])
        self.message = _told(words_of(error)).replace("'" + hooks.RESERVED + "__", "'__") or type(error).__name__
        self.title = ""
        self.labels: list[Label] = []
        self.help: list[str] = []
        self.notes: list[str] = []
        self.cause = Cause()
        self.meant: list[str] = []
        """Names that may have been meant by one that does not exist."""

    @property
    def is_own(self) -> bool:
        """Whether the script's own code failed, and not a function of ours that it called."""
        trace = self.error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is None or trace.tb_frame.f_builtins is self.machine.builtins:
            return True
        return str(trace.tb_frame.f_globals.get("__name__")).startswith("gradsh.runtime.")

    @property
    def span(self) -> Span:
        """Where it failed."""
        return self.steps[-1].span if self.steps else self.top

    @property
    def top(self) -> Span:
        """The top-level statement."""
        return self.unit.stmt.span if self.unit is not None else Span(1, 1, 1, 1)

    @property
    def source(self) -> Source:
        """The source in which it failed."""
        if self.steps:
            return self.steps[-1].source
        return self.unit.source if self.unit is not None else Source("", "")

    @property
    def line(self) -> int:
        """The first line of the innermost statement."""
        return self.steps[-1].statement.line if self.steps else self.top.line

    @property
    def expression(self) -> expr | None:
        """The failing expression in the tree, where one has exactly the span that failed."""
        return self._failing(expr)

    @property
    def statement(self) -> stmt | None:
        """The statement that failed as a whole, such as `x += y`."""
        return self._failing(stmt)

    def _failing(self, kind: type[_Kind]) -> _Kind | None:
        unit = self.machine.units.of(self.steps[-1].code) if self.steps else None
        return None if unit is None else node_at(unit, self.span, kind)

    def text(self, span: Span | None = None, source: Source | None = None) -> str:
        """Return the text of a span of one line (of the first line of a longer one)."""
        span, source = span or self.span, source or self.source
        end = span.end_column - 1 if span.end_line == span.line else None
        return source.line(span.line)[span.column - 1 : end].strip()

    def place(self, where: Location) -> Place | None:
        """Return the place of an engine's `where`, or None for what no script's line made."""
        return None if where is None else self.machine.locate(where)

    def now(self) -> Place | None:
        """Return the place that failed."""
        place = self.place(self.machine.where_of(self.error))
        return place if place is None or not self.steps else place._replace(span=self.span, source=self.source)

    def statement_at(self, place: Place | None) -> stmt | None:
        """Return the innermost statement at a place."""
        site = None if place is None else Code(self.machine).at(place.span, place.source)
        return None if site is None else site.statement

    def label(self, role: str, span: Span, text: str, source: Source) -> None:
        """Mark a place."""
        self.labels.append(Label(role, span, text, source))

    def mark(self, role: str, where: object, text: str) -> Place | None:
        """Mark the place of an engine's `where`, if a script's line is behind it."""
        place = self.place(where)
        if place is not None:
            self.label(role, place.span, text + circumstances(place), place.source)
        return place

    def failed(self, needed: str = "") -> None:
        """Mark the calls on the way and the expression that failed."""
        for outer, inner in zip(self.steps, self.steps[1:], strict=False):
            name = inner.function if inner.function.isidentifier() else "the function"
            line, column = outer.span.line, outer.span.column
            if outer.source.line(line).startswith("class ", column - 1):
                self.label("called", Span(line, column, line, column + len("class")), f"runs the body of {name}", outer.source)
            else:
                self.label("called", outer.span, f"calls {name}", outer.source)
        self.label("needed", self.span, needed, self.source)

    def problem(self) -> Problem:
        """Return all that was said, without its fixes."""
        return Problem(
            self.kind, self.message, tuple(self.labels), tuple(dict.fromkeys(self.help)), tuple(self.notes), self.title
        )


_HOME = re.compile(r"gradsh\.(?:[\w<>]+\.)+(?=\w+(?:\(\) (?:argument after|got multiple values)| object at 0x|'>))")
"""Where a function or a class of ours is defined, as Python's own sentences say it before its name: no news to a script."""


def _told(message: str) -> str:
    if "gradsh." in message:
        message = _HOME.sub("", message)
    return message if len(message) <= LONGEST else f"{message[:LONGEST]}… ({len(message):,} characters)"
