"""Smooth activations: gelu, silu, mish, softplus, logsigmoid, glu. (tanh and sigmoid are in `pointwise`.)"""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.layout import as_operands, stepped_as
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.activation import functional
from gradsh.ops.arguments import applied
from gradsh.ops.kernels import elementary
from gradsh.ops.kernels.common import in_blocks, pick, unsupported
from gradsh.ops.kernels.special_functions import normal_cdf
from gradsh.ops.pointwise import exp, log1p, sigmoid, sigmoid_backward, tanh
from gradsh.ops.scalars import number_minus, plus, times
from gradsh.ops.select import where
from gradsh.text.fault import fail

_BETA = math.sqrt(2.0 / math.pi)
_CUBIC = 0.044715


def _floating(kernel: str, self: Array) -> None:
    if self.dtype.kind != "f":
        raise unsupported(kernel, self)


# --- gelu ---------------------------------------------------------------------------------------------------------


def _tanh_part(self: Array) -> Array:
    inner = self * self
    inner *= _CUBIC * _BETA
    inner += _BETA
    inner *= self
    return np.tanh(inner, out=inner)


def _in_place(function: Any, *arrays: Array) -> Array:
    """Run in blocks what writes into arrays that it made, which ufuncs do not make of 0-d ones."""
    found: Array = in_blocks(function, *map(np.atleast_1d, arrays))
    return found if arrays[0].ndim else found.reshape(())


def _gelu_block(self: Array, approximate: str) -> Array:
    if approximate == "tanh":
        share = _tanh_part(self)
        share += 1
        share *= 0.5
    else:
        share = normal_cdf(self)
    share *= self
    return share


def _gelu(self: Array, approximate: str) -> Array:
    _check_approximate(approximate)
    _floating("GeluKernelImpl", self)
    return _in_place(lambda x: _gelu_block(x, approximate), self)


def _check_approximate(approximate: str) -> None:
    if approximate not in {"none", "tanh"}:
        raise fail("value", "approximate argument must be either none or tanh.")


def _gelu_slope(self: Any, approximate: str) -> Array:
    """Return the derivative, in memory of its own."""
    square = self * self
    if approximate == "tanh":
        inner = _tanh_part(self)
        square *= 3 * _CUBIC * _BETA * 0.5
        square += _BETA * 0.5
        square *= self
        square *= 1 - inner * inner
        inner += 1
        inner *= 0.5
        inner += square
        return inner
    square *= -0.5
    np.exp(square, out=square)
    square *= 1 / math.sqrt(2 * math.pi)
    square *= self
    found = normal_cdf(self)
    found += square
    return found


def _gelu_backward(grad: ArrayOrTensor, self: ArrayOrTensor, approximate: str) -> ArrayOrTensor:
    slope = _gelu_slope(self, approximate)
    slope *= grad
    return slope


def _gelu_double(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: ArrayOrTensor, approximate: str
) -> ArrayOrTensor:
    """The second derivative of gelu, itself differentiable."""
    squared = self * self
    if approximate == "tanh":
        inner = tanh(times(self + times(squared * self, _CUBIC), _BETA))
        steep = times(plus(times(squared, 3 * _CUBIC), 1), _BETA)
        bend = number_minus(1, inner * inner)
        curve = bend * steep + times(self * bend, 0.5) * (
            times(self, 6 * _CUBIC * _BETA) - times(inner * (steep * steep), 2)
        )
        return grad_output * grad * curve
    density = times(exp(times(squared, -0.5)), 1 / math.sqrt(2 * math.pi))
    return grad * grad_output * number_minus(2, squared) * density


gelu_backward: Operation = op(
    "gelu_backward(grad_output, self, *, approximate: str = 'none')", "GeluBackwardBackward0", "The derivative of gelu.", spaces=(),
    layout="operands", forward=lambda grad_output, self, approximate: _in_place(
        lambda grad, x: _gelu_backward(grad, x, approximate), grad_output, self
    ),
    grads={
        "grad_output": lambda grad, self, approximate: gelu_backward(grad, self, approximate=approximate),
        "self": _gelu_double,
    },
)
gelu = op(
    "gelu(self, *, approximate: str = 'none')", "GeluBackward0", "x times the normal distribution function of x, or its tanh form.",
    layout="operands", forward=_gelu, spaces=("F",), samples=(sample((2, 3)), sample((2, 3), approximate="tanh")), inplace=False,
    grads={"self": lambda grad, self, approximate: gelu_backward(grad, self, approximate=approximate)},
    note="Saves its input.",
)

# --- silu, mish ---------------------------------------------------------------------------------------------------


def _silu(self: Array) -> Array:
    _floating("silu_cpu", self)
    return in_blocks(lambda x: x / (1 + np.exp(-x)), self)


def _silu_backward(grad: ArrayOrTensor, self: ArrayOrTensor) -> ArrayOrTensor:
    logistic = 1 / (1 + np.exp(-self))
    return grad * logistic * (1 + self * (1 - logistic))


def _silu_gradient(grad: ArrayOrTensor, self: ArrayOrTensor) -> ArrayOrTensor:
    if not isinstance(grad, Tensor):
        return in_blocks(_silu_backward, grad, self)
    logistic = sigmoid(self)
    return grad * logistic * plus(self * number_minus(1, logistic), 1)


silu = op(
    "silu(self)", "SiluBackward0", "x sigmoid(x).", layout="operands", forward=_silu, inplace=True, spaces=(),
    grads={"self": _silu_gradient},
    samples=(sample((2, 3)),),
    note="Saves its input. In place it clones it first.",
)
functional("silu", "input", "x sigmoid(x).", silu, find("silu_"))


def _bent(self: Array) -> Array:
    """Return tanh(log(1 + exp(x))), which is w / (w + 2) with w = e (e + 2) and e = exp(x)."""
    risen = np.exp(np.minimum(self, 20))
    wide = risen * (risen + 2)
    return wide / (wide + 2)


def _mish(self: Array) -> Array:
    _floating("mish_cpu", self)
    return in_blocks(lambda x: x * _bent(x), self)


def _mish_backward(grad: Array, self: Array) -> Array:
    bent = _bent(self)
    return grad * (bent + self / (1 + np.exp(-self)) * (1 - bent * bent))


def _mish_gradient(grad: ArrayOrTensor, self: ArrayOrTensor) -> ArrayOrTensor:
    if not isinstance(grad, Tensor):
        return in_blocks(_mish_backward, grad, self)
    logistic = sigmoid(self)
    bent = tanh(log1p(exp(self)))
    return grad * (bent + self * logistic * number_minus(1, bent * bent))


mish = op(
    "mish(self)", "MishBackward0", "x tanh(softplus(x)).", layout="operands", forward=_mish, inplace=True, spaces=(),
    grads={"self": _mish_gradient},
    samples=(sample((2, 3)),),
)
functional("mish", "input", "x tanh(softplus(x)).", mish, find("mish_"))

# --- softplus, logsigmoid -----------------------------------------------------------------------------------------


def _softplus(self: Array, beta: int, threshold: int) -> Array:
    _floating("softplus_cpu", self)
    return in_blocks(lambda x: _softplus_of(x, beta, threshold), self)


def _softplus_of(self: Array, beta: int, threshold: int) -> Array:
    scaled = self * beta
    found = elementary.log1p(np.exp(scaled)) / beta
    beyond = scaled > threshold
    return pick(beyond, self, found) if beyond.any() else found


def _softplus_backward(grad: ArrayOrTensor, self: ArrayOrTensor, beta: int, threshold: int) -> ArrayOrTensor:
    return in_blocks(lambda g, x: _softplus_slope(g, x, beta, threshold), grad, self)


def _softplus_slope(grad: ArrayOrTensor, self: object, beta: Any, threshold: object) -> ArrayOrTensor:
    scaled = self * beta
    risen = np.exp(scaled)
    found = grad * risen / (risen + 1)
    beyond = scaled > threshold
    return pick(beyond, grad, found) if beyond.any() else found


def _softplus_double(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: ArrayOrTensor, beta: object, threshold: object
) -> ArrayOrTensor:
    scaled = times(self, beta)
    bend = sigmoid_backward(grad * grad_output, sigmoid(scaled))
    return times(bend * where(scaled < threshold, 1.0, 0.0), beta)


softplus_backward: Operation = op(
    "softplus_backward(grad_output, self, beta: number, threshold: number)", "SoftplusBackwardBackward0",
    "The derivative of softplus.", layout="operands", forward=_softplus_backward, spaces=(),
    grads={"grad_output": applied("softplus_backward", "grad self beta threshold"), "self": _softplus_double},
)
softplus = op(
    "softplus(self, beta: number = 1, threshold: number = 20)", "SoftplusBackward0",
    "log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.", layout="operands", forward=_softplus, spaces=("F",),
    samples=(sample((2, 3)), sample((2, 3), 2, 1)),
    grads={"self": lambda grad, self, beta, threshold: softplus_backward(grad, self, beta, threshold)},
)


def _log_sigmoid(self: Array) -> tuple[Array, Array]:
    _floating("log_sigmoid_cpu", self)
    self = np.ascontiguousarray(self).reshape(self.shape)
    buffer = np.exp(-np.abs(self))
    return np.minimum(self, 0) - elementary.log1p(buffer), buffer


def _log_sigmoid_backward(grad: Array, self: Array, buffer: Array) -> Array:
    """Return the gradient, laid out as the one it is computed of."""
    found: Array = in_blocks(_log_sigmoid_slope, grad, self, buffer)
    return stepped_as(as_operands(found, [grad]), grad)


def _log_sigmoid_slope(grad: Array, self: Array, buffer: Array) -> Array:
    share = buffer / (1 + buffer)
    return grad * pick(self < 0, 1 - share, share)


def _log_sigmoid_double(grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: object) -> ArrayOrTensor:
    logistic = sigmoid(self)
    return grad * grad_output * plus(logistic, -1) * logistic


log_sigmoid_backward: Operation = op(
    "log_sigmoid_backward(grad_output, self, buffer)", "LogSigmoidBackwardBackward0", "The derivative of logsigmoid.",
    layout="", forward=_log_sigmoid_backward, spaces=(), saves=("buffer",),
    grads={"grad_output": applied("log_sigmoid_backward", "grad self buffer"), "self": _log_sigmoid_double},
)
log_sigmoid_forward = op(
    "log_sigmoid_forward(self)", "LogSigmoidBackward0", "log(sigmoid(x)), with the buffer that its derivative wants.",
    layout="contiguous", forward=_log_sigmoid, outputs=("output", "buffer"), returns=1, spaces=(), samples=(sample((2, 3)),),
    grads={"self": lambda grad, self, buffer: log_sigmoid_backward(grad, self, buffer)},
)
functional("logsigmoid", "input", "log(sigmoid(x)) without underflow.", log_sigmoid_forward)

# --- glu ----------------------------------------------------------------------------------------------------------


def _halves(self: Any, dim: int) -> tuple[Array, Array]:
    """Return the two halves of an array along a dimension."""
    axis = wrap_dim(dim, self.ndim)
    half = self.shape[axis] // 2
    index: list[Any] = [slice(None)] * self.ndim
    index[axis] = slice(0, half)
    first = self[tuple(index)]
    index[axis] = slice(half, 2 * half)
    return first, self[tuple(index)]


def _glu(self: Array, dim: int) -> Array:
    if self.ndim == 0:
        raise fail("shape", "glu does not support scalars because halving size must be even")
    axis = wrap_dim(dim, self.ndim)
    extent = self.shape[axis]
    if extent % 2:
        raise fail("shape", f"Halving dimension must be even, but dimension {axis} is size {extent}")
    _floating("glu_cpu", self)
    first, second = _halves(self, dim)
    return first / (1 + np.exp(-second))


def _glu_backward(grad: ArrayOrTensor, self: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    first, second = _halves(self, dim)
    gate = 1 / (1 + np.exp(-second))
    return np.concatenate((grad * gate, grad * first * (gate * (1 - gate))), wrap_dim(dim, self.ndim))


def _narrowed(value: Any, dim: int) -> tuple[Array, Array]:
    half = value.shape[dim] // 2
    if not isinstance(value, Tensor):
        return _halves(value, dim)
    narrow = find("narrow")
    return narrow(value, dim, 0, half), narrow(value, dim, half, half)


def _glu_double_output(grad: object, self: object, dim: int) -> ArrayOrTensor:
    first, second = _narrowed(self, dim)
    left, right = _narrowed(grad, dim)
    gate = sigmoid(second)
    return left * gate + right * first * (gate * number_minus(1, gate))


def _glu_double(grad: object, grad_output: ArrayOrTensor, self: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    first, second = _narrowed(self, dim)
    left, right = _narrowed(grad, dim)
    gate = sigmoid(second)
    slope = gate * number_minus(1, gate)
    upper = right * grad_output * slope
    lower = left * grad_output * slope + right * grad_output * first * slope * number_minus(1, times(gate, 2))
    return find("cat")([upper, lower], dim)


glu_backward: Operation = op(
    "glu_backward(grad_output, self, dim: int)", "GluBackwardBackward0", "The derivative of glu.", forward=_glu_backward, spaces=(),
    grads={"grad_output": _glu_double_output, "self": _glu_double},
)
glu = op(
    "glu(self, dim: int = -1)", "GluBackward0", "The first half times the sigmoid of the second half.", forward=_glu,
    spaces=("F",), samples=(sample((2, 4)), sample((4, 3), 0)),
    grads={"self": lambda grad, self, dim: glu_backward(grad, self, dim)},
)
