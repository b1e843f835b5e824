"""A session: takes text, runs it statement by statement, and tells what happens as events.

Shell, batch and golden tests all call `Session.run`. A session has its own ambient value (grad mode, random numbers,
print options), so nothing leaks from one to the next. The options `--format` and `--output`, which every command has,
are taken here.
"""

import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gradsh.allocator import give_back
from gradsh.commands import GRAMMARS, find
from gradsh.engine.ambient import Ambient, enter
from gradsh.engine.node import next_sequence_number
from gradsh.events import Done, Emit, Event, Failure, Note, Print, Result, Snapshot, Value, Warn
from gradsh.interpreter.machine import Failed, Invocation, Machine
from gradsh.language.node import stmt
from gradsh.language.parser import parse
from gradsh.language.paste import clean
from gradsh.language.statements import Command
from gradsh.limits import UNBOUNDED, Limits, confined
from gradsh.state import Call, Entry, State
from gradsh.state import Failed as LastFailure
from gradsh.text.expectations import Block, options_of, scan
from gradsh.text.fault import fail
from gradsh.text.problem import Problem, ProblemError
from gradsh.text.span import Source, Span

ASSERTIONS = ("freed", "saved", "live_bytes", "peak_bytes", "reclaimable_bytes")
"""The functions of `probe.assertions`, imported when a script first calls one."""
ENDINGS = {"svg": "svg", "png": "png", "dot": "dot", "gv": "dot", "mmd": "mermaid", "json": "json"}
"""Formats that the name of an `--output` file asks for, where `--format` does not."""
OPTIMIZED = 1
"""Flag of the code of functions: their variables are read as a copy. The body of a class has the dictionary itself."""
METERED = ("memory", "leaks", "peak_bytes")
"""Words that ask how bytes went over time: a text that has one is followed from its beginning."""


class Outcome(NamedTuple):
    """How a text went: the exit status it asks for, the lines of its top-level statements, whether interrupted."""

    status: int
    statements: tuple[tuple[int, int], ...]
    interrupted: bool = False


class _Bound:
    """The names that the program has bound: none of these starts a command where a statement could mean the name."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.machine.bound(name)


class Session:
    """A program's variables and everything around them. `seed` None draws one; `typed` says that a person types."""

    def __init__(self, seed: int | None = 0, *, limits: Limits = UNBOUNDED, typed: bool = False) -> None:
        self.seed = _drawn_seed() if seed is None else seed
        self.limits = limits
        self.typed = typed
        self.emit: Emit = _quiet
        self.machine = Machine()
        self.machine.on_print = self._on_print
        self.machine.on_value = self._on_value
        self.machine.on_command = self._on_command
        self.machine.on_warning = self.warn
        self.machine.confine = confined
        self.state = State(self.machine.program, self, self.line_of, self.machine.locate)
        self.ambient = self._new_ambient()
        self.line = 0
        self.exhausted = False
        self.left: int | None = None
        self.when_stuck: Callable[[int, str], None] | None = None
        """Set by who owns the process: told (line, reason) when a script can not even be stopped."""
        self.as_json = False
        self._guardian: Any = None
        self.asker: Callable[[str], str | None] | None = None
        """Set by a shell: shows a prompt and returns the line that was typed, None at the end of input."""
        self.writer: Callable[[str, int], str] | None = None
        """Set from outside: runs a script anew, from a seed, and returns it with its outputs as expectations."""
        self._command_only = True
        self._printed = 0
        self._bound = _Bound(self.machine)
        self._offer_assertions()

    def _offer_assertions(self) -> None:
        """Give scripts the functions by which they assert what their graphs hold."""
        self.machine.builtins.update((name, self._assertion(name)) for name in ASSERTIONS)

    def _assertion(self, name: str) -> Callable[..., Any]:
        def ask(*args: Any, **kwargs: Any) -> Any:
            from gradsh.probe.assertions import functions

            return functions(self._reachable, self.state.meter)[name](*args, **kwargs)

        ask.__name__ = ask.__qualname__ = name
        return ask

    def _reachable(self) -> dict[str, object]:
        """The program's variables, and those of the script's functions that are running."""
        found = dict(self.machine.variables())
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_globals is self.machine.program and frame.f_locals is not self.machine.program:
                local = frame.f_locals
                found.update((name, value) for name, value in local.items() if name.isidentifier())
                if isinstance(local, dict) and frame.f_code.co_flags & OPTIMIZED:  # before 3.13 a copy that the frame keeps
                    local.clear()
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def _new_ambient(self) -> Ambient:
        ambient = Ambient()
        ambient.where = self._place_function()
        ambient.warn = self.warn
        ambient.check = self.machine.check
        ambient.passes = self._on_pass
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
        `values` sets parameters of the text (see `parameters.py`), which have been checked to be of their types.
        """
        outer = self.emit
        self.emit = emit
        try:
            with enter(self.ambient):
                return self._run(text, name, keep_going, first_line, values or {})
        finally:
            self.emit = outer

    def _run(
        self, text: str, name: str, keep_going: bool, first_line: int, values: Mapping[str, str]
    ) -> Outcome:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()  # half a surrogate pair has no place in a source
        text, notes = clean(text)
        for note in notes:
            self.emit(Warn(0, str(note)))
        source = Source(name, text, first_line)
        try:
            self._take_options(source)
            program = parse(source, GRAMMARS, self._bound)
        except ProblemError as error:
            self._fail(_unparsed(error.problem, source), expected=False)
            return Outcome(1, ())
        if values:
            from gradsh.parameters import set_parameters

            set_parameters(program, values)
        if self.state.meter is None and (self.typed or any(word in text for word in METERED)):
            from gradsh.probe.meter import Meter

            self.state.meter = Meter()
        body = program.body
        lines = tuple((one.span.line, one.span.end_line) for one in body)
        blocks = scan(source, lines, strict=False)
        if self.typed:  # each input has the limits for itself
            self.exhausted = False
            self._printed = 0
        watchdog = self._watchdog(name)
        try:
            return self._run_statements(body, source, lines, blocks, keep_going)
        finally:
            if watchdog is not None:
                watchdog.cancel()
            if self._guardian is not None:
                self._guardian.disarm()
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
                kind = self._fail(failed, expected=expected)
                status = status if expected else 1
                if kind == "limit":
                    give_back()
                if kind == "interrupt":
                    self.emit(Done(line, end_line, False))
                    return Outcome(1, lines, interrupted=True)
            self.emit(Done(line, end_line, failed is None))
            if self.left is not None:
                return Outcome(self.left or status, lines)
            if self.exhausted or (status and not keep_going):
                break
        return Outcome(status, lines)

    def _run_statement(self, statement: stmt, source: Source, line: int) -> Failed | None:
        """Run a top-level statement and remember it; show what is watched, where it changed."""
        state = self.state
        self.line = state.statement_line = line
        if self._guardian is not None:
            self._guardian.at(line)
        self._command_only = isinstance(statement, Command)
        name = statement.name if isinstance(statement, Command) else ""
        unit, mark, begun = len(self.machine.units), next_sequence_number(), time.perf_counter()
        failed = self.machine.run_statement(statement, source)
        seconds = time.perf_counter() - begun
        text = _text_of(source, statement.span)
        state.history.append(Entry(text, line, source.name, failed is None, seconds, unit, mark, name))
        if state.meter is not None:
            state.meter.statement(self.machine.variables(), line)
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
        return failed

    def _on_pass(self, task: Any, over: bool) -> None:
        """Note the leaves that a backward pass wrote; measure what is alive before it."""
        if over:
            running = self.machine.running()
            unit = -1 if running is None else self.unit_of((None, running.code, 0))
            if self.state.written[0] != unit:
                self.state.written = (unit, {})
            self.state.written[1].update((id(leaf), weakref.ref(leaf)) for leaf in task.wrote)
        elif self.state.meter is not None and self.state.meter.due():
            place = self.machine.where()
            line = self.line_of(place) if place is not None else self.line
            self.state.meter.sample(self._reachable(), line or self.line, [edge[0] for edge, _ in task.roots])

    def _fail(self, failed: Failed, *, expected: bool) -> str:
        """Remember and tell a failure; return its kind."""
        self.state.failed = LastFailure(failed.problem, failed.source, failed.line)
        self.emit(Failure(failed.line, failed.top, failed.problem, failed.source, expected))
        return failed.problem.kind

    def _take_options(self, source: Source) -> None:
        """Follow a seed that the text asks for (`#@ seed=3`); other comments of that form are not for us."""
        seed = options_of(source, strict=False).get("seed")
        if seed is not None:
            self.seed = int(seed)
            self.ambient.generator.manual_seed(self.seed)

    # ------------------------------------------------------------------ what the machine reports

    def _on_print(self, text: str) -> None:
        self._printed += len(text)
        limit = self.limits.max_output
        if limit and self._printed > limit:
            self.exhausted = True
            raise fail("limit", f"the output is larger than --max-output allows ({limit:,} bytes)")
        ended = text.endswith("\n")
        self.emit(Print(text[:-1] if ended else text, ended))

    def _on_value(self, statement: stmt, value: Any) -> None:
        self.emit(Value(statement.span.line, repr(value)))

    def _on_command(self, invocation: Invocation) -> None:
        command = find(invocation.command.name)
        wanted, output = self._output_options(invocation)
        call = self._call_of(invocation)
        outer, self.state.call = self.state.call, call
        try:
            report = command.call(invocation, self.state)
        finally:
            self.state.call = outer
        if report is not None:
            self.emit(Result(call.line, command.name, report, lambda: command.view(report), wanted, output))

    def _call_of(self, invocation: Invocation) -> Call:
        node, source = invocation.command, invocation.source
        texts = tuple(_text_of(source, argument.span) for argument in node.arguments)
        return Call(node.span.line, texts, invocation.local or {}, source, self._command_only)

    def _output_options(self, invocation: Invocation) -> tuple[str, str]:
        """The values of `--format` and `--output`; raises where files are not for this script to write."""
        values = invocation.options
        wanted, output = (values[name]() if name in values else "" for name in ("format", "output"))
        if output:
            ending = output.rpartition(".")[2].lower()
            wanted = wanted or ENDINGS.get(ending, "")
            output = self.allowed_file(output)
        return wanted, output

    def allowed_file(self, name: str) -> str:
        """Return the path that a command may use for `name`.

        Raises an error of kind `io` unless a person types the command or the run allows files, there.
        """
        from pathlib import Path

        if self.typed:
            return name
        folder = self.limits.allow_files
        if not folder:
            raise fail("io", "a script may not touch files: run it with --allow-files DIR, or type the command", OSError)
        path = Path(folder, name).resolve()
        if not path.is_relative_to(Path(folder).resolve()):
            raise fail("io", f"{name} is outside of {folder}, the folder that --allow-files names", OSError)
        return str(path)

    def _watchdog(self, name: str) -> Any:
        seconds = self.limits.timeout
        if not seconds:
            return None
        from gradsh.limits import GRACE, Watchdog

        message = f"the script ran longer than {seconds:g} seconds (--timeout)"

        def strike() -> None:
            self.exhausted = True
            self.machine.stop(message)

        def stuck() -> None:
            assert self.when_stuck is not None
            self.when_stuck(self.line, f"{message}, and {GRACE:g} more in one call that cannot be stopped")

        if self.when_stuck is not None:
            from gradsh.guardian import guardian

            self._guardian = guardian()
            if self._guardian is not None:
                last = f"{message}, in one call that cannot be stopped"
                self._guardian.arm(seconds + GRACE + 1, name, last, as_json=self.as_json)
        return Watchdog(seconds, strike, None if self.when_stuck is None else stuck)

    def limit(self, name: str, text: str | None = None) -> str:
        """Return a limit as words, after changing it where `text` is given; kind `value` for what is no limit.

        A script cannot lift its own bounds: raises kind `limit` unless a person types.
        """
        if text is not None:
            from gradsh.limits import bound_memory, changed

            if not self.typed:
                raise fail("limit", "a script does not change its own limits: give them to gradsh run", RuntimeError)
            try:
                self.limits = changed(self.limits, name, text)
            except ValueError as error:
                raise fail("value", str(error), ValueError) from None
            if name == "max_memory":
                bound_memory(self.limits.max_memory)
            self.ambient.where = self._place_function()
        value = getattr(self.limits, name)
        return "off" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    def _place_function(self) -> Callable[[], Any]:
        """Return what tells the engine where the script stands and, under `--max-nodes`, counts the nodes meanwhile."""
        where, most = self.machine.where, self.limits.max_nodes
        if most is None:
            return where
        begun, often = next_sequence_number(), min(256, max(1, most // 16))
        calls = 0

        def counting() -> Any:
            nonlocal calls
            calls += 1
            if calls % often == 0 and next_sequence_number() - begun > most:
                self.exhausted = True  # the engine is in the middle of something: it ends at the next safe point
                self.machine.stop(f"the script recorded more than {most:,} nodes (--max-nodes)")
            return where()

        return counting

    # ------------------------------------------------------------------ what commands and the outside ask for

    def line_of(self, where: Any) -> int | None:
        """Return the first line of the innermost statement at an engine's `where`, or None where there is none."""
        if where is None:
            return None
        _, code, offset = where
        units = self.machine.units
        return units.statement(code, units.span(code, offset).line).line

    def is_complete(self, text: str) -> bool:
        """Whether a text can be run as it stands, or fails however it goes on; False where more lines are needed."""
        from gradsh.language.parser import is_complete

        return is_complete(text, GRAMMARS, self._bound) is not False

    def snapshot(self) -> Snapshot:
        """Return the state as product.md's JSON has it."""
        from gradsh.probe.snapshot import snapshot

        with enter(self.ambient):
            return Snapshot(*snapshot(self.machine.variables(), self.line_of))

    def attempt(self, action: Callable[[], object]) -> Failed | None:
        """Run `action` (a command's tail); return how it failed, without telling, or None."""
        try:
            action()
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:  # noqa: BLE001  # whatever a script raises is data here
            return self.machine.explain(error)
        return None

    def show_failure(self, failed: Failed) -> None:
        """Tell a failure that was asked for (`expect error`)."""
        self._fail(failed, expected=True)

    def run_text(self, text: str, name: str, *, muted: bool = False, first_line: int = 1) -> bool:
        """Run a text in this session; return whether every statement passed."""
        return self.run(text, _quiet if muted else self.emit, name=name, first_line=first_line).status == 0

    def expectations(self, text: str) -> str:
        """Return a script with what its statements show as comments below them, as golden tests have it.

        Raises an error of kind `value` where nobody has said how (see `writer`).
        """
        if self.writer is None:
            raise fail("value", "expectations are written where a person types: in the shell", ValueError)
        return self.writer(text, self.seed)

    def replay(self, entries: Sequence[Entry]) -> int:
        """Start anew from the recorded seed and run the entries, muted; return how many (fewer where interrupted)."""
        self.reset()
        for number, entry in enumerate(entries):
            outcome = self.run(entry.text, _quiet, name=entry.source, keep_going=True, first_line=entry.line)
            if outcome.interrupted:
                return number
        return len(entries)

    def reset(self) -> None:
        """Forget every variable, pin and setting, and start from the seed again."""
        self.machine.reset()
        self._offer_assertions()
        self.state.forget()
        fresh = self._new_ambient()
        for name in Ambient.__slots__:  # the running statement stands in this one, so it is renewed in place
            setattr(self.ambient, name, getattr(fresh, name))

    def show(self, lines: Sequence[str]) -> None:
        """Show lines at once, before the command's own result."""
        for one in lines:
            self.emit(Print(one))

    def interactive(self) -> bool:
        """Whether a person is there to answer `ask`."""
        return self.asker is not None

    def ask(self, prompt: str) -> str | None:
        """Return what a person answers; None where nobody is there, or who leaves."""
        return None if self.asker is None else self.asker(prompt)

    def unit_of(self, where: Any) -> int:
        """Return the number of the top-level statement from which a place was reached, -1 for none."""
        if where is None:
            return -1
        activation, code, _ = where
        while activation is not None:
            activation, _, site, _ = activation
            code = site or code
        return int(code.co_filename.removeprefix("<gradsh ").removesuffix(">"))

    def owns(self, where: Any) -> bool:
        """Whether a place is in a program of this session."""
        return where is not None and self.machine.units.owns(where[1])

    def scopes_of(self, where: Any) -> tuple[Any, ...]:
        """Return the calls and loop passes around a place, outermost first."""
        from gradsh.interpreter.activation import scopes

        return () if where is None else scopes(where)

    def cuts_of(self, tensor: Any) -> list[tuple[int, str, bool]]:
        """Return (line, text, cut) of the statements that ended a tensor's history or made the leaves it rests on."""
        from gradsh.interpreter.origins import Origins, frame_of

        unit = self.machine.running()
        if unit is None:
            return []
        found = Origins(self.machine, [frame_of(unit, dict(self.state.call.scope) or None)]).cuts(tensor, [])
        return [(one.span.line, _text_of(one.source, one.span), one.cut) for one in found]

    def leave(self, status: int = 0) -> None:
        """End the run after this statement."""
        self.left = status

    def warn(self, message: str, line: int | None = None) -> None:
        """Show a warning or hint that belongs to a line, or else to the running statement."""
        place = self.machine.where() if line is None else None
        if place is not None:
            line = self.line_of(place)
        self.emit(Warn(line or self.line, message))

    def abandon(self) -> None:
        """End what is running, and the run: nobody is there to see the rest."""
        self.exhausted = True
        self.machine.stop("nobody reads the output any more")

    def interrupt(self) -> None:
        """End what is running at the next safe point."""
        self.machine.interrupt()


def _quiet(_: Event) -> None:
    """An emit that shows nothing."""


def _drawn_seed() -> int:
    import secrets

    return secrets.randbits(31)


def _unparsed(problem: Problem, source: Source) -> Failed:
    line = problem.labels[0].span.line if problem.labels else source.first_line
    return Failed(problem, line, line, source, "SyntaxError")


def _text_of(source: Source, span: Span) -> str:
    """Return the text that a span covers."""
    lines = [source.line(number) for number in range(span.line, span.end_line + 1)]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


