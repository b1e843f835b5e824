"""Interpolation of arrays. Every mode is linear in the input and works dim by dim: a few weighted places for each output."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array, NumpyDType


def _scale(extent: int, out: int, align_corners: bool, scale: float | None, dtype: NumpyDType) -> Array:
    """Return how far apart the outputs lie in the input."""
    if align_corners:
        return dtype.type((extent - 1) / (out - 1)) if out > 1 else dtype.type(0)
    return dtype.type(1.0 / scale) if scale is not None and scale > 0 else dtype.type(extent) / dtype.type(out)


def _nearest(extent: int, out: int, scale: float | None, exact: bool) -> Array:
    single = np.dtype(np.float32)
    step = _scale(extent, out, False, scale, single)
    places = np.arange(out, dtype=np.float32)
    if exact:
        places = places + np.float32(0.5)
    elif out == extent:
        return np.arange(out)
    elif out == 2 * extent:
        return np.arange(out) >> 1
    found: Array = np.minimum(np.floor(places * step).astype(np.int64), extent - 1)
    return found


def _source(extent: int, out: int, align_corners: bool, scale: float | None, dtype: NumpyDType, cubic: bool) -> Array:
    step = _scale(extent, out, align_corners, scale, dtype)
    places = np.arange(out, dtype=dtype)
    half = dtype.type(0.5)
    source: Array = places * step if align_corners else step * (places + half) - half
    return source if cubic or align_corners else np.maximum(source, 0)


def _cubic_weights(t: Array) -> list[Array]:
    """Return the weights of the four neighbours by Keys' kernel with a = -0.75."""
    a = t.dtype.type(-0.75)

    def near(x: Array) -> Array:
        found: Array = ((a + 2) * x - (a + 3)) * x * x + 1
        return found

    def far(x: Array) -> Array:
        found: Array = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return found

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _filter(mode: str, x: Array) -> Array:
    """Return the anti-aliasing filter at distances x: a triangle, or Keys' kernel with a = -0.5."""
    x = np.abs(x)
    if mode == "linear_aa":
        triangle: Array = np.maximum(1 - x, 0)
        return triangle
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _smooth(mode: str, extent: int, out: int, align_corners: bool, scale: float | None, dtype: Any) -> Array:
    """Return the matrix (out, extent) of anti-aliased interpolation."""
    step = float(_scale(extent, out, align_corners, scale, dtype))
    reach = 1.0 if mode == "linear_aa" else 2.0
    support = reach * step if step >= 1 else reach
    shrink = 1 / step if step >= 1 else 1.0
    matrix = np.zeros((out, extent), np.float64)
    for place in range(out):
        centre = step * (place + 0.5)
        start = max(int(centre - support + 0.5), 0)
        end = min(int(centre + support + 0.5), extent)
        weights = _filter(mode, (np.arange(start, end) - centre + 0.5) * shrink)
        total = weights.sum()
        matrix[place, start:end] = weights / total if total else weights
    return matrix.astype(dtype)


def _taps(
    mode: str, extent: int, out: int, align_corners: bool, scale: float | None, dtype: NumpyDType
) -> list[tuple[Array, Array | None]]:
    """Return (places, weights) pairs whose weighted sum is the output along one dim."""
    if mode in {"nearest", "exact"}:
        return [(_nearest(extent, out, scale, mode == "exact"), None)]
    if extent == out and mode == "linear":
        return [(np.arange(out), None)]
    source = _source(extent, out, align_corners, scale, dtype, mode == "cubic")
    if mode == "cubic":
        low = np.floor(source).astype(np.int64)
        t = np.clip(source - low.astype(dtype), 0, 1).astype(dtype)
        return [
            (np.clip(low + offset - 1, 0, extent - 1), weight) for offset, weight in enumerate(_cubic_weights(t))
        ]
    low = np.minimum(source.astype(np.int64), extent - 1)
    weight = np.clip(source - low.astype(dtype), 0, 1).astype(dtype)
    return [(low, 1 - weight), (np.minimum(low + 1, extent - 1), weight)]


def _matrix(mode: str, extent: int, out: int, align_corners: bool, scale: float | None, dtype: NumpyDType) -> Array:
    """Return the whole linear map along one dim, (out, extent)."""
    if mode.endswith("_aa"):
        return _smooth(mode, extent, out, align_corners, scale, dtype)
    matrix = np.zeros((out, extent), dtype)
    rows = np.arange(out)
    for places, weights in _taps(mode, extent, out, align_corners, scale, dtype):
        np.add.at(matrix, (rows, places), 1 if weights is None else weights)
    return matrix


def _float(dtype: NumpyDType) -> NumpyDType:
    return dtype if dtype.kind == "f" else np.dtype(np.float32)


def interpolated(
    x: Array, output_size: tuple[int, ...], mode: str, align_corners: bool, scales: tuple[Any, ...]
) -> Array:
    """Return the input resized along its last dims."""
    result = x
    lead = x.ndim - len(output_size)
    for dim in range(x.ndim - 1, lead - 1, -1):
        extent, out, scale = x.shape[dim], output_size[dim - lead], scales[dim - lead]
        if mode.endswith("_aa"):
            matrix = _smooth(mode, extent, out, align_corners, scale, x.dtype)
            result = np.moveaxis(np.matmul(np.moveaxis(result, dim, -1), matrix.T), -1, dim)
            continue
        total: Any = None
        column = (-1, *(1,) * (x.ndim - 1 - dim))
        for places, weights in _taps(mode, extent, out, align_corners, scale, _float(x.dtype)):
            part = np.take(result, places, axis=dim)
            if weights is not None:
                part = part * weights.reshape(column)
            total = part if total is None else total + part
        result = total
    return np.ascontiguousarray(result.astype(x.dtype, copy=False))


def spread_back(
    grad: Array, input_size: tuple[int, ...], mode: str, align_corners: bool, scales: tuple[Any, ...]
) -> Array:
    """Return the gradient of the input of `interpolated`."""
    result = grad
    lead = len(input_size) - len(scales)
    for dim in range(lead, len(input_size)):
        matrix = _matrix(mode, input_size[dim], grad.shape[dim], align_corners, scales[dim - lead], grad.dtype)
        result = np.moveaxis(np.matmul(np.moveaxis(result, dim, -1), matrix), -1, dim)
    return np.ascontiguousarray(result)
