"""Turns an exception into a `Problem`: the one place where a failure becomes text and spans for people.

`diagnose` finds the kind, the script's frames and the place; `explain_*.py` has what each kind tells beyond that.
"""

import os
import re
from typing import TYPE_CHECKING, Any

from gradsh.compiler import runtime_names as hooks
from gradsh.diagnosis.cause import Cause
from gradsh.diagnosis.classify import LONGEST, kind_of, kind_of_class, words_of
from gradsh.diagnosis.provenance import Frame, Origins, expression_at
from gradsh.diagnosis.trace import local_variables, trace_of
from gradsh.language.node import expr, stmt
from gradsh.runtime.activation import Place, circumstances
from gradsh.text.fault import fault_of
from gradsh.text.fix import Fix
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

if TYPE_CHECKING:
    from gradsh.compiler.lower import Unit
    from gradsh.runtime.machine import Failed, Machine


DEBUG = bool(os.environ.get("GRADSH_DEBUG"))
"""Whether a rule that fails is told, for who works on the rules."""


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
        found = self.machine.units.of(self.steps[-1].code) if self.steps else None
        return None if found is None else expression_at(found, self.span)

    def text(self, span: Span | None = None, source: Source | None = None) -> str:
        """Return the text of a span of one line (of the first line of a longer one)."""
        span, source = span or self.span, source or self.source
        end = span.end_column - 1 if span.end_line == span.line else None
        return source.line(span.line)[span.column - 1 : end].strip()

    def place(self, where: Any) -> Place | None:
        """Return the place of an engine's `where`, or None for what no script's line made."""
        return None if where is None else self.machine.locate(where)

    def now(self) -> Place | None:
        """Return the place that failed."""
        place = self.place(self.machine.where_of(self.error))
        return place if place is None or not self.steps else place._replace(span=self.span, source=self.source)

    def statement_at(self, place: Place | None) -> stmt | None:
        """Return the innermost statement at a place."""
        from gradsh.diagnosis.code import Code

        site = None if place is None else Code(self.machine).at(place.span, place.source)
        return None if site is None else site.statement

    def trunk(self, first: str, second: str) -> str:
        """Return the variables whose graphs hold all that two variables share."""
        from gradsh.diagnosis.explain_graph import trunk_of

        return trunk_of(self, first, second)

    def label(self, role: str, span: Span, text: str, source: Source) -> None:
        """Mark a place."""
        self.labels.append(Label(role, span, text, source))

    def mark(self, role: str, where: Any, text: str) -> Place | None:
        """Mark the place of an engine's `where`, if a script's line is behind it."""
        place = self.place(where)
        if place is not None:
            self.label(role, place.span, text + circumstances(place), place.source)
        return place

    def failed(self, needed: str = "") -> None:
        """Mark the calls on the way and the expression that failed."""
        for outer, inner in zip(self.steps, self.steps[1:], strict=False):
            name = inner.function if inner.function.isidentifier() else "the function"
            self.label("called", outer.span, f"calls {name}", outer.source)
        self.label("needed", self.span, needed, self.source)

    def problem(self) -> Problem:
        """Return all that was said."""
        problem = Problem(
            self.kind, self.message, tuple(self.labels), tuple(dict.fromkeys(self.help)), tuple(self.notes), self.title
        )
        return problem.with_fixes(self._fixes())

    def _fixes(self) -> tuple[Fix, ...]:
        """Return the fixes that the rules find; what was advised in words comes after them."""
        from gradsh.diagnosis.fixes import advice_of, fixes_of

        try:
            found = fixes_of(self)
        except Exception:  # a failure is told even where a script's own objects cannot be looked at
            if DEBUG:
                raise
            found = []
        known = {fix.words for fix in found}
        return (*found, *(Fix(words) for words in dict.fromkeys(self.help) if words not in known), *advice_of(self))


_HOME = re.compile(r"gradsh\.(?:[\w<>]+\.)+(?=\w+(?:\(\) (?:argument after|got multiple values)| object at 0x|'>))")
"""Where a function or a class of ours is defined, as Python's own sentences say it before its name: no news to a script."""


def _told(message: str) -> str:
    if "gradsh." in message:
        message = _HOME.sub("", message)
    return message if len(message) <= LONGEST else f"{message[:LONGEST]}… ({len(message):,} characters)"


def diagnose(machine: "Machine", error: BaseException, unit: "Unit | None") -> "Failed":
    """Return a failure as data: its problem, and the first lines of the innermost and of the top-level statement."""
    from gradsh.diagnosis.explain_other import tell
    from gradsh.runtime.machine import Failed

    try:
        machine.telling = True  # what a script made may take for ever when it is looked at
        case = Case(machine, error, unit)
        tell(case)
        machine.telling = False
    except BaseException:  # noqa: BLE001 - an exception of the script's making may fail when it is looked at
        machine.telling = False
        case = Case(machine, RuntimeError(type(error).__name__).with_traceback(error.__traceback__), unit)
        case.kind = kind_of_class(error)
        case.failed()
    top = unit.stmt.span.line if unit is not None else case.line
    return Failed(case.problem(), case.line, top, case.source, type(error).__name__)
