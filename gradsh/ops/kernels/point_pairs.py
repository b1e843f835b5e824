"""Euclidean distances of all pairs of float32 points, and their gradient, by matrix products in float64.

A squared distance is |a|² + |b|² - 2ab. What cancels there is far below the last place of float32, but for points that are near
each other beside what they are long: these are told, so that the caller takes their differences.
"""

from collections.abc import Iterator

import numpy as np

from gradsh.engine.parallel import BLOCK
from gradsh.engine.values.dtype import Array

_ROWS = 128
"""Rows that are multiplied at once: the products of pairs are never in memory all at once."""
_BROAD = 8
"""Numbers of a point from which products are faster than differences."""
_NEAR = 2.0**-20
"""A squared distance of this part of |a|² + |b|² is good to some 29 bits."""


def fits(p: float, points: Array, *others: Array) -> bool:
    """Whether products are exact enough, and faster, for this norm, these points, and what else is multiplied."""
    many = len(points) * points.size > BLOCK and points.shape[1] >= _BROAD
    return p == 2 and points.dtype == np.float32 and many and all(bool(np.isfinite(one).all()) for one in (points, *others))


def _centred(points: Array) -> Array:
    wide = points.astype(np.float64)
    wide -= np.add.reduce(wide, axis=0) / len(wide)
    return wide


def _starts(count: int) -> Iterator[tuple[int, int, list[slice]]]:
    """Yield where rows multiplied at once begin and end, and for each of them where its pairs with later ones stand."""
    begin = 0
    for start in range(0, count - 1, _ROWS):
        stop, places = min(start + _ROWS, count), []
        for row in range(start, stop):
            places.append(slice(begin, begin := begin + count - row - 1))
        yield start, stop, places


def distances(points: Array) -> tuple[Array, Array]:
    """Return the distance of each pair in the order of pdist, as float32, and which pairs are too near for that."""
    wide = _centred(points)
    squares = np.vecdot(wide, wide)
    found = np.empty(len(points) * (len(points) - 1) // 2, np.float32)
    near: list[Array] = []
    for start, stop, places in _starts(len(points)):
        products = wide[start:stop] @ wide[start:].T
        for row, place in enumerate(places, start):
            sums = squares[row + 1:] + squares[row]
            products_of_row = products[row - start, row - start + 1:]
            products_of_row *= -2
            products_of_row += sums
            sums *= _NEAR
            if (close := products_of_row <= sums).any():
                near.append(np.flatnonzero(close) + place.start)
                products_of_row[close] = 0
            found[place] = np.sqrt(products_of_row, out=products_of_row)
    return found, np.concatenate(near) if near else np.empty(0, np.int64)


def gradient(grad: Array, points: Array, lengths: Array) -> Array:
    """Return the gradient by the points: of each pair the direction between its points, times the gradient of its distance."""
    wide, count = _centred(points), len(points)
    found, weights = np.zeros(wide.shape), np.zeros(count)
    for start, stop, places in _starts(count):
        strip = np.zeros((stop - start, count - start))
        for row, place in enumerate(places):
            length = lengths[place]
            np.divide(grad[place], length, out=strip[row, row + 1:], where=length != 0, dtype=np.float64)
        block, later = strip[:, : stop - start], strip[:, stop - start:]
        block += block.T
        weights[start:stop] += np.add.reduce(strip, axis=1)
        weights[stop:] += np.add.reduce(later, axis=0)
        found[start:stop] -= strip @ wide[start:]
        found[stop:] -= later.T @ wide[start:stop]
    wide *= weights[:, None]
    found += wide
    return found.astype(np.float32)
