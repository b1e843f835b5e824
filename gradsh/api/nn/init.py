"""nn.init: the initialisers. They draw PyTorch's numbers and write in place, unrecorded."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.graph.tensor import Tensor, written
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: object = None) -> float:
    """Return the recommended gain for an activation function; `param` is the slope of leaky_relu."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif (not isinstance(param, bool) and isinstance(param, int)) or isinstance(param, float):
            slope = param
        else:
            raise fail("value", f"negative_slope {param} not a valid number", ValueError)
        return math.sqrt(2.0 / (1 + slope**2))
    raise fail("value", f"Unsupported nonlinearity {nonlinearity}", ValueError)


def _write(name: str, tensor: Tensor, *args: object, **kwargs: object) -> Tensor:
    with grad_mode(False):
        return getattr(tensor, name)(*args, **kwargs)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: object = None) -> Tensor:
    """Fill with uniform numbers from [a, b)."""
    return _write("uniform_", tensor, a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: object = None) -> Tensor:
    """Fill with normal numbers."""
    return _write("normal_", tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: object = None
) -> Tensor:
    """Fill with normal numbers cut off outside [a, b]."""

    def cumulated(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        current().warning(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    kept = cumulated((b - mean) / std) - cumulated((a - mean) / std)
    source = current().generator if generator is None else generator
    fill = _by_normals if kept > 0.3 else _by_uniforms
    values, writes = fill(source, tensor.array.shape, tensor.array.dtype, mean, std, a, b)
    for _ in range(writes):
        _put(tensor, values)
    return tensor


def _by_normals(
    source: Any, shape: tuple[int, ...], dtype: Any, mean: float, std: float, a: float, b: float
) -> tuple[Array, int]:
    """Draw normals until all lie within the bounds; return them and how often PyTorch writes the tensor."""
    low, high = np.asarray(a, dtype), np.asarray(b, dtype)
    values = source.normal(shape, mean, std, dtype)
    writes = 1
    while True:
        outside = (values < low) | (values > high)
        if not outside.any():
            return values, writes
        values = np.where(outside, source.normal(shape, mean, std, dtype), values)
        writes = 2


def _by_uniforms(
    source: Any, shape: tuple[int, ...], dtype: object, mean: float, std: float, a: float, b: float
) -> tuple[Array, int]:
    """Draw uniforms and accept each by the height of the normal density there."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates: Array) -> Array:
        density = np.square((candidates - mean) / std) * -0.5 - peak
        return np.log(source.uniform(shape, 0.0, 1.0, dtype)) > density

    values = source.uniform(shape, a, b, dtype)
    pending = rejected(values)
    writes = 1
    while pending.any():
        candidates = source.uniform(shape, a, b, dtype)
        values = np.where(pending, candidates, values)
        pending = pending & rejected(candidates)
        writes = 2
    return values, writes


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    return _write("fill_", tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return _write("fill_", tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return _write("zero_", tensor)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal, zeros elsewhere."""
    if tensor.ndim != 2:
        raise fail("shape", "Only tensors with 2 dimensions are supported", ValueError, tensor=tensor)
    return _put(tensor, np.eye(*tensor.array.shape))


def _put(tensor: Tensor, values: object) -> Tensor:
    tensor.array[...] = values
    written(tensor)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes its inputs through."""
    if tensor.ndim not in {3, 4, 5}:
        raise fail("shape", "Only tensors with 3, 4, or 5 dimensions are supported", ValueError, tensor=tensor)
    shape = tensor.array.shape
    if shape[0] % groups != 0:
        raise fail("shape", "dim 0 must be divisible by groups", ValueError, tensor=tensor)
    per_group = shape[0] // groups
    values = np.zeros(shape)
    centre = tuple(extent // 2 for extent in shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, shape[1])):
            values[(group * per_group + channel, channel, *centre)] = 1
    _put(tensor, values)
    tensor.counter.advance(groups * min(per_group, shape[1]))  # PyTorch writes its ones singly, after the zeros
    return tensor


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs and outputs an element of a weight connects."""
    if tensor.ndim < 2:
        message = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        raise fail("shape", message, ValueError, tensor=tensor)
    field = math.prod(tensor.array.shape[2:])
    return tensor.array.shape[1] * field, tensor.array.shape[0] * field


_calculate_fan_in_and_fan_out = fans


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: object = None) -> Tensor:
    """Fill by Glorot's uniform rule."""
    fan_in, fan_out = fans(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: object = None) -> Tensor:
    """Fill by Glorot's normal rule."""
    fan_in, fan_out = fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in {"fan_in", "fan_out"}:
        raise fail("value", f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']", ValueError)
    return fans(tensor)[mode == "fan_out"]


_EMPTY = "Initializing zero-element tensors is a no-op"


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: object = None
) -> Tensor:
    """Fill by He's uniform rule; `a` is the slope of the leaky_relu that follows."""
    if 0 in tensor.array.shape:
        current().warning(_EMPTY)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: object = None
) -> Tensor:
    """Fill by He's normal rule; `a` is the slope of the leaky_relu that follows."""
    if 0 in tensor.array.shape:
        current().warning(_EMPTY)
        return tensor
    fan = _fan(tensor, mode)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (half-)orthogonal matrix."""
    if tensor.ndim < 2:
        raise fail("shape", "Only tensors with 2 or more dimensions are supported", ValueError, tensor=tensor)
    if tensor.numel() == 0:
        return tensor
    rows = tensor.array.shape[0]
    columns = tensor.numel() // rows
    source = current().generator if generator is None else generator
    values = source.normal((rows, columns), dtype=tensor.array.dtype)
    wide = rows < columns
    q, r = np.linalg.qr(values.T if wide else values)
    q = q * np.sign(np.diagonal(r))
    _put(tensor, (q.T if wide else q).reshape(tensor.array.shape))
    return _write("mul_", tensor, gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: object = None) -> Tensor:
    """Fill a matrix with normal numbers, and a share of each column with zeros."""
    if tensor.ndim != 2:
        raise fail("shape", "Only tensors with 2 dimensions are supported", ValueError, tensor=tensor)
    rows, columns = tensor.array.shape
    normal_(tensor, 0, std, generator)
    source = current().generator
    for column in range(columns):
        tensor.array[source.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    tensor.counter.advance(columns)
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the initialiser under its old name, which has no underscore and warns."""
    new = function.__name__

    def old(*args: object, **kwargs: object) -> Tensor:
        current().warning(f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`.")
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = new[:-1]
    return old


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac = _deprecated(eye_), _deprecated(dirac_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)
