"""Sums, differences, products, quotients and their operators."""

from typing import Any

import numpy as np

from gradsh.engine.op import alias, find, implements, op, sample
from gradsh.engine.tensor import Tensor
from gradsh.ops.operators import binary, inplace, reflected


def _scaled(other: Any, alpha: Any) -> Any:
    return other if isinstance(alpha, int) and alpha == 1 else other * alpha


add = op(
    "add(self: Operand, other: Operand, *, alpha: number = 1)", "AddBackward0", "Sum, element by element: self + alpha * other.",
    forward=lambda self, other, alpha: np.add(self, _scaled(other, alpha)),
    dtypes="promote", inplace=True,
    grads={"self": lambda grad: grad, "other": lambda grad, alpha: _scaled(grad, alpha)},
    samples=(sample((2, 3), (3,)), sample((2, 3), 2.5), sample((2, 3), (4,), rejects="shape"), sample((2,), (2,), alpha=3)),
)
sub = op(
    "sub(self: Operand, other: Operand, *, alpha: number = 1)", "SubBackward0", "Difference: self - alpha * other.",
    forward=lambda self, other, alpha: np.subtract(self, _scaled(other, alpha)),
    dtypes="promote", inplace=True,
    grads={"self": lambda grad: grad, "other": lambda grad, alpha: -_scaled(grad, alpha)},
    samples=(sample((2, 3), (3,)), sample((2, 3), 2.5)),
)
rsub = op(
    "rsub(self: Operand, other: Operand, *, alpha: number = 1)", "RsubBackward1", "Reversed difference: other - alpha * self.",
    forward=lambda self, other, alpha: np.subtract(other, _scaled(self, alpha)),
    dtypes="promote",
    grads={"self": lambda grad, alpha: -_scaled(grad, alpha), "other": lambda grad: grad},
    samples=(sample((2, 3), 2.5),),
)
mul = op(
    "mul(self: Operand, other: Operand)", "MulBackward0", "Product, element by element, with broadcasting.",
    forward=np.multiply, dtypes="promote", inplace=True,
    grads={"self": lambda grad, other: grad * other, "other": lambda grad, self: grad * self},
    samples=(sample((2, 3), (3,)), sample((2, 3), 2.5), sample((2, 3), (4,), rejects="shape")),
    note="A Python number is saved as a 0-d float64 or int64 tensor, so `2 * x` cannot be run backward twice.",
)
div = op(
    "div(self: Operand, other: Operand)", "DivBackward0", "Quotient, element by element; of integers a float.",
    forward=np.true_divide, dtypes="float", inplace=True,
    grads={
        "self": lambda grad, other: grad / other,
        "other": lambda grad, other, self: -grad * ((self / other) / other),
    },
    samples=(sample((2, 3), (3,)), sample((2, 3), 2.5)),
)
neg = op(
    "neg(self)", "NegBackward0", "The negative of each element.",
    forward=np.negative, inplace=True, grads={"self": lambda grad: -grad}, samples=(sample((2, 3)),),
)
alias("subtract", sub)
alias("multiply", mul)
alias("divide", div)
alias("true_divide", div)
alias("negative", neg)

binary("add", add)
binary("sub", sub)
binary("mul", mul)
binary("truediv", div)
reflected("add", add)
reflected("mul", mul)
inplace("add")
inplace("sub")
inplace("mul")
inplace("truediv", "div_")


@implements("neg")
def _neg(self: Tensor) -> Any:
    return neg(self)


@implements("sub", reflected=True)
def _rsub(self: Tensor, other: Any) -> Any:
    return rsub(self, other) if isinstance(other, (int, float)) else NotImplemented


@implements("truediv", reflected=True)
def _rdiv(self: Tensor, other: Any) -> Any:
    """1 / x is a reciprocal and a product, two nodes, as in PyTorch."""
    return find("reciprocal")(self) * other if isinstance(other, (int, float)) else NotImplemented
