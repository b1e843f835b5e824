"""Randomised leaky relu: in training each negative element gets a slope of its own, kept as `noise`."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.values.dtype import Array
from gradsh.ops.activation import functional, leaky_relu_backward
from gradsh.ops.arguments import zeros
from gradsh.ops.kernels.common import unsupported
from gradsh.text.fault import fail


def _forward(self: Array, noise: Array, lower: float, upper: float, training: bool) -> Array:
    if self.dtype.kind != "f":
        raise unsupported("rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu", self)
    self = np.ascontiguousarray(self).reshape(self.shape)
    if training:
        return np.where(self <= 0, self * noise, self)
    return np.where(self <= 0, self * ((lower + upper) / 2), self)


def _draw(self: Array, lower: float, upper: float) -> Array:
    """Return slopes, 1 where the element is positive: only the others draw a number, in order."""
    if lower > upper:
        raise fail("value", f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    noise = np.ones(self.shape, self.dtype)
    below = np.asarray(self <= 0)
    drawn = current().generator.uniform((int(below.sum()),), lower, upper, np.dtype(np.float64))
    noise[below] = drawn.astype(self.dtype)
    return noise


def _gradient(
    grad: ArrayOrTensor, self: ArrayOrTensor, noise: ArrayOrTensor, lower: float, upper: float, training: bool,
    self_is_result: bool,
) -> ArrayOrTensor:
    if training and upper - lower > 1e-6:
        return grad * noise
    return leaky_relu_backward(grad, self, (lower + upper) / 2, self_is_result)


rrelu_with_noise_backward: Operation = op(
    "rrelu_with_noise_backward(grad_output, self, noise, lower: number, upper: number, training: bool, self_is_result: bool)",
    "RreluWithNoiseBackwardBackward0", "The derivative of rrelu.", layout="operands", forward=_gradient, spaces=(), unguarded=True,
    grads={
        "grad_output": lambda grad, self, noise, lower, upper, training: rrelu_with_noise_backward(
            grad, self, noise, lower, upper, training, False
        ),
        "self": lambda grad: zeros(grad),
    },
)
_rrelu = op(
    "rrelu_with_noise(self, noise, lower: number, upper: number, training: bool)", "RreluWithNoiseBackward0",
    "x above 0, a slope times x below.", layout="contiguous", forward=_forward, spaces=(),
    grads={
        "self": lambda grad, self, noise, lower, upper, training: rrelu_with_noise_backward(
            grad, self, noise, lower, upper, training, False
        ),
    },
    samples=(sample((2, 3), (2, 3), 0.125, 0.25, False),),
)
_rrelu_ = op(
    "rrelu_with_noise_(self, noise, lower: number, upper: number, training: bool)", "RreluWithNoiseBackward1",
    "x above 0, a slope times x below. In place.", forward=_forward, kind="inplace", spaces=(),
    grads={
        "self": lambda grad, result, noise, lower, upper, training: rrelu_with_noise_backward(
            grad, result, noise, lower, upper, training, True
        ),
    },
)


def _run(operation: Any) -> Any:
    def rrelu(input: Tensor, lower: float, upper: float, training: bool) -> Tensor:
        noise = _draw(input.array, lower, upper) if training else np.zeros(input.array.shape, input.array.dtype)
        return operation(input, make(noise), lower, upper, training)

    return rrelu


_TEXT = "input, lower: number = 0.125, upper: number = 0.3333333333333333, training: bool = False"
_DOC = "Leaky relu with a random slope in [lower, upper] while training, with the middle one else."
functional("rrelu", _TEXT, _DOC, _run(_rrelu), _run(_rrelu_))
composite(f"rrelu({_TEXT})", _DOC, _run(_rrelu), spaces=("torch",))
composite(f"rrelu_({_TEXT})", _DOC, _run(_rrelu_), spaces=("torch", "F"))
