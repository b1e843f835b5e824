"""Functions of two or three tensors, element by element: the larger one, angles, logarithms of sums, blends."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import note, writes
from gradsh.engine.dispatch.declare import Within, alias, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, cpp_name
from gradsh.ops.arguments import zeros
from gradsh.ops.kernels import elementary
from gradsh.ops.kernels.common import (
    apart,
    as_integers,
    chained,
    common_dtype,
    floats_only,
    in_blocks,
    mix,
    pick,
    refusing,
    together,
    unsupported,
)
from gradsh.ops.kernels.geometry import beside
from gradsh.ops.pointwise import exp, reciprocal
from gradsh.ops.power import pow
from gradsh.ops.scalars import number_minus, number_over, over, plus, times
from gradsh.ops.select import masked_fill, where
from gradsh.text.fault import fail

_POSITIVE = Within(0.2, 2.0, 2, 3)


def _filled(fresh: ArrayOrTensor, mask: ArrayOrTensor) -> ArrayOrTensor:
    """Put zeros into what a formula has just made: in place, so that it keeps its order of memory."""
    return find("masked_fill_")(fresh, mask, 0) if isinstance(fresh, Tensor) else masked_fill(fresh, mask, 0)


def _halved(grad: ArrayOrTensor, self: ArrayOrTensor, other: ArrayOrTensor) -> ArrayOrTensor:
    """Share the gradient where both are equal."""
    return where(self == other, over(grad, 2), grad)


maximum = op(
    "maximum(self, other)", "MaximumBackward0", "The larger of two elements, nan if one is; ties share the gradient.",
    forward=np.maximum, dtypes="promote",
    grads={
        "self": writes(1)(lambda grad, self, other: _filled(_halved(grad, self, other), self < other)),
        "other": writes(1)(lambda grad, self, other: _filled(_halved(grad, self, other), self > other)),
    },
    samples=(sample((2, 3), (3,)), sample((2, 3), (4,), rejects="shape")),
    note="Both operands are saved, whichever needs a gradient.",
)
minimum = op(
    "minimum(self, other)", "MinimumBackward0", "The smaller of two elements, nan if one is; ties share the gradient.",
    forward=np.minimum, dtypes="promote",
    grads={
        "self": writes(1)(lambda grad, self, other: _filled(_halved(grad, self, other), self > other)),
        "other": writes(1)(lambda grad, self, other: _filled(_halved(grad, self, other), self < other)),
    },
    samples=(sample((2, 3), (3,)),),
    note="Both operands are saved, whichever needs a gradient.",
)


def _taken(condition: ArrayOrTensor, other: ArrayOrTensor) -> ArrayOrTensor:
    found: ArrayOrTensor = find("logical_or")(condition, find("isnan")(other))
    note(found, 1)  # PyTorch writes it in place, and negates it so
    return found


def _not(condition: ArrayOrTensor) -> ArrayOrTensor:
    found: ArrayOrTensor = find("logical_not")(condition)
    note(found, 2)
    return found


fmax = op(
    "fmax(self, other)", "FmaxBackward0", "The larger of two elements; a nan loses. Ties go to `self`.",
    forward=np.fmax, dtypes="promote",
    grads={
        "self": lambda grad, self, other: masked_fill(grad, _not(_taken(self >= other, other)), 0),
        "other": lambda grad, self, other: masked_fill(grad, _taken(self >= other, other), 0),
    },
    samples=(sample((2, 3), (3,)),),
    note="Both operands are saved, whichever needs a gradient.",
)
fmin = op(
    "fmin(self, other)", "FminBackward0", "The smaller of two elements; a nan loses. Ties go to `self`.",
    forward=np.fmin, dtypes="promote",
    grads={
        "self": lambda grad, self, other: masked_fill(grad, _not(_taken(self <= other, other)), 0),
        "other": lambda grad, self, other: masked_fill(grad, _taken(self <= other, other), 0),
    },
    samples=(sample((2, 3), (3,)),),
    note="Both operands are saved, whichever needs a gradient.",
)


def _atan2_gradients(
    grad: ArrayOrTensor, self: ArrayOrTensor, other: ArrayOrTensor, needs: tuple[bool, ...]
) -> Gradients:
    squares = self * self + other * other
    inverse = masked_fill(reciprocal(squares), squares == 0, 0)
    return (
        grad * other * inverse if needs[0] else None,
        grad * find("neg")(self) * inverse if needs[1] else None,
    )


atan2 = op(
    "atan2(self, other)", "Atan2Backward0", "The angle of the point (other, self).", forward=elementary.atan2, dtypes="float",
    ufunc=elementary.atan2, inplace=True, grads={("self", "other"): _atan2_gradients}, samples=(sample((2, 3), (3,)),),
    note="Both operands are saved, whichever needs a gradient.",
)
alias("arctan2", atan2)
hypot = op(
    "hypot(self, other)", "HypotBackward0", "sqrt(self² + other²) without overflow.", dtypes="promote", inplace=True,
    forward=floats_only("hypot_cpu", elementary.hypot),
    grads={
        "self": lambda grad, self, result: grad * self / result,
        "other": lambda grad, other, result: grad * other / result,
    },
    samples=(sample((2, 3), (3,)),),
    note="Both operands and the result are saved, whichever needs a gradient.",
)


def _copysign_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    return grad * writes(1)(_filled)(result / self, self == 0)


copysign: Operation = op(
    "copysign(self, other)", "CopysignBackward0", "The size of `self` with the sign of `other`.", forward=np.copysign,
    dtypes="float", inplace=True, attributes=(),
    grads={
        "self": _copysign_gradient,
        "other": writes(1)(lambda grad, other_sizes, other_dtype: beside(grad, np.zeros(other_sizes, other_dtype))),
    },
    samples=(sample((2, 3), (3,)),),
)
op(
    "copysign(self, other: Operand)", "CopysignBackward1", "The size of `self` with the sign of a number.",
    forward=np.copysign, dtypes="float", inplace=True, grads={"self": _copysign_gradient}, samples=(sample((2, 3), -1.0),),
)
logaddexp = op(
    "logaddexp(self, other)", "LogaddexpBackward0", "log(exp(self) + exp(other)).", dtypes="promote",
    forward=floats_only("logaddexp_cpu", elementary.logaddexp),
    grads={
        "self": lambda grad, self, other: grad / plus(exp(other - self), 1),
        "other": lambda grad, self, other: grad / plus(exp(self - other), 1),
    },
    samples=(sample((2, 3), (3,)),),
    note="Both operands are saved, whichever needs a gradient.",
)
logaddexp2 = op(
    "logaddexp2(self, other)", "Logaddexp2Backward0", "log2(2**self + 2**other).", dtypes="promote",
    forward=floats_only("logaddexp2_cpu", elementary.logaddexp2),
    grads={
        "self": lambda grad, self, other: grad / plus(pow(2, other - self), 1),
        "other": lambda grad, self, other: grad / plus(pow(2, self - other), 1),
    },
    samples=(sample((2, 3), (3,)),),
)

# --- x log y ------------------------------------------------------------------------------------------------------


def _xlogy(self: Array, other: Array) -> Array:
    product = self * np.log(other)
    return np.where((self == 0) & ~np.isnan(other), np.zeros((), product.dtype), product)


def _both(a: ArrayOrTensor, b: ArrayOrTensor) -> ArrayOrTensor:
    return find("logical_and")(a, b)


xlogy: Operation = op(
    "xlogy(self, other)", "XlogyBackward0", "self * log(other), 0 where `self` is 0.", layout="operands", forward=_xlogy, dtypes="float",
    inplace=True, spaces=("torch", "Tensor", "special"),
    grads={
        "self": lambda grad, self, other: masked_fill(xlogy(grad, other), _both(self == 0.0, other <= 0.0), 0.0),
        "other": lambda grad, self, other: grad * self / other,
    },
    samples=(sample((2, 3), _POSITIVE),),
)


def _number_log(grad: ArrayOrTensor, self: ArrayOrTensor, other: float) -> ArrayOrTensor:
    product = xlogy(grad, other)
    return product if other > 0 else masked_fill(product, self == 0.0, 0.0)


def _floating(kernel: Any) -> Callable[..., Array]:
    """Return a kernel that brings a tensor and a number to a floating dtype."""

    def kernel_of_floats(self: Array | float, other: Array | float) -> Array:
        dtype = common_dtype(self, other)
        dtype = dtype if dtype.kind == "f" else current().default_dtype
        return kernel(np.asarray(self).astype(dtype), np.asarray(other).astype(dtype))

    return kernel_of_floats


op(
    "xlogy(self: number, other)", "XlogyBackward1", "A number times log(other).", layout="operands", forward=_floating(_xlogy),
    spaces=("torch", "special"), grads={"other": lambda grad, self, other: times(grad, self) / other},
    samples=(sample(2.0, _POSITIVE),),
)
op(
    "xlogy(self, other: number)", "XlogyBackward2", "self times the logarithm of a number.", layout="operands", forward=_floating(_xlogy),
    inplace=True, spaces=("torch", "Tensor", "special"), grads={"self": _number_log}, samples=(sample((2, 3), 2.0),),
)

# --- blends -------------------------------------------------------------------------------------------------------


def _check_lerp(self: Array, end: Array, weight: Array | float) -> None:
    single = isinstance(weight, np.ndarray) and weight.ndim == 0
    for name, one in (("end", end), ("weight", weight)):
        if isinstance(one, np.ndarray) and one.dtype != self.dtype and not (single and name == "weight"):
            message = f"expected dtype {cpp_name(self.dtype)} for `{name}` but got dtype {cpp_name(one.dtype)}"
            raise fail("dtype", message)
    if self.dtype.kind != "f" and not single:
        raise unsupported("lerp_kernel_tensor" if isinstance(weight, np.ndarray) else "lerp_kernel_scalar", self)


def _lerp(self: Array, end: Array, weight: Array | float) -> Array:
    """Start from the nearer end, so that weight 1 gives `end` exactly."""
    if isinstance(weight, np.ndarray):
        given = together(self, end, weight)
        if self.size > _MANY and self.shape == end.shape == weight.shape:
            return chained(_lerp_large, *given)
        return in_blocks(_lerp_block, *given, into=True)
    if self.size <= _MANY:
        return _lerp_by_number(weight, None, None, self, end)
    return chained(partial(_lerp_by_number, weight), self, end)


_MANY = 1 << 12
"""Elements from which blocks pay."""


def _lerp_by_number(weight: float, out: Array | None, work: Array | None, self: Array, end: Array) -> Array:
    near = abs(weight) < 0.5
    step = np.subtract(end, self, work)
    step *= weight if near else weight - 1
    return np.add(self if near else end, step, out)


def _lerp_block(self: Array, end: Array, weight: Array, out: Array | None = None) -> Array:
    step = end - self
    far = np.abs(weight) >= 0.5
    found = pick(far, end, self)
    share = np.subtract(weight, far.astype(weight.dtype))
    share *= step
    return np.add(found, share, out=out)


def _lerp_large(out: Array, work: Array, self: Array, end: Array, weight: Array) -> None:
    """The same without memory of its own."""
    far, work = np.greater_equal(np.abs(weight, out=out), 0.5), apart(out, work)
    np.copyto(work, far)
    np.subtract(weight, work, out=work)
    work *= np.subtract(end, self, out=out)
    bits, ends, begins = as_integers(out, end, self)
    mix(bits, far.view(np.int8), ends, begins)
    out += work


lerp: Operation = op(
    "lerp(self, end, weight)", "LerpBackward1", "self + weight * (end - self).",
    layout="operands", forward=_lerp, check=_check_lerp, inplace=True,
    grads={
        "self": lambda grad, weight: grad * number_minus(1, weight),
        "end": lambda grad, weight: grad * weight,
        "weight": lambda grad, self, end: grad * (end - self),
    },
    samples=(sample((2, 3), (2, 3), Within(0, 1, 2, 3)),),
)
op(
    "lerp(self, end, weight: number)", "LerpBackward0", "self + weight * (end - self).",
    layout="operands", forward=_lerp, check=_check_lerp,
    inplace=True,
    grads={
        "self": lambda grad, weight: times(grad, 1 - weight),
        "end": lambda grad, weight: times(grad, weight),
    },
    samples=(sample((2, 3), (2, 3), 0.3),),
)


@refusing("b", "addcmul_cpu_out")
def _addcmul(self: Array, tensor1: Array, tensor2: Array, value: int) -> Array:
    product = np.multiply(tensor1, tensor2)
    return self + (product if value == 1 else product * self.dtype.type(value))


def _check_addcdiv(self: Array, tensor1: Array, tensor2: Array, value: int) -> None:
    if tensor1.dtype.kind != "f" and tensor2.dtype.kind != "f":
        message = (
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
            "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes."
        )
        raise fail("dtype", message)


addcmul = op(
    "addcmul(self, tensor1, tensor2, *, value: number = 1)", "AddcmulBackward0", "self + value * tensor1 * tensor2.",
    forward=_addcmul, dtypes="promote", inplace=True,
    grads={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * times(tensor2, value),
        "tensor2": lambda grad, tensor1, value: grad * times(tensor1, value),
    },
    samples=(sample((2, 3), (3,), (2, 3), value=2),),
)
addcdiv = op(
    "addcdiv(self, tensor1, tensor2, *, value: number = 1)", "AddcdivBackward0", "self + value * tensor1 / tensor2.",
    forward=lambda self, tensor1, tensor2, value: self + value * (tensor1 / tensor2), check=_check_addcdiv,
    dtypes="promote", inplace=True,
    grads={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * number_over(value, tensor2),
        "tensor2": lambda grad, tensor1, tensor2, value: -grad * (times(tensor1, value) / (tensor2 * tensor2)),
    },
    samples=(sample((2, 3), (3,), Within(0.5, 2, 2, 3), value=2),),
)

# --- integers, steps and bits -------------------------------------------------------------------------------------


op("gcd(self, other)", "", "Greatest common divisor.", forward=refusing("bf", "gcd_cpu")(np.gcd), dtypes="promote", inplace=True)
op("lcm(self, other)", "", "Least common multiple.", forward=refusing("bf", "lcm_cpu")(np.lcm), dtypes="promote", inplace=True)


def _heaviside(self: Any, values: Any) -> ArrayOrTensor:
    step = np.where(self == 0, values, (self > 0).astype(self.dtype))
    return step.astype(self.dtype, copy=False)


def _check_heaviside(self: Any, values: Any) -> None:
    if self.dtype != values.dtype:
        raise fail("dtype", "heaviside is not yet implemented for tensors with different dtypes.")


op(
    "heaviside(self, values)", "", "0 below 0, 1 above, `values` at 0. It has no derivative: backward raises.",
    layout="operands", forward=_heaviside, check=_check_heaviside, inplace=True, grads={"self": None, "values": None},
)
op(
    "nextafter(self, other)", "NextafterBackward0", "The next floating point number towards `other`.",
    forward=floats_only("nextafter_cpu", np.nextafter), dtypes="promote", inplace=True,
    grads={"self": lambda grad, self, other: where(self != other, grad, 0), "other": writes(1)(lambda grad: zeros(grad))},
)
ldexp = op(
    "ldexp(self, other)", "LdexpBackward0", "self * 2**other.", dtypes="float", inplace=True,
    forward=lambda self, other: self * np.exp2(other),
    grads={
        "self": lambda grad, other: grad * pow(2, other),
        "other": lambda grad, result: times(grad * result, math.log(2)),
    },
    samples=(sample((2, 3), (2, 3)),),
)
op(
    "frexp(self)", "FrexpBackward0", "Mantissa in [0.5, 1) and exponent.", fields=("mantissa", "exponent"),
    forward=floats_only("frexp", lambda self: _frexp(self)),
    grads={"self": lambda grad, exponent: grad / find("exp2")(exponent)}, samples=(sample((2, 3)),),
)


def _frexp(self: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(self)
    return mantissa, np.asarray(exponent, np.int32)
