"""Turns an exception into a `Problem`: the one place where a failure becomes text and spans for people.

`Case` finds the kind, the script's frames and the place; `explain_*.py` has what each kind tells beyond that.
"""

import os
from typing import TYPE_CHECKING

from gradsh.diagnosis.case import Case
from gradsh.diagnosis.classify import kind_of_class
from gradsh.text.fix import Fix
from gradsh.text.problem import Problem

if TYPE_CHECKING:
    from gradsh.compiler.lower import Unit
    from gradsh.runtime.machine import Machine, StatementFailure


DEBUG = bool(os.environ.get("GRADSH_DEBUG"))
"""Whether a rule that fails is told, for who works on the rules."""


def problem_of(case: Case) -> Problem:
    """Return all that was said of a failure, and the fixes that the rules find; what was advised in words comes after them."""
    from gradsh.diagnosis.rules import advice_of, fixes_of

    try:
        found = fixes_of(case)
    except Exception:  # a failure is told even where a script's own objects cannot be looked at
        if DEBUG:
            raise
        found = []
    known = {fix.words for fix in found}
    more = [Fix(words) for words in dict.fromkeys(case.help) if words not in known]
    return case.problem().with_fixes((*found, *more, *advice_of(case)))


def diagnose(machine: "Machine", error: BaseException, unit: "Unit | None") -> "StatementFailure":
    """Return a failure as data: its problem, and the first lines of the innermost and of the top-level statement."""
    from gradsh.diagnosis.explain_other import tell
    from gradsh.runtime.machine import StatementFailure

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
    return StatementFailure(problem_of(case), case.line, top, case.source, type(error).__name__)
