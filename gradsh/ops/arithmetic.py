"""Sums, differences, products, quotients and remainders, and their operators."""


import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import Within, alias, composite, implements, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.schema.formulas import identity, product
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import broadcast_shapes
from gradsh.ops.arguments import zeros
from gradsh.ops.kernels import remainders
from gradsh.ops.kernels.common import refusing, together, unsupported, zero_division
from gradsh.ops.kernels.fused import fused
from gradsh.ops.operators import FIT, binary, exchanged, inplace
from gradsh.ops.scalars import times
from gradsh.text.fault import fail


def _scaled(other: ArrayOrTensor, alpha: int) -> ArrayOrTensor:
    """Multiply by alpha; by 1 is left out, in gradients too."""
    return other if alpha == 1 else times(other, alpha)


def _check_alpha(self: Array | float, other: Array | float, alpha: float) -> None:
    dtypes = [np.asarray(one).dtype.kind for one in (self, other)]
    if isinstance(alpha, bool) and any(kind != "b" for kind in dtypes):
        raise fail("dtype", "Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and "f" not in dtypes:
        raise fail("dtype", "For integral input tensors, argument alpha must not be a floating point number.")


def _check_sub(self: Array | float, other: Array | float, alpha: int = 1) -> None:
    bools = [np.asarray(one).dtype.kind == "b" for one in (self, other)]
    if all(bools) and isinstance(self, np.ndarray) and isinstance(other, np.ndarray):
        message = (
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
        raise fail("dtype", message)
    if any(bools):
        message = (
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
        raise fail("dtype", message)
    _check_alpha(self, other, alpha)


def _check_neg(self: Array) -> None:
    if self.dtype.kind == "b":
        message = (
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )
        raise fail("dtype", message)


def _add(self: Array, other: Array, alpha: float) -> Array:
    if alpha != 1 and other.dtype.kind == "f":
        return fused(other, alpha, self)
    return np.add(self, other if alpha == 1 else (other * alpha).astype(other.dtype, copy=False))


def _sub(self: Array, other: Array, alpha: float) -> Array:
    if alpha != 1 and other.dtype.kind == "f":
        return fused(other, -alpha, self)
    return np.subtract(self, other if alpha == 1 else (other * alpha).astype(other.dtype, copy=False))


add = op(
    "add(self: Operand, other: Operand, *, alpha: number = 1)", "AddBackward0",
    "Sum, element by element: self + alpha * other.",
    forward=_add, ufunc=np.add, check=_check_alpha, dtypes="promote", inplace=True,
    grads={"self": identity(lambda grad: grad), "other": lambda grad, alpha: _scaled(grad, alpha)},
    plain={"other": identity(lambda grad: grad)},
    samples=(
        sample((2, 3), (3,)), sample((2, 3), 2.5), sample((2, 3), (4,), rejects="shape"), sample((2,), (2,), alpha=3),
    ),
)
sub = op(
    "sub(self: Operand, other: Operand, *, alpha: number = 1)", "SubBackward0", "Difference: self - alpha * other.",
    forward=_sub, ufunc=np.subtract, check=_check_sub, dtypes="promote", inplace=True,
    grads={"self": identity(lambda grad: grad), "other": lambda grad, alpha: _scaled(-grad, alpha)},
    samples=(sample((2, 3), (3,)), sample((2, 3), 2.5), sample("bool:2", "bool:2", rejects="dtype")),
)


def _check_rsub(self: Array, other: Array | float, alpha: int = 1) -> None:
    """The operands are told in the order of the difference, also where their shapes do not fit."""
    _check_sub(other, self, alpha)
    if isinstance(other, np.ndarray):
        broadcast_shapes(other.shape, self.shape)


rsub = op(
    "rsub(self, other, *, alpha: number = 1)", "RsubBackward0", "Reversed difference: other - alpha * self.",
    layout="reversed", forward=lambda self, other, alpha: _sub(other, self, alpha), check=_check_rsub, dtypes="promote",
    spaces=("torch",), grads={"self": lambda grad, alpha: _scaled(-grad, alpha), "other": lambda grad: grad},
    samples=(sample((2, 3), (3,)),),
)
op(
    "rsub(self, other: Operand, *, alpha: number = 1)", "RsubBackward1", "Reversed difference: number - alpha * self.",
    layout="reversed", forward=lambda self, other, alpha: _sub(other, self, alpha), check=_check_rsub, dtypes="promote",
    spaces=("torch",), grads={"self": lambda grad, alpha: _scaled(-grad, alpha)},
    samples=(sample((2, 3), 2.5),),
)
mul = op(
    "mul(self: Operand, other: Operand)", "MulBackward0", "Product, element by element, with broadcasting.",
    forward=np.multiply, dtypes="promote", inplace=True,
    grads={"self": product(lambda grad, other: grad * other), "other": product(lambda grad, self: grad * self)},
    samples=(sample((2, 3), (3,)), sample((2, 3), 2.5), sample((2, 3), (4,), rejects="shape")),
    note="A Python number is saved as a 0-d float64 or int64 tensor, so `2 * x` cannot be run backward twice.",
)
div: Operation = op(
    "div(self: Operand, other: Operand)", "DivBackward0", "Quotient, element by element; of integers a float.",
    forward=np.true_divide, dtypes="float", inplace=True,
    grads={
        "self": lambda grad, other: grad / other,
        "other": lambda grad, other, self: -grad * (div(self, other) / other),
    },
    samples=(sample((2, 3), Within(0.5, 2, 3)), sample((2, 3), 2.5)),
    note="`other` is saved whichever operand needs a gradient.",
)


@refusing("b", "div_floor_cpu")
def floor_quotient(self: Array, other: Array) -> Array:
    """Return the quotient rounded down, of arrays of one dtype."""
    zero_division(self, other)
    return remainders.floor_quotient(self, other)


def _trunc_quotient(self: Array, other: Array) -> Array:
    if self.dtype.kind == "f":
        return np.trunc(np.true_divide(self, other))
    if self.dtype.kind == "b":
        raise unsupported("div_trunc_cpu", self)
    zero_division(self, other)
    quotient = np.floor_divide(self, other)
    return quotient + ((quotient * other != self) & ((self < 0) != (other < 0))).astype(quotient.dtype)


def _rounded(self: Array, other: Array, rounding_mode: str | None) -> Array:
    a, b = together(self, other)
    if rounding_mode is None:
        default = current().default_dtype
        return np.true_divide(a, b) if a.dtype.kind == "f" else np.true_divide(a.astype(default), b.astype(default))
    if rounding_mode == "floor":
        return floor_quotient(a, b)
    if rounding_mode == "trunc":
        return _trunc_quotient(a, b)
    message = f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    raise fail("value", message)


op(
    "div(self: Operand, other: Operand, *, rounding_mode: str?)", "DivBackward2",
    "Quotient, rounded to the lower (`floor`) or towards zero (`trunc`); the gradient of a rounded one is zero.",
    layout="operands", forward=_rounded, inplace=True,
    grads={
        "self": lambda grad, other, rounding_mode: grad / other if rounding_mode is None else zeros(grad),
        "other": lambda grad, other, self, rounding_mode: (
            -grad * (div(self, other) / other) if rounding_mode is None else zeros(grad)
        ),
    },
    samples=(sample((2, 3), Within(0.5, 2, 3), rounding_mode=None),),
)
floor_divide = op(
    "floor_divide(self: Operand, other: Operand)", "", "Quotient rounded down. It has no derivative: backward raises.",
    forward=floor_quotient, dtypes="promote", inplace=True, grads={"self": None, "other": None},
    note="Has no derivative in PyTorch: the result requires a gradient, and backward raises.",
)
neg = op(
    "neg(self)", "NegBackward0", "The negative of each element.",
    layout="operands", forward=np.negative, check=_check_neg, inplace=True, grads={"self": lambda grad: -grad}, samples=(sample((2, 3)),),
)


@refusing("b", "remainder_cpu")
def _remainder(self: Array, other: Array) -> Array:
    zero_division(self, other)
    return remainders.remainder(self, other)


@refusing("b", "fmod_cpu")
def _fmod(self: Array, other: Array) -> Array:
    zero_division(self, other)
    return remainders.fmod(self, other)


def _quotient(self: ArrayOrTensor, other: ArrayOrTensor, rounding_mode: str) -> ArrayOrTensor:
    return div(self, other, rounding_mode=rounding_mode)


remainder = op(
    "remainder(self, other)", "RemainderBackward1", "Remainder with the sign of `other`, as Python's %.",
    forward=_remainder, dtypes="promote", inplace=True,
    grads={"self": lambda grad: grad, "other": lambda grad, self, other: -grad * _quotient(self, other, "floor")},
    samples=(sample((2, 3), Within(0.5, 2, 3)),),
)
op(
    "remainder(self, other: Operand)", "RemainderBackward0", "Remainder by a number, with its sign.",
    forward=_remainder, dtypes="promote", inplace=True, grads={"self": lambda grad: grad}, samples=(sample((2, 3), 0.7),),
)
op(
    "remainder(self: Operand, other)", "", "Remainder of a number. It has no derivative: backward raises.",
    forward=_remainder, dtypes="promote", spaces=("torch",), grads={"other": None},
)
fmod = op(
    "fmod(self, other)", "FmodBackward1", "Remainder with the sign of `self`.",
    forward=_fmod, dtypes="promote", inplace=True,
    grads={"self": lambda grad: grad, "other": lambda grad, self, other: -grad * _quotient(self, other, "trunc")},
    samples=(sample((2, 3), Within(0.5, 2, 3)),),
)
op(
    "fmod(self, other: Operand)", "FmodBackward0", "Remainder by a number, with the sign of `self`.",
    forward=_fmod, dtypes="promote", inplace=True, grads={"self": lambda grad: grad}, samples=(sample((2, 3), 0.7),),
)


def _positive(self: Tensor) -> Tensor:
    if self.array.dtype.kind == "b":
        raise fail("dtype", "The `+` operator, on a bool tensor is not supported.")
    return self


positive = composite("positive(self)", "The tensor itself.", _positive,
    note="Returns the same object.")

alias("subtract", sub)
alias("multiply", mul)
alias("divide", div)
alias("true_divide", div)
for _name in ("true_divide", "true_divide_"):
    find(_name).records = [record for record in find(_name).records if "rounding_mode" not in record.signature.index]
alias("negative", neg)

for _symbol, _operation in (
    ("add", add), ("sub", sub), ("mul", mul), ("truediv", div), ("floordiv", floor_divide), ("mod", remainder),
):
    binary(_symbol, _operation)
    inplace(_symbol, _operation.name + "_")
for _symbol, _operation in (("add", add), ("mul", mul), ("sub", rsub)):
    binary(_symbol, _operation, True)
exchanged("floordiv", floor_divide)
exchanged("mod", remainder)
implements("neg")(lambda self: neg(self))
implements("pos")(lambda self: positive(self))


@implements("truediv", reflected=True)
def _rdiv(self: Tensor, other: float) -> Tensor:
    """1 / x is a reciprocal and a product, two nodes, as in PyTorch."""
    return find("reciprocal")(self) * other if isinstance(other, (*FIT, np.ndarray)) else NotImplemented
