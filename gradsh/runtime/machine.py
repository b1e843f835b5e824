"""The machine: a program's names, and what runs its top-level statements one after the other.

A session gives it sinks for what the program prints, shows, warns of and commands; the machine gives back, for a statement
that fails, the exception as a `Problem`. Nothing here keeps a graph of the program alive: not the last value, not an
exception, not its traceback.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, FrameType
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.compiler.expressions import identifier
from gradsh.compiler.lower import Unit, compile_statement
from gradsh.compiler.recursion import deeper
from gradsh.compiler.scopes import bound_names
from gradsh.compiler.statements import StatementLowering
from gradsh.engine.attribute_names import ordinary
from gradsh.engine.graph.tensor import Tensor
from gradsh.language.node import stmt
from gradsh.language.tree import Command
from gradsh.process.gc_policy import governor
from gradsh.runtime import bounded_operators
from gradsh.runtime.activation import (
    ROOT,
    Errand,
    ExecutionState,
    Place,
    Stopped,
    Units,
    Where,
    describe,
    statement_lines,
)
from gradsh.runtime.guard import Guard, Store
from gradsh.runtime.numpy_printing import ArrayPrinting
from gradsh.runtime.object_arrays import NO_ARRAY
from gradsh.runtime.pytorch_names import tell_caught
from gradsh.runtime.shown import Shown
from gradsh.runtime.warning_filters import WarningFilters
from gradsh.text.problem import Problem, ProblemError
from gradsh.text.span import Source
from gradsh.text.tuples import NamedTuple

RECURSION = 2000
"""How deep a script may recurse, in Python frames."""


class Invocation:
    """A command line that is being run: its tree, and its arguments as functions that evaluate them where it stands.

    `arguments` has one function per argument; `options` maps an option to True, a function, or a list of functions; `tail`
    runs the statement that ends the command. `local` names the values of the function that it stands in (None at the top level).
    """

    __slots__ = ("arguments", "command", "local", "options", "source", "tail")

    def __init__(
        self, command: Command, source: Source, arguments: tuple[Callable[[], object], ...],
        options: Mapping[str, Any], tail: Callable[[], object] | None, local: dict[str, Any] | None,
    ) -> None:
        self.command = command
        self.source = source
        self.arguments = arguments
        self.options = options
        self.tail = tail
        self.local = local

    def values(self) -> list[Any]:
        """Evaluate the arguments, from left to right."""
        return [argument() for argument in self.arguments]


class StatementFailure(NamedTuple):
    """How a top-level statement failed: the problem, the lines of the innermost and the top-level statement, its source.

    `error` is the name of the exception's class.
    """

    problem: Problem
    line: int
    top: int
    source: Source
    error: str


def _nothing(*_: object) -> None:
    return None


class Machine:
    """Compiles and runs top-level statements over one set of names.

    Sinks, all replaceable: `on_print(text)` (with its line end), `on_value(stmt, value)`, `on_command(invocation)`,
    `on_warning(message, line=None)`, where no line stands for the one that is running, `on_exit(code)` of a SystemExit.
    `diagnose(machine, error, unit)` turns an exception into a `StatementFailure`.
    """

    lowering = StatementLowering
    """How statements are lowered."""
    offering: Any = None
    """The class of what exists without the program's doing, where it is not gradsh's own."""
    has_pins = True
    """Whether a part of a graph can be kept from being freed; PyTorch keeps all or nothing."""

    def __init__(self, diagnose: Callable[[Any, BaseException, Unit | None], StatementFailure]) -> None:
        self.diagnose = diagnose
        self.program: dict[str, Any] = {}
        self.builtins: dict[str, Any] = {}
        self.taken: set[str] = set()
        """Names that the program has ever bound at the top level: no bare name of PyTorch's stands in for them."""
        self.brought: dict[str, Unit | None] = {}
        """Bare names of PyTorch's that the program used, each with the statement that did first; None: a module's file did."""
        self.guard = Guard(self.builtins)
        self.progress = ExecutionState(self.builtins)
        self.units = Units()
        self.on_print: Callable[[str], None] = _nothing
        self.on_value: Callable[[stmt, Any], None] = _nothing
        self.on_command: Callable[[Invocation], None] = _nothing
        self.on_warning: Callable[..., None] = _nothing
        self.on_exit: Callable[[Any], None] = _nothing
        self.on_error_output: Callable[[str], None] = _nothing
        """Takes what the program writes to its standard error."""
        self.arguments: list[str] = [""]
        """`sys.argv`: the script's name and what `--args` gave."""
        self.read_module: Callable[[str], Source | None] | None = None
        """Returns the source of a file of the program's by its path from the script's folder ("helpers/nets.py"), if it is there."""
        self.grammars: Mapping[str, Any] = {}
        """The commands' grammars, by which such a file is parsed."""
        self.only_checks = False
        """Whether such a file is looked at and not run: its names are bound to nothing in particular."""
        self.confine: Callable[[], AbstractContextManager[None]] = nullcontext
        """Entered around the running of each statement: where the memory it may take is bounded."""
        self.telling = False
        """Whether a failure is being told: an interrupt may end that, too."""
        self.shown = Shown()
        self.array_printing = ArrayPrinting()
        self._by_number: dict[int, Unit] = {}
        self._current: Unit | None = None
        from gradsh.runtime.script_globals import Offer

        self.offer = (self.offering or Offer)(self)
        self.reset()

    @property
    def where(self) -> Callable[[], Where | None]:
        """The function that tells where the script stands now, for the engine's `Ambient.locate`."""
        return self.progress.where

    def reset(self) -> None:
        """Forget every name of the program."""
        self.program.clear()
        self.units.forget()
        self.shown.forget()
        self.taken.clear()
        self.brought.clear()
        self.array_printing.options = None
        self.warning_filters = WarningFilters(self)
        self.builtins.clear()
        self.builtins.update(self.offer.builtins())
        self.builtins.update(self._hooks())
        self.program["__builtins__"] = self.builtins
        self.program |= {"__name__": "__main__", "__doc__": None, identifier("__package__"): None}
        if self.arguments[0]:
            self.program[identifier("__file__")] = self.arguments[0]
        self.progress.activation = ROOT

    def _hooks(self) -> dict[str, Any]:
        return self.progress.hooks(self.builtins) | {
            runtime_names.STORE: Store(self.guard), runtime_names.ECHO: self._echo, runtime_names.COMMAND: self._command,
            runtime_names.IMPORT: self.offer.imports.module, runtime_names.IMPORT_FROM: self.offer.imports.member,
            runtime_names.IMPORT_STAR: self.offer.imports.star, runtime_names.BASE: self.offer.base, runtime_names.LOCALS: locals,
            runtime_names.CALLED_BY_PYTHON: self._called_by_python, runtime_names.MATCH: self._matches,
            runtime_names.TYPE: type, runtime_names.TENSOR: Tensor, runtime_names.NO_ARRAY: NO_ARRAY,
            runtime_names.CAUGHT: self._caught, runtime_names.TIMES: bounded_operators.times,
            runtime_names.POWER: bounded_operators.power, runtime_names.SHIFT: bounded_operators.shift,
            runtime_names.TIMES + "=": bounded_operators.in_place_times,
            runtime_names.POWER + "=": bounded_operators.in_place_power, runtime_names.SHIFT + "=": bounded_operators.in_place_shift,
        }

    @staticmethod
    def in_engine_form(value: object) -> object:
        """Return a value as the diagnosis looks at it: as it is."""
        return value

    def variables(self) -> dict[str, Any]:
        """Return the program's own names and values, in the order of their binding."""
        return {name: value for name, value in self.program.items() if name[0] != runtime_names.RESERVED and name[:2] != "__"}

    def take_arguments(self, file: str, arguments: list[str]) -> None:
        """Say what file the program stands in, and its arguments: `__file__` and `sys.argv`."""
        self.arguments[:] = [file, *arguments]
        self.program[identifier("__file__")] = file

    def bound(self, name: str) -> bool:
        """Tell whether the program has bound the name."""
        return name in self.program and name[:2] != "__"

    def compile(self, statement: stmt, source: Source, names: dict[str, Any] | None = None) -> Unit:
        """Compile a top-level statement and find the bare names it uses; `names` are those of a module's file.

        Raises ProblemError for what is refused.
        """
        number = len(self.units)
        filename = f"<gradsh {number}>"
        unit = compile_statement(statement, source, filename, number, self.lowering)
        self.units.add(filename, unit)
        if unit.commands:
            self._by_number[number] = unit
        self.resolve(unit, names)
        if names is None:
            self.taken.update(name for name, _ in bound_names([statement]))
        return unit

    def run_module(self, body: list[stmt], source: Source, names: dict[str, Any]) -> None:
        """Run the statements of a module's file over names of its own, within the statement that imports it."""
        names["__builtins__"] = self.builtins
        outer, self._current = self._current, None
        try:
            for statement in body:
                unit = self.compile(statement, source, names)
                with deeper(RECURSION):
                    exec(unit.code, names)
        finally:
            self._current = outer

    def resolve(self, unit: Unit, names: dict[str, Any] | None = None) -> list[str]:
        """Make the offered names that a unit uses available to it; return those that nothing offers or binds."""
        builtins, unknown = self.builtins, []
        for attribute in unit.attributes:
            key = runtime_names.GET + attribute
            if key not in builtins:
                builtins[key] = self.guard.getter(attribute)
        for name in unit.names:
            if name in (self.program if names is None else names):
                continue
            if name in Shown.NAMES:
                self.shown.offer(name, builtins)
            elif name in self.taken and name in self.brought:
                builtins.pop(name, None)  # bound once and deleted: it means nothing now, as in Python
            elif name in builtins:
                continue
            elif name not in self.taken and self.offer.bring(name, builtins):
                self.brought[name] = unit if names is None else None
            else:
                unknown.append(name)
        return unknown

    def run_statement(self, statement: stmt, source: Source) -> StatementFailure | None:
        """Run a top-level statement; return how it failed, or None."""
        try:
            unit = self.compile(statement, source)
        except ProblemError as error:
            line = error.problem.labels[0].span.line if error.problem.labels else statement.span.line
            top = statement.span.line
            return StatementFailure(error.problem, self._first_line(statement, line), top, source, "SyntaxError")
        for doubt, line in unit.doubts:
            self.on_warning(doubt, line)
        return self.run(unit)

    def run(self, unit: Unit) -> StatementFailure | None:
        """Run a compiled statement; return how it failed, or None."""
        outer, outer_activation = self._current, self.progress.activation
        self._current = unit
        governor.ask = self.collect_soon
        self.progress.failing = (0, ROOT)
        failed: StatementFailure | None = None
        try:
            with deeper(RECURSION), self.confine(), self.array_printing:
                exec(unit.code, self.program)
            self.progress.halt(over=True)  # what was asked for while nothing looked, in one long call, ends the run here
        except SystemExit as error:
            self.on_exit(error.code)
        except BaseException as error:  # noqa: BLE001 - a script's failure is data, whatever it is
            failed = self.explain(error, unit)
            _drop(error)
        finally:
            self._current = outer
            for name in Shown.NAMES:
                self.builtins.pop(name, None)
            self.progress.activation = outer_activation
            self.progress.frame = self.progress.code = None
        return failed

    def explain(self, error: BaseException, unit: Unit | None = None) -> StatementFailure:
        """Return a failure as data. The exception and its frames may be dropped afterwards."""
        if isinstance(error, ProblemError):  # a file that the program imports does not parse
            unit = unit or self._current
            line, source = (unit.stmt.span.line, unit.source) if unit is not None else (0, Source("", ""))
            return StatementFailure(error.problem, line, line, source, "SyntaxError")
        return self.diagnose(self, error, unit or self._current)

    def where_of(self, error: BaseException) -> Where | None:
        """Return where the script stood when an exception was raised: its innermost frame and the loop passes then."""
        found = None
        known, left = self.progress.failing
        activation = left if known == id(error) else self.progress.activation
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_builtins is self.builtins:
                found = (activation, trace.tb_frame.f_code, trace.tb_lasti)
            trace = trace.tb_next
        return found

    def shown_line(self, code: CodeType, line: int) -> str:
        """Return a line of the program as a traceback shows it; "" where the code is not the program's."""
        unit = self.units.of(code)
        if unit is None:
            return ""
        return f'  File "{unit.source.name}", line {line}, in {code.co_name}\n    {unit.source.line(line).strip()}\n'

    def owns(self, frame: FrameType) -> bool:
        """Tell whether a frame of Python's runs a statement of the program."""
        return frame.f_builtins is self.builtins and self.units.of(frame.f_code) is not None

    @staticmethod
    def values(local: Mapping[str, object]) -> dict[str, Any]:
        """Return the variables of a frame as the diagnosis reads them."""
        return dict(local)

    def locate(self, where: Where) -> Place:
        """Return the place in the script that a `where` of the engine's stands for."""
        return describe(self.units, where)

    def stop(self, reason: str) -> None:
        """End the running statement at its next tick, with a problem of kind `limit`. Any thread may call it."""
        self.progress.stop = Stopped(reason)

    def interrupt(self) -> None:
        """End the running statement at its next tick, with a problem of kind `interrupt`."""
        self.progress.stop = KeyboardInterrupt

    def collect_soon(self) -> None:
        """Look for garbage at the next tick."""
        self.soon(governor.collect)

    def soon(self, errand: Callable[[], None]) -> None:
        """Have the running statement do something at its next tick, unless it is to stop there. Any thread may call it."""
        if self.progress.stop is None:
            self.progress.stop = Errand(errand)

    def is_inside(self, frame: Any) -> bool:
        """Tell whether a frame of Python's is the script's, or was called by it, or looks at what it raised."""
        if self.telling:
            return True
        while frame is not None and frame.f_builtins is not self.builtins:
            frame = frame.f_back
        return frame is not None

    def running(self) -> Unit | None:
        """Return the top-level statement that is running."""
        return self._current

    def clear_interrupt(self) -> bool:
        """Forget an interrupt that was asked for (or that the script has caught by name); return whether there was one."""
        asked = self.progress.stop is KeyboardInterrupt
        if asked:
            self.progress.stop = None
        return asked

    def _caught(self, by_name: bool) -> None:
        """Note that a handler of the script's runs, which names interrupts or does not."""
        if by_name:
            self.clear_interrupt()
        tell_caught(sys.exception(), self.guard.space)

    def resume(self) -> None:
        """Forget any limit or interrupt, before the next input is run."""
        self.progress.stop = None

    def check(self, _bytes: int = 0) -> None:
        """Let a limit or an interrupt take effect; for the engine to call between two nodes."""
        self.progress.halt()

    def _echo(self, value: object) -> None:
        unit = self._current
        if value is not None and unit is not None and not unit.source.name.endswith(".py"):  # Python's programs show nothing
            span = unit.stmt.span
            self.on_value(unit.stmt, value)
            self.shown.keep(value, unit.source.line(span.line)[span.column - 1 :].strip(), span.line)

    def _matches(self, subject: object, pattern: tuple[object, ...]) -> dict[str, Any] | None:
        from gradsh.runtime.matching import Matcher

        return Matcher(self)(subject, pattern)

    def _called_by_python(self, name: str) -> Callable[[Any], Any]:
        """Return the decorator of a script's `__del__` or `__getattr__`, or of a function that stands for it or for `__setattr__`.

        The one runs only while a statement does: a program that is over is not resumed by what it leaves. The other is asked
        for ordinary names only, as what an instance answers to special ones decides what Python's C code does.
        """

        def decorate(method: Callable[..., object]) -> Callable[..., Any]:
            def finalize(instance: object) -> None:
                if self._current is not None and not self.telling and self.progress.stop is None:
                    method(instance)

            def ask(instance: Any, asked: str, *value: object) -> Any:
                if not ordinary(asked):
                    raise AttributeError(asked)
                return method(instance, asked, *value)

            return finalize if name == "__del__" else ask

        return decorate

    def _command(
        self, number: int, index: int, arguments: tuple[Callable[[], object], ...], options: dict[str, Any],
        tail: Callable[[], object] | None, local: dict[str, Any] | None,
    ) -> None:
        unit = self._by_number[number]
        known = None
        if local is not None:
            known = {name: value for name, value in local.items() if name[0] != runtime_names.RESERVED}
            local.clear()  # Python keeps this dictionary with the frame, and with it the values
        self.on_command(Invocation(unit.commands[index], unit.source, arguments, options, tail, known))

    def _first_line(self, statement: stmt, line: int) -> int:
        found = dict(statement_lines(statement)).get(line)
        return found.line if found is not None else statement.span.line


def _drop(error: BaseException) -> None:
    """Let go of all that an exception holds: the values in the frames that it passed."""
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__ = None
        seen.__dict__.pop("fault", None)
        following = seen.__cause__ or seen.__context__
        seen.__context__ = seen.__cause__ = None
        seen = following
