"""Losses of labels beyond cross entropy: margins between classes, sets of labels, sequences of labels (ctc)."""

from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import broadcast_shapes
from gradsh.ops.arguments import no_gradient
from gradsh.ops.kernels.ctc import ctc_backward, ctc_forward
from gradsh.ops.kernels.elementary import log1p
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.loss import LEGACY, F
from gradsh.ops.reduction import MEAN, NONE, chosen, number, reduce_array, scale
from gradsh.ops.scalars import over
from gradsh.text.fault import fail

# --- soft_margin_loss -------------------------------------------------------------------------------------------


def _soft_margin(self: Array, target: Array, reduction: int) -> Array:
    broadcast_shapes(self.shape, target.shape)
    return reduce_array(log1p(np.exp(-target * self)), reduction)


def _soft_margin_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    z = np.exp(-target * self)
    slope: Array = -target * z * (grad_output * self.dtype.type(scale(reduction, self.size))) / (z + 1)
    return slope


def _soft_margin_second(
    grad: ArrayOrTensor, grad_output: ArrayOrTensor, self: object, target: ArrayOrTensor, reduction: int
) -> ArrayOrTensor:
    z = find("exp")(self * -target)
    found = grad * grad_output * (target * target) * z / ((z + 1) * (z + 1))
    return over(found, array_of(self).size) if reduction == MEAN else found


def _soft_margin_factor(grad: object, grad_output: object, self: object, target: object, reduction: int) -> ArrayOrTensor:
    if reduction == NONE:
        return soft_margin_loss_backward(grad, self, target, reduction)
    ones = find("ones_like")(grad_output)
    return find("sum")(soft_margin_loss_backward(ones, self, target, reduction) * grad)


soft_margin_loss_backward: Operation = op(
    "soft_margin_loss_backward(grad_output, self, target, reduction: int)", "SoftMarginLossBackwardBackward0",
    "Gradient of the soft margin loss.", layout="operands", forward=_soft_margin_backward, unguarded=True, spaces=(),
    grads={"grad_output": _soft_margin_factor, "self": _soft_margin_second},
)
_soft_margin_loss = op(
    "_soft_margin_loss(self, target, reduction: int = 1)", "SoftMarginLossBackward0", "log(1 + exp(-target self)).",
    layout="operands", forward=_soft_margin, spaces=(),
    grads={"self": lambda grad, self, target, reduction: soft_margin_loss_backward(grad, self, target, reduction)},
)


def _soft_margin_function(input: Tensor, target: Tensor, size_average: object, reduce: object, reduction: str) -> Tensor:
    no_gradient(target, "target", "soft_margin_loss")
    return _soft_margin_loss(input, target, chosen(size_average, reduce, reduction))


soft_margin_loss = composite(
    f"soft_margin_loss(input, target, {LEGACY})", "log(1 + exp(-target input)), averaged; targets are 1 and -1.",
    _soft_margin_function, F,
)

# --- multi_margin_loss ------------------------------------------------------------------------------------------


def _classes(self: Array) -> int:
    return self.shape[-1] if self.ndim else 1


def _margins(self: Array, target: Array, margin: float) -> tuple[Array, Array, Array]:
    """Return for rows of classes how far each class comes within the margin, the rows' numbers and the targets."""
    rows = self.reshape(-1, _classes(self))
    wanted = target.reshape(-1)
    if wanted.size and (wanted.min() < 0 or wanted.max() >= rows.shape[1]):
        raise fail("index", "target out of range")
    lines = np.arange(rows.shape[0])
    z = margin - rows[lines, wanted][:, None] + rows
    z[lines, wanted] = 0
    return np.maximum(z, 0), lines, wanted


def _check_margin(self: Array, target: Array) -> None:
    if self.ndim > 2 or _classes(self) == 0:
        message = f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        raise fail("shape", message)
    rows = self.shape[0] if self.ndim == 2 else 1
    if target.ndim > 1 or target.size != rows:
        message = (
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {list(target.shape)}. Input has shape {list(self.shape)}."
        )
        raise fail("shape", message)


def _multi_margin(self: Array, target: Array, p: int, margin: float, weight: Any, reduction: int) -> ArrayOrTensor:
    _check_margin(self, target)
    z, _, wanted = _margins(self, target, margin)
    loss = z if p == 1 else z * z
    if weight is not None:
        loss = loss * weight[wanted][:, None]
    total = np.add.reduce(loss, axis=1) / self.dtype.type(_classes(self))
    return reduce_array(total.reshape(target.shape), reduction)


def _multi_margin_backward(
    grad_output: Array, self: Array, target: Array, p: int, margin: float, weight: Any, reduction: int
) -> Array:
    z, lines, wanted = _margins(self, target, margin)
    slope = (z > 0).astype(self.dtype) if p == 1 else 2 * z
    if weight is not None:
        slope = slope * weight[wanted][:, None]
    slope = slope * self.dtype.type(scale(reduction, wanted.size) / _classes(self))
    slope[lines, wanted] = -np.add.reduce(slope, axis=1)
    found: Array = slope * grad_output.reshape(-1, 1)
    return found.reshape(self.shape)


multi_margin_loss_backward = op(
    "multi_margin_loss_backward(grad_output, self, target, p: int, margin: float, weight: Tensor?, reduction: int)",
    "", "Gradient of the margin between classes. It has no derivative.", forward=_multi_margin_backward, spaces=(),
    grads={"grad_output": None, "self": None},
)
_multi_margin_loss = op(
    "_multi_margin_loss(self, target, p: int, margin: float, weight: Tensor?, reduction: int)",
    "MultiMarginLossBackward0", "Margin between the target's class and all others.", forward=_multi_margin, spaces=(),
    grads={
        "self": lambda grad, self, target, p, margin, weight, reduction:
            multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction),
    },
    reduced="multi_margin_loss_cpu_kernel",
)


def _multi_margin_function(
    input: Tensor, target: Tensor, p: int, margin: float, weight: Any, size_average: object, reduce: object, reduction: str
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    if p not in (1, 2):
        raise fail("value", "only p == 1 and p == 2 supported", ValueError)
    if weight is not None and len(weight.shape) != 1:
        raise fail("shape", "weight must be one-dimensional", ValueError)
    no_gradient(weight, "weight", "multi_margin_loss")
    return _multi_margin_loss(input, target, int(p), float(margin), weight, code)


multi_margin_loss = composite(
    "multi_margin_loss(input, target, p: number = 1, margin: number = 1.0, weight: Tensor? = None, "
    "size_average: any? = None, reduce: any? = None, reduction: str = 'mean')",
    "max(0, margin - input[target] + input)**p summed over the other classes.", _multi_margin_function, F,
)

# --- multilabel_margin_loss -------------------------------------------------------------------------------------


def _labels(self: Array, target: Array) -> tuple[Array, Array, Array, Array]:
    """Return rows, targets, which targets stand before the first -1, and which classes are targets."""
    if target.shape != self.shape:
        raise fail("shape", f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    rows, wanted = (one.reshape(-1, self.shape[-1] if self.ndim else 1) for one in (self, target))
    if wanted.size and (wanted.min() < -1 or wanted.max() >= rows.shape[1]):
        raise fail("index", "argument #2 'target' is out of range")
    valid = np.logical_and.accumulate(wanted >= 0, axis=1)
    is_target = np.zeros(rows.shape, np.bool_)
    lines = np.broadcast_to(np.arange(rows.shape[0])[:, None], wanted.shape)
    is_target[lines[valid], wanted[valid]] = True
    return rows, np.where(valid, wanted, 0), valid, is_target


def _violations(rows: Array, wanted: Array, valid: Array, is_target: Array) -> Array:
    """Return (row, target, class): how far each class that is no target comes within 1 of each target."""
    z = 1 - np.take_along_axis(rows, wanted, 1)[:, :, None] + rows[:, None, :]
    found: Array = np.where(valid[:, :, None] & ~is_target[:, None, :], np.maximum(z, 0), rows.dtype.type(0))
    return found


def _multilabel(self: Array, target: Array, reduction: int) -> tuple[object, Array]:
    rows, wanted, valid, is_target = _labels(self, target)
    total = np.add.reduce(_violations(rows, wanted, valid, is_target), axis=(1, 2)) / self.dtype.type(rows.shape[1])
    loss = reduce_array(total.reshape(self.shape[:-1]), reduction)
    return loss, is_target.reshape(self.shape).astype(self.dtype)


def _multilabel_backward(
    grad_output: Array, self: Array, target: Array, reduction: int, is_target: Array
) -> Array:
    rows, wanted, valid, marked = _labels(self, target)
    hit = (_violations(rows, wanted, valid, marked) > 0).astype(self.dtype)
    slope = np.add.reduce(hit, axis=1)
    lines = np.broadcast_to(np.arange(rows.shape[0])[:, None], wanted.shape)
    np.subtract.at(slope, (lines, wanted), np.add.reduce(hit, axis=2))
    slope = slope * self.dtype.type(scale(reduction, rows.shape[0]) / rows.shape[1])
    found: Array = slope * grad_output.reshape(-1, 1)
    return found.reshape(self.shape)


multilabel_margin_loss_backward = op(
    "multilabel_margin_loss_backward(grad_output, self, target, reduction: int, is_target)", "",
    "Gradient of the margin of label sets. It has no derivative.", forward=_multilabel_backward, spaces=(),
    grads={"grad_output": None, "self": None},
)
multilabel_margin_loss_forward = op(
    "multilabel_margin_loss_forward(self, target, reduction: int)", "MultilabelMarginLossBackward0",
    "Margin of label sets.", forward=_multilabel, spaces=(), outputs=("output", "is_target"), returns=1,
    grads={
        "self": lambda grad, self, target, reduction, is_target:
            multilabel_margin_loss_backward(grad, self, target, reduction, is_target),
    },
    reduced="multilabel_margin_loss_forward_out_frame",
)
multilabel_margin_loss = composite(
    f"multilabel_margin_loss(input, target, {LEGACY})",
    "max(0, 1 - input[label] + input[other]) over labels and other classes; a target row ends at its first -1.",
    lambda input, target, size_average, reduce, reduction:
        multilabel_margin_loss_forward(input, target, chosen(size_average, reduce, reduction)),
    F,
)

# --- ctc_loss ---------------------------------------------------------------------------------------------------

_ctc_loss_backward = op(
    "_ctc_loss_backward(grad, log_probs, targets, input_lengths: ints, target_lengths: ints, neg_log_likelihood, "
    "log_alpha, blank: int, zero_infinity: bool)",
    "", "Gradient of the ctc loss. It has no derivative.", forward=ctc_backward, spaces=(),
    grads={"grad": None, "log_probs": None, "neg_log_likelihood": None},
)
_ctc_loss = op(
    "_ctc_loss(log_probs, targets, input_lengths: ints, target_lengths: ints, blank: int, zero_infinity: bool)",
    "CtcLossBackward0", "Negative log likelihood of label sequences.", spaces=(), returns=1,
    forward=lambda log_probs, targets, input_lengths, target_lengths, blank, zero_infinity:
        ctc_forward(log_probs, targets, input_lengths, target_lengths, blank),
    grads={
        "log_probs":
            lambda grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity:
                _ctc_loss_backward(
                    grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity),
    },
    outputs=("result0", "result1"),
    reduced="ctc_loss_cpu",
)


def _lengths(value: object, name: str) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(int(n) for n in value)
    lengths = np.atleast_1d(array_of(value))
    if lengths.dtype.kind not in "iu":
        raise fail("dtype", f"{name} must be integral")
    return tuple(int(n) for n in lengths)


def _ctc(
    log_probs: Tensor, targets: Tensor, input_lengths: list[int], target_lengths: list[int], blank: int, reduction: str,
    zero_infinity: bool,
) -> Tensor:
    code = number(reduction) if isinstance(reduction, str) else int(reduction)
    batched = len(log_probs.shape) == 3
    rows = log_probs if batched else find("unsqueeze")(log_probs, 1)
    inputs, lengths = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    loss = _ctc_loss(rows, find("to")(targets, np.dtype(np.int64)), inputs, lengths, blank, zero_infinity)
    if zero_infinity:
        loss = find("where")(find("eq")(loss, float("inf")), make(np.zeros((), array_of(loss).dtype)), loss)
    if code == MEAN:
        divisor = make(np.maximum(np.array(lengths), 1).astype(array_of(loss).dtype))
        return find("mean")(loss / divisor)
    if code != NONE:
        return find("sum")(loss)
    return loss if batched else find("squeeze")(loss, 0)


ctc_loss = composite(
    "ctc_loss(log_probs, targets, input_lengths: any, target_lengths: any, blank: int = 0, reduction: any = 'mean', "
    "zero_infinity: bool = False)",
    "Negative log likelihood of label sequences whose places in time are unknown.", _ctc, ("torch", "F"),
)
