"""Batch norm and group norm of large float32 arrays: a row is one channel of one sample, and rows make up what is normalised."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.norm_rows import dots, parts, sums, upright


class Grouping(NamedTuple):
    """Which rows are normalised together: all of a channel, or some channels of a sample."""

    fold: Callable[[Array], Array]
    """Adds up what the rows of each group give."""
    spread: Callable[[Array], Array]
    """Gives each row its group's value."""
    numbers: int
    """Numbers in a group."""


def by_channel(batch: int, channels: int, area: int) -> Grouping:
    """Return the grouping of batch norm."""
    return Grouping(
        lambda values: np.add.reduce(values.reshape(batch, channels), axis=0), lambda values: np.tile(values.reshape(-1), batch),
        batch * area,
    )


def centred(rows: Array, grouping: Grouping) -> tuple[Array, Array, Array]:
    """Return rows without their groups' means, these and the variances (the biased ones) in float64."""
    mean = grouping.fold(sums(rows)) / grouping.numbers
    level = upright(grouping.spread(mean))
    found, squares = np.empty_like(rows), np.empty(len(rows))
    for part in parts(*rows.shape):
        np.subtract(rows[part], level[part], out=found[part])
        squares[part] = dots(found[part], found[part])
    return found, mean, grouping.fold(squares) / grouping.numbers


def scaled(rows: Array, factor: Array, shift: Array | None) -> Array:
    """Multiply each row by a number and add one (or None), in place."""
    factor, shift = upright(factor), None if shift is None else upright(shift)
    for part in parts(*rows.shape):
        out = rows[part]
        out *= factor[part]
        if shift is not None:
            out += shift[part]
    return rows


def backward(
    grads: Array, rows: Array, grouping: Grouping, mean: Array, inverse: Array, weight: Array | None, wanted: bool
) -> tuple[object, Array, Array]:
    """Return the gradient by the input if it is wanted, and what each row gives to those by weight and bias.

    `mean` and `inverse` are the groups', `weight` the rows'.
    """
    level, steep = upright(grouping.spread(mean)), grouping.spread(inverse).astype(np.float64)
    found, dotted = np.empty_like(rows), np.empty(len(rows))
    for part in parts(*rows.shape):
        np.subtract(rows[part], level[part], out=found[part])
        dotted[part] = dots(grads[part], found[part])
    total = sums(grads)
    if wanted:
        slope, shift = (grouping.spread(grouping.fold(one if weight is None else one * weight)) for one in (dotted, total))
        slope *= steep**3 / -grouping.numbers
        shift *= steep / grouping.numbers
        _combine(found, grads, upright(slope), upright(steep if weight is None else steep * weight), upright(shift))
    return found if wanted else None, dotted * steep, total


def _combine(centred: Array, grads: Array, slope: Array, factor: Array, shift: Array) -> None:
    """Make the gradient of centred numbers."""
    for part in parts(*grads.shape):
        out = centred[part]
        out *= slope[part]
        out += grads[part] * factor[part]
        out -= shift[part]
