"""Keeping numbers within bounds: clamp and its one-sided forms."""

from typing import Any

from gradsh.engine.dispatch.declare import alias, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import bounded, together
from gradsh.ops.select import where
from gradsh.text.fault import fail


def _clamp(self: Array, min: Array | float | None, max: Array | float | None) -> Array:
    if min is None and max is None:
        raise fail("value", "torch.clamp: At least one of 'min' or 'max' must not be None")
    self, low, high = together(self, min, max)
    return bounded(self, low, high)


def _joined(name: str, a: ArrayOrTensor, b: ArrayOrTensor) -> ArrayOrTensor:
    """Join two conditions, in PyTorch's derivative in place."""
    found = find(name)(a, b)
    if isinstance(found, Tensor):
        found.counter.version = 1
    return found


def _and(a: ArrayOrTensor, b: ArrayOrTensor) -> ArrayOrTensor:
    return _joined("logical_and", a, b)


def _inside(grad: ArrayOrTensor, self: ArrayOrTensor, min: ArrayOrTensor | float | None, max: object) -> Any:
    """Let the gradient through within the bounds, these included."""
    if min is None:
        return where(self <= max, grad, 0.0)
    if max is None:
        return where(self >= min, grad, 0.0)
    return where(_and(self >= min, self <= max), grad, 0.0)


def _bounds(
    grad: ArrayOrTensor, self: ArrayOrTensor, min: ArrayOrTensor, max: object, needs: tuple[bool, ...]
) -> Gradients:
    """The gradient goes to the bound that was taken; to `max` where the bounds are crossed."""
    if max is None:
        return where(self < min, grad, 0.0), None
    if min is None:
        return None, where(self > max, grad, 0.0)
    low = where(_and(self < min, min < max), grad, 0.0) if needs[0] else None
    high = where(_joined("logical_or", self > max, max < min), grad, 0.0) if needs[1] else None
    return low, high


_TENSORS: dict[object, object] = {"self": _inside, ("min", "max"): _bounds}
clamp: Operation = op(
    "clamp(self, min: Tensor? = None, max: Tensor? = None)", "ClampBackward0", "Keep each element within [min, max].",
    layout="operands", forward=_clamp, inplace=True, grads=_TENSORS, samples=(sample((2, 3), (3,), None),),
)
op(
    "clamp(self, min: number? = None, max: number? = None)", "ClampBackward1", "Keep each element within [min, max].",
    layout="operands", forward=_clamp, inplace=True, grads={"self": _inside}, samples=(sample((2, 3), -0.5, 0.5), sample((2, 3), max=0.3)),
    note="At a bound the gradient is 1. With tensors as bounds it is ClampBackward0.",
)
op(
    "clamp_min(self, min)", "ClampMinBackward1", "The larger of each element and `min`.", layout="operands", inplace=True,
    forward=lambda self, min: _clamp(self, min, None), samples=(sample((2, 3), (3,)),),
    grads={"self": lambda grad, self, min: where(self >= min, grad, 0.0),
           "min": lambda grad, self, min: where(self < min, grad, 0.0)},
)
op(
    "clamp_min(self, min: number)", "ClampMinBackward0", "The larger of each element and `min`.", inplace=True,
    layout="operands", forward=lambda self, min: _clamp(self, min, None), samples=(sample((2, 3), 0.2),),
    grads={"self": lambda grad, self, min: where(self >= min, grad, 0.0)},
)
op(
    "clamp_max(self, max)", "ClampMaxBackward1", "The smaller of each element and `max`.", layout="operands", inplace=True,
    forward=lambda self, max: _clamp(self, None, max), samples=(sample((2, 3), (3,)),),
    grads={"self": lambda grad, self, max: where(self <= max, grad, 0.0),
           "max": lambda grad, self, max: where(self > max, grad, 0.0)},
)
op(
    "clamp_max(self, max: number)", "ClampMaxBackward0", "The smaller of each element and `max`.", inplace=True,
    layout="operands", forward=lambda self, max: _clamp(self, None, max), samples=(sample((2, 3), 0.2),),
    grads={"self": lambda grad, self, max: where(self <= max, grad, 0.0)},
)
alias("clip", clamp)
