"""Normalising arrays to mean 0 and variance 1: per channel, per sample, per group of channels; with gradients.

Sums of float32 run in float64, as PyTorch accumulates wider too.
"""

import math
from math import prod
from typing import Any

import numpy as np

from gradsh.engine.graph.tensor import Gradients
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels import norm_channels, norm_rows
from gradsh.ops.kernels.accurate_sum import WIDE, wide_sum


def moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return mean and variance (the biased one) over axes in float64, dims kept; of nothing, 0 and nan."""
    size = math.prod(x.shape[axis] for axis in axes)
    mean = wide_sum(x, axes) / max(size, 1)
    near = mean.astype(x.dtype)
    variance = wide_sum(np.square(x - near), axes) / size - np.square(mean - near)
    return mean, np.maximum(variance, 0)


def channel_axes(x: Array) -> tuple[int, ...]:
    """Return all axes but the channels'."""
    return (0, *range(2, x.ndim))


def along(values: Any, x: Array) -> Any:
    """Give one value for each channel the shape that broadcasts along dim 1."""
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


def batch_norm(
    x: Array, weight: Array | None, bias: Array | None, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> tuple[Array, Array, Array]:
    """Normalise each channel by the batch's moments, or the running ones; in training these are updated in place."""
    axes = channel_axes(x)
    empty = np.zeros(0, x.dtype)
    area, centred = prod(x.shape[2:]), None
    if training:
        if norm_rows.fits(area, x):
            grouping = norm_channels.by_channel(x.shape[0], x.shape[1], area)
            centred, mean, variance = norm_channels.centred(x.reshape(-1, area), grouping)
            mean, variance = along(mean, x), along(variance, x)
        else:
            mean, variance = moments(x, axes)
        size = x.size // max(x.shape[1], 1)
        if running_mean is not None:
            running_mean[...] = momentum * mean.reshape(-1) + (1 - momentum) * running_mean
        if running_var is not None:
            unbiased = variance.reshape(-1) * size / (size - 1) if size > 1 else variance.reshape(-1) * np.inf
            running_var[...] = momentum * unbiased + (1 - momentum) * running_var
    else:
        mean, variance = along(running_mean.astype(WIDE), x), along(running_var.astype(WIDE), x)
    inverse = 1 / np.sqrt(variance + eps)
    factor = inverse if weight is None else inverse * along(weight, x)
    if centred is not None:
        shift = None if bias is None else grouping.spread(bias)
        result = norm_channels.scaled(centred, grouping.spread(factor), shift).reshape(x.shape)
    else:
        shift = -mean * factor if bias is None else along(bias, x) - mean * factor
        result = x * factor.astype(x.dtype)
        result += shift.astype(x.dtype)
    if not training:
        return result, empty, empty
    return result, mean.reshape(-1).astype(x.dtype), inverse.reshape(-1).astype(x.dtype)


def batch_norm_backward(
    grad: Array, x: Array, weight: Array | None, running_mean: Array | None, running_var: Any, save_mean: Array,
    save_invstd: Array, train: bool, eps: float, output_mask: tuple[bool, ...],
) -> Gradients:
    """Return the gradients by input, weight and bias."""
    axes, area = channel_axes(x), prod(x.shape[2:])
    if train and norm_rows.fits(area, grad, x):
        grouping = norm_channels.by_channel(x.shape[0], x.shape[1], area)
        factors = None if weight is None else grouping.spread(weight)
        found = norm_channels.backward(
            grad.reshape(-1, area), x.reshape(-1, area), grouping, save_mean, save_invstd, factors, output_mask[0]
        )
        return _by_channels(found, x, output_mask)
    if train:
        mean, inverse = along(save_mean, x), along(save_invstd, x)
    else:
        mean = along(running_mean, x)
        inverse = along((1 / np.sqrt(running_var.astype(WIDE) + eps)).astype(x.dtype), x)
    total = wide_sum(grad, axes)
    centred = x - mean
    dotted = wide_sum(grad * centred, axes)
    factor = inverse if weight is None else inverse * along(weight, x)
    grad_input = grad_weight = grad_bias = None
    if output_mask[0] and train:
        size = max(x.size // max(x.shape[1], 1), 1)
        slope = (dotted * inverse * inverse / size).astype(x.dtype)
        grad_input = (grad - (total / size).astype(x.dtype) - centred * slope) * factor
    elif output_mask[0]:
        grad_input = grad * factor
    if output_mask[1]:
        grad_weight = (dotted * inverse).reshape(-1).astype(x.dtype)
    if output_mask[2]:
        grad_bias = total.reshape(-1).astype(x.dtype)
    return grad_input, grad_weight, grad_bias


def _by_channels(
    found: tuple[Any, Array, Array], x: Array, output_mask: tuple[bool, ...]
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients by input, weight and bias of what rows give to them."""
    by_input, *given = found
    sums = [np.add.reduce(one.reshape(-1, x.shape[1]), axis=0).astype(x.dtype) for one in given]
    return (
        None if by_input is None else by_input.reshape(x.shape), sums[0] if output_mask[1] else None,
        sums[1] if output_mask[2] else None,
    )


def layer_norm(x: Array, weight: Array | None, bias: Array | None, dims: int, eps: float) -> tuple[Array, Array, Array]:
    """Normalise each sample over its last dims."""
    axes = tuple(range(x.ndim - dims, x.ndim))
    size = prod(x.shape[x.ndim - dims :])
    if norm_rows.fits(size, x):
        result, mean, inverse = norm_rows.layer_norm(x, weight, bias, size, eps)
        shape = (*x.shape[: x.ndim - dims], *(1,) * dims)
        return result.reshape(x.shape), mean.reshape(shape), inverse.reshape(shape)
    mean, variance = moments(x, axes)
    inverse = (1 / np.sqrt(variance + eps)).astype(x.dtype)
    result = (x - mean.astype(x.dtype)) * inverse
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result, mean.astype(x.dtype), inverse


def layer_norm_backward(
    grad: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, dims: int, output_mask: tuple[bool, ...]
) -> Gradients:
    """Return the gradients by input, weight and bias."""
    axes = tuple(range(x.ndim - dims, x.ndim))
    lead = tuple(range(x.ndim - dims))
    size = prod(x.shape[x.ndim - dims :])
    if norm_rows.fits(size, grad, x):
        found = norm_rows.layer_norm_backward(grad, x, mean, inverse, weight, size, output_mask)
        shapes = (x.shape, x.shape[x.ndim - dims :], x.shape[x.ndim - dims :])
        by_input, by_weight, by_bias = (None if one is None else one.reshape(to) for one, to in zip(found, shapes, strict=True))
        return by_input, by_weight, by_bias
    normal = (x - mean) * inverse
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        inner = grad if weight is None else grad * weight
        a = (wide_sum(inner, axes) / size).astype(x.dtype)
        b = (wide_sum(inner * normal, axes) / size).astype(x.dtype)
        grad_input = (inner - a - normal * b) * inverse
    if output_mask[1]:
        grad_weight = np.add.reduce(grad * normal, axis=lead, dtype=WIDE).astype(x.dtype)
    if output_mask[2]:
        grad_bias = np.add.reduce(grad, axis=lead, dtype=WIDE).astype(x.dtype)
    return grad_input, grad_weight, grad_bias


def group_norm(
    x: Array, weight: Array | None, bias: Array | None, batch: int, channels: int, area: int, group: int, eps: float
) -> tuple[Array, Array, Array]:
    """Normalise groups of channels of each sample."""
    size = channels // group * area
    if norm_rows.fits(size, x):
        result, mean, inverse = norm_rows.layer_norm(x, weight, bias, size, eps, group)
        return result.reshape(x.shape), mean.reshape(batch, group), inverse.reshape(batch, group)
    parts = x.reshape(batch, group, channels // group, area)
    mean, variance = moments(parts, (2, 3))
    inverse = (1 / np.sqrt(variance + eps)).astype(x.dtype)
    result = (parts - mean.astype(x.dtype)) * inverse
    if weight is not None:
        result = result * weight.reshape(1, group, -1, 1)
    if bias is not None:
        result = result + bias.reshape(1, group, -1, 1)
    return result.reshape(x.shape), mean.reshape(batch, group).astype(x.dtype), inverse.reshape(batch, group)


def group_norm_backward(
    grad: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, batch: int, channels: int, area: int,
    group: int, output_mask: tuple[bool, ...],
) -> Gradients:
    """Return the gradients by input, weight and bias."""
    if norm_rows.fits(area, grad, x):
        sizes = group, channels // group, area
        return _by_channels(norm_rows.group_norm_backward(grad, x, mean, inverse, weight, sizes, output_mask[0]), x, output_mask)
    shape = (batch, group, channels // group, area)
    rows, size = grad.reshape(shape), max(channels // group * area, 1)
    spread = inverse.reshape(batch, group, 1, 1)
    normal = (x.reshape(shape) - mean.reshape(batch, group, 1, 1)) * spread
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        inner = rows if weight is None else rows * weight.reshape(1, group, -1, 1)
        a = (wide_sum(inner, (2, 3)) / size).astype(x.dtype)
        b = (wide_sum(inner * normal, (2, 3)) / size).astype(x.dtype)
        grad_input = ((inner - a - normal * b) * spread).reshape(x.shape)
    if output_mask[1]:
        grad_weight = np.add.reduce(rows * normal, axis=(0, 3), dtype=WIDE).reshape(-1).astype(x.dtype)
    if output_mask[2]:
        grad_bias = np.add.reduce(rows, axis=(0, 3), dtype=WIDE).reshape(-1).astype(x.dtype)
    return grad_input, grad_weight, grad_bias
