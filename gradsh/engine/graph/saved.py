"""What a node keeps of a saved tensor, what is left of it when it was freed, and how people see both."""

import math
from typing import Any, NamedTuple

import numpy as np

from gradsh.engine.graph.types import Location
from gradsh.engine.values.dtype import Array, DType, of_numpy
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import VersionCounter

Entry = Any
"""What is kept of a saved tensor: None (not saved for this pattern of needs), a `SavedVariable`, or a list of these."""

DETACHED = object()
"""The unpack hook of what was saved of a tensor that was detached in place since."""
_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)


class SavedVariable(NamedTuple):
    """A saved tensor: its array, its version counter, the version then, and the edge its gradient would take.

    `edge` is None for a tensor that needs no gradient, the int `nr` for output `nr` of the node itself, and how it was made (see `View`)
    for a view that requires grad although no gradient can reach it.
    `packed` holds (unpack hook, packed value) where saved-tensor hooks took the array's place, `tangents` those of forward mode,
    `origin` a weak reference to the tensor itself where a custom function saved it.
    """

    array: Array | None
    counter: VersionCounter
    version: int
    edge: Any
    packed: Any = None
    tangents: Any = None
    origin: Any = None


class FreedVariables:
    """What stays of a node's saved tensors: by which pass they were freed (`location`), and their shapes and dtypes."""

    __slots__ = ("location", "shapes")

    def __init__(self, location: Location, shapes: tuple[Any, ...]) -> None:
        self.location = location
        self.shapes = shapes


class SavedTensor:
    """A saved tensor as people ask for it: name, shape, dtype, bytes, state. Made on demand, never stored."""

    __slots__ = ("_freed", "_kept", "array", "index", "name", "node")
    __script_attributes__ = frozenset({"name", "shape", "dtype", "nbytes", "freed", "recomputed", "version", "current_version"})

    array: Array | None
    """Its array; None once freed, and where a hook has packed it."""

    def __init__(self, node: Any, name: str, index: int | None, kept: SavedVariable | None, freed: Any = None) -> None:
        self.node = node
        self.name = name
        self.index = index
        self.array = None if kept is None else kept[0]
        self._kept = kept
        self._freed = freed
        """(shape, numpy dtype, what freed it) of one that is gone"""

    @property
    def kept(self) -> SavedVariable | None:
        """What the node keeps; None once freed."""
        return self._kept

    @property
    def freed(self) -> bool:
        """Whether a backward pass (or `release --free`) has dropped it."""
        return self._freed is not None

    @property
    def freed_where(self) -> Location:
        """The place of the pass that freed it."""
        return None if self._freed is None else self._freed[2]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape, also once freed."""
        array = self.array
        if array is not None:
            return array.shape
        return self._freed[0] if self._kept is None else self._kept.packed[2]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """The type of its elements, also once freed."""
        return of_numpy(self._numpy_dtype())

    def _numpy_dtype(self) -> Any:
        if self.array is not None:
            return self.array.dtype
        return self._freed[1] if self._kept is None else self._kept.packed[3]

    @property
    def counter(self) -> VersionCounter | None:
        """What counts the writes to its memory; None once freed."""
        return None if self.kept is None else self.kept.counter

    @property
    def version(self) -> int | None:
        """The version of its memory when it was saved; None once freed."""
        return None if self.kept is None else self.kept.version

    @property
    def nbytes(self) -> int:
        """Number of elements times the size of one, in bytes."""
        array = self.array
        if array is not None:
            return bytes_of(array)
        return of_numpy(self._numpy_dtype()).itemsize * math.prod(self.shape)

    @property
    def recomputed(self) -> bool:
        """Whether it is not kept: the checkpoint it belongs to computes it again when backward needs it."""
        if self._kept is None or self._kept.packed is None:
            return False
        return isinstance(self._kept.packed[1], Recomputed)

    @property
    def current_version(self) -> int | None:
        """The version of its memory now; another one than `version` makes backward fail. None once freed."""
        return None if self.counter is None else self.counter.version

    def __repr__(self) -> str:
        state = "freed" if self.freed else f"{self.nbytes} B"
        return f"<SavedTensor {self.node.name()}.{self.name} {tuple(self.shape)} {self.dtype.name}, {state}>"


def slot_shape_and_dtype(array: object) -> object:
    """Return (shape, dtype) of what a slot holds: an array, or a Python number; None of None."""
    if array is None:
        return None
    if type(array) is np.ndarray:
        return array.shape, array.dtype
    return (), _INT64 if type(array) is int else _FLOAT64


def shape_and_dtype(entry: Entry) -> object:
    """Return (shape, dtype) of an entry, a list of these for a list, None of None."""
    if entry is None:
        return None
    if type(entry) is list:
        return [shape_and_dtype(one) for one in entry]
    if entry.array is None:
        return entry.packed[2], entry.packed[3]
    return entry.array.shape, entry.array.dtype


class Recomputed:
    """Stands for a saved tensor that is not kept: the checkpoint it belongs to computes it again when it is needed."""

    __slots__ = ("__weakref__", "dtype", "frame", "running", "shape", "value")

    def __init__(self, frame: Any, shape: tuple[int, ...], dtype: Any) -> None:
        self.frame = frame
        self.shape = shape
        self.dtype = dtype
        self.value: Any = None
        self.running: Any = None
        """Weak reference to the backward pass for which `value` was computed."""
