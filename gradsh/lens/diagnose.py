"""Tells a failure of a program on PyTorch as gradsh tells its own: the same stories over PyTorch's graph."""

import os
from typing import TYPE_CHECKING, Any

from gradsh.diagnosis.case import Case
from gradsh.diagnosis.classify import kind_of, words_of
from gradsh.diagnosis.diagnose import problem_of
from gradsh.diagnosis.explain_graph import GRAPH_STORIES
from gradsh.engine.graph.types import Location
from gradsh.lens.faults import fault_of_call
from gradsh.lens.machine import PythonMachine
from gradsh.runtime.machine import StatementFailure
from gradsh.text.fault import Fault
from gradsh.text.problem import Problem
from gradsh.text.span import Source

if TYPE_CHECKING:
    from gradsh.lens.watcher import Watcher


def diagnose(watcher: "Watcher", error: BaseException, top: int | None = None) -> StatementFailure:
    """Return a failure as data; `top` is the line of the top-level statement where that is known."""
    failure = watcher.passes.failure
    known: Fault | None = None
    place: Location = None
    if failure is not None and failure[0] == id(error):
        _, known, place = failure
    with watcher.look() as world:
        machine: Any = PythonMachine(watcher.files, watcher.sources, world, error, place)
        case = Case(machine, error, None)
        fault = known or fault_of_call(world, case)
        if fault is not None:
            case.fields = fault.fields
        GRAPH_STORIES.get(case.kind, Case.failed)(case)
        first = case.steps[0].statement.line if case.steps else case.line
        watcher.told = StatementFailure(problem_of(case), case.line, top or first, case.source, type(error).__name__)
        return watcher.told  # type: ignore[no-any-return]


def told(watcher: "Watcher", error: BaseException, top: int | None = None) -> StatementFailure:
    """Return a failure as data, whatever state the program has left its objects in: then with its message alone."""
    try:
        return diagnose(watcher, error, top)
    except Exception:
        if os.environ.get("GRADSH_DEBUG"):
            raise
        problem = Problem(kind_of(error), words_of(error) or type(error).__name__)
        return StatementFailure(problem, top or 0, top or 0, Source("", ""), type(error).__name__)
