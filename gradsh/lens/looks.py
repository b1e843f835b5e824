"""What a lens shows: the commands' reports over PyTorch's tensors, as data that prints as the command does.

A look reads the names of a frame (or of a dictionary of variables), runs the same command as the shell, and keeps only
what that returns.
"""

from codeop import compile_command
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradsh.commands import GRAMMARS, find
from gradsh.contracts.events import Result, Snapshot
from gradsh.contracts.state import CommandCall, Failed, State
from gradsh.diagnosis.history import History
from gradsh.diagnosis.provenance import Frame, Origins
from gradsh.diagnosis.trace import TraceStep
from gradsh.engine.graph.types import Location
from gradsh.language.parser import parse
from gradsh.language.tree import Command, Constant
from gradsh.lens.machine import PythonMachine, variables_of
from gradsh.probe.names import named_tensors
from gradsh.probe.snapshot import snapshot
from gradsh.render.html import html_of
from gradsh.render.style import Style
from gradsh.render.text import result_text
from gradsh.runtime.activation import scopes
from gradsh.runtime.machine import Invocation
from gradsh.text.fault import fail
from gradsh.text.line import Line
from gradsh.text.span import Source, Span
from gradsh.view.shapes import View

if TYPE_CHECKING:
    from gradsh.lens.mirror import World
    from gradsh.lens.watcher import Watcher

COMMANDS = ("graph", "buffers", "plan", "why", "holders", "memory", "leaks", "vars")
"""The commands that a lens answers on PyTorch's tensors."""


class Look:
    """A command's report: its fields are attributes, it prints as the command does, and a notebook shows it as HTML."""

    __slots__ = ("command", "format", "report", "view")  # no dictionary that is looked through for the tensors of a program's variables

    def __init__(self, command: str, report: Any, view: View, format: str = "") -> None:
        self.command = command
        self.report = report
        self.view = view
        self.format = format

    def __getattr__(self, name: str) -> Any:
        return getattr(self.report, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.report)

    def __len__(self) -> int:
        return len(self.report)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        result = Result(0, self.command, self.report, lambda: self.view, self.format)
        return result_text(result, Style()).removesuffix("\n")

    def _repr_html_(self) -> str:
        return html_of(self.view)


class LensControl:
    """What a command asks of a session, answered for a program that Python runs."""

    def __init__(self, watcher: "Watcher", machine: Any, frame: Any, variables: Mapping[str, object]) -> None:
        self.watcher = watcher
        self.variables = variables
        self.machine = machine
        self.frame = frame
        self.hints: list[str] = []

    def scopes_of(self, where: Location, known: dict[Any, Any] | None = None) -> tuple[Any, ...]:
        """Return the calls and loop passes around a place."""
        return () if where is None else scopes(where, known)

    def owns(self, where: object) -> bool:
        """Whether a place is in the program."""
        return where is not None

    def unit_of(self, where: object) -> int:
        """Return -1: a program that Python runs has no numbered statements."""
        del where
        return -1

    def told(self, line: int, file: str) -> int:
        """Return a line as it is told: with the name of its file, unless the last failure was in that."""
        failed = self.watcher.told
        return Line(line, "" if failed is None or failed.source.name == file else file)

    def warn(self, message: str) -> None:
        """Keep a hint."""
        self.hints.append(message)

    def cuts_of(self, tensor: Any) -> list[tuple[int, str, bool]]:
        """Return (line, text, cut) of the statements that ended a tensor's history or made the leaves it rests on."""
        if self.frame is None or not self.machine.owns(self.frame):
            return []
        code = self.frame.f_code
        span = self.machine.units.span(code, self.frame.f_lasti)
        source = self.machine.units.of(code).source
        step = TraceStep(span, self.machine.units.statement(code, span.line), source, code.co_name, code, self.frame.f_lasti)
        local = None if code.co_name == "<module>" else self.machine.values(variables_of(self.frame))
        found = History(Origins(self.machine, [Frame(step, local)])).cuts_of(tensor)
        return [(one.span.line, source.line(one.span.line).strip(), one.cut) for one in found]

    def evaluate(self, text: str, names: Mapping[str, object], *, muted: bool = False) -> list[object]:
        """Return the value of an expression of Python's, over the variables of the program."""
        del muted
        return [eval(text, {**self.variables, **names})]  # typed by the program's own user

    @staticmethod
    def tried(failed: Failed, *, at_once: bool = False) -> Failed:
        """Return a failure as it is: a program that Python runs is not run again."""
        del at_once
        return failed

    def number_of(self, name: str) -> int | None:
        """Refuse: a program that Python runs is not run again with another number."""
        del name
        message = "`plan --fits` and `--vary` run the program again: use them in a script (`gradsh run --engine torch`)"
        raise fail("other", message)

    def needs(self, roots: Sequence[str], name: str, value: int, *, checkpointed: bool) -> object:
        """Refuse, as `number_of` does."""
        del roots, value, checkpointed
        return self.number_of(name)

    def __getattr__(self, name: str) -> Any:
        raise fail("other", f"`{name}` is not available on PyTorch; gradsh's engine has it")


_SHELL = frozenset({"In", "Out", "exit", "get_ipython", "open", "quit"})
"""Names that a notebook's shell binds."""


def names_in(frame: Any) -> dict[str, object]:
    """Return the variables that a frame sees, without those of a shell's own."""
    return _plain({**frame.f_globals, **variables_of(frame)})


def _plain(variables: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in variables.items() if not name.startswith("_") and name not in _SHELL}


Run = Callable[[State, "World"], Any]


def look(
    watcher: "Watcher", name: str, run: Run, variables: Mapping[str, object], frame: object = None, *, texts: tuple[str, ...] = (),
    subjects: tuple[Any, ...] = (), format: str = "",
) -> Look:
    """Return what a command reports; `run` is given its state."""
    reach = _plain(variables)
    with watcher.look_at(reach) as world:
        machine: Any = PythonMachine(watcher.files, watcher.sources, world, None, None)
        machine.program = machine.values(reach)
        control: Any = LensControl(watcher, machine, frame, variables)
        state = State(dict(reach), control, watcher.line_of, machine.locate)
        failed = watcher.told
        state.failed = None if failed is None else Failed(failed.problem, failed.source, failed.line)
        state.call = CommandCall(0, texts or tuple(name_of(one, reach, world) for one in subjects), {}, Source("", ""))
        report = run(state, world)
        return Look(name, report, find(name).view(report), format)


def name_of(value: object, variables: Mapping[str, object], world: "World") -> str:
    """Return how a program calls a value: the first name or path that leads to exactly it."""
    simple = next((name for name, held in variables.items() if held is value), "")
    tensor = world.tensor(value)
    return simple or next((path for path, held in named_tensors(variables) if held is tensor), "the tensor")


def is_command(text: str, bound: Mapping[str, object]) -> bool:
    """Tell whether a line is a command that a lens answers, and no statement of Python's."""
    try:
        body = parse(Source("<command>", text), GRAMMARS, bound).body
    except Exception:  # noqa: BLE001  # then the command says what is wrong with it, where it is nothing of Python's
        name = text.strip().partition(" ")[0]
        return name in COMMANDS and name not in bound and not _is_python(text)
    return len(body) == 1 and isinstance(body[0], Command) and body[0].name in COMMANDS


def _is_python(text: str) -> bool:
    try:
        compile_command(text)
    except (SyntaxError, ValueError, OverflowError):
        return False
    return True


def run_line(watcher: "Watcher", text: str, variables: Mapping[str, object], frame: FrameType | None = None) -> Look:
    """Run a command line such as `graph loss --depth 2`; its expressions are Python's, over the variables."""
    source = Source("<command>", text)
    body: list[Any] = parse(source, GRAMMARS, ()).body
    if len(body) != 1 or not isinstance(body[0], Command) or body[0].name not in COMMANDS:
        raise fail("value", f"{text!r} is none of the commands {', '.join(COMMANDS)}", ValueError)
    command: Any = body[0]

    def text_at(span: Span) -> str:
        return source.line(span.line)[span.column - 1 : span.end_column - 1]

    def run(state: State, world: "World") -> Any:
        def thunk(node: Any) -> Callable[[], Any]:
            def evaluate() -> Any:
                if isinstance(node, Constant):
                    return node.value
                return world.shown(eval(text_at(node.span), dict(variables)))  # typed by the program's own user

            return evaluate

        options = {
            name: True if one.value is True else [thunk(part) for part in one.value] if isinstance(one.value, list) else thunk(one.value)
            for name, one in command.options.items()
        }
        thunks = tuple(thunk(node) for node in command.arguments)
        return find(command.name).call(Invocation(command, source, thunks, options, None, None), state)

    wanted = command.options.get("format")
    texts = tuple(text_at(node.span) for node in command.arguments)
    return look(watcher, command.name, run, variables, frame, texts=texts, format=wanted.value.value if wanted else "")


def state_of(watcher: "Watcher", variables: Mapping[str, object]) -> Snapshot:
    """Return the state of a program's variables."""
    with watcher.look():
        return Snapshot(*snapshot(dict(variables), watcher.line_of))
