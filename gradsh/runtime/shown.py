"""The last values shown, which `_`, `__` and `___` mean: they are held so that they keep no graph alive that nothing else holds.

What cannot lead to a graph and takes little memory (numbers, small tensors that require no gradient, containers of
these) is held as it is, anything else weakly. A container of what is held weakly is put together anew when `_` is read.
"""

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.device import Device
from gradsh.engine.values.dtype import DType
from gradsh.engine.values.storage import owner_of

SMALL = 16_000
"""Bytes of the largest memory that is held: about as much as is printed whole."""
_PLAIN = (int, float, complex, str, bytes, type(None), type(...), range, slice, DType, Device, np.ndarray, np.generic)
_CONTAINERS = (list, tuple, dict, set, frozenset)


class GoneError(LookupError):
    """The value that was shown last exists no more."""


class Shown:
    """The last values shown, and the statements that showed them."""

    NAMES = "_", "__", "___"
    """What they are called, the last one first."""

    def __init__(self) -> None:
        self._reads: deque[Callable[[], Any]] = deque(maxlen=len(self.NAMES))
        self._gone: deque[str] = deque(maxlen=len(self.NAMES))

    def forget(self) -> None:
        """Begin anew: nothing was shown."""
        self._reads.clear()
        self._gone.clear()

    def keep(self, value: Any, text: str, line: int) -> None:
        """Remember a value that a statement showed."""
        self._reads.appendleft(_held(value, set()))
        kind = "tensor" if isinstance(value, Tensor) else type(value).__name__
        self._gone.appendleft(f"no longer exists: it was the only reference to the {kind} that line {line} showed (`{text}`)")

    def gone(self, name: str) -> str:
        """Return what to say where the value that a name means exists no more; nothing for a name that means none."""
        shown = dict(zip(self.NAMES, self._gone, strict=False))
        return f"`{name}` {shown[name]}" if name in shown else ""

    def offer(self, name: str, builtins: dict[str, Any]) -> None:
        """Add the value that a name means to `builtins`, where it still exists."""
        place = self.NAMES.index(name)
        if place < len(self._reads):
            try:
                builtins[name] = self._reads[place]()
            except GoneError:
                builtins.pop(name, None)


def _held(value: object, within: set[int]) -> Callable[[], Any]:
    """Return a function that gives the value, or raises GoneError."""
    if _leads_nowhere(value, set()):
        return lambda: value
    if isinstance(value, _CONTAINERS):
        return _lost if id(value) in within else _rebuilt(value, within | {id(value)})
    try:
        reference = weakref.ref(value)
    except TypeError:
        return _lost
    return lambda: _alive(reference())


def _leads_nowhere(value: object, seen: set[int]) -> bool:
    """Whether no graph can be reached from a value."""
    if isinstance(value, Tensor):
        return not value.requires_grad and owner_of(value.array).nbytes <= SMALL
    if not isinstance(value, _CONTAINERS):
        return isinstance(value, _PLAIN)
    if id(value) in seen:
        return True
    seen.add(id(value))
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return all(_leads_nowhere(part, seen) for part in parts)


def _rebuilt(value: Any, within: set[int]) -> Callable[[], object]:
    """Return a function that puts a container together from parts that are held each for itself."""
    if isinstance(value, dict):
        parts = [(key, _held(one, within)) for key, one in value.items()]
        return lambda: {key: read() for key, read in parts}
    reads = [_held(part, within) for part in value]
    kind = type(value)
    if hasattr(kind, "_fields"):
        return lambda: kind(*[read() for read in reads])
    return lambda: kind([read() for read in reads])


def _alive(value: object) -> object:
    if value is None:
        raise GoneError
    return value


def _lost() -> object:
    raise GoneError
