"""The half of a session that commands ask: running texts, replays, limits, files, questions, places.

`Session` in session/session.py is the other half, which runs statements; commands see this one as `state.Control`.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from gradsh.contracts.events import Emit, Event, Failure, Print, Warn
from gradsh.contracts.state import Entry, State
from gradsh.contracts.state import Failed as LastFailure
from gradsh.diagnosis.classify import kind_of_class
from gradsh.engine.ambient import Ambient
from gradsh.engine.graph.node import next_sequence_number
from gradsh.engine.graph.types import Location
from gradsh.process.limits import Limits, bound_memory, changed
from gradsh.process.pace import hushed
from gradsh.runtime.activation import scopes
from gradsh.runtime.machine import Machine, StatementFailure
from gradsh.runtime.resolve import UNKNOWN, resolve, source_of
from gradsh.text.fault import fail
from gradsh.text.line import Line
from gradsh.text.span import Source, text_of
from gradsh.text.tuples import NamedTuple

if TYPE_CHECKING:
    from gradsh.compiler.lower import Unit
    from gradsh.probe.budget import Budget
    from gradsh.text.problem import Problem


class Outcome(NamedTuple):
    """How a text went: the exit status it asks for, the lines of its top-level statements, whether interrupted."""

    status: int
    statements: tuple[tuple[int, int], ...]
    interrupted: bool = False


class Controls(ABC):
    """What a command may ask of the session, answered."""

    about: str
    ambient: Ambient
    emit: Emit
    exhausted: bool
    left: int | None
    limits: Limits
    line: int
    machine: Machine
    seed: int
    state: State
    plain = False
    """Whether nothing is to be rewritten on the terminal."""
    is_copy = False
    """Whether this session tries something for another one."""
    typed: bool
    asker: Callable[[str], str | None] | None = None
    """Set by a shell: shows a prompt and returns the line that was typed, None at the end of input."""
    browser: Callable[[object, object], None] | None = None
    """Set by a shell that can draw on its terminal: shows a graph's log until the person leaves it."""
    writer: Callable[[str, int, str], str] | None = None
    """Set from outside: runs a script anew, from a seed, and returns it in a form (see `run_anew`)."""

    @abstractmethod
    def run(
        self, text: str, emit: Emit, *, name: str = ..., keep_going: bool = ..., first_line: int = ...,
    ) -> Outcome:
        """Run a text; every event goes to `emit`."""

    @abstractmethod
    def tell_failure(self, failed: StatementFailure, *, expected: bool) -> str:
        """Remember and tell a failure; return its kind."""

    @abstractmethod
    def spend(self, characters: int) -> bool:
        """Count what is shown against the bound on output; return whether it may be."""

    @abstractmethod
    def new_ambient(self) -> Ambient:
        """Return an ambient value as every program begins with it."""

    @abstractmethod
    def offer_assertions(self) -> None:
        """Give scripts the functions by which they assert what their graphs hold."""

    def attempt(self, action: Callable[[], object]) -> StatementFailure | None:
        """Run `action` (a command's tail); return how it failed, without telling, or None."""
        try:
            action()
        except BaseException as error:  # whatever a script raises is data here
            if isinstance(error, SystemExit) or kind_of_class(error) == "interrupt":
                raise
            return self.machine.explain(error)
        return None

    def show_failure(self, failed: StatementFailure) -> None:
        """Tell a failure that was asked for (`expect error`)."""
        self.tell_failure(failed, expected=True)

    def run_text(self, text: str, name: str, *, muted: bool = False, first_line: int = 1) -> bool:
        """Run a text in this session; return whether every statement passed. A text that leaves ends itself alone."""
        outcome = self.run(text, quiet if muted else self.emit, name=name, first_line=first_line)
        left, self.left = self.left, None
        return left is not None or outcome.status == 0

    def evaluate(self, text: str, names: Mapping[str, object], *, muted: bool = False) -> list[object] | None:
        """Run a text that is typed at a stop, with further names; return the values of its expressions, None where it fails.

        It is no part of the history. What the program has bound itself goes before the names.
        """
        machine, line, known = self.machine, self.line, len(self.state.history)
        values: list[Any] = []
        shown, emit = machine.on_value, self.emit

        def keep(statement: Any, value: object) -> None:
            values.append(value)
            if not muted:
                shown(statement, value)

        machine.builtins.update(names)
        machine.on_value = keep
        try:
            outcome = self.run(text, (lambda one: emit(one) if isinstance(one, Failure) else None) if muted else emit, name="<stop>")
        finally:
            machine.on_value, self.line = shown, line
            for name in names:
                machine.builtins.pop(name, None)
            del self.state.history[known:]
        return values if outcome.status == 0 else None

    def mute(self) -> None:
        """Show nothing and ask nothing from now on: for a process that only measures."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        self.emit, self.asker = quiet, None

    def run_anew(self, text: str, form: str) -> str:
        """Run a script in a session of its own; return it with its output as expectations (`grad`) or a report (`html`, `json`).

        Raises an error of kind `value` where nobody has said how (see `writer`).
        """
        if self.writer is None:
            ways = "expectations are" if form == "grad" else "the report of a session is"
            raise fail("value", f"{ways} written in the interactive shell only (for a script: `gradsh run --report`)", ValueError)
        return self.writer(text, self.seed, form)

    def tried(self, failed: LastFailure, *, at_once: bool = False) -> LastFailure:
        """Return a failure with those of its fixes that work in a copy of the program; `at_once` with less effort."""
        if failed.tried or self.is_copy or not any(fix.edits for fix in failed.problem.fixes):
            return failed
        from gradsh.session.trial import AT_ONCE, WHEN_ASKED, Trial, tried

        sources, end = self._program(failed)
        place = (failed.source.name, failed.line, failed.problem.kind)
        fixes = tried(Trial(self.copy, sources, place, end, AT_ONCE if at_once else WHEN_ASKED), failed.problem.fixes)
        over = all(fix.tried for fix in fixes if fix.edits)
        return failed._replace(problem=failed.problem.with_fixes(fixes), tried=over)

    def _program(self, failed: LastFailure) -> tuple[list[Source], int]:
        """Return the texts that make the session what it is, and the last line of the statement that failed."""
        from gradsh.commands.undo import LOOKS, in_story

        running = self.machine.running()
        numbers = [entry.unit for entry in self.state.history if in_story(entry) and entry.command not in LOOKS]
        units = [unit for number in numbers if (unit := self.machine.units.numbered(number)) is not None]
        if running is not None:
            units.append(running)
        sources = list({id(unit.source): unit.source for unit in units}.values())
        if all(source is not failed.source for source in sources):
            sources.append(failed.source)
        ends = [unit.stmt.span.end_line for unit in units if unit.source is failed.source and unit.stmt.span.line == failed.top]
        return sources, ends[-1] if ends else failed.top

    weightless = False
    inner: "Controls | None" = None
    """A copy that runs within a command of this session."""

    def number_of(self, name: str) -> int | None:
        """Return the whole number that the latest top-level assignment gives a name, None where it gives another value."""
        from gradsh.session.rerun import number_of

        return number_of(self, name)

    def needs(self, roots: Sequence[str], name: str, value: int, *, checkpointed: bool) -> "Budget | Problem":
        """Return what a step needs in a copy of the program where `name` is `value`, or how that fails."""
        from gradsh.session.rerun import needs

        return needs(self, roots, name, value, checkpointed=checkpointed)

    @staticmethod
    def checkpointing() -> Callable[..., object]:
        """Return the program's `checkpoint`."""
        from gradsh.api.checkpoint import checkpoint

        return checkpoint

    @staticmethod
    def module_class() -> object:
        """Return the class of all modules."""
        from gradsh.api.nn.module import Module

        return Module

    def look(self) -> AbstractContextManager[object]:
        """Let the probes look at the program's tensors within the block."""
        return nullcontext()

    @staticmethod
    @abstractmethod
    def next_mark() -> int:
        """Return a sequence number that no node made so far exceeds."""

    @abstractmethod
    def run_again(self, units: "Iterable[tuple[Unit, bool]]") -> "Problem | None":
        """Run statements, muted; return how one failed that had passed before."""

    @abstractmethod
    def copy(self) -> "Controls":
        """Return a new session that begins as this one did, for trying something in it."""

    def replay(self, entries: Sequence[Entry]) -> int:
        """Start anew from the recorded seed and run the entries, muted; return how many (fewer where interrupted)."""
        self.reset()
        for number, entry in enumerate(entries):
            if entry.cut:
                self.state.history.append(entry)
                continue
            outcome = self.run(entry.text, quiet, name=entry.source, keep_going=True, first_line=int(entry.line))
            if outcome.interrupted:
                return number
        return len(entries)

    def reset(self) -> None:
        """Forget every variable, pin and setting, and start from the seed again."""
        self.machine.reset()
        self.offer_assertions()
        self.state.forget()
        fresh = self.new_ambient()
        for name in Ambient.__slots__:  # the running statement stands in this one, so it is renewed in place
            setattr(self.ambient, name, getattr(fresh, name))

    def leave(self, status: int = 0) -> None:
        """End the run after this statement."""
        self.left = status

    def warn(self, message: str, line: int | None = None) -> None:
        """Show a warning or hint that belongs to a line, or else to the running statement."""
        place = self.machine.where() if line is None else None
        if place is not None:
            line = self.line_of(place)
        if self.spend(len(message)):
            self.emit(Warn(line or self.line, message))

    def show(self, lines: Sequence[str]) -> None:
        """Show lines at once, before the command's own result."""
        for one in lines:
            self.spend(len(one))
            self.emit(Print(one, told=True))

    def interactive(self) -> bool:
        """Whether a person is there to answer `ask`."""
        return self.asker is not None

    def ask(self, prompt: str) -> str | None:
        """Return what a person answers; None where nobody is there, or who leaves."""
        if self.asker is None:
            return None
        with hushed():
            return self.asker(prompt)

    def browse(self, log: object, passes: object) -> bool:
        """Show the log of a graph on the whole screen; return False where there is none. What is told meanwhile is shown after it."""
        if self.browser is None or not self.typed or not self.state.call.top:
            return False
        emit, told = self.emit, list[Event]()
        self.emit = told.append
        try:
            with hushed():
                self.browser(log, passes)
        finally:
            self.emit = emit
            for event in told:
                emit(event)
        return True

    def allowed_file(self, name: str) -> str:
        """Return the path that a command may use for `name`.

        Raises an error of kind `io` unless a person types the command or the run allows files, there.
        """
        from pathlib import Path

        if self.typed:
            return os.path.expanduser(name)  # noqa: PTH111  # a text, as it is shown
        folder = self.limits.allow_files
        if not folder:
            raise fail("io", "a script has no access to files: run it with --allow-files DIR, or type the command", OSError)
        try:
            path, home = Path(folder, name).resolve(), Path(folder).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a NUL byte, links that lead round in a circle
            raise fail("io", f"{name} is not a valid file name: {error}", OSError) from None
        if not path.is_relative_to(home):
            raise fail("io", f"{name} is outside of {folder}, the folder that --allow-files names", OSError)
        return str(path)

    def limit(self, name: str, text: str | None = None) -> str:
        """Return a limit as words, after changing it where `text` is given; kind `value` for what is no limit.

        A script cannot lift its own bounds: raises kind `limit` unless a person types.
        """
        if text is not None:
            if not self.typed:
                raise fail("limit", "a script cannot change its own limits: use the options of gradsh run")
            try:
                self.limits = changed(self.limits, name, text)
            except ValueError as error:
                raise fail("value", str(error), ValueError) from None
            except OSError as error:
                raise fail("io", str(error), OSError) from None
            if name == "max_memory":
                bound_memory(self.limits.max_memory)
            self.ambient.locate = self.place_function()
            self.ambient.location_cache = self.trail()
        value = getattr(self.limits, name)
        return "off" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    def place_function(self) -> Callable[[], object]:
        """Return what tells the engine where the script stands and, under `--max-nodes`, counts the nodes meanwhile."""
        where, most = self.machine.where, self.limits.max_nodes
        if most is None:
            return where
        begun, often = next_sequence_number(), min(256, max(1, most // 16))
        calls = 0

        def counting() -> object:
            nonlocal calls
            calls += 1
            if calls % often == 0 and next_sequence_number() - begun > most:
                self.exhausted = True  # the engine is in the middle of something: it ends at the next safe point
                self.machine.stop(f"the script recorded more than {most:,} nodes (--max-nodes)")
            return where()

        return counting

    def trail(self) -> Any:
        """Return what knows the place without a call, unless nodes are counted."""
        return self.machine.progress if self.limits.max_nodes is None else None

    def line_of(self, where: Location) -> int | None:
        """Return the first line of the innermost statement at an engine's `where`, or None where there is none."""
        if where is None:
            return None
        _, code, offset = where
        units = self.machine.units
        unit = units.of(code)
        line = units.statement(code, units.span(code, offset).line).line
        return line if unit is None else self.told(line, unit.source.name)

    def told(self, line: int, file: str) -> int:
        """Return a line of a text as it is told: with the name of the text, unless that is what the session is about."""
        about = self.about
        return Line(line, "" if file == about or (file[:1] == "<" and about[:1] in {"", "<"}) else file)

    def value_of(self, name: str) -> object:
        """Return what a dotted name of the program's stands for; runs nothing. Raises LookupError."""
        first, *path = name.split(".")
        found = resolve(self.machine, [("name", first), *(("attribute", part) for part in path)])
        if found is UNKNOWN:
            raise LookupError(name)
        return found

    def source_of(self, name: str) -> list[str]:
        """Return the lines of the script that define a function or a class; none where it defines no such name."""
        return source_of(self.machine, name)

    def unit_of(self, where: Location) -> int:
        """Return the number of the top-level statement from which a place was reached, -1 for none."""
        if where is None:
            return -1
        activation, code, _ = where
        while activation is not None:
            activation, _, site, _ = activation
            code = site or code
        return int(code.co_filename.removeprefix("<gradsh ").removesuffix(">"))

    def owns(self, where: Location) -> bool:
        """Whether a place is in a program of this session."""
        return where is not None and self.machine.units.owns(where[1])

    def scopes_of(self, where: Location, known: dict[Any, Any] | None = None) -> tuple[Any, ...]:
        """Return the calls and loop passes around a place, outermost first."""
        return () if where is None else scopes(where, known)

    def cuts_of(self, tensor: object) -> list[tuple[int, str, bool]]:
        """Return (line, text, cut) of the statements that ended a tensor's history or made the leaves it rests on."""
        from gradsh.diagnosis.history import History
        from gradsh.diagnosis.provenance import Origins, frame_of

        unit = self.machine.running()
        if unit is None:
            return []
        found = History(Origins(self.machine, [frame_of(unit, dict(self.state.call.scope) or None)])).cuts_of(tensor)
        return [(one.span.line, text_of(one.source, one.span), one.cut) for one in found]


def quiet(_: Event) -> None:
    """An emit that shows nothing."""
