"""In which module of the net a node was made: each call of a module stands in the activation of the line that calls it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from gradsh.lens.lines import Lines


class InModule(NamedTuple):
    """A module that is being called: its id, under which names are looked up, and its class's name."""

    number: int
    kind: str


class Modules:
    """Follows the calls of all modules while it is on."""

    def __init__(self, lines: "Lines") -> None:
        self.lines = lines
        self._handles: list[Any] = []

    def start(self) -> None:
        """Begin to follow."""
        home = torch.nn.modules.module
        self._handles = [
            home.register_module_forward_pre_hook(self._enter), home.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> None:
        """Follow no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _enter(self, module: Any, _: Any) -> None:
        log = self.lines.log()
        running = log.stack[-1] if log.stack else None
        log.modules.append((running, None if running is None else running.activation))
        if running is not None:
            tag = InModule(id(module), type(module).__name__)
            inside: Any = (running.activation, 0, None, tag)
            running.activation = inside
            running.place = (running.activation, running.code, -running.line)
            log.note(running.place)

    def _leave(self, *_: Any) -> None:
        log = self.lines.log()
        if not log.modules:
            return
        running, activation = log.modules.pop()
        if running is not None:
            running.activation = activation
            running.place = (activation, running.code, -running.line)
            log.note(running.place)


def module_of(where: Any, names: Mapping[int, str]) -> str:
    """Return the name of the innermost module around a place, or its class where no variable leads to it; empty for none."""
    activation = where[0]
    while activation is not None:
        tag = activation[3]
        if isinstance(tag, InModule):
            return names.get(tag.number, tag.kind)
        activation = activation[0]
    return ""
