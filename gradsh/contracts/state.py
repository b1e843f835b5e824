"""What a session remembers between statements, for commands to read and change: variables, pins, settings, history.

It stands above `commands/`: a command is given the state and returns a report. What a command needs the session to do
(run a statement, replay, quit) it asks of `Control`, which the session implements.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gradsh.contracts.settings import Settings, defaults
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import node_of
from gradsh.engine.graph.types import LineOf, Location
from gradsh.probe.foreign import tensor_of
from gradsh.text.problem import Problem
from gradsh.text.span import Source
from gradsh.text.tuples import NamedTuple

if TYPE_CHECKING:
    from gradsh.engine.graph.node import Node
    from gradsh.probe.budget import Budget
    from gradsh.probe.passes import PassReport, Recorder


_NOTED = 1000
"""Statements of which it is kept what they wrote."""


class Entry(NamedTuple):
    """A top-level statement that was run: its text, the line it began on, the name of its source, whether it passed.

    `seconds` is how long it took, `unit` the number of its code, `mark` a sequence number that no node made before it
    exceeds, `command` the name of the command that it is (empty: it is none), `cut` whether Ctrl-C or a limit ended it: nothing
    says where, so it is not run again.
    """

    text: str
    line: int
    source: str
    ok: bool
    seconds: float = 0.0
    unit: int = -1
    mark: int = 0
    command: str = ""
    cut: bool = False


class Pin(NamedTuple):
    """A promise that no backward frees what `nodes` saved. It keeps no graph alive: all references are weak.

    `name` is how the root was written, `line` where, `root` its node. One pin counts 1 on each of its nodes.
    """

    name: str
    line: int
    root: weakref.ref[Node]
    nodes: tuple[weakref.ref[Node], ...]


class Failed(NamedTuple):
    """The latest failure, with the source whose lines it marks."""

    problem: Problem
    source: Source
    line: int
    top: int = 0
    """The line of the top-level statement."""
    tried: bool = False
    """Whether the problem's fixes have been tried."""


class CommandCall(NamedTuple):
    """The command that is running: where it stands, how its arguments were written, and the names in reach there.

    `top` tells that it is a statement of its own at the top level, in no loop and no function.
    """

    line: int
    texts: tuple[str, ...]
    scope: Mapping[str, object]
    source: Source
    top: bool = True


class Control(Protocol):
    """What a command may ask of the session."""

    weightless: bool
    """Whether tensors have shapes and no memory, so that running costs none."""

    def number_of(self, name: str) -> int | None:
        """Return the whole number that the latest top-level assignment gives a name, None where it gives another value."""

    def needs(self, roots: Sequence[str], name: str, value: int, *, checkpointed: bool) -> Budget | Problem:
        """Run the program so far in a copy with `value` assigned to `name` (empty: as it stands), its blocks under a checkpoint
        where asked for; return what a step whose pass begins at the expressions `roots` needs, or how the program failed.
        """

    def attempt(self, action: Callable[[], object]) -> Any:
        """Run `action` (a command's tail); return how it failed (problem, line, top, source), untold, or None."""

    def show_failure(self, failed: Any) -> None:
        """Tell a failure that was asked for, as an expected one."""

    def told(self, line: int, file: str) -> int:
        """Return a line of a text as it is told: with the name of the text, unless that is what the session is about."""

    def allowed_file(self, name: str) -> str:
        """Return the path that a command may use for a file name; raises an error of kind `io` where none."""

    def run_text(self, text: str, name: str, *, muted: bool = False, first_line: int = 1) -> bool:
        """Run a text in this session; return whether every statement passed."""

    def run_anew(self, text: str, form: str) -> str:
        """Run a script in a session of its own; return it with its output as expectations (`grad`) or a report (`html`, `json`).

        Raises an error of kind `value` where that cannot be.
        """

    def limit(self, name: str, text: str | None = None) -> str:
        """Return a limit of the run as words, after setting it to `text` where given; kinds `value` and `limit`."""

    def tried(self, failed: Failed, *, at_once: bool = False) -> Failed:
        """Return a failure with those of its fixes that work in a copy of the program; `at_once` with less effort."""

    def replay(self, entries: list[Entry]) -> int:
        """Start anew from the recorded seed and run the entries, muted; return how many (fewer where interrupted)."""

    def reset(self) -> None:
        """Forget every variable, pin and setting, and start from the seed again."""

    def leave(self, status: int = 0) -> None:
        """End the run after this statement."""

    def mute(self) -> None:
        """Show nothing and ask nothing from now on: for a process that only measures."""

    def warn(self, message: str) -> None:
        """Show a warning or hint that belongs to the running statement."""

    def show(self, lines: Sequence[str]) -> None:
        """Show lines at once, before the command's own result."""

    def interactive(self) -> bool:
        """Whether a person is there to answer `ask`."""

    def ask(self, prompt: str) -> str | None:
        """Return what a person answers; None where nobody is there, or who leaves."""

    def evaluate(self, text: str, names: Mapping[str, object], *, muted: bool = False) -> list[object] | None:
        """Run a text that is typed at a stop, with further names; return the values of its expressions, None where it fails."""

    def browse(self, log: object, passes: object) -> bool:
        """Show the log of a graph on the whole screen, where backwards can be run, too; return False where there is none."""

    def value_of(self, name: str) -> object:
        """Return what a dotted name of the program's stands for; runs nothing. Raises LookupError."""

    def source_of(self, name: str) -> list[str]:
        """Return the lines of the script that define a function or a class; none where it defines no such name."""

    def unit_of(self, where: Location) -> int:
        """Return the number of the top-level statement (see `Entry.unit`) from which a place was reached, -1 for none."""

    def owns(self, where: Location) -> bool:
        """Whether a place is in a program of this session."""

    def scopes_of(self, where: Location, known: dict[Any, Any] | None = None) -> tuple[Any, ...]:
        """Return the calls and loop passes (`series`, `instance`, `label`) around a place, outermost first.

        Who asks about many places gives the same dictionary, in which what is known is kept.
        """

    def cuts_of(self, tensor: object) -> list[tuple[int, str, bool]]:
        """Return (line, text, cut) of the statements that ended a tensor's history or made the leaves it rests on."""


class State:
    """The session's memory. `variables` is the program's own namespace: what a command binds there, it sees."""

    __slots__ = (
        "call", "control", "extras", "failed", "history", "line_of", "meter", "pins", "place_of", "settings",
        "variables", "watches", "written",
    )

    def __init__(
        self, variables: MutableMapping[str, object], control: Control, line_of: LineOf,
        place_of: Callable[[Any], Any],
    ) -> None:
        self.variables = variables
        self.control = control
        self.line_of = line_of
        """Turns the opaque `where` of a node, write or free into the line of its innermost statement, or None."""
        self.place_of = place_of
        """Turns it into the interpreter's `Place` (span, source, calls, iteration), or None."""
        self.settings = Settings()
        self.pins: list[Pin] = []
        self.watches: list[Any] = []
        self.history: list[Entry] = []
        self.failed: Failed | None = None
        self.call = CommandCall(0, (), {}, Source("", ""))
        self.meter: Any = None
        """The `probe.meter.Meter` that follows the bytes, where something asks for them."""
        self.written: dict[int, dict[int, Any]] = {}
        """The latest statements (`Entry.unit`) that ran a pass, and the leaves to whose `.grad` each wrote, weakly held."""
        self.extras: dict[str, Any] = {}
        """What single commands keep between runs, by the command's name."""

    def forget(self) -> None:
        """Go back to how a session begins; the variables are the machine's to forget."""
        begun = defaults(shell=False)  # the others are the person's, not the program's
        self.settings.values.update({name: value for name, value in begun.items() if name != "hints"})
        self.pins.clear()
        self.watches.clear()
        self.history.clear()
        self.extras.clear()
        self.written.clear()
        if self.meter is not None:
            self.meter = type(self.meter)()
        self.failed = None

    def names_in_reach(self) -> dict[str, object]:
        """Return the program's variables and, over them, the local ones where the running command stands."""
        return {name: value for name, value in {**self.variables, **self.call.scope}.items() if _is_plain(name)}

    def node_of(self, text: str) -> Node | None:
        """Return the node of the tensor that an expression gives; None where it gives no tensor that has one."""
        values = self.control.evaluate(text, {}, muted=True)
        tensor = tensor_of(values[-1]) if values else None
        return None if tensor is None else node_of(tensor)

    def report_of(self, recorder: Recorder) -> PassReport:
        """Return what a recorded pass did, with the session's names and pins."""
        pins = dict.fromkeys(pin.name for pin in self.pins)
        return recorder.report(self.names_in_reach(), [f"`retain {name}`" for name in pins])

    def note_written(self, unit: int, leaves: Mapping[int, object]) -> None:
        """Note the leaves (by id, weakly held) to whose `.grad` a pass of a statement wrote."""
        self.written.setdefault(unit, {}).update(leaves)
        if len(self.written) > _NOTED:
            del self.written[next(iter(self.written))]

    def hint(self, message: str) -> None:
        """Tell the person something beside the output."""
        self.control.warn(message)


def _is_plain(name: str) -> bool:
    return name.isidentifier() and not name.startswith("__")
