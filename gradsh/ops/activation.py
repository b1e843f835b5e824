"""Activations with corners: relu and its relatives, thresholds, hard and shrinking functions, prelu, rrelu."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import REGISTRY, find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.ops.arguments import applied, zeros
from gradsh.ops.kernels import shrinking
from gradsh.ops.kernels.common import bounded, gated, in_blocks, pick, refusing, reusing
from gradsh.ops.kernels.elementary import expm1
from gradsh.ops.scalars import times
from gradsh.ops.select import where
from gradsh.text.fault import fail


def functional(name: str, text: str, doc: str, plain: Any, inplace: Any = None) -> Operation:
    """Declare F.NAME; where there is an in-place operation, a last argument `inplace` chooses between the two.

    The record is F_NAME where NAME is an operation with another signature.
    """
    name = f"F_{name}" if name in REGISTRY else name
    if inplace is None:
        return composite(f"{name}({text})", doc, lambda *values: plain(*values), spaces=("F",))
    return composite(
        f"{name}({text}, inplace: bool = False)", doc,
        lambda *values: (inplace if values[-1] else plain)(*values[:-1]), spaces=("F",),
    )


# --- relu and threshold -------------------------------------------------------------------------------------------


def _relu(self: Array) -> Array:
    if self.dtype.kind == "b":
        raise fail("dtype", "Boolean inputs not supported for relu")
    if self.size > _LARGE and self.dtype.kind == "f":
        return bounded(self, 0, None)
    return np.maximum(_ZERO[self.dtype], self)  # of equals the second: zeros keep their sign


_LARGE = 1 << 12
"""Elements from which numpy's `clip`, and blocks, are faster."""


_ZERO = {np.dtype(kind): np.zeros((), kind) for kind in ("f4", "f8", "i8", "i4", "i2", "i1", "u1")}


@reusing(lambda into, grad, result: gated(grad, ~(result <= _ZERO[result.dtype]), into))
def _relu_gradient(grad: Any, result: Any) -> ArrayOrTensor:
    if isinstance(grad, np.ndarray):
        return gated(grad, ~(result <= _ZERO[result.dtype]))
    return threshold_backward(grad, result, 0)


threshold_backward: Operation = op(
    "threshold_backward(grad_output, self, threshold: number)", "ThresholdBackwardBackward0",
    "The gradient where `self` is above the threshold, zero elsewhere.", spaces=(),
    layout="reversed", forward=lambda grad_output, self, threshold: gated(grad_output, ~(self <= threshold)), unguarded=True,
    grads={"grad_output": applied("threshold_backward", "grad self threshold"), "self": zeros},
)
relu: Operation = op(
    "relu(self)", "ReluBackward0", "max(x, 0); its derivative at 0 is 0.", layout="operands", forward=_relu, ufunc=_relu, inplace=True,
    grads={"self": _relu_gradient}, samples=(sample((2, 3)),),
    note="The result is saved, so modifying the output in place makes backward raise.",
)
relu_ = find("relu_")
functional("relu", "input", "max(x, 0).", relu, relu_)
relu_.spaces = (*relu_.spaces, "F")


@refusing("b", "threshold_cpu")
def _threshold(self: Array, threshold: float, value: float) -> Array:
    if self.dtype.kind == "f" and self.size > _LARGE and 0 <= threshold < value:
        return shrinking.raised(self, threshold, value)
    return pick(self <= threshold, self.dtype.type(value), self)


threshold: Operation = op(
    "threshold(self, threshold: number, value: number)", "ThresholdBackward0", "x above the threshold, `value` elsewhere.",
    layout="operands", forward=_threshold, spaces=("torch",), samples=(sample((2, 3), 0.1, 20.0),),
    grads={"self": lambda grad, self, threshold: threshold_backward(grad, self, threshold)},
)
threshold_ = op(
    "threshold_(self, threshold: number, value: number)", "ThresholdBackward1", "x above the threshold, `value` elsewhere. In place.",
    forward=_threshold, kind="inplace", spaces=("torch", "F"),
    grads={"self": lambda grad, self, threshold: threshold_backward(grad, self, threshold)},
)
functional("threshold", "input, threshold: number, value: number", "x above the threshold, `value` elsewhere.", threshold, threshold_)

# --- leaky relu ---------------------------------------------------------------------------------------------------


@refusing("biu", "leaky_relu_cpu")
def _leaky(self: Array, negative_slope: float) -> Array:
    return _sloped(self, negative_slope, 0 < negative_slope <= 1)


def _larger(self: Array, slope: Any, out: Array | None = None) -> Array:
    found = np.multiply(self, slope, out=out)
    return np.maximum(self, found, out=found)


def _sloped(self: Array, slope: Any, gentle: bool) -> Array:
    """Return x above 0, slope * x elsewhere: the larger one of them where slopes are `gentle`, at most 1 and none of them 0."""
    if not gentle:
        return pick(self > 0, self, self * slope)
    if self.size <= _LARGE:
        return np.maximum(self, self * slope)
    return in_blocks(_larger, self, slope if isinstance(slope, np.ndarray) else self.dtype.type(slope), into=True)


leaky_relu_backward: Operation = op(
    "leaky_relu_backward(grad_output, self, negative_slope: number, self_is_result: bool)", "LeakyReluBackwardBackward0",
    "The derivative of leaky_relu.", spaces=(), unguarded=True,
    layout="reversed", forward=lambda grad_output, self, negative_slope, self_is_result: pick(
        self > 0, grad_output, grad_output * negative_slope
    ),
    grads={
        "grad_output": lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False),
        "self": lambda grad: zeros(grad),
    },
)
leaky_relu = op(
    "leaky_relu(self, negative_slope: number = 0.01)", "LeakyReluBackward0", "x, times a small slope below 0.",
    layout="operands", forward=_leaky, spaces=(), samples=(sample((2, 3), 0.1),),
    grads={"self": lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope, False)},
)
leaky_relu_ = op(
    "leaky_relu_(self, negative_slope: number = 0.01)", "LeakyReluBackward1", "x, times a small slope below 0. In place.",
    forward=_leaky, kind="inplace", spaces=("F",),
    grads={"self": lambda grad, result, negative_slope: leaky_relu_backward(grad, result, negative_slope, True)},
    note="In place it is another node, LeakyReluBackward1, and saves its result.",
)
functional(
    "leaky_relu", "input, negative_slope: number = 0.01", "x, times a small slope below 0.", leaky_relu, leaky_relu_,
)

# --- elu, selu, celu ----------------------------------------------------------------------------------------------


@refusing("biu", "elu_cpu")
def _elu(self: Array, alpha: float, scale: float, input_scale: float) -> Array:
    return in_blocks(lambda x, out=None: _elu_of(x, alpha, scale, input_scale, out), self, into=True)


def _elu_of(self: Array, alpha: float, scale: float, input_scale: float, out: Array | None) -> Array:
    below = self < 0
    found = np.multiply(self, scale, out=out)
    if not below.any():
        return found
    found = pick(below, expm1(bounded(self, None, 0) * input_scale) * (alpha * scale), found)
    return found if out is None else np.positive(found, out=out)


def _elu_backward(
    grad: ArrayOrTensor, alpha: float, scale: float, input_scale: float, is_result: bool, place: ArrayOrTensor
) -> ArrayOrTensor:
    return in_blocks(lambda g, x, out=None: _elu_slope(g, alpha, scale, input_scale, is_result, x, out), grad, place, into=True)


def _elu_slope(
    grad: Array, alpha: float, scale: float, input_scale: float, is_result: bool, place: Array, out: Array | None
) -> Array:
    above = place > 0
    found = np.multiply(grad, scale, out=out)
    if above.all():
        return found
    if is_result:
        below = grad * input_scale * (place + alpha * scale)
    else:
        below = grad * (input_scale * alpha * scale) * np.exp(bounded(place, None, 0) * input_scale)
    found = pick(above, found, below)
    return found if out is None else np.positive(found, out=out)


def _elu_double(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, alpha: float, scale: int, input_scale: float, is_result: bool,
    self_or_result: Array,
) -> ArrayOrTensor:
    inner = times(grad * grad_output, input_scale)
    below = where(self_or_result < 0, 1.0, 0.0)
    if is_result:
        return inner * below
    return elu_backward(inner, alpha, scale, input_scale, is_result, self_or_result) * below


elu_backward: Operation = op(
    "elu_backward(grad_output, alpha: number, scale: number, input_scale: number, is_result: bool, self_or_result)",
    "EluBackwardBackward0", "The derivative of elu, from its input or its result.", layout="operands",
    forward=_elu_backward, spaces=(), unguarded=True,
    grads={
        "grad_output": applied("elu_backward", "grad alpha scale input_scale is_result self_or_result"),
        "self_or_result": _elu_double,
    },
)
elu = op(
    "elu(self, alpha: number = 1, scale: number = 1, input_scale: number = 1)", "EluBackward0",
    "x above 0, alpha (exp(x) - 1) below.", layout="operands", forward=_elu, spaces=(), samples=(sample((2, 3), 0.5),),
    grads={"self": lambda grad, alpha, scale, input_scale, self: elu_backward(grad, alpha, scale, input_scale, False, self)},
)
elu_ = op(
    "elu_(self, alpha: number = 1, scale: number = 1, input_scale: number = 1)", "EluBackward1",
    "x above 0, alpha (exp(x) - 1) below. In place.", forward=_elu, kind="inplace", spaces=("F",),
    grads={"self": lambda grad, alpha, scale, input_scale, result: elu_backward(grad, alpha, scale, input_scale, True, result)},
    note="In place it is another node, EluBackward1, and saves its result.",
)
functional("elu", "input, alpha: number = 1.0", "x above 0, alpha (exp(x) - 1) below.", elu, elu_)

_SELU = (1.6732632423543772, 1.0507009873554805)
_SELU_DOC = "The self-normalising elu: alpha 1.6733, scale 1.0507."
selu = composite("selu(self)", _SELU_DOC, lambda self: elu(self, *_SELU), spaces=("torch",))
selu_ = composite("selu_(self)", _SELU_DOC + " In place.", lambda self: elu_(self, *_SELU), spaces=("torch", "F"))
functional("selu", "input", _SELU_DOC, selu, selu_)


def _celu(self: Array, alpha: float) -> Array:
    if alpha == 0:
        raise fail("arithmetic", "ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(self, alpha, 1, 1 / alpha)


celu = op(
    "celu(self, alpha: number = 1.0)", "CeluBackward0", "x above 0, alpha (exp(x / alpha) - 1) below.", layout="operands", forward=_celu,
    spaces=("torch",), samples=(sample((2, 3), 0.5),),
    grads={"self": lambda grad, alpha, self: elu_backward(grad, alpha, 1, 1.0 / alpha, False, self)},
)
celu_ = op(
    "celu_(self, alpha: number = 1.0)", "CeluBackward1", "x above 0, alpha (exp(x / alpha) - 1) below. In place.",
    forward=_celu, kind="inplace", spaces=("torch", "F"),
    grads={"self": lambda grad, alpha, result: elu_backward(grad, alpha, 1, 1.0 / alpha, True, result)},
)
functional("celu", "input, alpha: number = 1.0", "x above 0, alpha (exp(x / alpha) - 1) below.", celu, celu_)

# --- hardtanh, relu6 ----------------------------------------------------------------------------------------------


def _hardtanh(self: Array, min_val: float, max_val: float) -> Array:
    if self.dtype.kind == "b":
        raise fail("dtype", "Bool inputs not supported for hardtanh")
    return bounded(self, self.dtype.type(min_val), self.dtype.type(max_val))


hardtanh_backward: Operation = op(
    "hardtanh_backward(grad_output, self, min_val: number, max_val: number)", "HardtanhBackwardBackward0",
    "The gradient strictly between the bounds, zero elsewhere.", spaces=(), unguarded=True,
    layout="operands", forward=lambda grad_output, self, min_val, max_val: gated(grad_output, (self > min_val) & (self < max_val)),
    grads={"grad_output": applied("hardtanh_backward", "grad self min_val max_val"), "self": zeros},
)
hardtanh = op(
    "hardtanh(self, min_val: number = -1, max_val: number = 1)", "HardtanhBackward0", "x kept within two bounds.",
    layout="operands", forward=_hardtanh, inplace=True, spaces=(), samples=(sample((2, 3)),),
    grads={"self": lambda grad, self, min_val, max_val: hardtanh_backward(grad, self, min_val, max_val)},
)
hardtanh_ = find("hardtanh_")
hardtanh_.spaces = ("F",)


def _checked_hardtanh(operation: Any) -> Callable[..., object]:
    def run(input: Tensor, min_val: float, max_val: float) -> Tensor:
        if min_val > max_val:
            raise fail("value", "min_val cannot be greater than max_val", ValueError)
        return operation(input, min_val, max_val)

    return run


functional(
    "hardtanh", "input, min_val: number = -1.0, max_val: number = 1.0",
    "x kept within two bounds; at the bounds the gradient is zero.", _checked_hardtanh(hardtanh), _checked_hardtanh(hardtanh_),
)
functional(
    "relu6", "input", "x kept within 0 and 6.", lambda input: hardtanh(input, 0, 6), lambda input: hardtanh_(input, 0, 6),
)

# --- shrinking ----------------------------------------------------------------------------------------------------


@refusing("biu", "hardshrink_cpu")
def _hardshrink(self: Array, lambd: float) -> Array:
    return shrinking.outside(self, lambd)


hardshrink_backward: Operation = op(
    "hardshrink_backward(grad_out, self, lambd: number)", "HardshrinkBackwardBackward0",
    "The gradient outside [-lambd, lambd], zero within.", spaces=(), unguarded=True,
    layout="operands", forward=shrinking.gradient,
    grads={"grad_out": applied("hardshrink_backward", "grad self lambd"), "self": zeros},
)
hardshrink = op(
    "hardshrink(self, lambd: number = 0.5)", "HardshrinkBackward0", "x outside [-lambd, lambd], 0 within.",
    layout="operands", forward=_hardshrink, spaces=("torch", "Tensor", "F"), samples=(sample((2, 3)),),
    grads={"self": lambda grad, self, lambd: hardshrink_backward(grad, self, lambd)},
)


@refusing("biu", "softshrink_check")
def _softshrink(self: Array, lambd: float) -> Array:
    if lambd < 0:
        most, title = np.finfo(self.dtype).max, of_numpy(self.dtype).title
        raise fail("value", f"lambda must be in range [0, {most:g}] for input dtype {title}, but found {lambd:g}")
    return shrinking.nearer(self, lambd)


softshrink_backward: Operation = op(
    "softshrink_backward(grad_output, self, lambd: number)", "SoftshrinkBackwardBackward0",
    "The gradient outside [-lambd, lambd], zero within.", spaces=(), unguarded=True,
    layout="operands", forward=shrinking.gradient,
    grads={"grad_output": applied("softshrink_backward", "grad self lambd"), "self": zeros},
)
softshrink = op(
    "softshrink(self, lambd: number = 0.5)", "SoftshrinkBackward0", "x brought nearer to 0 by lambd, 0 within [-lambd, lambd].",
    layout="operands", forward=_softshrink, spaces=("F",), samples=(sample((2, 3)),),
    grads={"self": lambda grad, self, lambd: softshrink_backward(grad, self, lambd)},
)
functional("tanhshrink", "input", "x - tanh(x), two nodes.", lambda input: find("sub")(input, find("tanh")(input)))

# --- hard versions of smooth functions ----------------------------------------------------------------------------


@refusing("biu", "hardsigmoid_cpu")
def _hardsigmoid(self: Array) -> Array:
    return np.minimum(np.maximum(self + 3, 0), 6) / 6


_SIXTH = float(np.float32(1 / 6))
"""PyTorch's kernel multiplies by a sixth in float32, for float64 too: the gradient is off by 2e-8 of itself."""
hardsigmoid_backward = op(
    "hardsigmoid_backward(grad_output, self)", "", "A sixth of the gradient within (-3, 3), zero elsewhere.", spaces=(),
    layout="operands", forward=lambda grad_output, self: gated(grad_output * _SIXTH, (self > -3) & (self < 3)),
    grads={"grad_output": None, "self": None},
)
hardsigmoid = op(
    "hardsigmoid(self)", "HardsigmoidBackward0", "clamp(x + 3, 0, 6) / 6.", layout="operands",
    forward=_hardsigmoid, inplace=True, spaces=(),
    forward_mode="elementwise",
    grads={"self": lambda grad, self: hardsigmoid_backward(grad, self)}, samples=(sample((2, 3)),),
    note="PyTorch has no second derivative of it, and its gradient uses a sixth rounded to float32.",
)
functional("hardsigmoid", "input", "clamp(x + 3, 0, 6) / 6.", hardsigmoid, find("hardsigmoid_"))


@refusing("biu", "hardswish_cpu")
def _hardswish(self: Array) -> Array:
    return self * np.minimum(np.maximum(self + 3, 0), 6) / 6


def _hardswish_backward(grad: Array, self: Array) -> Array:
    middle = pick(self >= 3, grad, grad * (self / 3 + 0.5))
    return gated(middle, ~(self <= -3))


def _hardswish_double(grad: Any, grad_output: Any, self: Any) -> ArrayOrTensor:
    inside = find("logical_and")(self > -3.0, self < 3.0)
    return where(inside, times(grad * grad_output, 1 / 3.0), 0.0)


hardswish_backward: Operation = op(
    "hardswish_backward(grad_output, self)", "HardswishBackwardBackward0", "The derivative of hardswish.", spaces=(),
    layout="operands", forward=_hardswish_backward, unguarded=True,
    grads={"grad_output": lambda grad, self: hardswish_backward(grad, self), "self": _hardswish_double},
)
hardswish = op(
    "hardswish(self)", "HardswishBackward0", "x clamp(x + 3, 0, 6) / 6.", layout="operands", forward=_hardswish, inplace=True, spaces=(),
    grads={"self": lambda grad, self: hardswish_backward(grad, self)}, samples=(sample((2, 3)),),
)
functional("hardswish", "input", "x clamp(x + 3, 0, 6) / 6.", hardswish, find("hardswish_"))

# --- prelu --------------------------------------------------------------------------------------------------------


def _prelu_double(
    grads: list[ArrayOrTensor], grad_output: ArrayOrTensor, self: Any, weight: ArrayOrTensor, needs: tuple[bool, ...]
) -> tuple[Any, Any, Any]:
    first, second = grads
    above = self >= 0
    through = None if first is None else where(above, first, first * weight)
    if second is not None:
        extra = where(above, 0.0, second * self)
        through = extra if through is None else through + extra
    own = zeros(self) if second is None else where(above, 0.0, grad_output * second)
    slope = zeros(weight) if first is None else where(above, 0.0, grad_output * first)
    return through, own if needs[1] else None, slope if needs[2] else None


_prelu_backward: Operation = op(
    "_prelu_kernel_backward(grad_output, self, weight)", "PreluKernelBackwardBackward0", "The derivatives of prelu.", spaces=(),
    layout="reversed", forward=lambda grad_output, self, weight: (
        pick(self > 0, grad_output, grad_output * weight),
        gated(grad_output * self, ~(self > 0)),
    ),
    grads={("grad_output", "self", "weight"): _prelu_double},
)
_prelu_kernel = op(
    "_prelu_kernel(self, weight)", "PreluKernelBackward0", "x above 0, weight * x below.", spaces=(),
    layout="operands", forward=lambda self, weight: _sloped(
        self, weight, self.size > _LARGE and bool(np.all((weight <= 1) & (weight != 0)))
    ),
    grads={("self", "weight"): applied("_prelu_kernel_backward", "grad self weight")},
    samples=(sample((2, 3), (1, 3)),),
)


def _prelu(self: Tensor, weight: Tensor) -> Tensor:
    a, w = self.array, weight.array
    if a.dtype != w.dtype:
        x, y = (of_numpy(one.dtype).title for one in (a, w))
        raise fail("dtype", f"prelu: Type promoting not supported. Got {x} and {y}")
    if w.size != 1:
        if a.ndim == 0:
            raise fail("shape", "Not allow zero-dim input tensor.")
        channels = a.shape[1] if a.ndim > 1 else 1
        if channels != w.size:
            message = (
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {w.size} and channel "
                f"size = {channels}."
            )
            raise fail("shape", message)
    if w.ndim > 1:
        raise fail("shape", f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    shape = tuple(w.size if dim == 1 else 1 for dim in range(a.ndim))
    return _prelu_kernel(self, weight if w.shape == shape else find("reshape")(weight, shape))


composite(
    "prelu(self, weight)", "x above 0, a learnt slope times x below: one weight, or one a channel (dim 1).", _prelu,
    spaces=("torch", "Tensor", "F"), samples=(sample((2, 3), (3,)), sample((2, 3), (1,))),
)
functional(
    "softsign", "input", "x / (1 + |x|), three nodes.", lambda input: input / (find("abs")(input) + 1),
)
