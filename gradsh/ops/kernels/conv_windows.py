"""What a filter meets on its walk over an input: extents, paddings, windows, and these laid out as a matrix's columns.

A walk is told dim by dim (`WindowWalk`), so that a part of it (some rows of an image) is a walk too.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradsh.engine.values.dtype import Array, NumpyDType


class ConvGeometry(NamedTuple):
    """How a filter walks over its input: a number for each spatial dim."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


class WindowWalk(NamedTuple):
    """One spatial dim of a walk. `padding` is the border before the input; what is behind it follows from `places`."""

    size: int
    places: int
    kernel: int
    stride: int
    dilation: int
    padding: int

    def some(self, places: slice) -> tuple["WindowWalk", slice]:
        """Return the walk over some of the places, and the part of the input that it needs."""
        low = max(0, places.start * self.stride - self.padding)
        high = (places.stop - 1) * self.stride + (self.kernel - 1) * self.dilation - self.padding + 1
        high = max(low, min(self.size, high))
        padding = self.padding - places.start * self.stride + low
        return WindowWalk(high - low, places.stop - places.start, self.kernel, self.stride, self.dilation, padding), slice(low, high)

    def reaching(self, inputs: slice) -> tuple["WindowWalk", slice]:
        """Return the walk of stride 1 that reaches some elements of the input, and the places that do."""
        low = max(0, inputs.start + self.padding - (self.kernel - 1) * self.dilation)
        high = max(low, min(self.places, inputs.stop + self.padding))
        padding = self.padding + inputs.start - low
        return WindowWalk(inputs.stop - inputs.start, high - low, self.kernel, 1, self.dilation, padding), slice(low, high)

    def meeting(self, place: int) -> tuple[slice, slice]:
        """Return the places of the output at which one place of the filter meets the input, and the elements it meets."""
        shift = place * self.dilation - self.padding
        first = max(0, -(shift // self.stride))
        last = max(first, min(self.places, (self.size - 1 - shift) // self.stride + 1))
        start = first * self.stride + shift
        return slice(first, last), slice(start, start + (last - first) * self.stride, self.stride)


_FEW = 256
"""Places of a filter up to which is remembered what they meet: a net's filters walk over the same extents again and again."""

Meeting = tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]
"""A place of the filter, the places of the output at which it meets the input, and the elements that it meets."""


def meetings(walks: tuple[WindowWalk, ...]) -> Iterable[Meeting]:
    """Return what each place of the filter meets; with no dims there is one place that meets all."""
    few = prod(walk.kernel for walk in walks) <= _FEW
    return _remembered(walks) if few else _meetings(walks)


@lru_cache(maxsize=256)
def _remembered(walks: tuple[WindowWalk, ...]) -> list[Meeting]:
    return list(_meetings(walks))


def _meetings(walks: tuple[WindowWalk, ...]) -> Iterator[Meeting]:
    for place in product(*(range(walk.kernel) for walk in walks)):
        pairs = [walk.meeting(k) for walk, k in zip(walks, place, strict=True)]
        yield place, tuple(out for out, _ in pairs), tuple(met for _, met in pairs)


@lru_cache(maxsize=256)
def widest_first(walks: tuple[WindowWalk, ...]) -> list[Meeting]:
    """Return what each place of the filter meets, those first that meet the most: what meets all is written, not added."""
    return sorted(meetings(walks), key=lambda one: -prod(out.stop - out.start for out in one[1]))


def walks_of(
    extents: tuple[int, ...], out: tuple[int, ...], kernel: tuple[int, ...], geometry: ConvGeometry
) -> tuple[WindowWalk, ...]:
    """Return the walk of a filter over an input of these spatial extents, dim by dim."""
    return tuple(map(WindowWalk, extents, out, kernel, geometry.stride, geometry.dilation, geometry.padding))


def out_extents(extents: tuple[int, ...], kernel: tuple[int, ...], geometry: ConvGeometry) -> tuple[int, ...]:
    """Return how many places the filter takes in each dim."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(extents, kernel, geometry.stride, geometry.padding, geometry.dilation, strict=True)
    )


# --- windows of a whole array -----------------------------------------------------------------------------------


def padded(x: Array, padding: tuple[int, ...]) -> Array:
    """Return the array with a border of zeros around its spatial dims; the array itself without padding."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    whole = np.zeros(x.shape[:lead] + tuple(n + 2 * p for n, p in zip(x.shape[lead:], padding, strict=True)), x.dtype)
    inner: Any = (..., *(slice(p, p + n) for n, p in zip(x.shape[lead:], padding, strict=True)))
    whole[inner] = x
    return whole


def windows(
    x: Array, kernel: tuple[int, ...], out: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """Return a read-only view (lead…, k…, out…) of a padded array: for each place in the kernel what it meets."""
    lead = x.ndim - len(kernel)
    steps = x.strides[lead:]
    shape = x.shape[:lead] + kernel + out
    strides = x.strides[:lead] + tuple(s * d for s, d in zip(steps, dilation, strict=True))
    strides += tuple(s * t for s, t in zip(steps, stride, strict=True))
    return as_strided(x, shape, strides, writeable=False)


# --- columns, in buffers that are filled again for each part of a batch -----------------------------------------


_NEAR, _APART = 1024, 64
"""Bytes such that rows a multiple of them apart drive each other from the cache; how much farther apart they then are laid."""


def _matrix(rows: tuple[int, ...], columns: tuple[int, ...], dtype: NumpyDType) -> Array:
    """Return zeros of the shape (rows…, columns…), as a matrix that is multiplied fast."""
    size = prod(columns)
    if size * dtype.itemsize % _NEAR:
        return np.zeros((*rows, *columns), dtype)
    return np.zeros((prod(rows), size + _APART // dtype.itemsize), dtype)[:, :size].reshape(*rows, *columns)


class Columns:
    """Windows of an input as columns of a matrix: (C, k of the last dim, other k…, samples, out…).

    In two steps, for most of the copying is then in long runs: along the last dim, then along the others. Borders are
    zeros that no filling touches.
    """

    def __init__(self, channels: int, samples: int, walks: tuple[WindowWalk, ...], dtype: NumpyDType) -> None:
        *others, last = walks
        sizes, places = tuple(walk.size for walk in others), tuple(walk.places for walk in others)
        self.shifted = _matrix((channels, last.kernel), (samples, *sizes, last.places), dtype)
        """The windows along the last dim only."""
        self._walks = tuple(others), (last,)
        kernel = tuple(walk.kernel for walk in others)
        self._shape = (channels, last.kernel, *kernel), (samples, *places, last.places)
        self._filled: Array | None = None if others else self.shifted

    def shift(self, x: Array) -> Array:
        """Lay an input (samples, C, sizes…) out along the last dim."""
        source = x.swapaxes(0, 1)
        for (k,), (out,), (met,) in meetings(self._walks[1]):
            self.shifted[:, k, ..., out] = source[..., met]
        return self.shifted

    def fill(self, x: Array) -> Array:
        """Lay an input (samples, C, sizes…) out."""
        self.shift(x)
        if self._filled is self.shifted:
            return self.shifted
        if self._filled is None:
            self._filled = _matrix(*self._shape, x.dtype)
        for place, out, met in meetings(self._walks[0]):
            target: Any = (slice(None), slice(None), *place, slice(None), *out)
            self._filled[target] = self.shifted[(slice(None),) * 3 + met]
        return self._filled


class Spread:
    """An output laid over the input's dims but the last, once for each place of the filter there: (O, k…, samples, sizes…, out)."""

    def __init__(self, filters: int, samples: int, walks: tuple[WindowWalk, ...], dtype: NumpyDType) -> None:
        *others, last = walks
        kernel, sizes = tuple(walk.kernel for walk in others), tuple(walk.size for walk in others)
        self._filled = _matrix((filters, *kernel), (samples, *sizes, last.places), dtype)
        self._others = tuple(others)

    def fill(self, y: Array) -> Array:
        """Lay an output (samples, O, out…) out."""
        source = y.swapaxes(0, 1)
        for place, out, met in meetings(self._others):
            target: Any = (slice(None), *place, slice(None), *met)
            self._filled[target] = source[(slice(None),) * 2 + out]
        return self._filled


class Scatter:
    """Columns (C, k of the last dim, other k…, samples, out…) on their way back to the input, where they are added up.

    `rows`: only the last dim is walked, the others are those of the input already.
    """

    def __init__(
        self, channels: int, samples: int, walks: tuple[WindowWalk, ...], dtype: NumpyDType, rows: bool
    ) -> None:
        *others, last = walks
        kernel = () if rows else tuple(walk.kernel for walk in others)
        extents = tuple(walk.size if rows else walk.places for walk in others)
        self.columns = _matrix((channels, last.kernel, *kernel), (samples, *extents, last.places), dtype)
        self._others: tuple[WindowWalk, ...] | None = None if rows else tuple(others)
        self._last = widest_first((last,))

    def add(self, x: Array, fresh: bool) -> None:
        """Add the columns to an input (samples, C, sizes…); a `fresh` one has no values yet."""
        target = x.swapaxes(0, 1)
        rows = (slice(None),) * (x.ndim - 3)
        for place, outer, reached in [((), rows, rows)] if self._others is None else meetings(self._others):
            for k, out, met in self._last:
                source: Any = (slice(None), *k, *place, slice(None), *outer, *out)
                add_part(target, (slice(None), slice(None), *reached, *met), self.columns[source], fresh)
                fresh = False


def add_part(target: Array, where: tuple[slice, ...], values: Array, fresh: bool) -> None:
    """Add values to a part of an array; a `fresh` one has no values yet."""
    part = target[where]
    if fresh and part.shape == target.shape:
        part[...] = values
        return
    if fresh:
        target[...] = 0
    part += values


def add_windows(whole: Array, columns: Array, geometry: ConvGeometry) -> None:
    """Add columns (lead…, k…, out…) into a padded array at the places they came from, one filter place at a time."""
    dims = len(geometry.stride)
    kernel, out = columns.shape[-2 * dims : -dims], columns.shape[-dims:]
    if not columns.size:
        return
    for place in np.ndindex(*kernel):
        walk = zip(place, geometry.dilation, geometry.stride, out, strict=True)
        target: Any = (..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in walk))
        source: Any = (..., *place, *(slice(None),) * dims)
        whole[target] += columns[source]
