"""In which module of the net a node was made: each call of a module stands in the activation of the line that calls it."""

from typing import TYPE_CHECKING, Any
from weakref import ref

import torch

from gradsh.lens.replaced import Replaced, is_compiling

if TYPE_CHECKING:
    from gradsh.lens.lines import LineTracer


class Modules:
    """Follows the calls of all modules while it is on. (A hook of all modules would be compiled into their graphs.)"""

    def __init__(self, lines: "LineTracer") -> None:
        self.lines = lines
        self._replaced = Replaced()

    def start(self) -> None:
        """Begin to follow."""
        self._replaced.put(torch.nn.Module, "__call__", self._calling)

    def stop(self) -> None:
        """Follow no longer."""
        self._replaced.put_back()

    def _calling(self, original: Any) -> object:
        enter, leave = self._enter, self._leave

        def calling(module: object, *args: object, **kwargs: object) -> object:
            if is_compiling():
                return original(module, *args, **kwargs)
            enter(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                leave()

        return calling

    def _enter(self, module: object) -> None:
        log = self.lines.log()
        running = log.stack[-1] if log.stack else None
        log.modules.append((running, None if running is None else running.activation))
        if running is not None:
            inside: Any = (running.activation, 0, None, (ref(module), type(module)))
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
