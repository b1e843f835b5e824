"""In which module of the net a node was made: each call of a module stands in the activation of the line that calls it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradsh.lens.replaced import Replaced, is_compiling

if TYPE_CHECKING:
    from gradsh.lens.lines import Lines


class InModule(NamedTuple):
    """A module that is being called: its id, under which names are looked up, and its class's name."""

    number: int
    kind: str


class Modules:
    """Follows the calls of all modules while it is on. (A hook of all modules would be compiled into their graphs.)"""

    def __init__(self, lines: "Lines") -> None:
        self.lines = lines
        self._replaced = Replaced()

    def start(self) -> None:
        """Begin to follow."""
        self._replaced.put(torch.nn.Module, "__call__", self._calling)

    def stop(self) -> None:
        """Follow no longer."""
        self._replaced.put_back()

    def _calling(self, original: Any) -> Any:
        enter, leave = self._enter, self._leave

        def calling(module: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(module, *args, **kwargs)
            enter(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                leave()

        return calling

    def _enter(self, module: Any) -> None:
        log = self.lines.log()
        running = log.stack[-1] if log.stack else None
        log.modules.append((running, None if running is None else running.activation))
        if running is not None:
            tag = InModule(id(module), type(module).__name__)
            inside: Any = (running.activation, 0, None, tag)
            running.activation = inside
            running.place = (running.activation, running.code, -running.line)
            log.note(running.place)

    def _leave(self) -> None:
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
