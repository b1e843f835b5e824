"""What PyTorch's nodes saved: the raw entries, which run no hook, and what is noted of them in the nodes' metadata."""

import re
from math import prod
from typing import Any

import torch

from gradsh.engine.graph.saved import SavedTensor, SavedVariable
from gradsh.engine.graph.types import Location
from gradsh.engine.values.storage import VersionCounter
from gradsh.lens import older
from gradsh.lens.arrays import dtype_of

MARK = "gradsh"
"""The key in `node.metadata` under which stands what freed a node's saved tensors: (place, number of the pass, their outlines)."""
VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
UNWRITTEN = VersionCounter()
"""The counter of every tensor that was never written: nobody writes here."""
entry_at = older.entry_of if older.NEEDED else getattr
"""Returns the raw entry of a node under an attribute, or a tuple of these. Raises RuntimeError for a custom function that is freed."""
_RAW = "_raw_saved_"
NAMES: dict[type, tuple[tuple[str, str], ...]] = {}
"""What `saved_names` has found."""

Outlines = tuple[tuple[str, int | None, Any, Any], ...]
"""(name, place in a list, PyTorch's size and dtype) of saved tensors; the dtype is None where a hook has packed one."""


def saved_names(node: object) -> tuple[tuple[str, str], ...]:
    """Return (name, attribute of the raw entry) of what a PyTorch node may save."""
    kind = type(node)
    found = NAMES.get(kind)
    if found is None:
        raw = [name for name in dir(kind) if name.startswith(_RAW)]
        custom = issubclass(kind, torch.autograd.function.BackwardCFunction)
        found = tuple(("saved_tensors" if custom else name.removeprefix(_RAW), name) for name in raw)
        NAMES[kind] = found
    return found


def raw_entries(node: object) -> list[tuple[str, int | None, Any]]:
    """Return (name, place in a list or None, PyTorch's SavedTensor) of what a node saved."""
    found: list[tuple[str, int | None, Any]] = []
    for name, attribute in saved_names(node):
        try:
            raw = entry_at(node, attribute)
        except RuntimeError:
            continue
        if type(raw) is tuple:
            found += [(name, place, one) for place, one in enumerate(raw)]
        else:
            found.append((name, None, raw))
    return found


def outlines_of(node: object, names: tuple[tuple[str, str], ...]) -> Outlines:
    """Return the outlines of what a node has saved and not freed."""
    found: list[Any] = []
    for name, attribute in names:
        try:
            raw: Any = entry_at(node, attribute)
        except RuntimeError:
            continue
        if type(raw) is not tuple:
            data = raw.data
            if data is not None:
                found.append((name, None, data.shape, data.dtype) if raw.unpack_hook is None else (name, None, (), None))
            continue
        for place, one in enumerate(raw):
            data = one.data
            if data is not None:
                found.append((name, place, data.shape, data.dtype) if one.unpack_hook is None else (name, place, (), None))
    return tuple(found)


class TorchSaved(SavedTensor):
    """A saved tensor of a PyTorch node."""

    __slots__ = ("counter", "current_version", "dtype", "freed", "freed_where", "nbytes", "packed", "recomputed", "shape", "version")

    def __init__(self, name: str, index: int | None, shape: tuple[int, ...], dtype: Any, nbytes: int, array: Any = None) -> None:
        self.name = name
        self.index = index
        self.shape = shape
        self.dtype = dtype
        self.nbytes = nbytes
        self.array = array
        self.freed = False
        self.freed_where = None
        self.version = self.current_version = 0
        self.recomputed = False
        self.counter: Any = UNWRITTEN
        self.packed: Any = None
        """What a hook keeps in its place, as the engine has it."""

    @property
    def kept(self) -> SavedVariable | None:
        """What the node keeps; None once freed."""
        if self.array is None and self.packed is None:
            return None
        return SavedVariable(self.array, self.counter, self.version or 0, None, self.packed)


def gone(place: Location, name: str, index: int | None, size: Any, dtype: object) -> TorchSaved:
    """Return an entry that is freed, by what is remembered of it."""
    shape = tuple(size)
    found = dtype_of(torch.float32 if dtype is None else dtype)
    saved = TorchSaved(name, index, shape, found, 0 if dtype is None else prod(shape) * found.itemsize)
    saved.freed = True
    saved.version = saved.current_version = None
    saved.freed_where = place
    return saved


def is_freed(raw: Any) -> bool:
    """Whether an entry without a tensor had one: asking it for the tensor runs no hook, for it has none."""
    try:
        raw.unpack()
    except RuntimeError:
        return True
    return False


def saved_version(function: object, name: str, index: int | None, raw: Any, current: int) -> int:
    """Return the version that a tensor was saved at, which PyTorch tells only where it is not the current one."""
    try:
        if index is None and hasattr(function, f"_saved_{name}"):
            getattr(function, f"_saved_{name}")
        else:
            raw.unpack()
    except RuntimeError as error:
        found = VERSIONS.search(str(error))
        return int(found[2]) if found else current
    return current
