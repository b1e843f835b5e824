"""Memory and its version: the counter that in-place writes bump, and which memory an array stands in.

A base, its views and its detached twins share one `VersionCounter`; `.data` shares the memory with a counter of
its own. Memory is identified by the array that owns it, so bytes can be counted once however many views exist.
"""

import math
import weakref
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import bytes_of

_KEPT_WRITES = 256


class Gone:
    """What is told of a node after it is gone: its name and the shapes and dtypes of its outputs."""

    __slots__ = ("_name", "outputs")

    def __init__(self, node: Any) -> None:
        self._name = node.name()
        self.outputs = node.outputs

    def name(self) -> str:
        """Return PyTorch's name of the node."""
        return self._name  # type: ignore[no-any-return]


class VersionCounter:
    """How often a memory was written in place, and where each of the latest writes stood in the program."""

    __slots__ = ("maker", "moves", "version", "writes")
    moves: list[tuple[Any, int, Any, Gone | None]]

    def __init__(self) -> None:
        self.version = 0
        self.writes: list[tuple[int, Any]] | None = None
        self.maker: Any = None
        """Weak reference to the node that stood for the counter until somebody asked for it: it is told the version."""

    def advance(self, writes: int) -> None:
        """Count in-place writes whose places are not noted."""
        self.version += writes
        if self.maker is not None:
            node = self.maker()
            if node is not None:
                node.version = self.version

    def bump(self, location: object) -> None:
        """Count one in-place write; `location` is that of the write, opaque."""
        self.advance(1)
        if self.writes is None:
            self.writes = [(self.version, location)]
            return
        self.writes.append((self.version, location))
        if len(self.writes) > 2 * _KEPT_WRITES:
            del self.writes[:_KEPT_WRITES]

    def moved(self, old: Any, output: int, new: Any) -> None:
        """Note that the tensor that was output `output` of node `old` is output 0 of node `new` after a write.

        Of a tensor that no node had made, `old` is the array. With `output` -1 a tensor got the array `new` for `old`.
        """
        moves = getattr(self, "moves", None)  # the slot is left empty until it is needed
        if moves is None:
            moves = self.moves = []
        moves.append((weakref.ref(old), output, weakref.ref(new), Gone(new) if output >= 0 else None))
        if len(moves) > 2 * _KEPT_WRITES:
            del moves[:_KEPT_WRITES]

    def history(self, node: object, output: int) -> tuple[Any, int]:
        """Return the present history of the tensor that was this output when it was saved, as far as it is known."""
        return self._followed(weakref.ref(node), output, None)

    def _followed(self, at: Any, output: int, gone: Gone | None) -> tuple[Any, int]:
        """Return the last node of the moves that go on from one. A weak reference stands for its node when that is gone, too."""
        for old, place, new, left in getattr(self, "moves", ()):
            if old is at and place == output:
                at, output, gone = new, 0, left
        return at() or gone, output

    def history_of(self, array: Array) -> tuple[Any, bool]:
        """Return the node that stands behind an array that had none when it was saved, and whether it does so by the array's base."""
        for old, place, new, left in getattr(self, "moves", ()):
            found = old() if place >= 0 else None  # else its tensor was given another geometry
            if isinstance(found, np.ndarray) and isinstance(array, np.ndarray) and memory_key(found) == memory_key(array):
                return self._followed(new, 0, left)[0], found is not array
        return None, False

    def present(self, array: object) -> Any:
        """Return what stands in an array's place since its tensor was given another geometry in place (`t_`)."""
        for old, place, new, _ in getattr(self, "moves", ()):
            if place < 0 and old() is array and new() is not None:
                array = new()
        return array

    def writes_since(self, version: int) -> list[tuple[int, object]]:
        """Return the (version, location) of each write after `version`, oldest first (at most the last 256)."""
        return [write for write in self.writes or () if write[0] > version]


def owner_of(array: Array) -> Array:
    """Return the array that owns the memory of `array` (itself, if it is no view)."""
    base: Any = array.base
    while base is not None:
        if hasattr(base, "strides") and not isinstance(base, memoryview):  # PyTorch's storages, seen by the lens, have them
            array = base
        base = getattr(base, "base", None)  # numpy's as_strided puts an object without strides in between
    return array


class _Zeros(bytearray):
    """The memory of tensors that stand for zeros: a class of its own of bytes would be filled and then copied."""

    __slots__ = ()


def immutable_zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return zeros that nothing may be written into, as PyTorch's tensors that stand for zeros."""
    found = np.ndarray(shape, dtype, _Zeros(max(math.prod(shape), 1) * np.dtype(dtype).itemsize))
    found.flags.writeable = False
    return found


def stands_for_zeros(array: Array) -> bool:
    """Whether an array is one of `immutable_zeros`, or a view of it."""
    return not array.flags.writeable and isinstance(owner_of(array).base, _Zeros)


def offset_in_memory(array: Array) -> int:
    """Return how many bytes after the start of its memory an array begins."""
    start = owner_of(array).__array_interface__["data"][0]
    return int(array.__array_interface__["data"][0] - start)


def strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Array:
    """Return a writable view of the memory of `array` with another geometry; strides and offset are in bytes.

    `offset` counts from the first element of `array` and may reach back to the start of its memory.
    """
    if offset == 0 and array.flags.c_contiguous:
        try:
            return np.ndarray(shape, array.dtype, array, 0, strides)
        except ValueError:
            pass  # it reaches beyond `array`: cut it out of the whole memory
    owner = owner_of(array)
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0] + offset
    if not owner.flags.c_contiguous:
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        owner = owner.transpose(order)
    return np.ndarray(shape, array.dtype, owner, start if all(shape) else 0, strides)


def memory_key(array: Array) -> int:
    """Return a number that two arrays share exactly when they stand in one memory (valid while it is alive)."""
    return id(array if array.base is None else owner_of(array))


def memory_bytes(array: Array) -> int:
    """Return the size in bytes of the whole memory that keeps `array` alive."""
    return bytes_of(array if array.base is None else owner_of(array))
