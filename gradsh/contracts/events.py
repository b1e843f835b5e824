"""What a session tells the outside: the events that every renderer draws and the JSON stream serialises.

Named tuples, since a generated dataclass costs six times as much at start-up.
"""

from collections.abc import Callable
from typing import Any

from gradsh.text.problem import Problem
from gradsh.text.span import Source
from gradsh.text.tuples import NamedTuple
from gradsh.view.shapes import View


class Print(NamedTuple):
    """Text written by `print`, with its line end only where `end` was given another one than a line end.

    `told` says that a command wrote it: a terminal wraps it.
    """

    text: str
    newline: bool = True
    told: bool = False


class ErrorOutput(NamedTuple):
    """Text that the program wrote to its own standard error."""

    text: str


class Value(NamedTuple):
    """The echo of an expression statement at the top level."""

    line: int
    text: str


class Result(NamedTuple):
    """What a command returned: its report (data), how to see it, and the options `format` and `output`."""

    line: int
    command: str
    report: Any
    view: Callable[[], View]
    format: str = ""
    output: str = ""


class Warn(NamedTuple):
    """A warning of PyTorch's or a hint of gradsh's; it goes to standard error."""

    line: int
    message: str


class Note(NamedTuple):
    """What a setting asks to be told beside the output: an account of a statement, how long it took."""

    line: int
    text: str


class Failure(NamedTuple):
    """A statement failed. `line`: first line of the innermost statement running; `top`: of the top-level statement."""

    line: int
    top: int
    problem: Problem
    source: Source
    expected: bool = False


class Done(NamedTuple):
    """A top-level statement is over; what came since the last such event is its output."""

    line: int
    end_line: int
    ok: bool


class Snapshot(NamedTuple):
    """The state at the end of a run, as product.md's JSON `state` has it."""

    tensors: dict[str, Any]
    buffers: dict[str, Any]


Event = Print | ErrorOutput | Value | Result | Warn | Note | Failure | Done | Snapshot
Emit = Callable[[Event], None]
