"""What a node saved, on a PyTorch that shows no saved tensor without unpacking it (2.4 and some later; 2.12 shows it).

To unpack what no hook has packed changes nothing, so `_saved_NAME` is read of the nodes that were made while no hook was
set. What other nodes saved is not looked at: these are the nodes made within `saved_tensors_hooks` (and so within a
checkpoint), those that a hook was set on, and those from before the watcher began.
"""

import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

import torch

from gradsh.lens.replaced import Replaced, is_compiling

_HOME = torch._C._autograd
NEEDED = not (hasattr(_HOME.SavedTensor, "data") and hasattr(_HOME.SavedTensor, "unpack"))
_LAST = 1 << 63
_SHAPED = re.compile(r"\[(?:torch\.)?([\w.]+) \[([\d, ]*)\]\].* is at version (\d+); expected version (\d+)", re.DOTALL)
_MOST = 4_000


class Hidden:
    """The stretches of numbers of nodes, thread by thread, whose saved tensors are not looked at."""

    def __init__(self) -> None:
        self._replaced = Replaced()
        self._firsts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        self._kinds: dict[int, list[bool]] = {}
        self._next: Callable[[], int] = _HOME._get_sequence_nr

    def start(self) -> None:
        """Begin to follow the hooks; what was made until now is not looked at."""
        if not NEEDED:
            return
        ends = self._ends.get(threading.get_ident())
        if ends is None:
            self._hide_past()
        elif not _are_set():
            ends[-1] = min(ends[-1], self._next())
        if ends is None and _are_set():
            self._open(recomputes=False)
        self._replaced.put(_HOME, "_push_saved_tensors_default_hooks", self._pushing)
        self._replaced.put(_HOME, "_pop_saved_tensors_default_hooks", self._popping)
        self._replaced.put(_HOME.SavedTensor, "register_hooks", self._registering)

    def stop(self) -> None:
        """Follow the hooks no longer; what is made from now on is not looked at."""
        if NEEDED:
            self._replaced.put_back()
            self._open(recomputes=False)

    def kind(self, number: int) -> bool | None:
        """Return None for a node that is looked at; of another, whether a checkpoint computes again what it saved."""
        for thread, firsts in self._firsts.items():
            index = bisect_right(firsts, number) - 1
            if index >= 0 and number < self._ends[thread][index]:
                return self._kinds[thread][index]
        return None

    def any(self) -> bool:
        """Whether a hook was set while the watcher was on."""
        return any(len(firsts) > 1 for firsts in self._firsts.values())

    def _hide_past(self) -> None:
        thread = threading.get_ident()
        self._firsts[thread], self._ends[thread], self._kinds[thread] = [0], [self._next()], [False]

    def _open(self, *, recomputes: bool) -> None:
        thread = threading.get_ident()
        self._firsts.setdefault(thread, []).append(self._next())
        self._ends.setdefault(thread, []).append(_LAST)
        self._kinds.setdefault(thread, []).append(recomputes)
        if len(self._firsts[thread]) > _MOST:
            firsts, ends, kinds = self._firsts[thread], self._ends[thread], self._kinds[thread]
            half = _MOST // 2
            firsts[:half], ends[:half], kinds[:half] = [0], [ends[half - 1]], [False]

    def _pushing(self, function: Any) -> object:
        def push(*hooks: Any) -> None:
            if not is_compiling() and not _are_set():
                self._open(recomputes=getattr(hooks[0], "__module__", "") == "torch.utils.checkpoint")
            function(*hooks)

        return push

    def _popping(self, function: Any) -> object:
        def pop() -> None:
            function()
            ends = self._ends.get(threading.get_ident())
            if ends and not is_compiling() and not _are_set():
                ends[-1] = self._next()

        return pop

    def _registering(self, function: Any) -> object:
        def register_hooks(saved: object, *args: object, **kwargs: object) -> object:
            self._hide_past()
            return function(saved, *args, **kwargs)

        return register_hooks


def _are_set() -> bool:
    """Whether a hook packs what is saved now: hooks cannot be disabled while there are some."""
    if not _HOME._saved_tensors_hooks_is_enabled():
        return False
    try:
        _HOME._saved_tensors_hooks_disable("")
    except RuntimeError:
        return True
    finally:
        _HOME._saved_tensors_hooks_enable()
    return False


HIDDEN = Hidden()


class SavedEntry:
    """What stands for PyTorch's SavedTensor: the tensor, or what is known in its place."""

    __slots__ = ("_freed", "data", "unpack_hook", "written")

    def __init__(self, data: object, *, hidden: bool = False, freed: bool = False, written: tuple[int, int] | None = None) -> None:
        self.data = data
        self.unpack_hook = _unpack if hidden else None
        self._freed = freed
        self.written = written
        """(version now, version when it was saved) where these differ: `data` has its shape and dtype alone"""

    def unpack(self) -> object:
        """Return the tensor. Raises RuntimeError where it is freed."""
        if self._freed:
            raise RuntimeError("it is freed")
        return self.data


class _Holder:
    """Stands for what a checkpoint keeps in the place of a tensor that it computes again."""


def _unpack(_: object) -> object:
    raise RuntimeError("what a hook has packed is not looked at")


def entry_of(node: Any, attribute: str) -> object:
    """Return what stands for the raw entry of a node, or a tuple of these. Raises RuntimeError as PyTorch does."""
    raw = getattr(node, attribute)
    kind = HIDDEN.kind(node._sequence_nr())
    if kind is not None:
        hidden = SavedEntry(_Holder() if kind else _unpack, hidden=True)
        return (hidden,) * len(raw) if type(raw) is tuple else hidden
    custom = isinstance(node, torch.autograd.function.BackwardCFunction)
    try:
        found = getattr(node, attribute.removeprefix("_raw_" if custom else "_raw"))
    except RuntimeError as error:
        refused = _refused(str(error))
        return (SavedEntry(_unpack, hidden=True),) * len(raw) if type(raw) is tuple else refused
    return tuple(map(SavedEntry, found)) if type(raw) is tuple else SavedEntry(found)


def only_one(outline: torch.Tensor, version: int, tensors: Iterable[torch.Tensor]) -> torch.Tensor | None:
    """Return the tensor of an outline's shape and dtype that is at a version; None where none is, or several memories."""
    found = {
        one.untyped_storage()._cdata: one for one in tensors
        if one.shape == outline.shape and one.dtype == outline.dtype and one._version == version
    }
    return next(iter(found.values())) if len(found) == 1 else None


def is_copy(node: object, name: str, index: int | None, tensor: object) -> bool:
    """Whether PyTorch makes a tensor anew each time that an entry is unpacked: so it does with a node's own results."""
    again = getattr(node, name if isinstance(node, torch.autograd.function.BackwardCFunction) else f"_saved_{name}")
    return (again if index is None else again[index]) is not tensor


def _refused(message: str) -> SavedEntry:
    """Return an entry that PyTorch refuses to unpack: it was written since, or freed, or is another's now."""
    found = _SHAPED.search(message)
    if found is not None:
        name = found[1].removesuffix("Tensor").rpartition(".")[2]
        shape = [int(part) for part in found[2].split(",") if part.strip()]
        return SavedEntry(torch.empty(shape, dtype=_DTYPES.get(name), device="meta"), written=(int(found[3]), int(found[4])))
    return SavedEntry(None, freed=True) if "second time" in message else SavedEntry(_unpack, hidden=True)


_DTYPES = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16, "Long": torch.int64,
    "Int": torch.int32, "Short": torch.int16, "Char": torch.int8, "Byte": torch.uint8, "Bool": torch.bool,
    "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
}
"""The names of dtypes in PyTorch's message."""
