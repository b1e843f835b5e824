"""A session: takes text, runs it statement by statement, and tells what happens as events.

Shell, batch and golden tests all call `Session.run`. A session has its own ambient value (grad mode, random numbers,
print options), so nothing leaks from one to the next. The options `--format` and `--output`, which every command has,
are taken here. What commands ask of a session is answered in session/control.py.
"""

import os
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gradsh.commands import GRAMMARS
from gradsh.compiler.lower import Unit
from gradsh.contracts.events import Done, Emit, Failure, Note, Result, Snapshot, Warn
from gradsh.contracts.state import Entry, State
from gradsh.contracts.state import Failed as LastFailure
from gradsh.engine.ambient import ANOMALY_SOURCE, Ambient, enter
from gradsh.engine.graph.node import next_sequence_number
from gradsh.engine.graph.tensor import allow_infinities
from gradsh.language.node import stmt
from gradsh.language.parser import MAX_TEXT, is_complete, parse
from gradsh.language.paste import clean
from gradsh.language.tree import Command, Constant, Expr
from gradsh.process.limits import UNBOUNDED, Limits, confined
from gradsh.process.malloc import give_back
from gradsh.process.nesting import surveyed
from gradsh.runtime.machine import Machine, StatementFailure
from gradsh.session.control import Outcome, quiet
from gradsh.session.reports import Reports
from gradsh.session.timeout import reading, timed
from gradsh.text.expectations import Block, scan
from gradsh.text.problem import Problem, ProblemError
from gradsh.text.script_options import options_of
from gradsh.text.span import Source, text_of

ASSERTIONS = ("freed", "saved", "live_bytes", "peak_bytes", "reclaimable_bytes")
"""The functions of `probe.assertions`, imported when a script first calls one."""
OPTIMIZED = 1
"""Flag of the code of functions: their variables are read as a copy. The body of a class has the dictionary itself."""
DEBUG = bool(os.environ.get("GRADSH_DEBUG"))
TRIED_AT_ONCE = frozenset({
    "freed", "version", "no_grad", "scalar", "grad_shape", "leaf_inplace", "view_inplace", "not_leaf", "unused", "shape",
    "dtype", "value", "index", "key", "name", "attribute", "type",
})
"""Kinds whose fixes are tried before the error is told, where the program is small."""
FEW_NODES, FEW_STATEMENTS, FEW_BYTES, FEW_SECONDS = 4_000, 1_000, 1 << 25, 3.0
"""What a small program has at the most; its statements took no longer together, so that trying it again is not felt."""
METERED = ("memory", "leaks", "peak_bytes")
"""Words that ask how bytes went over time: a text that has one is followed from its beginning."""


class _Bound:
    """The names that the program has bound: none of these starts a command where a statement could mean the name."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.machine.bound(name)


class Session(Reports):
    """A program's variables and everything around them. `seed` None draws one; `typed` says that a person types."""

    def __init__(self, seed: int | None = 0, *, limits: Limits = UNBOUNDED, typed: bool = False) -> None:
        self.seed = _drawn_seed() if seed is None else seed
        self.limits = limits
        self.typed = typed
        self.about = ""
        """The name of the text whose lines are told without a name: the first that is run, where nobody types."""
        self.emit: Emit = quiet
        self.machine = self.new_machine()
        self.machine.on_print = self._on_print
        self.machine.on_value = self._on_value
        self.machine.on_command = self._on_command
        self.machine.on_warning = self.warn
        self.machine.on_exit = self._on_exit
        self.machine.on_error_output = self._on_error_output
        self.machine.confine = confined
        self.machine.grammars = GRAMMARS
        self.state = State(self.machine.program, self, self.line_of, self.machine.locate)
        self.ambient = self.new_ambient()
        self.line = 0
        self.exhausted = False
        self.left: int | None = None
        self.when_stuck: Callable[[int, str], None] | None = None
        """Set by who owns the process: told (line, reason) when a script can not even be stopped."""
        self.rescue: Callable[[], tuple[str, str] | None] = lambda: None
        """Set by a shell: gives (path, text) of what is to be written before a process is ended in which somebody typed."""
        self.as_json = False
        self._hints: Any = None
        self._values: dict[str, Mapping[str, str]] = {}
        """By the name of a source, the values of its parameters."""
        self.guardian: Any = None
        self.recorder: Callable[..., Any] | None = None
        """Set by a session on another engine: makes, of a source and what takes events, what records a script for a report."""
        self.observer: Callable[[Any, bool], None] | None = None
        """Told of each backward pass, when it begins and (True) when it is over."""
        self._begun = next_sequence_number()
        self.depth = 0
        self._bound = _Bound(self.machine)
        self.offer_assertions()

    def new_machine(self) -> Machine:
        """Return the machine that runs the statements."""
        return Machine(_diagnose)

    @staticmethod
    def next_mark() -> int:
        """Return a sequence number that no node made so far exceeds."""
        return next_sequence_number()

    def offer_assertions(self) -> None:
        """Give scripts the functions by which they assert what their graphs hold."""
        self.machine.builtins.update((name, self._assertion(name)) for name in ASSERTIONS)

    def _assertion(self, name: str) -> Callable[..., Any]:
        def ask(*args: object, **kwargs: object) -> Any:
            from gradsh.probe.assertions import functions

            return functions(self.reachable, self.state.meter)[name](*args, **kwargs)

        ask.__name__ = ask.__qualname__ = name
        return ask

    def _bytes_held(self) -> tuple[int, int]:
        """Return the bytes that the program's tensors and graphs hold now, and the most that they held."""
        from gradsh.probe.accounts import take_account

        now, meter = take_account(self.reachable()).total, self.state.meter
        return now, now if meter is None or meter.peak is None else max(now, meter.peak.account.total)

    def reachable(self) -> dict[str, object]:
        """Return the program's variables, and those of the script's functions that are running."""
        found = dict(self.machine.variables())
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_builtins is self.machine.builtins and frame.f_locals is not frame.f_globals:
                local = frame.f_locals
                found.update((name, value) for name, value in local.items() if name.isidentifier())
                if isinstance(local, dict) and frame.f_code.co_flags & OPTIMIZED:  # before 3.13 a copy that the frame keeps
                    local.clear()
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def new_ambient(self) -> Ambient:
        """Return an ambient value as every program begins with it."""
        ambient = Ambient()
        ambient.locate = self.place_function()
        ambient.location_cache = self.trail()
        ambient.trail = self.machine.progress
        ambient.warn = self.machine.warning_filters.take
        ambient.check = self.machine.check
        ambient.passes = self._on_pass
        ambient.bytes_held = self._bytes_held
        ambient.flags[ANOMALY_SOURCE] = self.machine.shown_line
        if self.seed:
            ambient.generator.manual_seed(self.seed)
        return ambient

    # ------------------------------------------------------------------ running

    def run(
        self, text: str, emit: Emit, *, name: str = "<input>", keep_going: bool = False, first_line: int = 1,
        values: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Run a text; every event goes to `emit`. Ends at the first failed statement unless `keep_going`.

        A failure that the text announces (a `#!` below the statement) is emitted as expected and ends nothing.
        `values` sets parameters of the text (see `session/parameters.py`), which have been checked to be of their types.
        """
        with self._entered(emit):
            return self._run(text, name, keep_going, first_line, values or {})

    @contextmanager
    def _entered(self, emit: Emit) -> Iterator[None]:
        """Have the program's own ambient value within the block, and every event go to `emit`."""
        allow_infinities()  # it may have been built in another thread, as the shell's is
        outer, outer_hook, outer_show = self.emit, sys.unraisablehook, warnings.showwarning
        self.emit, sys.unraisablehook, warnings.showwarning = emit, self._on_lost, self._on_doubt
        self.depth += 1
        try:
            with enter(self.ambient):
                yield
        finally:
            self.depth -= 1
            self.emit, sys.unraisablehook, warnings.showwarning = outer, outer_hook, outer_show

    def run_again(self, units: Iterable[tuple[Unit, bool]]) -> Problem | None:
        """Run statements, muted; return how one failed that had passed before."""
        with self._entered(quiet):
            for unit, passed in units:
                failed = self._run_statement(unit.stmt, unit.source, unit.stmt.span.line)
                if failed is not None and passed:
                    return failed.problem
        return None

    def _run(
        self, text: str, name: str, keep_going: bool, first_line: int, values: Mapping[str, str]
    ) -> Outcome:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()  # half a surrogate pair has no place in a source
        text = text[: MAX_TEXT + 1]  # enough for the parser to refuse it
        source = Source(name, text, first_line)
        try:
            with reading(self, source):
                text, notes = clean(text)
                for note in notes:
                    self.emit(Warn(0, str(note)))
                source = Source(name, text, first_line)
                program = parse(source, GRAMMARS, self._bound)
                self._take_options(source)
        except ProblemError as error:
            self.tell_failure(_unparsed(error.problem, source), expected=False)
            return Outcome(1, ())
        if values:
            self._values[name] = values
        if name in self._values:
            from gradsh.session.parameters import set_parameters

            set_parameters(program, self._values[name])
        if self.state.meter is None and (self.typed or any(word in text for word in METERED)):
            from gradsh.probe.meter import Meter
            from gradsh.probe.tally import Tally

            self.state.meter = Meter(Tally() if self.typed else None)
        if not self.typed and not self.about:
            self.about = name
        body = program.body
        if body and not self.typed and self.depth == 1 and isinstance(body[0], Expr) and isinstance(body[0].value, Constant):
            self.machine.program["__doc__"] = body[0].value.value if isinstance(body[0].value.value, str) else None
        lines = tuple((one.span.line, one.span.end_line) for one in body)
        blocks = scan(source, lines, strict=False)
        if self.depth > 1:  # a text that a statement runs (`load`, `undo`) shares the limits of that statement
            return self._run_statements(body, source, lines, blocks, keep_going)
        if self.typed:  # each input has the limits for itself
            self.exhausted = False
            self._printed = 0
        try:
            with timed(self, name), surveyed(self.machine.stop):
                outcome = self._run_statements(body, source, lines, blocks, keep_going)
                if self.state.settings.hints and not self.typed:
                    self._hint(lambda hints, scope: hints.over(scope, ended=True))
                return outcome
        finally:
            self.machine.resume()

    def _run_statements(
        self, body: Sequence[stmt], source: Source, lines: tuple[tuple[int, int], ...], blocks: dict[int, Block],
        keep_going: bool,
    ) -> Outcome:
        status = 0
        for statement, (line, end_line) in zip(body, lines, strict=True):
            failed = self._run_statement(statement, source, line)
            if failed is not None:
                expected = end_line in blocks and blocks[end_line].fails
                kind = self.tell_failure(failed, expected=expected)
                status = status if expected else 1
                if kind == "limit":
                    give_back()
                    if not self.exhausted:
                        self.machine.resume()
                if kind == "interrupt":
                    self._over(line, end_line, ok=False)
                    return Outcome(1, lines, interrupted=True)
            self._over(line, end_line, ok=failed is None)
            if self.left is not None:
                return Outcome(self.left or status, lines)
            if self.exhausted or (status and not keep_going):
                break
        return Outcome(status, lines)

    def _over(self, line: int, end_line: int, *, ok: bool) -> None:
        """Tell that a statement is over; one of a text that a command runs (`load`, `tour`) is part of that command's."""
        if self.depth == 1:
            self.emit(Done(line, end_line, ok))

    def _run_statement(self, statement: stmt, source: Source, line: int) -> StatementFailure | None:
        """Run a top-level statement and remember it; show what is watched, where it changed."""
        state = self.state
        if self.guardian is not None:
            self.guardian.at(line)
        self.line = line = self.told(line, source.name)
        self._command_only = isinstance(statement, Command)
        name = statement.name if isinstance(statement, Command) else ""
        unit, mark, begun = len(self.machine.units), self.next_mark(), time.perf_counter()
        failed = self.machine.run_statement(statement, source)
        seconds = time.perf_counter() - begun
        text = text_of(source, statement.span)
        cut = failed is not None and failed.problem.kind in {"interrupt", "limit"}
        state.history.append(Entry(text, line, source.name, failed is None, seconds, unit, mark, name, cut))
        try:
            self._look_after(line, seconds)
        except BaseException as error:  # noqa: BLE001  # what is watched is a script's own expression, and may fail in any way
            return failed or self.machine.explain(error)
        return failed

    def _look_after(self, line: int, seconds: float) -> None:
        """Measure and show what follows a statement: memory, time, an account, what is watched."""
        state = self.state
        if state.meter is not None and state.meter.due_after():
            state.meter.sample(self.machine.variables(), line, (), inside=False)
        if self._hints is not None and state.settings.hints:
            self._hint(lambda hints, scope: hints.over(scope, ended=False))
        if state.settings.timing:
            from gradsh.commands.time import duration

            self.emit(Note(line, f"took {duration(seconds)}"))
        if state.settings.account:
            from gradsh.commands.brief import brief

            told = brief(state, state.history[-1]) if state.history else ""
            if told:
                self.emit(Note(line, told))
        if state.watches:
            from gradsh.commands.watch import changed

            for report, view in changed(state):
                self.emit(Result(line, "watch", report, view))

    def _hint(self, ask: Callable[[Any, Mapping[str, object]], None]) -> None:
        """Let the rules for silent mistakes look; one that fails, at an object of the script's, tells nothing."""
        from gradsh.diagnosis.hints import Hints

        if self._hints is None:
            self._hints = Hints(self.machine, lambda hint: self.warn(hint.line(), hint.lines[-1]))
        self.machine.telling = True
        try:
            ask(self._hints, self.reachable())
        except Exception:
            if DEBUG:
                raise
        finally:
            self.machine.telling = False

    def _on_pass(self, task: Any, over: bool) -> None:
        """Note the leaves that a backward pass wrote; measure what is alive before it."""
        if self.observer is not None:
            self.observer(task, over)
        if self.state.settings.hints:
            self._hint(lambda hints, scope: hints.after(task.wrote, task.location, scope) if over else
                       hints.before(task.order, task.location, scope))
        if over:
            running = self.machine.running()
            unit = -1 if running is None else self.unit_of((None, running.code, 0))
            self.state.note_written(unit, {id(leaf): weakref.ref(leaf) for leaf in task.wrote})
            if self.state.meter is not None:
                self.state.meter.freed(task.order[: task.position + 1])
        elif self.state.meter is not None and self.state.meter.due():
            place = self.machine.where()
            line = self.line_of(place) if place is not None else self.line
            self.state.meter.sample(self.reachable(), line or self.line, [edge[0] for edge, _ in task.roots])

    def tell_failure(self, failed: StatementFailure, *, expected: bool) -> str:
        """Remember and tell a failure; return its kind."""
        problem, most = failed.problem, self.limits.max_output
        if most and problem.kind != "limit" and len(problem.message) > most:
            problem = problem._replace(message=f"{problem.message[:most]}… ({len(problem.message):,} characters)")
        if expected and self.depth:
            self.spend(len(problem.message))
        last = LastFailure(problem, failed.source, failed.line, failed.top)
        if problem.kind in TRIED_AT_ONCE and self._is_small():
            last = self.tried(last, at_once=True)
        self.state.failed = last
        self.emit(Failure(failed.line, failed.top, last.problem, failed.source, expected))
        return problem.kind

    def _is_small(self) -> bool:
        """Whether the program is so small that trying fixes is not felt: an error is told at once."""
        if next_sequence_number() - self._begun > FEW_NODES or len(self.state.history) > FEW_STATEMENTS:
            return False
        from gradsh.probe.accounts import take_account

        took = sum(entry.seconds for entry in self.state.history)
        return took <= FEW_SECONDS and take_account(self.reachable()).total <= FEW_BYTES

    def copy(self) -> "Session":
        """Return a new session that begins as this one did, for trying something in it."""
        other = Session(self.seed)
        other.machine.read_module = self.machine.read_module
        other._values = self._values
        other.about = self.about
        other.is_copy = True
        return other

    def _take_options(self, source: Source) -> None:
        """Follow a seed that the text asks for (`#@ seed=3`); other comments of that form are not for us."""
        seed = options_of(source, strict=False).seed
        if seed is not None:
            self.seed = int(seed)
            self.ambient.generator.manual_seed(self.seed)

    # ------------------------------------------------------------------ what the outside asks for

    def names_bound(self) -> "_Bound":
        """Return what tells the names that the program has bound, which start no command."""
        return self._bound

    def is_complete(self, text: str) -> bool:
        """Whether a text can be run as it stands, or fails however it goes on; False where more lines are needed."""
        return is_complete(text, GRAMMARS, self._bound) is not False

    def snapshot(self) -> Snapshot:
        """Return the state as product.md's JSON has it."""
        from gradsh.probe.snapshot import snapshot

        with enter(self.ambient):
            return Snapshot(*snapshot(self.machine.variables(), self.line_of))

    def abandon(self) -> None:
        """End what is running, and the run: nobody is there to see the rest."""
        self.exhausted = True
        self.machine.stop("the output stream is closed")

    def interrupt(self) -> None:
        """End what is running at the next safe point."""
        if self.inner is not None:
            self.inner.machine.interrupt()
        self.machine.interrupt()


def _diagnose(machine: Machine, error: BaseException, unit: Unit | None) -> StatementFailure:
    from gradsh.diagnosis.diagnose import diagnose

    return diagnose(machine, error, unit)


def _drawn_seed() -> int:
    import secrets

    return secrets.randbits(31)


def _unparsed(problem: Problem, source: Source) -> StatementFailure:
    line = problem.labels[0].span.line if problem.labels else source.first_line
    return StatementFailure(problem, line, line, source, "SyntaxError")
