"""Index tensors that point outside: which element PyTorch's loop meets first, what it says, and what it has written by then."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


def is_inside(self: Array, where: tuple[object, ...]) -> bool:
    """Whether no index of numpy's `where` is outside."""
    return not any(type(one) is np.ndarray and _outside(one, extent).any() for one, extent in _dims(self, where))


def shape_of(self: Array, where: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape of what is indexed, whether or not the indices are inside. Raises where they do not fit one another."""
    try:
        shape: tuple[int, ...] = np.broadcast_to(np.empty((), np.bool_), self.shape)[_inside(self, where)].shape
        return shape
    except IndexError:
        shapes = ", ".join(str(list(np.shape(one))) for one in where)
        message = f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        raise fail("shape", message, IndexError) from None


def _inside(self: Array, where: tuple[object, ...]) -> tuple[Any, ...]:
    """Return the index with 0 in the place of what is outside."""
    return tuple([np.where(_outside(one, extent), 0, one) if type(one) is np.ndarray else one for one, extent in _dims(self, where)])


def check_range(self: Array, where: tuple[object, ...], written: tuple[Array, bool] | None = None) -> None:
    """Refuse indices outside, as PyTorch's loop over the elements of the result does: at the first one, if there is one.

    `where` is numpy's index. `written`: the values that are being put into `self`, and whether they are added: those before the
    first index outside are there when it fails. The dimension in the message counts index tensors.
    """
    if is_inside(self, where):
        return
    dims = _dims(self, where)
    elements = np.arange(self.size).reshape(self.shape)[_inside(self, where)]
    if not elements.size:
        return
    indices = [(one, extent) for one, extent in dims if type(one) is np.ndarray]
    wide = np.broadcast_arrays(*[one for one, _ in indices])
    bad = np.logical_or.reduce([_outside(one, extent) for one, (_, extent) in zip(wide, indices, strict=True)])
    places = [place for place, (one, _) in enumerate(dims) if type(one) is np.ndarray]
    before = places[0] if places[-1] - places[0] == len(places) - 1 else 0
    after = elements.ndim - before - bad.ndim
    first = int(np.argmax(np.broadcast_to(bad.reshape(*bad.shape, *(1,) * after), elements.shape).reshape(-1)))
    if written is not None:
        values, added = written
        chosen = elements.reshape(-1)[:first]
        given = np.broadcast_to(values, elements.shape).reshape(-1)[:first]
        if added:
            flat = np.zeros(self.size, self.dtype)
            np.add.at(flat, chosen, given)
            self += flat.reshape(self.shape)
        else:
            self.flat[chosen] = given
    at = np.unravel_index(first, elements.shape)[before : before + bad.ndim]
    for number, (one, (_, extent)) in enumerate(zip(wide, indices, strict=True)):
        if _outside(one[at], extent):
            raise fail("index", f"index {int(one[at])} is out of bounds for dimension {number} with size {extent}", IndexError)


def _dims(self: Array, where: tuple[object, ...]) -> list[tuple[object, int]]:
    """Return the index and the extent of each dim that is indexed; a mask is an index for each of its dims."""
    found: list[tuple[Any, int]] = []
    for one in where:
        parts = one.nonzero() if type(one) is np.ndarray and one.dtype.kind == "b" else (one,)
        found += [(part, self.shape[len(found) + number]) for number, part in enumerate(parts)]
    return found


def _outside(index: Array, extent: int) -> Any:
    return (index < -extent) | (index >= extent)
