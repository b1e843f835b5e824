"""Losses of classes: the negative log likelihood and cross entropy."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy
from gradsh.engine.values.shape import at_dim
from gradsh.ops.arguments import no_gradient
from gradsh.ops.fused import cross_entropy_at_once
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.loss import F
from gradsh.ops.reduction import MEAN, NONE, chosen, reduced
from gradsh.ops.scalars import over, plus, times
from gradsh.ops.softmax import log_softmax_array
from gradsh.text.fault import fail


def _check_classes(self: Array, target: Array, weight: Array | None, ignore_index: int, classes: int) -> None:
    if target.dtype not in (np.int64, np.uint8):
        raise fail("dtype", f"expected target dtype to be Long or Byte, but got {of_numpy(target.dtype).title}")
    if weight is not None and (weight.ndim != 1 or weight.size != classes):
        message = (
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
        raise fail("shape", message)
    if weight is not None and weight.dtype != self.dtype:
        wanted, got = of_numpy(self.dtype).title, of_numpy(weight.dtype).title
        raise fail("dtype", f"expected scalar type {wanted} but found {got}")
    if not target.size or (np.minimum.reduce(target, None) >= 0 and np.maximum.reduce(target, None) < classes):
        return
    wrong = (target != ignore_index) & ((target < 0) | (target >= classes))
    if wrong.any():
        raise fail("index", f"Target {int(target[wrong][0])} is out of bounds.", IndexError)


def _picked(target: Array, weight: Array | None, ignore_index: int, dtype: NumpyDType) -> tuple[Array, Array]:
    """Return the class to read for each target (0 where ignored) and the weight it counts with (0 where ignored)."""
    used = target != ignore_index
    classes = np.where(used, target, 0).astype(np.int64)
    if weight is None:
        return classes, used.astype(dtype)
    return classes, np.where(used, weight[classes], dtype.type(0))


def _places(self: Array, target: Array, weight: Array | None, ignore_index: int) -> Array | None:
    """Return where the targets of rows of classes lie in memory; None where one may be ignored or is weighted."""
    plain = self.ndim == 2 and self.size and weight is None and not 0 <= ignore_index < self.shape[1] and self.flags.c_contiguous
    return target + np.arange(0, self.size, self.shape[1]) if plain and np.minimum.reduce(target, None) >= 0 else None


def _nll_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, ...]:
    """Compute the loss for classes along dim 1 (dim 0 of one row), and the sum of the weights that counted."""
    axis = 1 if self.ndim > 1 else 0
    _check_classes(self, target, weight, ignore_index, self.shape[axis])
    zero = np.zeros((), self.dtype)
    places = _places(self, target, weight, ignore_index)
    if places is not None:
        losses = np.negative(self.reshape(-1)[places])
        if reduction == NONE:
            return losses, zero
        total = np.full((), target.size, self.dtype)
        value = np.add.reduce(losses)
        return np.asarray(value / total if reduction == MEAN else value), total
    classes, factor = _picked(target, weight, ignore_index, self.dtype)
    if self.shape[axis] == 0:
        chosen_values = np.zeros(target.shape, self.dtype)
    else:
        chosen_values = np.take_along_axis(self, np.expand_dims(classes, axis), axis).squeeze(axis)
    loss = np.where(factor == 0, self.dtype.type(0), -chosen_values * factor)
    if reduction == NONE:
        total = np.ones((), self.dtype) if self.ndim == 1 and weight is None else zero
        return loss, (total if self.ndim == 1 else zero)
    total = np.asarray(np.add.reduce(factor, axis=None), self.dtype)
    value = np.add.reduce(loss, axis=None)
    return np.asarray(value / total if reduction == MEAN else value), total


def _nll_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int,
    total_weight: Array,
) -> Array:
    axis = 1 if self.ndim > 1 else 0
    grad = np.zeros(self.shape, self.dtype)
    places = _places(grad, target, weight, ignore_index)
    if places is not None:
        grad.reshape(-1)[places] = -grad_output / total_weight if reduction == MEAN else -grad_output
        return grad
    classes, factor = _picked(target, weight, ignore_index, self.dtype)
    slope = -factor * grad_output
    if reduction == MEAN:
        slope = slope / total_weight
    if grad.size:
        slope = np.where(factor == 0, self.dtype.type(0), slope)
        np.put_along_axis(grad, np.expand_dims(classes, axis), np.expand_dims(slope, axis), axis)
    return grad


_ARGUMENTS = "target, weight: Tensor? = None, reduction: int = 1, ignore_index: int = -100"


def _second(grad: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> ArrayOrTensor:
    return nll_loss_nd(grad, target, weight, reduction, ignore_index)


def _likelihood(name: str, node: str) -> tuple[Any, Any]:
    """Declare the loss and its gradient under the names that rows of classes, or images of classes, have."""
    backward = op(
        f"{name}_backward(grad_output, self, target, weight: Tensor?, reduction: int, ignore_index: int, total_weight)",
        f"{node}BackwardBackward0", "Gradient of the negative log likelihood.", forward=_nll_backward, spaces=(),
        grads={"grad_output": _second, "self": lambda grad: find("zeros_like")(grad)},
        unguarded=True, saves=(),
    )
    forward = op(
        f"{name}_forward(self, {_ARGUMENTS})", f"{node}Backward0", "Negative log likelihood of classes.",
        forward=_nll_forward, spaces=(), outputs=("output", "total_weight"), returns=1,
        grads={
            "self": lambda grad, self, target, weight, reduction, ignore_index, total_weight:
                backward(grad, self, target, weight, reduction, ignore_index, total_weight),
        },
    )
    return forward, backward


nll_loss_forward, nll_loss_backward = _likelihood("nll_loss", "NllLoss")
nll_loss2d_forward, nll_loss2d_backward = _likelihood("nll_loss2d", "NllLoss2D")


def nll_loss_nd(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    """Compute the loss for input of any number of dimensions: (C), (N, C) or (N, C, d1, …)."""
    ndim = len(input.shape)
    if ndim < 1:
        raise fail("shape", "Expected 1 or more dimensions (got 0)", ValueError)
    if ndim != 1 and (not target.shape or input.shape[0] != target.shape[0]):
        rows = target.shape[0] if target.shape else 0
        message = f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({rows})."
        raise fail("shape", message, ValueError)
    if ndim <= 2:
        return _rows(input, target, weight, reduction, ignore_index)
    if ndim == 4:
        return _images(input, target, weight, reduction, ignore_index)
    return _any_dims(input, target, weight, reduction, ignore_index)


def _rows(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    if len(target.shape) > 1:
        raise fail("shape", "0D or 1D target tensor expected, multi-target not supported")
    if len(input.shape) == 1 and target.shape and target.shape[0] != 1:
        message = f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
        raise fail("shape", message, ValueError)
    no_gradient(weight, "weight", "nll_loss_forward")
    return nll_loss_forward(input, target, weight, reduction, ignore_index)


def _images(input: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> Tensor:
    if len(target.shape) != 3:
        message = (
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{len(target.shape)}"
        )
        raise fail("shape", message)
    if weight is not None and math.prod(weight.shape) != input.shape[1]:
        raise fail("shape", "weight tensor should be defined either for all or no classes")
    if (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        raise fail("shape", f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}")
    no_gradient(weight, "weight", "nll_loss2d_forward")
    return nll_loss2d_forward(input, target, weight, reduction, ignore_index)


def _any_dims(input: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> Tensor:
    """Fold all dims after the classes into one image of height 1, as PyTorch does."""
    rows, classes, *rest = input.shape
    out = (rows, *rest)
    if tuple(target.shape[1:]) != tuple(rest):
        raise fail("shape", f"Expected target size {list(out)}, got {list(target.shape)}")
    view, reshape = find("view"), find("reshape")
    if array_of(input).size:
        input = _flat(input, (rows, classes, 1, -1), view, reshape)
        target = _flat(target, (rows, 1, -1), view, reshape)
    else:
        input = view(input, (rows, classes, 0, 0))
        target = view(target, (rows, 0, 0))
    loss = _images(input, target, weight, reduction, ignore_index)
    return view(loss, out) if reduction == NONE else loss


def _flat(value: Tensor, shape: tuple[int, ...], view: Any, reshape: Any) -> Tensor:
    return (view if array_of(value).flags.c_contiguous else reshape)(value, shape)


def _nll_function(
    input: Tensor, target: Tensor, weight: Tensor | None, size_average: object, ignore_index: int, reduce: object,
    reduction: str,
) -> Tensor:
    return nll_loss_nd(input, target, weight, chosen(size_average, reduce, reduction), ignore_index)


nll_loss = composite(
    "nll_loss(input, target, weight: Tensor? = None, size_average: any? = None, ignore_index: int = -100, "
    "reduce: any? = None, reduction: str = 'mean')",
    "Negative log likelihood: minus the input at each target's class, averaged with the classes' weights.",
    _nll_function, F,
    note="Saves its input, whose values the gradient does not use, and the sum of the weights that counted.",
)

# --- cross_entropy ----------------------------------------------------------------------------------------------


def _cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, size_average: object, ignore_index: int, reduce: object,
    reduction: str, label_smoothing: float,
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    if tuple(input.shape) == tuple(target.shape):
        if array_of(target).dtype.kind != "f":
            title = of_numpy(array_of(target).dtype).title
            raise fail("dtype", f"Expected floating point type for target with class probabilities, got {title}")
        if ignore_index >= 0:
            raise fail("value", "ignore_index is not supported for floating point target")
        return _probabilities(input, target, weight, code, label_smoothing)
    if weight is None and not label_smoothing > 0:
        found = cross_entropy_at_once(
            find("log_softmax").records[0], nll_loss_forward.records[0], log_softmax_array, input, target, code, ignore_index
        )
        if found is not None:
            return found
    class_dim = 0 if len(input.shape) == 1 else 1
    log_probabilities = find("log_softmax")(input, class_dim)
    if label_smoothing > 0:
        return _smoothed(log_probabilities, target, weight, code, ignore_index, label_smoothing, class_dim)
    return nll_loss_nd(log_probabilities, target, weight, code, ignore_index)


def _check_smoothing(label_smoothing: float) -> None:
    if not 0.0 <= label_smoothing <= 1.0:
        raise fail("value", f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _check_weight(weight: Any, classes: int) -> None:
    if weight is not None and (len(weight.shape) != 1 or weight.shape[0] != classes):
        message = (
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
        raise fail("shape", message)


def _along(weight: Any, class_dim: int, ndim: int) -> ArrayOrTensor:
    """Give the weights the shape that broadcasts along the classes."""
    return find("view")(weight, tuple(weight.shape[0] if dim == class_dim else 1 for dim in range(ndim)))


def _probabilities(input: Tensor, target: object, weight: object, reduction: int, label_smoothing: float) -> Any:
    """Compute the cross entropy against a distribution over the classes."""
    class_dim = 0 if len(input.shape) == 1 else 1
    classes = at_dim(tuple(input.shape), class_dim)
    _check_weight(weight, classes)
    log_probabilities = find("log_softmax")(input, class_dim)
    if label_smoothing > 0.0:
        _check_smoothing(label_smoothing)
        target = plus(times(target, 1 - label_smoothing), label_smoothing / classes)
    product = log_probabilities * target
    if weight is not None:
        product = product * _along(weight, class_dim, len(input.shape))
    if reduction == NONE:
        return -find("sum")(product, class_dim)
    if reduction == MEAN and not array_of(input).size:
        return -find("fill_")(find("sum")(product), float("nan"))
    total = -find("sum")(product)
    rows = array_of(input).size // max(classes, 1) if classes else 0
    return over(total, rows) if reduction == MEAN else total


def _smoothed(
    values: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int, label_smoothing: float,
    class_dim: int,
) -> Any:
    """Mix the loss at the target with the loss spread evenly over all classes."""
    _check_smoothing(label_smoothing)
    classes = values.shape[class_dim]
    loss = nll_loss_nd(values, target, weight, reduction, ignore_index)
    if weight is not None:
        spread = -find("sum")(values * _along(weight, class_dim, len(values.shape)), class_dim)
    else:
        spread = -find("sum")(values, class_dim)
    ignored = find("eq")(target, ignore_index)
    spread = find("masked_fill")(spread, ignored, 0.0)
    if reduction == MEAN and weight is not None:
        total = find("sum")(spread)
        if not array_of(values).size or bool(array_of(ignored).all()):
            mean = total / find("sum")(find("logical_not")(ignored))
        else:
            counted = find("masked_fill")(find("gather")(weight, 0, find("flatten")(
                find("masked_fill")(target, ignored, 0))), find("flatten")(ignored), 0)
            mean = total / find("sum")(counted)
    elif reduction == MEAN:
        mean = find("sum")(spread) / find("sum")(find("logical_not")(ignored))
    else:
        mean = reduced(spread, reduction)
    return times(loss, 1 - label_smoothing) + times(mean, label_smoothing / classes)


cross_entropy = composite(
    "cross_entropy(input, target, weight: Tensor? = None, size_average: any? = None, ignore_index: int = -100, "
    "reduce: any? = None, reduction: str = 'mean', label_smoothing: float = 0.0)",
    "Cross entropy of the softmax of input against classes or probabilities.", _cross_entropy, F,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (2, 4), rejects="shape")),
    note="Has no node of its own: LogSoftmax and NllLoss.",
)
