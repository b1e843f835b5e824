"""Forward mode's levels, and the tangents that tensors have at each: directional derivatives that accompany their values.

How an operation computes tangents is in `autograd/forward_mode.py`. While a level is active, hooks that do nothing stand on saved
tensors, so that the fast paths leave every operation to the general way, which follows tangents.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradsh.engine.ambient import BATCHED, current
from gradsh.engine.dispatch.saved_hooks import watching
from gradsh.engine.graph.tensor import Tensor, autograd_meta, make
from gradsh.engine.registry import find
from gradsh.engine.values.storage import offset_in_memory, owner_of
from gradsh.text.fault import fail

_LEVELS = "forward_levels"


class Tangents:
    """The tangents of one tensor, by level. What a node saved of the tensor shares them."""

    __slots__ = ("__weakref__", "by_level")

    def __init__(self) -> None:
        self.by_level: dict[Level, Tensor | None] = {}
        """None stands for a view that has no tangent although its base has one."""


class Level:
    """One level of forward mode. Nested levels are nested derivatives; a level ends with all its tangents."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: weakref.WeakSet[Tangents] = weakref.WeakSet()

    def end(self) -> None:
        """Drop every tangent of this level."""
        for one in self.held:
            one.by_level.pop(self, None)


def levels() -> tuple[Level, ...]:
    """Return the active levels, the outermost first."""
    return current().flags.get(_LEVELS, ())  # type: ignore[no-any-return]


def activate(active: tuple[Level, ...]) -> None:
    """Make these the active levels."""
    current().flags[_LEVELS] = active
    watching(_LEVELS, bool(active))


def opened() -> Level:
    """Begin a level within the active ones."""
    level = Level()
    activate((*levels(), level))
    return level


def close(level: Level) -> None:
    """End a level."""
    activate(tuple(one for one in levels() if one is not level))
    level.end()


@contextmanager
def beneath(level: Level) -> Iterator[None]:
    """Leave a level and those within it for a while: only outer levels are followed, and nobody watches."""
    ambient = current()
    before = ambient.saved_hooks, ambient.passes, ambient.anomaly, levels()
    ambient.saved_hooks, ambient.passes, ambient.anomaly = (), None, None
    activate(before[3][: before[3].index(level)] if level in before[3] else before[3])
    try:
        yield
    finally:
        ambient.saved_hooks, ambient.passes, ambient.anomaly, ambient.flags[_LEVELS] = before


@contextmanager
def following_nothing() -> Iterator[None]:
    """Follow no tangents for a while."""
    before = levels()
    activate(())
    try:
        yield
    finally:
        activate(before)


def tangents_held(tensor: Tensor) -> Tangents | None:
    """Return where a tensor's tangents are, or will be, for what saves it; None where no level is active."""
    active = levels()
    if not active:
        return None
    for level in active:
        tangent_of(tensor, level)
    return _tangents(tensor)


def _tangents(tensor: Tensor) -> Tangents:
    meta = autograd_meta(tensor)
    if meta.tangents is None:
        meta.tangents = Tangents()
    return meta.tangents  # type: ignore[no-any-return]


def tangent_of(tensor: Tensor, level: Level) -> Tensor | None:
    """Return a tensor's tangent; that of a view whose base got one by a write is a view of it."""
    meta = tensor.meta
    if meta is None:
        return None
    if meta.tangents is not None and level in meta.tangents.by_level:
        return meta.tangents.by_level[level]  # type: ignore[no-any-return]
    found = None
    if meta.view is not None:
        whole = tangent_of(meta.view.base, level)
        if whole is not None:
            with beneath(level):
                found = _same_part(whole, meta.view.base, tensor)
            put(tensor, level, found)
    return found


def put(tensor: Tensor, level: Level, tangent: Tensor | None) -> None:
    """Note a tensor's tangent as it is."""
    tangents = _tangents(tensor)
    tangents.by_level[level] = tangent
    level.held.add(tangents)


def detached_with_tangents(tensor: Tensor) -> Tensor:
    """Return a tensor without its history, but with its tangents as they are."""
    fresh = tensor.detach()
    held = tangents_held(tensor)
    if held is not None:
        autograd_meta(fresh).tangents = held
    return fresh


def untracked(tensor: Tensor) -> Tensor:
    """Return a tensor without its history, with tangents that have none either."""
    fresh = tensor.detach()
    for level in levels():
        tangent = tangent_of(tensor, level)
        if tangent is not None:
            put(fresh, level, untracked(tangent))
    return fresh


def _same_part(whole: Tensor, base: Tensor, view: Tensor) -> Tensor:
    """Return the part of the base's tangent that lies in it as the view lies in the base."""
    offset = (offset_in_memory(view.array) - offset_in_memory(base.array)) // base.array.itemsize
    return find("as_strided")(whole, view.array.shape, view.stride(), whole.storage_offset() + offset)  # type: ignore[no-any-return]


def set_tangent(tensor: Tensor, level: Level, tangent: Tensor, written: bool = False) -> None:
    """Give a tensor a tangent, laid out in memory as the tensor is; `written` by an operation in place.

    After a write in place the tangent that was there is written, too; a view without one shares that of its base, which begins as zeros.
    """
    if tangent.array.shape != tensor.array.shape:
        message = (
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.array.shape)} while the given forward gradient is of size {list(tangent.array.shape)}."
        )
        raise fail("shape", message, tensor=tensor)
    with beneath(level):
        before = tangent_of(tensor, level)
        view = None if tensor.meta is None else tensor.meta.view
        if written and before is None and view is not None:
            whole = _same_layout(tangent, view.base) and _same_layout(tangent, tensor)  # then view and base share one tangent
            put(view.base, level, tangent if whole else _like(view.base, tangent.array.dtype))
            if whole:
                put(tensor, level, tangent)
            before = tangent_of(tensor, level)
        if before is None and tensor.array.size and not _same_layout(tangent, tensor):
            before = _like(tensor, tangent.array.dtype)
        if before is not None and before is not tangent:
            tangent = find("copy_")(before, tangent)
    put(tensor, level, tangent)


def _same_layout(tangent: Tensor, tensor: Tensor) -> bool:
    """Whether a tangent lies in memory as the tensor does; of one example of a batch, by its strides alone."""
    if current().flags.get(BATCHED, False):
        return tangent.stride() == tensor.stride()  # type: ignore[no-any-return]
    return _layout(tangent) == _layout(tensor)


def _layout(tensor: Tensor) -> tuple[tuple[int, ...], int, int]:
    """Return strides, offset and extent of memory, all in elements."""
    return tensor.stride(), tensor.storage_offset(), owner_of(tensor.array).nbytes // tensor.array.itemsize


def _like(tensor: Tensor, dtype: Any) -> Tensor:
    """Return zeros that lie in memory as a tensor does, in as much of it."""
    strides, offset, extent = _layout(tensor)
    whole = make(np.zeros(extent, dtype))
    return find("as_strided")(whole, tensor.array.shape, strides, offset)  # type: ignore[no-any-return]
