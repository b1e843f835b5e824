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
from gradsh.engine.values.storage import owner_of

_NOTED: dict[int, tuple[Any, int]] = {}


def note(gradient: object, count: int) -> None:
    """Note that a gradient (array, or Tensor of a recorded pass) was written so often."""
    if isinstance(gradient, Tensor):
        gradient.counter.version = count
        if gradient.meta is not None and gradient.meta.view is not None:
            gradient.meta.view.version = count  # its history is as it was made: it need not look for the write
    elif type(gradient) is np.ndarray:
        owner = owner_of(gradient)
        key = id(owner)
        _NOTED[key] = weakref.ref(owner, lambda gone: _forget(key, gone)), count


def note_more(gradient: Array) -> None:
    """Note one write more into a gradient, on its way through the graph."""
    note(gradient, noted(gradient) + 1)


def _forget(key: int, gone: object) -> None:
    found = _NOTED.get(key)
    if found is not None and found[0] is gone:
        del _NOTED[key]


def noted(gradient: Array) -> int:
    """Return how often a gradient, or what it is a view of, was written."""
    if not _NOTED:
        return 0
    owner = owner_of(gradient)
    found = _NOTED.get(id(owner))
    return found[1] if found is not None and found[0]() is owner else 0


def writes(*counts: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what makes a formula tell how often its gradient (each of several) is written in PyTorch."""

    def decorate(formula: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(formula)
        def counted(*args: object, **kwargs: object) -> object:
            found = formula(*args, **kwargs)
            for one, count in zip(found if type(found) is tuple else (found,), counts, strict=True):
                if count:
                    note(one, count)
            return found

        return counted

    return decorate
