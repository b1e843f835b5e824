"""Which line wrote a tensor in place: PyTorch's in-place functions are wrapped while a watcher looks.

A wrapper compares the version before and after, and notes the place under the memory and the version. Only functions that
write are wrapped, so all others cost nothing; one that may be given `out=` is wrapped once a file of the user's gives it.
(A `TorchFunctionMode` would see every call, at several microseconds each, and turns off PyTorch's fast paths for
inference, so that numbers could differ.)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

import torch

from gradsh.lens import older
from gradsh.lens.replaced import Replaced, is_compiling

if TYPE_CHECKING:
    from gradsh.lens.lines import LineTracer

Place = Any
_KEPT_WRITES = 256
_MOST = 20_000
"""Memories whose writes are remembered."""
_OPERATORS = (
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__idiv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__",
    "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__setitem__",
)
_SETTERS = frozenset({"requires_grad_", "retain_grad_", "share_memory_", "rename_", "coalesce_", "detach_"})
"""Methods that end in an underscore and write no elements."""
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_mode_is_on = torch._C._is_torch_function_mode_enabled
_OUT_HOMES = (torch, torch.linalg, torch.special, torch.fft)
"""Where functions stand that may be given `out=`."""
_STATISTICS = {"batch_norm": (3, 4), "instance_norm": (3, 4), "embedding_renorm_": (0,)}
"""Functions that write some of their arguments, and where these stand."""


class Writes:
    """The places of in-place writes. `lines` knows where the program stands."""

    def __init__(self, lines: "LineTracer") -> None:
        self.lines = lines
        self.known: dict[int, list[tuple[int, Place]]] = {}
        """memory -> (version after the write, place)"""
        self.sizes: dict[int, tuple[int, int]] = {}
        """memory -> (bytes, number of the next node), for an older PyTorch, which does not tell which tensor was written"""
        self._replaced = Replaced()

    def of(self, tensor: torch.Tensor, version: int) -> list[tuple[int, Place]]:
        """Return the noted writes to a tensor's memory, up to a version."""
        found = self.known.get(_memory(tensor), ())
        return [write for write in found if write[0] <= version]

    def guess(self, saved_at: int, version: int, nbytes: int, number: int) -> list[tuple[int, Place]]:
        """Return the writes since a tensor of so many bytes was saved by the node of a number: those that all such memories had."""
        found = [
            [write for write in writes if write[0] > saved_at] for key, writes in self.known.items()
            if writes[-1][0] == version and self.sizes[key][0] == nbytes and self.sizes[key][1] > number
        ]
        return found[0] if found and all(one == found[0] for one in found) else []

    def note(self, tensor: torch.Tensor, before: int, after: int) -> None:
        """Note the writes to a tensor since version `before`."""
        key = _memory(tensor)
        place = self.lines.log().here()
        writes = self.known.get(key)
        if writes is None or writes[-1][0] > before:  # in the latter case the memory is another's now
            writes = self.known[key] = []
            if len(self.known) > _MOST:
                for one in list(self.known)[: _MOST // 2]:
                    del self.known[one]
                    self.sizes.pop(one, None)
        writes.append((after, place))
        if older.NEEDED:
            with torch._C.DisableTorchFunction():
                self.sizes[key] = (tensor.untyped_storage().nbytes() if key > 0 else 0, self.lines.next_number())
        if after > before + 1:
            writes[-1:] = [(version, place) for version in range(before + 1, after + 1)]
        if len(writes) > 2 * _KEPT_WRITES:
            del writes[:-_KEPT_WRITES]

    # --- wrapping -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Wrap the functions that write."""
        for owner, name in _writers():
            self._wrap(owner, name, self._first)
        for name, places in _STATISTICS.items():
            self._wrap(torch, name, partial(self._several, written=_at(places)))
        for name in dir(torch):
            if name.startswith(("_foreach_", "_fused_")) and name.endswith("_"):
                written = _lists if name.startswith("_fused_") else _first_list
                self._wrap(torch, name, partial(self._several, written=written))
        self.lines.files.on_out = self._wrap_out
        self._wrap_out(self.lines.files.outs)

    def stop(self) -> None:
        """Put back what was there."""
        self.lines.files.on_out = None
        self._replaced.put_back()

    def _wrap(self, owner: object, name: str, how: Callable[[object], object]) -> None:
        if callable(getattr(owner, name, None)):
            self._replaced.put(owner, name, how)

    def _wrap_out(self, names: Iterable[str]) -> None:
        """Wrap the functions of these names that the user's files call with `out=`."""
        for name in names:
            for owner in _OUT_HOMES:
                if isinstance(getattr(owner, name, None), BuiltinFunctionType) and not self._replaced.has(owner, name):
                    self._wrap(owner, name, partial(self._several, written=_outs))

    def _first(self, function: Any) -> object:
        """Return a function that calls `function` and notes what it writes into its first argument."""
        note, plain, mode_is_on = self.note, _PLAIN, _mode_is_on

        def writing(*args: Any, **kwargs: object) -> object:
            if is_compiling():
                return function(*args, **kwargs)
            if args and type(args[0]) in plain and not (mode_is_on() or args[0].is_inference()):  # as below, with no calls of ours
                tensor = args[0]
                before = tensor._version
                try:
                    return function(*args, **kwargs)
                finally:
                    if tensor._version != before:
                        note(tensor, before, tensor._version)
            before = _version(args[0]) if args else -1
            if before < 0:
                return function(*args, **kwargs)
            try:
                return function(*args, **kwargs)
            finally:
                tensor = args[0]
                after = _version(tensor)
                if after != before:
                    note(tensor, before, after)

        return writing

    def _several(self, function: Any, *, written: Callable[[object, object], Sequence[object]]) -> object:
        """Return the same for a function that writes what `written` finds among its arguments."""

        def writing(*args: Any, **kwargs: object) -> object:
            if is_compiling():
                return function(*args, **kwargs)
            tensors = written(args, kwargs)
            before = list(map(_version, tensors))
            try:
                return function(*args, **kwargs)
            finally:
                for tensor, version in zip(tensors, before, strict=True):
                    after = _version(tensor)
                    if 0 <= version < after:
                        self.note(tensor, version, after)

        return writing


def _at(places: tuple[int, ...]) -> Callable[[Any, Any], Sequence[Any]]:
    """Return what finds the arguments at some places."""
    return lambda args, _: [args[place] for place in places if place < len(args)]


def _first_list(args: Any, _: object) -> Sequence[object]:
    return args[0] if args and isinstance(args[0], list | tuple) else ()


def _lists(args: Any, _: object) -> Sequence[object]:
    return [one for part in args if isinstance(part, list | tuple) for one in part]


def _outs(_: object, kwargs: Any) -> Sequence[object]:
    out = kwargs.get("out")
    return out if isinstance(out, list | tuple) else [out]


def _writers() -> Iterator[tuple[object, str]]:
    """Yield (owner, name) of each function that writes its first argument."""
    for name in dir(torch._C.TensorBase):
        if name.endswith("_") and not name.startswith("_") and name not in _SETTERS:
            yield torch.Tensor, name
    yield from ((torch.Tensor, name) for name in _OPERATORS)
    for name in dir(torch):
        if name.endswith("_") and not name.startswith("_") and name not in _STATISTICS:
            yield torch, name
    for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_", "rrelu_", "threshold_", "celu_", "selu_"):
        yield torch._VF, name


def _version(value: Any) -> int:
    """Return a tensor's version, -1 for one that has none and for what is no tensor; no class or mode of the program's is asked."""
    try:
        if type(value) in _PLAIN and not _mode_is_on():
            return value._version  # type: ignore[no-any-return]
        with torch._C.DisableTorchFunction():
            return value._version if isinstance(value, torch.Tensor) else -1
    except RuntimeError:  # an inference tensor's
        return -1


def _memory(tensor: torch.Tensor) -> int:
    """Return the key of a tensor's memory; no class or mode of the program's is asked."""
    try:
        if type(tensor) in _PLAIN and not _mode_is_on():
            return int(tensor.untyped_storage()._cdata)
        with torch._C.DisableTorchFunction():
            return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return -id(tensor)
