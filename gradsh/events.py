"""What a session tells the outside: the events that every renderer draws and the JSON stream serialises."""

from dataclasses import dataclass, field
from typing import Any

from gradsh.text.problem import Problem
from gradsh.text.span import Source


@dataclass(frozen=True, slots=True)
class Print:
    """Text written by `print`, without the final line end."""

    text: str


@dataclass(frozen=True, slots=True)
class Value:
    """The echo of an expression statement at the top level."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a command returned: its report (data) and, made on demand by the renderer, its view."""

    line: int
    command: str
    report: Any
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Warn:
    """A warning of PyTorch's or a hint of gradsh's; it goes to standard error."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A statement failed. `line`: first line of the innermost statement running; `top`: of the top-level statement."""

    line: int
    top: int
    problem: Problem
    source: Source
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state at the end of a run, as product.md's JSON `state` has it."""

    tensors: dict[str, Any]
    buffers: dict[str, Any]


Event = Print | Value | Result | Warn | Failure | Snapshot
