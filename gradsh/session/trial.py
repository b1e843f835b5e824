"""Tries fixes in a copy of the program: is the error gone, is none new, and are the gradients those that were asked for?

The copy runs in a session of its own, muted. For a buffer that was freed or written, the reference is the same program with
every graph kept and every saved tensor copied: what its passes ask for. A fix that gives other gradients is offered only if its
words say so.
"""

import difflib
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gradsh.compiler import runtime_names
from gradsh.contracts.events import Event, Failure
from gradsh.engine.graph.node import next_sequence_number
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.modules import is_module, parameters_of
from gradsh.process.gc_policy import governor
from gradsh.text.fix import Edit, Fix, applied
from gradsh.text.problem import Problem
from gradsh.text.span import Source

REFERENCED = frozenset({"freed", "version"})
"""Kinds whose gradients can be computed in spite of the failure."""
_NAMING = frozenset({"name", "attribute", "type", "key"})
"""Kinds of which a fix names what was meant."""
_RELATIVE, _ABSOLUTE = 1e-4, 1e-5

class Effort(NamedTuple):
    """What trying may cost, in what a program does, so that the outcome does not depend on the machine's speed.

    `runs` of the program, `steps` (loop passes and nodes) of one run and of `all` together; `seconds` of processor time end what
    computes for long, and `_PATIENCE` times as many by the clock what waits.
    """

    runs: int
    steps: int
    all: int
    seconds: float


AT_ONCE = Effort(14, 20_000, 60_000, 30.0)
WHEN_ASKED = Effort(60, 300_000, 1_500_000, 600.0)
_PATIENCE = 4
_FIRST, _SECOND = 6, 8
"""Fixes of which a second one may be needed, and how many second ones are tried of each."""

Place = tuple[str, int, str]
"""A failure: the name of its source, its line, its kind."""


class Trace(NamedTuple):
    """What a run left: its failures by place, with the problem at each, and the gradients and values of what learns."""

    failures: Counter[Place]
    problems: dict[Place, Problem]
    named: dict[str, tuple[Any, Any]]
    leaves: list[tuple[Any, Any]]
    over: bool
    caused: set[Place]
    """The failures that come from what the edits, or the statement that failed, write or free."""


class Trial:
    """The trials for one failure: `sources` is the program, `failed` where it fails, `others` where else it does."""

    def __init__(self, fresh: Callable[[], Any], sources: list[Source], failed: Place, end: int, effort: Effort) -> None:
        self.fresh = fresh
        self.sources = sources
        self.failed = failed
        self.end = end
        """The last line of the top-level statement that failed."""
        self.effort = effort
        self.steps = self.runs = 0
        self.loop: tuple[int, int] | None = None
        """The line of the outermost loop around the failure, and its iteration that failed."""
        self.short = False
        """Whether runs end soon after the failure: set where a whole run takes too many steps."""
        self._deadline = time.process_time() + effort.seconds
        first = self.run(())
        self.before = first.failures
        self.problem = first.problems.get(failed)
        self.hopeless = not first.over or failed not in first.failures  # the copy may take another way: nothing can be tried
        self._references: dict[tuple[Edit, ...], Trace] = {}

    def spent(self) -> bool:
        """Whether all effort is used up."""
        effort = self.effort
        return self.hopeless or self.runs > effort.runs or self.steps > effort.all or time.process_time() > self._deadline

    def reference(self, edits: tuple[Edit, ...] = (), kind: str = "") -> Trace | None:
        """Return what the program's passes ask for, where that can be computed; after the edits for another failure's kind."""
        kind = kind or self.failed[2]
        if kind not in REFERENCED:
            return None
        if edits not in self._references:
            copy = not any("create_graph" in source.text for source in self.sources)
            self._references[edits] = self.run(edits, keep=True, copy=copy)
        found = self._references[edits]
        return None if self.failed in found.failures or not found.over else found

    def run(self, edits: tuple[Edit, ...], *, keep: bool = False, copy: bool = False) -> Trace:
        """Run the program after edits; `keep` every graph, `copy` every saved tensor."""
        session = self.fresh()
        asked, leaves = governor.ask, _watched(session.ambient, keep=keep)
        if copy:
            session.ambient.saved_hooks = ((_copied, _unwritten),)
        clock = threading.Timer(max(self._deadline - time.process_time(), 0.05) * _PATIENCE, session.machine.stop, [_OVER])
        clock.daemon = True
        begun = next_sequence_number()
        found: list[tuple[Place, Problem]] = []
        ended: list[str] = []
        lines: list[int] = []
        first = 0
        modules: dict[str, list[int]] = {}
        session.machine.read_module = _edited(session.machine.read_module, edits, modules)

        def line_of(line: int, file: str = "") -> int:
            if file in modules:
                return int(_line_before(modules[file], str(line)))
            return lines[line - first] if 0 <= line - first < len(lines) else line

        whole = self.loop is not None and not self.short  # one that takes long is cut short and run anew
        most = self.effort.steps // (_WHOLE if whole else 1)
        loops = _Loops(session.machine, begun + most, line_of, self.loop if self.short else None)
        caused: set[Place] = set()
        edited = {self.failed[:2], *((edit.file, edit.line) for edit in edits)}  # what failed runs now, and may break what follows

        def emit(event: Event) -> None:
            if isinstance(event, Failure):
                if event.problem.message in {_CUT, _OVER}:
                    ended.append(event.problem.message)
                    return
                found.append(((event.source.name, line_of(event.line, event.source.name), event.problem.kind), event.problem))
                if found[-1][0] == self.failed and self.loop is None:
                    self.loop = loops.around
                written = [label for label in event.problem.labels if label.role in {"modified", "freed"}]
                if {(file, line_of(label.span.line, file)) for label in written for file in [(label.source or event.source).name]} & edited:
                    caused.add(found[-1][0])

        try:
            clock.start()
            for source in self.sources:
                first = source.first_line
                new, lines = applied(source.lines, _of(Fix("", edits=edits), source), first)
                if self.short and source.name == self.failed[0]:
                    new = [text for text, line in zip(new, lines, strict=True) if line <= self.end]
                session.run("\n".join(new), emit, name=source.name, keep_going=True, first_line=first)
                if self.short and source.name == self.failed[0]:
                    break
            over = clock.is_alive() and _OVER not in ended
        finally:
            clock.cancel()
            governor.ask = asked
            self.runs += 1
            self.steps += loops.passes + next_sequence_number() - begun
        return Trace(Counter(place for place, _ in found), dict(found), _named(session), _values(leaves.values()), over, caused)

    def verdict(self, fix: Fix, after: tuple[Edit, ...] = (), kind: str = "") -> tuple[str, Problem | None]:
        """Return how a fix does, and the problem that stands in the way where it does not; `after`: a second one, of a kind.

        `fails`, `new error`, `slow`, `exact`, `good` (nothing to compare with), `other` gradients, `lost`: none for some leaf.
        """
        trace = self.run(fix.edits)
        if trace.failures[self.failed] > self.before[self.failed] - 1:
            return "fails", trace.problems[self.failed]
        if not trace.over:
            if self.short or self.loop is None:
                return "slow", None
            self.short = True
            self._references.clear()
            return self.verdict(fix, after, kind)
        new = trace.failures - self.before
        for place in new:
            if (place[0] == self.failed[0] and place[1] <= self.end) or (
                place[2] in {"syntax", "expect", self.failed[2]} or place in trace.caused
            ):
                return "new error", trace.problems[place]
        reference = self.reference(after, kind)
        if reference is None or _without(reference.failures) != _without(trace.failures):
            return "good", None
        same = agree(reference, trace)
        return "good" if same is None else "exact" if same else "lost" if _loses(reference, trace) else "other", None


def _edited(
    read: Callable[[str], Source | None] | None, edits: tuple[Edit, ...], lines: dict[str, list[int]],
) -> Callable[[str], Source | None] | None:
    """Return what reads modules as edits make them, and notes in `lines` (by file) which line each of theirs was."""

    def reading(place: str) -> Source | None:
        source = read(place) if read is not None else None
        mine = _of(Fix("", edits=edits), source) if source is not None else ()
        if source is None or not mine:
            return source
        new, lines[source.name] = applied(source.lines, mine, 1)
        return Source(source.name, "\n".join(new))

    return reading if read is not None and edits else read


_OVER = "the time for trying fixes is over"
_CUT = "the loop has run far enough"
_WHOLE = 4
"""The part of a run's steps within which a program with a loop is run whole."""
_BEYOND = 3
"""Iterations after the one that failed which a short run has."""


def _watched(ambient: Any, *, keep: bool) -> dict[int, Tensor]:
    """Return the leaves (id -> leaf) to which the passes of a session will give gradients; `keep` every graph."""
    leaves: dict[int, Tensor] = {}
    noted = ambient.passes

    def watch(task: Any, over: bool) -> None:
        if keep and not over:
            task.retain = True
        noted(task, over)
        leaves.update((id(leaf), leaf) for leaf in task.wrote if over)

    ambient.passes = watch
    return leaves


class _Loops:
    """Counts the loop passes of a machine, and stops it where they and its nodes are too many, or where a loop has run far enough."""

    def __init__(self, machine: Any, most: int, line_of: Callable[[int], int], far: tuple[int, int] | None) -> None:
        self.passes = 0
        self.machine = machine
        self.most = most
        self.line_of = line_of
        self.far = far
        """(line of a loop, the last of its iterations before the machine is stopped)"""
        self.heads: dict[int, tuple[int, int]] = {}
        """depth of an activation -> (line, iteration) of the loop that was there last"""
        for name in (runtime_names.PASS, runtime_names.TICK):
            machine.builtins[name] = self._counting(machine.builtins[name])

    def _counting(self, told: Callable[[], object]) -> Callable[[], object]:
        progress = self.machine.progress

        def tell() -> object:
            self.passes += 1
            if self.passes % 64 == 0 and self.passes + next_sequence_number() > self.most:
                self.machine.stop(_OVER)
            found = told()
            head = self.line_of(sys._getframe(1).f_lineno), progress.activation[1]
            self.heads[_depth(progress.activation)] = head
            if self.far is not None and head[0] == self.far[0] and head[1] > self.far[1] + _BEYOND:
                self.machine.stop(_CUT)
                told()
            return found

        return tell

    @property
    def around(self) -> tuple[int, int] | None:
        """The outermost loop around the latest failure."""
        activation, found = self.machine.progress.failing[1], None
        while activation[0] is not None:
            if activation[2] is None and activation[1]:
                found = self.heads.get(_depth(activation))
            activation = activation[0]
        return found


def _depth(activation: Any) -> int:
    depth = 0
    while activation[0] is not None:
        activation, depth = activation[0], depth + 1
    return depth


def _loses(reference: Trace, trace: Trace) -> bool:
    """Tell whether a leaf has no gradient that has one in the reference."""
    return len(trace.leaves) < len(reference.leaves) or any(
        grad is not None and name in trace.named and trace.named[name][1] is None for name, (_, grad) in reference.named.items())


def _without(failures: Counter[Place]) -> set[tuple[str, int]]:
    return {place[:2] for place in failures}


def tried(trial: Trial, fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Return the fixes that work, in their order; two of them together where no single one does.

    What was not tried comes after them, advice without edits last.
    """
    fixes = tuple(fixes)
    good, late, halves = _sorted_out(trial, [fix for fix in fixes if fix.edits and not fix.last])
    last = [] if good else _sorted_out(trial, [fix for fix in fixes if fix.last])[0]
    for half, problem in halves[:_FIRST] if not good else ():
        given = half.changes or trial.failed[2] not in REFERENCED  # the gradients are those of the program with the first edit
        after = (half.edits, problem.kind) if given else ((), "")
        good += _sorted_out(trial, _with_second(trial, half, problem, last=not last), *after)[0]
    good = good or last
    told = any(not fix.edits and fix.words.startswith("did you mean ") for fix in fixes)  # all names in one sentence
    if not good and not told and trial.failed[2] in _NAMING:  # the name is right; what fails then is another matter
        good = [half._replace(edits=()) for half, _ in halves]
    return (*_distinct(good), *late, *(fix for fix in fixes if not fix.edits))


def _sorted_out(
    trial: Trial, fixes: list[Fix], after: tuple[Edit, ...] = (), kind: str = ""
) -> tuple[list[Fix], list[Fix], list[tuple[Fix, Problem]]]:
    """Return the fixes that work, those for which no effort was left, and those after which something else stands in the way."""
    good: list[Fix] = []
    lost: list[Fix] = []
    late, halves = [], []
    for fix in fixes:
        if trial.spent():
            late.append(fix)
            continue
        verdict, problem = trial.verdict(fix, after, kind)
        if verdict == "slow":
            late.append(fix)
        elif problem is not None:
            if trial.problem is None or (problem.message, problem.labels[:-1]) != (trial.problem.message, trial.problem.labels[:-1]):
                halves.append((fix, problem))
        elif verdict not in {"other", "lost"} or fix.changes:
            effect = fix.changes if verdict in {"other", "lost"} else fix.effect
            (lost if verdict == "lost" else good).append(fix._replace(effect=effect, tried=True))
    halves.sort(key=lambda half: _saves_there(trial, (), trial.problem) == _saves_there(trial, half[0].edits, half[1]))
    return good or lost, late, halves


def _saves_there(trial: Trial, edits: tuple[Edit, ...], problem: Problem | None) -> set[tuple[str, int]]:
    """Return the lines of a problem's labels as the program has them: where they are others, a fix has helped halfway."""
    numbers: dict[str, list[int]] = {}
    for source in trial.sources:
        numbers[source.name] = applied(source.lines, _of(Fix("", edits=edits), source), source.first_line)[1]
    return set() if problem is None else {
        (label.role, int(_line_before(numbers[trial.failed[0]], str(label.span.line)))) for label in problem.labels}


def _with_second(trial: Trial, half: Fix, problem: Problem, *, last: bool) -> list[Fix]:
    """Return a fix together with each of those for the problem that stands in its way; `last`: also with those of the last resort."""
    found = []
    seconds = [fix for fix in problem.fixes if fix.edits and not fix.here]
    for second in [*[fix for fix in seconds if not fix.last][:_SECOND], *(fix for fix in seconds if fix.last and last)]:
        edits: list[Edit] = []
        lines: list[int] = []
        for source in trial.sources:
            new, numbers = applied(source.lines, _of(half, source), source.first_line)
            both = applied(new, _of(second, source), source.first_line)[0]
            edits += _between(source, new=both)
            lines = numbers if source.name == trial.failed[0] else lines
        words = re.sub(r"(?<=line )\d+", lambda at, lines=lines: _line_before(lines, at[0]), second.words)  # type: ignore[misc]
        effect = "; ".join(dict.fromkeys(filter(None, (half.effect, second.effect))))
        twice = half.changes and trial.failed[2] in REFERENCED  # two that change gradients mend nothing
        changes = "" if twice else half.changes or second.changes
        found.append(Fix(f"{half.words}; {words}", effect, tuple(edits), changes=changes))
    return found


def _of(fix: Fix, source: Source) -> tuple[Edit, ...]:
    last = source.first_line + len(source.lines)
    return tuple(edit for edit in fix.edits if edit.file == source.name and source.first_line <= edit.line < last)


def _line_before(lines: list[int], number: str) -> str:
    return str(lines[int(number) - 1]) if 0 < int(number) <= len(lines) else number


def _between(source: Source, new: list[str]) -> list[Edit]:
    """Return the edits that make other lines of a source's."""
    edits: list[Edit] = []
    old, first = source.lines, source.first_line
    for kind, start, end, begin, stop in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        put = "\n".join(new[begin:stop])
        if end - start == stop - begin:
            edits += [Edit(first + start + row, "replace", new[begin + row], source.name) for row in range(end - start)]
            continue
        if start == end:
            how, at = ("before", first) if start == 0 else ("after", first + start - 1)
            edits.append(Edit(at, how, put, source.name))
            continue
        edits.append(Edit(first + start, "replace", put, source.name))
        edits += [Edit(first + row, "replace", "", source.name) for row in range(start + 1, end)]
    return edits


def _distinct(fixes: list[Fix]) -> list[Fix]:
    found: dict[str, Fix] = {}
    for fix in fixes:
        found.setdefault(fix.words, fix)
    return list(found.values())


# --- what is compared -----------------------------------------------------------------------------------------------


def _copied(tensor: Tensor) -> tuple[Tensor, Tensor, int]:
    return tensor.clone(), tensor.detach(), tensor.counter.version


def _unwritten(saved: tuple[Tensor, Tensor, int]) -> Tensor:
    """Return the saved tensor, its copy where it was written since; a write that counts no version (`.data`) is not undone."""
    copy, shared, version = saved
    return shared if shared.counter.version == version else copy


def _named(session: Any) -> dict[str, tuple[Any, Any]]:
    """Return value and gradient of each variable, and of each parameter of a module that is one."""
    found: dict[str, tuple[Any, Any]] = {}
    for name, value in session.machine.variables().items():
        if isinstance(value, Tensor):
            found[name] = _value(value)
        elif is_module(value):
            found.update((f"{name}.{path}", _value(one)) for path, one in parameters_of(value))
    return found


def _value(tensor: Tensor) -> tuple[object, object]:
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
