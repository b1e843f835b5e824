"""Dropout in its forms; the mask is drawn from the default generator."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import in_dtype
from gradsh.ops.create import TORCH
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.random import in_memory_order
from gradsh.text.fault import fail


def _check_probability(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise fail("value", f"dropout probability has to be between 0 and 1, but got {p}", ValueError)


def _dropping(some: Callable[..., Any]) -> Callable[..., Any]:
    """Make a dropout of what it does where some elements may go and others stay: `some(times, input, p, …)`."""

    def dropout(input: Tensor, p: float, training: bool, inplace: bool, *more: Any) -> Tensor:
        _check_probability(p)
        array = array_of(input)
        if not training or p == 0 or array.size == 0:
            return input
        times = find("mul_" if inplace else "mul")
        return times(input, make(np.zeros((), array.dtype))) if p == 1 else some(times, input, p, *more)

    return dropout


@_dropping
def _dropout(times: Any, input: Tensor, p: float) -> Tensor:
    """Multiply with a mask that is already divided by 1-p: one MulBackward0."""
    array = array_of(input)
    stream = current().generator
    return times(input, _drawn(in_memory_order(array, lambda shape, flat: stream.dropout_mask(shape, p, array.dtype))))


composite(
    "F_dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False)",
    "Zero elements with probability p and scale the others by 1/(1-p); the input itself when not training.", _dropout, ("F",),
    note="The mask is kept already divided by 1-p, as `other` of a MulBackward0; with p=0 or training=False the input itself returns.",
)
composite(
    "dropout(input, p: float, train: bool)", "Zero elements with probability p and scale the others.",
    lambda input, p, train: _dropout(input, p, train, False), TORCH,
)
composite(
    "dropout_(input, p: float, train: bool)", "Zero elements in place with probability p and scale the others.",
    lambda input, p, train: _dropout(input, p, train, True), TORCH,
)


def _drawn(noise: Array) -> Tensor:
    """Return noise as a tensor: PyTorch draws it in place and scales it in place."""
    made = make(noise)
    made.counter.version = 2
    return made


def _check_channels(input: Any) -> tuple[int, ...]:
    """Return the shape of one number for each channel."""
    if input.ndim < 2:
        raise fail("shape", "Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


@_dropping
def _feature_dropout(times: Any, input: Tensor, p: float) -> Tensor:
    shape = _check_channels(input)
    return times(input, _drawn(current().generator.dropout_mask(shape, p, array_of(input).dtype)))


def _batched(name: str, batched: int, allowed: tuple[int, ...]) -> None:
    """Declare a dropout of channels that gives an input without batch a batch of one."""

    def body(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
        _check_probability(p)
        if allowed and input.ndim not in allowed:
            message = (
                f"{name}: Expected 2D or 3D input, but received a {input.ndim}D input. Note that {name} exists to provide "
                "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
                "(i.e. 2D or 3D inputs)."
            )
            raise fail("shape", message)
        if input.ndim == batched or not batched:
            return _feature_dropout(input, p, training, inplace)
        lifted = find("unsqueeze_" if inplace else "unsqueeze")(input, 0)
        return find("squeeze_" if inplace else "squeeze")(_feature_dropout(lifted, p, training, inplace), 0)

    composite(
        f"F_{name}(input, p: float = 0.5, training: bool = True, inplace: bool = False)",
        "Zero whole channels with probability p and scale the others by 1/(1-p).", body, ("F",),
    )


_batched("dropout1d", 3, (2, 3))
_batched("dropout2d", 0, ())
_batched("dropout3d", 5, ())

_ALPHA = 1.7580993408473766


@_dropping
def _alpha_dropout(times: Any, input: object, p: float, feature: bool = False) -> Tensor:
    """Keep mean and variance of SELU activations: dropped elements become -alpha', and the whole is rescaled."""
    array = array_of(input)
    a = 1.0 / np.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    stream = current().generator
    if feature:
        noise = stream.bernoulli(1 - p, _check_channels(array), array.dtype)
    else:
        noise = in_memory_order(array, lambda shape, flat: stream.bernoulli(1 - p, shape, array.dtype))
    shift = ((noise + array.dtype.type(-1)) * array.dtype.type(_ALPHA * a)) + array.dtype.type(_ALPHA * a * p)
    scaled = times(input, _drawn(in_dtype(noise * array.dtype.type(a), array.dtype)))
    return find("add_")(scaled, make(in_dtype(shift, array.dtype)))


composite(
    "F_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False)",
    "Dropout that keeps the mean and variance of SELU activations.", _alpha_dropout, ("F",),
)
composite(
    "F_feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False)",
    "Dropout of whole channels that keeps the mean and variance of SELU activations.",
    lambda input, p, training, inplace: _alpha_dropout(input, p, training, inplace, True), ("F",),
)
composite(
    "alpha_dropout(input, p: float, train: bool)", "Dropout that keeps the mean and variance of SELU activations.",
    lambda input, p, train: _alpha_dropout(input, p, train, False), TORCH,
)
composite(
    "feature_dropout(input, p: float, train: bool)", "Zero whole channels with probability p and scale the others.",
    lambda input, p, train: _feature_dropout(input, p, train, False), TORCH,
)
composite(
    "feature_alpha_dropout(input, p: float, train: bool)", "Alpha dropout of whole channels.",
    lambda input, p, train: _alpha_dropout(input, p, train, False, True), TORCH,
)
