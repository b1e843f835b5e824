"""Tries fixes in a copy of the program: is the error gone, is none new, and are the gradients those that were asked for?

The copy runs in a session of its own, muted. For a buffer that was freed or written, the reference is the same program with
every graph kept and every saved tensor copied: what its passes ask for. A fix that gives other gradients is offered only if its
words say so.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gradsh.contracts.events import Event, Failure
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.modules import is_module, parameters_of
from gradsh.process.gc_policy import governor
from gradsh.text.fix import Edit, Fix, applied
from gradsh.text.problem import Problem
from gradsh.text.span import Source

REFERENCED = frozenset({"freed", "version"})
"""Kinds whose gradients can be computed in spite of the failure."""
_RELATIVE, _ABSOLUTE = 1e-4, 1e-5

Place = tuple[str, int, str]
"""A failure: the name of its source, its line, its kind."""


class Trace(NamedTuple):
    """What a run left: its failures by place, with the problem at each, and the gradients and values of what learns."""

    failures: Counter[Place]
    problems: dict[Place, Problem]
    named: dict[str, tuple[Any, Any]]
    leaves: list[tuple[Any, Any]]
    over: bool


class Trial:
    """The trials for one failure: `sources` is the program, `failed` where it fails, `others` where else it does."""

    def __init__(self, fresh: Callable[[], Any], sources: list[Source], failed: Place, end: int, seconds: float) -> None:
        self.fresh = fresh
        self.sources = sources
        self.failed = failed
        self.end = end
        """The last line of the top-level statement that failed."""
        self.deadline = time.monotonic() + seconds
        self.before = self.run(()).failures
        self._reference: Trace | None = None

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.deadline - time.monotonic()

    def reference(self) -> Trace | None:
        """Return what the program's passes ask for, where that can be computed."""
        if self.failed[2] not in REFERENCED:
            return None
        text = "\n".join(source.text for source in self.sources)
        if self.failed[2] == "version" and ".data" in text:
            return None  # what is written there, no copy of what is saved can tell
        if self._reference is None:
            self._reference = self.run((), keep=True, copy="create_graph" not in text)
        known = self._reference.failures
        return None if self.failed in known or not self._reference.over else self._reference

    def run(self, edits: tuple[Edit, ...], *, keep: bool = False, copy: bool = False) -> Trace:
        """Run the program after edits; `keep` every graph, `copy` every saved tensor."""
        session = self.fresh()
        ambient, asked = session.ambient, governor.ask
        leaves: dict[int, Tensor] = {}
        noted = ambient.passes

        def watch(task: Any, over: bool) -> None:
            if keep and not over:
                task.retain = True
            noted(task, over)
            leaves.update((id(leaf), leaf) for leaf in task.wrote if over)

        ambient.passes = watch
        if copy:
            ambient.saved_hooks = ((_copied, _same),)
        clock = threading.Timer(max(self.left(), 0.05), session.machine.stop, ["the time for trying is over"])
        clock.daemon = True
        found: list[tuple[Place, Problem]] = []
        lines: list[int] = []

        def emit(event: Event) -> None:
            if isinstance(event, Failure):
                line = lines[event.line - first] if 0 <= event.line - first < len(lines) else event.line
                found.append(((event.source.name, line, event.problem.kind), event.problem))

        try:
            clock.start()
            for source in self.sources:
                first = source.first_line
                mine = tuple(edit for edit in edits if edit.file == source.name and 0 <= edit.line - first < len(source.lines))
                new, lines = applied(source.lines, mine, first)
                session.run("\n".join(new), emit, name=source.name, keep_going=True, first_line=first)
            over = clock.is_alive()
        finally:
            clock.cancel()
            governor.ask = asked
        return Trace(Counter(place for place, _ in found), dict(found), _named(session), _values(leaves.values()), over)

    def verdict(self, fix: Fix) -> str:
        """Return how a fix does: `fails`, `new error`, `slow`, `exact`, `good` (nothing to compare with), `other` gradients."""
        trace = self.run(fix.edits)
        if trace.failures[self.failed] > self.before[self.failed] - 1:
            return "fails"
        new = trace.failures - self.before
        if any((place[0] == self.failed[0] and place[1] <= self.end) or place[2] in {"syntax", "expect"} for place in new):
            return "new error"
        if not trace.over:
            return "slow"
        reference = self.reference()
        if reference is None or _without(reference.failures) != _without(trace.failures):
            return "good"
        same = agree(reference, trace)
        return "good" if same is None else "exact" if same else "other"


def _without(failures: Counter[Place]) -> set[tuple[str, int]]:
    return {place[:2] for place in failures}


def tried(trial: Trial, fixes: Iterable[Fix], most: int) -> tuple[Fix, ...]:
    """Return the fixes that work, in their order, after `most` trials at the most.

    What was not tried comes after them, advice without edits last.
    """
    good, late, words = [], [], []
    seen: set[tuple[Edit, ...]] = set()
    for fix in fixes:
        if not fix.edits:
            words.append(fix)
            continue
        if fix.edits in seen:
            continue
        seen.add(fix.edits)
        if len(seen) > most or trial.left() <= 0:
            late.append(fix)
            continue
        verdict = trial.verdict(fix)
        if verdict == "slow":
            late.append(fix)
        elif verdict not in {"fails", "new error"} and (verdict != "other" or fix.changes):
            effect = fix.changes if verdict == "other" else fix.effect
            good.append(fix._replace(effect=effect, tried=True))
    return (*_distinct(good), *late, *words)


def _distinct(fixes: list[Fix]) -> list[Fix]:
    found: dict[str, Fix] = {}
    for fix in fixes:
        found.setdefault(fix.words, fix)
    return list(found.values())


# --- what is compared -----------------------------------------------------------------------------------------------


def _copied(tensor: Tensor) -> Tensor:
    return tensor.clone()  # type: ignore[no-any-return]


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _named(session: Any) -> dict[str, tuple[Any, Any]]:
    """Return value and gradient of each variable, and of each parameter of a module that is one."""
    found: dict[str, tuple[Any, Any]] = {}
    for name, value in session.machine.variables().items():
        if isinstance(value, Tensor):
            found[name] = _value(value)
        elif is_module(value):
            found.update((f"{name}.{path}", _value(one)) for path, one in parameters_of(value))
    return found


def _value(tensor: Tensor) -> tuple[Any, Any]:
    grad = None if tensor.meta is None else tensor.meta.grad
    return tensor.array, None if grad is None else grad.array


def _values(leaves: Iterable[Tensor]) -> list[tuple[Any, Any]]:
    return [_value(leaf) for leaf in leaves]


def agree(one: Trace, other: Trace) -> bool | None:
    """Tell whether two runs agree on what learns; None where they have nothing in common."""
    names = [name for name in one.named if name in other.named]
    for name in names:
        (value, grad), (value2, grad2) = one.named[name], other.named[name]
        learns = "." in name or grad is not None or grad2 is not None
        if not _close(grad, grad2) or (learns and not _close(value, value2)):
            return False
    left = list(other.leaves)
    for value, grad in one.leaves:
        match = next((n for n, (v, g) in enumerate(left) if _close(value, v) and _close(grad, g)), None)
        if match is None:
            return False
        del left[match]
    return True if names or one.leaves else None


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, _RELATIVE, _ABSOLUTE, equal_nan=True))
