"""What the parts of the runtime ask of the machine that they belong to; `machine.py` is above them all."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gradsh.text.span import Source


class Reader(Protocol):
    """Reads attributes as a program may."""

    def read(self, owner: Any, name: str) -> Any:
        """Return an attribute. Raises AttributeError."""


class RuntimeHost(Protocol):
    """The machine, as far as builtins, imports and libraries need it."""

    builtins: dict[str, Any]
    guard: Any
    grammars: Mapping[str, Any]
    only_checks: bool
    arguments: list[str]
    on_print: Callable[[str], None]
    on_warning: Callable[..., None]
    read_module: Callable[[str], Source | None] | None
    units: Any
    warning_filters: Any

    @property
    def where(self) -> Callable[[], Any]:
        """The function that tells where the script stands now."""

    def check(self) -> None:
        """Let a limit or an interrupt take effect."""

    def run_module(self, body: Any, source: Source, names: dict[str, Any]) -> None:
        """Run the statements of a file of the program's."""
