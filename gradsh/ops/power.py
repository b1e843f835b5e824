"""Powers: of a tensor, of a number, with a tensor or a number above."""

from functools import partial
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import Within, composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, float64, of_numpy
from gradsh.ops.kernels.common import chained, common_dtype, reusing, together, unsupported
from gradsh.ops.operators import binary, exchanged, inplace
from gradsh.ops.scalars import minus, times
from gradsh.ops.select import where
from gradsh.text.fault import fail


def power(value: ArrayOrTensor, exponent: float) -> Any:
    """Return value ** exponent for a number above, within formulas."""
    return raised(value, exponent) if isinstance(value, np.ndarray) else pow(value, exponent)


def raised(self: Array, exponent: float) -> Array:
    """Raise an array of floats to a Python number. Small whole powers are products: `np.power` is up to 300 times slower."""
    if exponent == 2:
        return np.multiply(self, self)
    if exponent == 3:
        return self * self * self
    if exponent == 1:
        return np.array(self)
    if exponent == 0.5:
        return np.sqrt(self)
    if exponent == -0.5:
        return np.reciprocal(np.sqrt(self))
    if exponent == -1:
        return np.reciprocal(self)
    if exponent == -2:
        return np.reciprocal(self * self)
    return np.power(self, self.dtype.type(exponent))


def _pow_number(self: Array, exponent: float) -> Array:
    dtype = common_dtype(self, exponent)
    if dtype.kind == "b":
        raise unsupported("pow", self)
    if dtype.kind == "f":
        return raised(self.astype(dtype, copy=False), exponent)
    if exponent < 0:
        raise fail("value", "Integers to negative integer powers are not allowed.")
    return np.power(self.astype(dtype, copy=False), np.asarray(exponent, dtype))


def _pow(self: Array | float, exponent: Array) -> Array:
    a, b = together(self, exponent)
    if a.dtype.kind == "b":
        raise unsupported("pow", a)
    return np.power(a, b) if a.dtype.kind == "f" else integer_power(a, b)


def integer_power(base: Any, exponent: Any) -> Any:
    """Return integer powers; a negative exponent gives 1 or -1 for a base of that size, and else 0, as PyTorch's kernel."""
    result = np.power(base, np.maximum(exponent, 0))
    if (exponent < 0).any():
        odd = np.where(exponent % 2 == 0, 1, -1)
        small = np.where(base == 1, 1, np.where(base == -1, odd, 0)).astype(result.dtype)
        result = np.where(exponent < 0, small, result)
    return result


def _pow_slopes(into: Array | None, grad: Array, self: Array, exponent: float) -> Array:
    if exponent == 0:
        return find("zeros_like")(self)
    return chained(partial(_pow_slope, float(exponent)), grad, self, into=into)


def _pow_slope(exponent: float, out: Array, work: Array, grad: Array, self: Array) -> None:
    np.multiply(self if exponent == 2 else raised(self, exponent - 1), exponent, work)
    np.multiply(grad, work, out)


@reusing(_pow_slopes)
def _pow_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, exponent: float) -> ArrayOrTensor:
    if isinstance(self, np.ndarray) and isinstance(grad, np.ndarray):
        return _pow_slopes(None, grad, self, exponent)
    if exponent == 0:
        return find("zeros_like")(self)
    below = float(exponent)
    return grad * times(power(self, below - 1), below)


def _self_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, exponent: ArrayOrTensor) -> ArrayOrTensor:
    array = exponent.array if isinstance(exponent, Tensor) else exponent
    if array.dtype.kind == "b":
        find("sub")(make(array), 1)  # which is refused: nothing can be subtracted from a mask
    return where(exponent == 0.0, 0.0, grad * (exponent * pow(self, minus(exponent, 1))))


def exponent_gradient(
    grad: ArrayOrTensor, self: ArrayOrTensor, exponent: ArrayOrTensor, result: ArrayOrTensor
) -> ArrayOrTensor:
    """Return the gradient with respect to the exponent: 0 where 0 is raised to a power of 0 or more."""
    calm = find("logical_and")(self == 0, exponent >= 0)
    return grad * where(calm, 0.0, result * find("log")(_promoted(self, exponent)))


def _promoted(self: ArrayOrTensor, exponent: Any) -> ArrayOrTensor:
    """Return the base at the dtype of the power."""
    if not isinstance(self, Tensor):
        return self
    dtype = common_dtype(self.array, exponent.array)
    return self if dtype == self.array.dtype else find("to")(self, of_numpy(dtype))


def number_gradient(grad: ArrayOrTensor, self: float, exponent: ArrayOrTensor, result: object) -> ArrayOrTensor:
    """Return the gradient with respect to the exponent of a number's power."""
    if self == 0:
        return grad * where(exponent >= 0, 0.0, times(result, -np.inf))
    return grad * times(result, float(np.log(np.float64(self))))


pow: Operation = op(
    "pow(self, exponent)", "PowBackward1", "Powers, element by element.", layout="operands", forward=_pow, inplace=True,
    grads={"self": _self_gradient, "exponent": exponent_gradient}, unguarded=True,
    samples=(sample(Within(0.2, 2, 2, 3), (3,)),),
    note="Saves both operands and the result, whichever needs a gradient.",
)
op(
    "pow(self: number, exponent)", "PowBackward2", "Powers of a number.",
    layout="contiguous", forward=lambda self, exponent: _pow(self, exponent), spaces=("torch",),
    grads={"exponent": number_gradient}, samples=(sample(2, (2, 3)), sample(2.5, (2, 3))),
    note="The exponent and the result are saved.",
)
op(
    "pow(self, exponent: number)", "PowBackward0", "Each element to one power.", layout="operands", forward=_pow_number, inplace=True,
    grads={"self": _pow_gradient},
    samples=(sample((2, 3), 2), sample((2, 3), 3), sample(Within(0.2, 2, 2, 3), 3.5), sample((2, 3), 1), sample((2, 3), 0)),
    note="The input is saved even for the powers 0 and 1.",
)


def _double(value: Any) -> object:
    return find("to")(value, float64) if isinstance(value, Tensor) else float(value)


def _float_power_(self: Tensor, exponent: object) -> Tensor:
    if self.array.dtype != np.float64:
        title = of_numpy(self.array.dtype).title
        message = f"the base given to float_power_ has dtype {title} but the operation's result requires dtype Double"
        raise fail("dtype", message)
    return find("pow_")(self, _double(exponent))


composite("float_power_(self, exponent: Operand)", "Powers computed in float64. In place.", _float_power_, spaces=("Tensor",))
composite(
    "float_power(self: Operand, exponent: Operand)", "Powers computed in float64.",
    lambda self, exponent: pow(_double(self), _double(exponent)),
)
binary("pow", pow)
exchanged("pow", pow)
inplace("pow")
