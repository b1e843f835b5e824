"""A tensor and a number that is no tensor: the products, sums and quotients with constants inside derivatives.

In a script `x * 2` wraps the number as a tensor of its own, which the node saves. PyTorch's derivatives multiply by a
plain number instead: MulBackward1, which saves no tensor. So `times(grad, 2)` stands in formulas where the graph of a
gradient must come out as PyTorch's. On plain arrays these are numpy's operators.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import note
from gradsh.engine.dispatch.declare import op
from gradsh.engine.graph.tensor import ArrayOrTensor
from gradsh.engine.registry import find
from gradsh.ops.kernels.common import together

_PLAIN = (np.ndarray, np.generic)


def _promoted(function: Callable[[object, object], object]) -> Callable[[object, object], object]:
    """Return a kernel that first brings tensor and number to their common dtype."""
    return lambda self, other: function(*together(self, other))


_mul = op(
    "_mul_scalar(self, other: number)", "MulBackward1", "Product with a constant.",
    layout="operands", forward=_promoted(operator.mul), grads={"self": lambda grad, other: times(grad, other)}, spaces=(), inplace=True,
)
_add = op(
    "_add_scalar(self, other: number)", "AddBackward1", "Sum with a constant.",
    layout="operands", forward=_promoted(operator.add), grads={"self": lambda grad: grad}, spaces=(),
)
_sub = op(
    "_sub_scalar(self, other: number)", "SubBackward1", "Difference from a constant.",
    layout="operands", forward=_promoted(operator.sub), grads={"self": lambda grad: grad}, spaces=(),
)
_div = op(
    "_div_scalar(self, other: number)", "DivBackward1", "Quotient by a constant.",
    layout="operands", forward=_promoted(operator.truediv), grads={"self": lambda grad, other: over(grad, other)}, spaces=(),
)


def times(value: Any, number: Any) -> Any:
    """Return value * number."""
    return value * number if isinstance(value, _PLAIN) else _mul(value, number)


def number_minus(number: float, value: Any) -> Any:
    """Return number - value, which PyTorch's derivatives compute in a tensor that they fill and subtract from in place."""
    if isinstance(value, _PLAIN):
        return np.subtract(number, value)
    return note(find("sub")(number, value), 2)


def number_over(number: float, value: Any) -> Any:
    """Return number / value, which PyTorch's derivatives compute in a tensor that they fill and divide in place."""
    if isinstance(value, _PLAIN):
        return np.divide(number, value)
    return note(find("div")(find("full_like")(value, number), value), 2)


def plus(value: ArrayOrTensor, number: float) -> Any:
    """Return value + number."""
    return value + number if isinstance(value, _PLAIN) else _add(value, number)


def minus(value: ArrayOrTensor, number: float) -> ArrayOrTensor:
    """Return value - number."""
    return value - number if isinstance(value, _PLAIN) else _sub(value, number)


def over(value: ArrayOrTensor, number: float) -> ArrayOrTensor:
    """Return value / number."""
    return value / number if isinstance(value, _PLAIN) else _div(value, number)
