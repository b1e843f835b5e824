"""How often PyTorch's derivative writes into the gradient that it returns, which the gradient's version shows.

Many of its derivatives make zeros and write into these; a formula here computes its result at once and says by
`writes(1)` what PyTorch's does. Arrays carry no version, so the number is kept beside the array, as long as that lives.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.storage import VersionCounter, owner_of

_NOTED: dict[int, tuple[Any, int]] = {}
_SHARED: dict[int, tuple[Any, VersionCounter]] = {}
"""The counters of memory that gradients of several leaves are views of."""


def note(gradient: Any, count: int) -> Any:
    """Note that a gradient (array, or Tensor of a recorded pass) was written so often; return it, numpy's scalar as an array."""
    if isinstance(gradient, Tensor):
        gradient.counter.version = count
        if gradient.meta is not None and gradient.meta.view is not None:
            gradient.meta.view.version = count  # its history is as it was made: it need not look for the write
        return gradient
    gradient = np.asarray(gradient)
    _keep(_NOTED, gradient, count)
    return gradient


def _keep(table: dict[int, tuple[Any, Any]], gradient: Array, value: object) -> None:
    """Keep a value beside the memory of a gradient, as long as that lives."""
    owner = owner_of(gradient)
    key = id(owner)

    def forget(gone: object) -> None:
        found = table.get(key)
        if found is not None and found[0] is gone:
            del table[key]

    table[key] = weakref.ref(owner, forget), value


def _kept(table: dict[int, tuple[Any, Any]], gradient: Array) -> Any:
    owner = owner_of(gradient)
    found = table.get(id(owner))
    return found[1] if found is not None and found[0]() is owner else None


def note_more(gradient: Array) -> None:
    """Note one write more into a gradient, on its way through the graph."""
    note(gradient, noted(gradient) + 1)


def noted(gradient: Array) -> int:
    """Return how often a gradient, or what it is a view of, was written."""
    return (_kept(_NOTED, gradient) or 0) if _NOTED else 0


def share(gradient: Tensor) -> None:
    """Note which counter counts the writes to the memory of a gradient that a program passes: leaves may come to share it."""
    _keep(_SHARED, gradient.array, gradient.counter)


def known_counter(gradient: Array) -> VersionCounter | None:
    """Return the counter of the memory that a gradient lies in, where that is known."""
    return _kept(_SHARED, gradient) if _SHARED else None


def shared_counter(gradient: Array, version: int) -> VersionCounter:
    """Return the counter of a gradient that is a view of memory which others may see too: one for them all."""
    counter = known_counter(gradient)
    if counter is None:
        counter = VersionCounter()
        counter.version = version
        _keep(_SHARED, gradient, counter)
    return counter


def writes(*counts: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what makes a formula tell how often its gradient (each of several) is written in PyTorch."""

    def decorate(formula: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(formula)
        def counted(*args: object, **kwargs: object) -> object:
            found = formula(*args, **kwargs)
            if type(found) is not tuple:
                return None if found is None else note(found, counts[0])
            return tuple(note(one, count) if count and one is not None else one for one, count in zip(found, counts, strict=True))

        return counted

    return decorate
