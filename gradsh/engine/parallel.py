"""Elementwise work on large arrays, block by block, shared between a few threads: numpy lets go of Python's lock within a ufunc.

Where blocks begin and end does not depend on how many threads there are, so that the bits do not either.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.values.dtype import Array
from gradsh.process.blas_threads import use, wanted

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

BLOCK = 1 << 16
"""Elements at a time in chains of ufuncs: their temporaries stay in the cache."""
_STRETCH = 1 << 17
"""The same for a single ufunc, which needs no temporaries."""
WORTH = 1 << 20
"""Elements from which several threads take part: to call them costs as much as some 50,000."""

Block = Callable[[int, int], object]
"""Works off the elements from one place to another."""

_pools: dict[int, "ThreadPoolExecutor"] = {}
"""The threads by their number, since the first array that was worth them."""


def threads() -> int:
    """Return how many threads work: as many as the program set, or the environment, or as there are processors."""
    return current().flags.get("threads") or wanted()


def set_threads(count: int) -> None:
    """Let so many threads work, those of products included."""
    current().flags["threads"] = count
    use(count)


def shared(size: int, make: Callable[[], Block], step: int) -> None:
    """Work off `size` elements in blocks of `step`; `make` is called once by each thread, for work space of its own."""
    starts = iter(range(0, size, step))

    def drain() -> None:
        block = make()
        for start in starts:
            block(start, min(start + step, size))

    helpers = _helpers(drain) if size >= WORTH else []
    try:
        drain()
    finally:
        for _ in starts:  # after a failure nobody begins another block
            pass
        for helper in helpers:
            helper.exception()
    for helper in helpers:
        helper.result()


def _helpers(drain: Callable[[], None]) -> "list[Future[None]]":
    """Have the other threads begin as well, with the caller's context: numpy's handling of errors is a part of it."""
    others = threads() - 1
    if others < 1:
        return []
    if others not in _pools:
        from concurrent.futures import ThreadPoolExecutor

        _pools[others] = ThreadPoolExecutor(others, "gradsh")
    begun: list[Future[None]] = []
    with suppress(RuntimeError):  # no thread can be had: those that there are do the work
        begun.extend(_pools[others].submit(copy_context().run, drain) for _ in range(others))
    return begun


def spread(ufunc: np.ufunc, *arrays: Array) -> Any:
    """Return what a ufunc gives for floats of one dtype, large arrays of one shape in blocks."""
    first = arrays[0]
    if first.size < WORTH or any(
        one.ndim and (one.shape != first.shape or not one.flags.c_contiguous) for one in arrays
    ):
        return ufunc(*arrays)
    return spread_into(np.empty(first.shape, first.dtype), ufunc, *arrays)


def spread_into(result: Array, ufunc: np.ufunc, *arrays: Array) -> Array:
    """Write the same into an array of that shape."""
    target = result.reshape(-1)
    sources = [one.reshape(-1) if one.ndim else one for one in arrays]

    def block(start: int, stop: int) -> None:
        ufunc(*[one[start:stop] if one.ndim else one for one in sources], out=target[start:stop])

    shared(result.size, lambda: block, _STRETCH)
    return result


os.register_at_fork(after_in_child=_pools.clear) if hasattr(os, "register_at_fork") else None
