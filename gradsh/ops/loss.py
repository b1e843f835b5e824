"""Losses that compare element by element: squared, absolute and smoothed errors, binary cross entropy, margins."""

from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import note
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.parallel import Block, shared
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.ops.arguments import applied, check_same_float, count, no_gradient
from gradsh.ops.kernels.accurate_sum import LARGE, dot
from gradsh.ops.kernels.common import BLOCK, apart, chained, refusing
from gradsh.ops.kernels.elementary import log1p
from gradsh.ops.reduction import (
    MEAN,
    NONE,
    SUM,
    broadcast_pair,
    chosen,
    named,
    number,
    reduce_array,
    reduced,
    scale,
    warn_sizes,
)
from gradsh.ops.scalars import over, plus
from gradsh.text.fault import fail

F = ("F",)
LEGACY = "size_average: any? = None, reduce: any? = None, reduction: str = 'mean'"


def _divided(value: ArrayOrTensor, reduction: int, elements: int, written: int = 0, weight: object = None) -> ArrayOrTensor:
    """Weight a gradient and divide it for the mean, as PyTorch does in place; `written`: how often it has written to it before."""
    if weight is not None:
        value = value * weight
    if reduction == MEAN:
        value = over(value, elements)
    return note(value, written + (weight is not None) + (reduction == MEAN))


# --- mse_loss ---------------------------------------------------------------------------------------------------


def _mse(self: Array, target: Array, reduction: int) -> Array:
    if self.dtype.kind != "f":
        title = of_numpy(self.dtype).title
        raise fail("dtype", f"\"mse_cpu\" not implemented for '{title}'", NotImplementedError)
    return reduce_array(np.square(self - target), reduction)


mse_loss_backward: Operation = op(
    "mse_loss_backward(grad_output, self, target, reduction: int)", "MseLossBackwardBackward0",
    "Gradient of the squared error.",
    layout="contiguous", forward=lambda grad_output, self, target, reduction:
        (self - target) * (grad_output * self.dtype.type(2.0 * scale(reduction, self.size))),
    unguarded=True, spaces=(),
    grads={
        "grad_output": lambda grad, self, target, reduction: mse_loss_backward(grad, self, target, reduction),
        "self": lambda grad, grad_output, self, reduction: _divided(2 * (grad * grad_output), reduction, count(self)),
        "target": lambda grad, grad_output, target, reduction:
            -_divided(2 * (grad * grad_output), reduction, count(target)),
    },
)
_mse_loss = op(
    "_mse_loss(self, target, reduction: int = 1)", "MseLossBackward0", "Squared error of two tensors of one shape.",
    layout="operands", forward=_mse, dtypes="promote", spaces=(),
    grads={
        "self": lambda grad, self, target, reduction: mse_loss_backward(grad, self, target, reduction),
        "target": lambda grad, self, target, reduction: mse_loss_backward(grad, target, self, reduction),
    },
)


def _weighted(errors: Any, weight: Any, input: Tensor, reduction: str, over_weights: bool) -> Any:
    """Weight the errors and reduce them; the mean is over the sum of the weights, or over the elements."""
    if tuple(weight.shape) != tuple(input.shape):
        raise fail("shape", "Weights and input must have the same size.", ValueError)
    weighted = errors * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return find("sum")(weighted)
    if reduction == "mean":
        return find("sum")(weighted) / find("sum")(weight) if over_weights else find("mean")(weighted)
    raise fail("value", f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.", ValueError)


def _mse_function(
    input: Tensor, target: Tensor, size_average: bool | None, reduce: object, reduction: str, weight: object
) -> Tensor:
    warn_sizes(input, target)
    reduction = named(size_average, reduce, reduction)
    left, right = broadcast_pair(input, target)
    if weight is not None:
        return _weighted(find("pow")(left - right, 2), weight, input, reduction, True)
    return _mse_loss(left, right, number(reduction))


mse_loss = composite(
    f"mse_loss(input, target, {LEGACY}, weight: Tensor? = None)", "Mean squared error: (input - target)², averaged.",
    _mse_function, F,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), reduction="none"), sample((2, 3), (2, 3), reduction="sum"),
             sample((2, 3), (2, 4), rejects="shape"), sample((2, 3), (2, 3), reduction="most", rejects="value")),
    note="Saves both input and target, whichever needs a gradient.",
)

# --- l1_loss ----------------------------------------------------------------------------------------------------


def _l1(left: Tensor, right: Tensor, reduction: int) -> Tensor:
    return reduced(find("abs")(left - right), reduction)


def _l1_function(input: Tensor, target: Tensor, size_average: Any, reduce: object, reduction: str, weight: object) -> Tensor:
    warn_sizes(input, target)
    reduction = named(size_average, reduce, reduction)
    left, right = broadcast_pair(input, target)
    if weight is not None:
        return _weighted(find("abs")(left - right), weight, input, reduction, True)
    return _l1(left, right, number(reduction))


l1_loss = composite(
    f"l1_loss(input, target, {LEGACY}, weight: Tensor? = None)", "Mean absolute error: |input - target|, averaged.",
    _l1_function, F, samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), reduction="none")),
    note="Has no node of its own: Mean, Abs and Sub.",
)

# --- smooth_l1_loss and huber_loss ------------------------------------------------------------------------------


def _huber_sum(self: Array, target: Array, reduction: int, delta: float) -> Any:
    """Return the reduced Huber loss of many float32 in float64, None of others.

    Of distances d, of which i is within delta, it is the sum of d i less half that of i².
    """
    if reduction == NONE or self.size < LARGE or not self.dtype == target.dtype == np.float32 or self.shape != target.shape:
        return None
    if not (self.flags.c_contiguous and target.flags.c_contiguous):
        return None
    x, y, total = self.reshape(-1), target.reshape(-1), np.zeros(-(-self.size // BLOCK))

    def make() -> Block:
        far, near = np.empty((2, BLOCK), self.dtype)

        def block(start: int, stop: int) -> None:
            distance = np.subtract(x[start:stop], y[start:stop], out=far[: stop - start])
            inner = np.clip(distance, -delta, delta, out=near[: stop - start])
            total[start // BLOCK] = dot(distance, inner) - dot(inner, inner) / 2

        return block

    shared(self.size, make, BLOCK)
    return np.add.reduce(total) / (self.size if reduction == MEAN else 1)


def _errors(function: Any, self: Array, target: Array) -> Array:
    """Return what `function(distance, inner)` leaves in the distances of two arrays; it is also given room for others of their size."""

    def block(out: Array, work: Array, x: Array, y: Array) -> None:
        np.subtract(x, y, out=out)
        function(np.abs(out, out=out), apart(out, work))

    return chained(block, self, target)


@refusing("biu", "smooth_l1_cpu")
def _smooth_l1(self: Array, target: Array, reduction: int, beta: float) -> Array:
    total = _huber_sum(self, target, reduction, beta)
    if total is not None:
        return self.dtype.type(total / beta)
    edge, factor = self.dtype.type(beta), self.dtype.type(0.5 / beta)

    def error(distance: Array, inner: Array) -> None:
        np.clip(distance, 0, edge, out=inner)
        distance -= inner
        inner *= inner
        inner *= factor
        distance += inner

    return reduce_array(_errors(error, self, target), reduction)


def _smooth_l1_backward(grad_output: Array, self: Array, target: Array, reduction: int, beta: float) -> Array:
    slope = np.clip((self - target) / self.dtype.type(beta), -1, 1)
    return slope * (grad_output * self.dtype.type(scale(reduction, self.size)))


def _smooth_l1_second(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: ArrayOrTensor, target: object, reduction: int, beta: float
) -> ArrayOrTensor:
    within = abs(self - target) < beta
    return _divided(grad * grad_output * within / beta, reduction, count(self))


smooth_l1_loss_backward: Operation = op(
    "smooth_l1_loss_backward(grad_output, self, target, reduction: int, beta: float)", "SmoothL1LossBackwardBackward0",
    "Gradient of the smooth absolute error.", layout="contiguous", forward=_smooth_l1_backward, unguarded=True, spaces=(),
    grads={
        "grad_output": applied("smooth_l1_loss_backward", "grad self target reduction beta"),
        "self": _smooth_l1_second,
        "target": lambda grad, grad_output, self, target, reduction, beta:
            -_smooth_l1_second(grad, grad_output, self, target, reduction, beta),
    },
)
_smooth_l1_loss = op(
    "_smooth_l1_loss(self, target, reduction: int = 1, beta: float = 1.0)", "SmoothL1LossBackward0",
    "Absolute error, squared below beta.", layout="operands", forward=_smooth_l1, dtypes="promote", spaces=(),
    grads={
        "self": applied("smooth_l1_loss_backward", "grad self target reduction beta"),
        "target": applied("smooth_l1_loss_backward", "grad target self reduction beta"),
    },
)


def _smooth_l1_function(
    input: Tensor, target: Tensor, size_average: object, reduce: object, reduction: str, beta: float
) -> Tensor:
    warn_sizes(input, target)
    code = chosen(size_average, reduce, reduction)
    left, right = broadcast_pair(input, target)
    if beta < 0:
        raise fail("value", "smooth_l1_loss does not support negative values for beta.")
    return _l1(left, right, code) if beta == 0 else _smooth_l1_loss(left, right, code, beta)


smooth_l1_loss = composite(
    f"smooth_l1_loss(input, target, {LEGACY}, beta: float = 1.0)",
    "Squared error where it is below beta, absolute error above.", _smooth_l1_function, F,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), reduction="none", beta=0.5),
             sample((2, 3), (2, 3), beta=-1.0, rejects="value")),
    note="Saves both input and target, whichever needs a gradient.",
)


@refusing("biu", "huber_cpu")
def _huber(self: Array, target: Array, reduction: int, delta: float) -> Array:
    total = _huber_sum(self, target, reduction, delta)
    if total is not None:
        return self.dtype.type(total)
    half = self.dtype.type(0.5)

    def error(distance: Array, inner: Array) -> None:
        np.clip(distance, 0, delta, out=inner)
        inner *= half
        distance -= inner
        inner += inner
        distance *= inner

    return reduce_array(_errors(error, self, target).astype(self.dtype, copy=False), reduction)


def _huber_backward(grad_output: Array, self: Array, target: Array, reduction: int, delta: float) -> Array:
    slope = np.clip(self - target, -delta, delta)
    return slope * (grad_output * self.dtype.type(scale(reduction, self.size)))


def _huber_second(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: ArrayOrTensor, target: object, reduction: int, delta: float
) -> ArrayOrTensor:
    within = abs(self - target) < delta
    return _divided(grad * grad_output * within, reduction, count(self))


def _second_grad_output(first: Any, grad: object, grad_output: object, reduction: int) -> ArrayOrTensor:
    """Return the gradient of the gradient's factor: `first` computes the loss's gradient for a given one."""
    if reduction == NONE:
        return first(grad)
    return find("sum")(first(find("ones_like")(grad_output)) * grad)


huber_loss_backward: Operation = op(
    "huber_loss_backward(grad_output, self, target, reduction: int, delta: float)", "HuberLossBackwardBackward0",
    "Gradient of the Huber loss.", layout="contiguous", forward=_huber_backward, unguarded=True, spaces=(),
    grads={
        "grad_output": lambda grad, grad_output, self, target, reduction, delta: _second_grad_output(
            lambda one: huber_loss_backward(one, self, target, reduction, delta), grad, grad_output, reduction),
        "self": _huber_second,
        "target": lambda grad, grad_output, self, target, reduction, delta:
            -_huber_second(grad, grad_output, self, target, reduction, delta),
    },
)
_huber_loss = op(
    "_huber_loss(self, target, reduction: int = 1, delta: float = 1.0)", "HuberLossBackward0",
    "Squared error, linear above delta.", layout="operands", forward=_huber, spaces=(),
    grads={
        "self": applied("huber_loss_backward", "grad self target reduction delta"),
        "target": applied("huber_loss_backward", "grad target self reduction delta"),
    },
)


def _huber_function(input: Tensor, target: Tensor, reduction: str, delta: float, weight: Any) -> Tensor:
    warn_sizes(input, target)
    left, right = broadcast_pair(input, target)
    if delta <= 0:
        raise fail("value", "huber_loss does not support non-positive values for delta.")
    if weight is None:
        return _huber_loss(left, right, number(reduction), delta)
    if tuple(weight.shape) != tuple(input.shape):
        raise fail("shape", "Weights and input must have the same size.", ValueError)
    return _weighted(_huber_loss(left, right, NONE, delta), weight, input, reduction, False)


huber_loss = composite(
    "huber_loss(input, target, reduction: str = 'mean', delta: float = 1.0, weight: Tensor? = None)",
    "Half the squared error where it is below delta, linear above.", _huber_function, F,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), reduction="none", delta=0.5)),
    note="Saves both input and target, whichever needs a gradient.",
)

# --- binary cross entropy ---------------------------------------------------------------------------------------


def _bce(self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    check_same_float(self, target)
    outside = [~((values >= 0) & (values <= 1)) for values in (self, target)]
    if outside[0].any() or outside[1].any():  # PyTorch looks at both element by element
        first, second = (int(np.argmax(one)) if one.any() else one.size for one in outside)
        raise fail("value", f"all elements of {'input' if first <= second else 'target'} should be between 0 and 1")
    loss = (target - 1) * np.maximum(np.log1p(-self), -100) - target * np.maximum(np.log(self), -100)
    return reduce_array(loss if weight is None else loss * weight, reduction)


def _bce_backward(grad_output: Array, self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    slope = (self - target) / np.maximum((1 - self) * self, 1e-12)
    if weight is not None:
        slope = slope * weight
    return slope * (grad_output * self.dtype.type(scale(reduction, self.size)))


def _bce_target(
    grad: ArrayOrTensor, self: ArrayOrTensor, target: ArrayOrTensor, weight: object, reduction: int
) -> ArrayOrTensor:
    return _divided(-find("logit")(self) * grad, reduction, count(target), 2, weight)


def _bce_second(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: Any, target: object, weight: object, reduction: int
) -> ArrayOrTensor:
    """Return the derivative of the gradient by the input; the product self (1 - self) is kept from 0 by 1e-12."""
    inner = self * self - self
    slope = grad * grad_output * (self * self - 2 * self * target + target)
    slope = slope / (inner * inner + 1e-12)
    slope = _divided(slope, SUM, 1, 1, weight)
    return over(slope, count(self)) if reduction == MEAN else slope


def _bce_second_target(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: Any, target: ArrayOrTensor, weight: object, reduction: int
) -> ArrayOrTensor:
    slope = -grad * grad_output / find("clamp_min")((1 - self) * self, 1e-12)
    return _divided(slope, reduction, count(target), 1, weight)


binary_cross_entropy_backward: Operation = op(
    "binary_cross_entropy_backward(grad_output, self, target, weight: Tensor? = None, reduction: int = 1)",
    "BinaryCrossEntropyBackwardBackward0", "Gradient of the binary cross entropy.",
    layout="operands", forward=_bce_backward, unguarded=True, spaces=(),
    grads={
        "grad_output": applied("binary_cross_entropy_backward", "grad self target weight reduction"),
        "self": _bce_second,
        "target": _bce_second_target,
    },
)
_binary_cross_entropy = op(
    "_binary_cross_entropy(self, target, weight: Tensor? = None, reduction: int = 1)", "BinaryCrossEntropyBackward0",
    "Binary cross entropy of probabilities.", layout="operands", forward=_bce, spaces=(),
    grads={
        "self": applied("binary_cross_entropy_backward", "grad self target weight reduction"),
        "target": _bce_target,
    },
)


def _bce_function(
    input: Tensor, target: Tensor, weight: Tensor | None, size_average: object, reduce: object, reduction: str
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    if tuple(target.shape) != tuple(input.shape):
        message = (
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
        raise fail("shape", message, ValueError)
    if weight is not None and tuple(weight.shape) != tuple(target.shape):
        weight = find("expand")(weight, tuple(target.shape))
    no_gradient(weight, "weight", "binary_cross_entropy")
    return _binary_cross_entropy(input, target, weight, code)


binary_cross_entropy = composite(
    f"binary_cross_entropy(input, target, weight: Tensor? = None, {LEGACY})",
    "Binary cross entropy: -(target log input + (1 - target) log(1 - input)), averaged.", _bce_function, F,
    note="Saves both input and target, whichever needs a gradient. The logarithms are kept above -100, so the loss is finite at 0 and 1.",
)


def _bce_logits(self: Array, target: Array, weight: object, pos_weight: Array | None, reduction: int) -> Array:
    """Return the loss in the target's dtype: PyTorch computes it in place of 1 - target."""
    if target.dtype.kind != "f":
        given, wanted = of_numpy(self.dtype).title, of_numpy(target.dtype).title
        raise fail("dtype", f"result type {given} can't be cast to the desired output type {wanted}")
    tail = log1p(np.exp(-np.abs(self))) - np.minimum(self, 0)  # -log sigmoid(self), without overflow
    if pos_weight is not None:
        tail = ((pos_weight - 1) * target + 1) * tail
    loss = ((1 - target) * self + tail).astype(target.dtype, copy=False)
    return reduce_array(loss if weight is None else loss * weight, reduction)


def _bce_logits_backward(
    grad: ArrayOrTensor, self: ArrayOrTensor, target: ArrayOrTensor, weight: object, pos_weight: ArrayOrTensor | None,
    reduction: int,
) -> ArrayOrTensor:
    """Return the gradient by the input, as operations: a pass under create_graph differentiates them."""
    sigmoid = find("sigmoid")
    if pos_weight is None:
        slope = (sigmoid(self) - target) * grad
    else:
        positive = pos_weight * target
        slope = ((plus(positive, 1) - target) * sigmoid(self) - positive) * grad
    if isinstance(slope, Tensor):  # PyTorch writes to nothing that is recorded, the division for the mean aside
        return _divided(slope if weight is None else slope * weight, reduction, count(self))
    return _divided(slope, reduction, count(self), 2 if pos_weight is None else 4, weight)


def _bce_logits_target(
    grad: ArrayOrTensor, self: ArrayOrTensor, target: ArrayOrTensor, weight: object, pos_weight: object, reduction: int
) -> ArrayOrTensor:
    log_sigmoid = find("log_sigmoid_forward")
    logarithms = -self if pos_weight is None else log_sigmoid(-self) - log_sigmoid(self) * pos_weight
    return _divided(logarithms * grad, reduction, count(target), 0 if pos_weight is None else 2, weight)


_binary_cross_entropy_with_logits = op(
    "_binary_cross_entropy_with_logits(self, target, weight: Tensor? = None, pos_weight: Tensor? = None, "
    "reduction: int = 1)",
    "BinaryCrossEntropyWithLogitsBackward0", "Binary cross entropy of logits.",
    layout="reversed", forward=_bce_logits, dtypes="keep", spaces=(), unguarded=True,
    grads={"self": _bce_logits_backward, "target": _bce_logits_target},
)


def _bce_logits_function(
    input: Tensor, target: Tensor, weight: Tensor | None, size_average: object, reduce: object, reduction: str,
    pos_weight: Tensor | None,
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    if tuple(target.shape) != tuple(input.shape):
        raise fail("shape", f"Target size ({target.shape}) must be the same as input size ({input.shape})", ValueError)
    no_gradient(weight, "weight", "binary_cross_entropy_with_logits")
    no_gradient(pos_weight, "pos_weight", "binary_cross_entropy_with_logits")
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


binary_cross_entropy_with_logits = composite(
    f"binary_cross_entropy_with_logits(input, target, weight: Tensor? = None, {LEGACY}, pos_weight: Tensor? = None)",
    "Binary cross entropy of sigmoid(input), without overflow.", _bce_logits_function, F,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 3), reduction="none"), sample((2, 3), (3,), rejects="shape")),
)
