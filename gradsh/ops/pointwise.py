"""Functions of one tensor, element by element: exponentials, logarithms, trigonometry, rounding, signs."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import Within, alias, composite, implements, op, sample, unary
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.schema.formulas import product
from gradsh.engine.values.dtype import Array
from gradsh.ops.arguments import zeros, zeros_only
from gradsh.ops.kernels import elementary
from gradsh.ops.kernels.common import ONE, chained, floats_only, in_blocks, not_bool, reusing, unsupported
from gradsh.ops.power import pow, power
from gradsh.ops.scalars import minus, number_minus, plus, times
from gradsh.ops.select import where
from gradsh.text.fault import fail

_OPEN = Within(-0.9, 0.9, 2, 3)
_POSITIVE = Within(0.2, 3.0, 2, 3)


# --- exponentials and logarithms ----------------------------------------------------------------------------------

exp = unary(
    "exp", "e to the power of each element.", np.exp, product(lambda grad, result: grad * result),
    spaces=("torch", "Tensor"), note="Saves only its result.",
)
exp2 = unary(
    "exp2", "2 to the power of each element.", elementary.exp2, lambda grad, result: times(grad * result, math.log(2)),
    ufunc=elementary.exp2, spaces=("torch", "Tensor", "special"),
)
expm1 = unary(
    "expm1", "exp(x) - 1, accurate near 0.", elementary.expm1, lambda grad, result: grad * plus(result, 1),
    ufunc=elementary.expm1, spaces=("torch", "Tensor", "special"),
)
log = unary("log", "Natural logarithm.", np.log, lambda grad, self: grad / self, at=_POSITIVE)
log2 = unary(
    "log2", "Logarithm to base 2.", np.log2, lambda grad, self: grad / times(self, 0.6931471805599453),
    at=_POSITIVE,
)
log10 = unary(
    "log10", "Logarithm to base 10.", elementary.log10, lambda grad, self: grad / times(self, 2.3025850929940456),
    ufunc=elementary.log10, at=_POSITIVE,
)
log1p = unary(
    "log1p", "log(1 + x), accurate near 0.", elementary.log1p, lambda grad, self: grad / plus(self, 1), ufunc=elementary.log1p,
    node="Log1PBackward0", at=_POSITIVE, spaces=("torch", "Tensor", "special"),
)

# --- roots --------------------------------------------------------------------------------------------------------

sqrt = unary(
    "sqrt", "Square root.", np.sqrt, lambda grad, result: grad / times(result, 2), at=_POSITIVE,
    note="Saves only its result; its derivative at 0 is infinite.",
)
rsqrt = unary(
    "rsqrt", "1 / sqrt(x).", lambda self: np.reciprocal(np.sqrt(self)),
    lambda grad, result: times(grad, -0.5) * power(result, 3), at=_POSITIVE,
)
reciprocal = unary(
    "reciprocal", "1 / x.", np.reciprocal, lambda grad, result: -grad * (result * result), at=_POSITIVE,
    note="Saves only its result. `1 / x` is this and a product: MulBackward0 over ReciprocalBackward0.",
)
composite("square(self)", "The square of each element.", lambda self: pow(self, 2))
composite("square_(self)", "The square of each element. In place.", lambda self: find("pow_")(self, 2))

# --- trigonometry -------------------------------------------------------------------------------------------------

sin = unary("sin", "Sine.", np.sin, lambda grad, self: grad * cos(self))
cos: Operation = unary("cos", "Cosine.", np.cos, lambda grad, self: grad * -sin(self))
tan = unary("tan", "Tangent.", elementary.tan, lambda grad, result: grad * plus(power(result, 2), 1), ufunc=elementary.tan, at=_OPEN)
asin = unary(
    "asin", "Inverse sine.", elementary.asin, lambda grad, self: grad * rsqrt(plus(-self * self, 1)), ufunc=elementary.asin,
    at=_OPEN,
)
acos = unary(
    "acos", "Inverse cosine.", elementary.acos, lambda grad, self: grad * -rsqrt(plus(-self * self, 1)), ufunc=elementary.acos, at=_OPEN,
)
atan = unary("atan", "Inverse tangent.", elementary.atan, lambda grad, self: grad / plus(self * self, 1), ufunc=elementary.atan)

def _no_inverse(name: str) -> dict[str, Any]:
    """Return the parts of an in-place form whose derivative PyTorch does not have."""

    def refuse(grad: ArrayOrTensor) -> Any:
        raise fail("other", f"the derivative for 'inplace version of {name}' is not implemented.", NotImplementedError)

    return {"node": f"{name.capitalize()}Backward1", "grads": {"self": refuse}}


sinh = unary("sinh", "Hyperbolic sine.", elementary.sinh, lambda grad, self: grad * cosh(self), ufunc=elementary.sinh)
cosh: Operation = unary("cosh", "Hyperbolic cosine.", elementary.cosh, lambda grad, self: grad * sinh(self), ufunc=elementary.cosh)
asinh = unary(
    "asinh", "Inverse hyperbolic sine.", np.arcsinh, lambda grad, self: grad * rsqrt(plus(power(self, 2), 1)),
    inplace=_no_inverse("asinh"),
)
acosh = unary(
    "acosh", "Inverse hyperbolic cosine.", np.arccosh, lambda grad, self: grad * rsqrt(minus(self * self, 1)),
    inplace=_no_inverse("acosh"), at=Within(1.2, 3.0, 2, 3),
)
atanh = unary(
    "atanh", "Inverse hyperbolic tangent.", elementary.atanh, lambda grad, self: times(grad, 1) / number_minus(1, power(self, 2)),
    ufunc=elementary.atanh, inplace=_no_inverse("atanh"), at=_OPEN,
)
alias("arcsin", asin)
alias("arccos", acos)
alias("arctan", atan)
alias("arcsinh", asinh)
alias("arccosh", acosh)
alias("arctanh", atanh)


def _tanh_slope(out: Array, work: Array, grad: Array, output: Array) -> None:
    np.multiply(output, output, work)
    np.subtract(ONE[work.dtype], work, work)
    np.multiply(grad, work, out)


@reusing(lambda into, grad, result: chained(_tanh_slope, grad, result, into=into))
def _tanh_gradient(grad: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    return chained(_tanh_slope, grad, result) if type(grad) is np.ndarray else tanh_backward(grad, result)


tanh = unary(
    "tanh", "Hyperbolic tangent.", np.tanh, _tanh_gradient, spaces=("torch", "Tensor", "F"),
    note="Saves only its result.",
)
tanh_backward: Operation = op(
    "tanh_backward(grad_output, output)", "TanhBackwardBackward0", "The derivative of tanh, from its result.",
    layout="operands", forward=lambda grad_output, output: chained(_tanh_slope, grad_output, output), spaces=(), unguarded=True,
    grads={
        "grad_output": lambda grad, output: tanh_backward(grad, output),
        "output": lambda grad, grad_output, output: grad * (times(output, -2) * grad_output),
    },
)


def _sinc(self: Array) -> Array:
    product = self * math.pi
    return np.where(self == 0, np.ones((), self.dtype), np.sin(product) / product)


def _sinc_gradient(grad: ArrayOrTensor, self: ArrayOrTensor) -> ArrayOrTensor:
    scaled = times(self, math.pi)
    squared = times(self * self, math.pi)
    return where(squared == 0.0, 0.0, grad * ((scaled * cos(scaled) - sin(scaled)) / squared))


sinc = unary("sinc", "sin(πx) / (πx), 1 at 0.", _sinc, _sinc_gradient, spaces=("torch", "Tensor", "special"))
deg2rad = unary(
    "deg2rad", "Degrees to radians.", lambda self: self * (math.pi / 180), lambda grad: times(grad, math.pi / 180),
    node="Deg2RadBackward0",
)
rad2deg = unary(
    "rad2deg", "Radians to degrees.", lambda self: self * (180 / math.pi), lambda grad: times(grad, 180 / math.pi),
    node="Rad2DegBackward0",
)

# --- signs and rounding -------------------------------------------------------------------------------------------


def _sign(self: Array) -> Array:
    if self.dtype.kind == "b":
        return np.array(self)
    return np.subtract(np.asarray(self > 0).view(np.int8), np.asarray(self < 0).view(np.int8)).astype(self.dtype)


abs_ = op(
    "abs(self)", "AbsBackward0", "Absolute value; its derivative at 0 is 0.", layout="operands", forward=not_bool("abs_cpu", np.abs),
    inplace=True, grads={"self": lambda grad, self: grad * sgn(self)}, samples=(sample((2, 3)),),
    note="Saves its input; in place it clones it first.",
)
alias("absolute", abs_)
sign = op(
    "sign(self)", "SignBackward0", "-1, 0 or 1; the gradient is zero.", layout="operands", forward=_sign, inplace=True,
    grads={"self": zeros}, samples=(sample((2, 3)),),
    note="Saves nothing, yet has a node: its gradient is zeros, not None.",
)
sgn: Operation = op(
    "sgn(self)", "SgnBackward0", "-1, 0 or 1; the gradient is zero.", layout="operands", forward=_sign, inplace=True,
    grads={"self": lambda grad, self, result: zeros_only(grad)}, samples=(sample((2, 3)),),
)
op("signbit(self)", "", "Whether the sign bit is set (also of -0.0).", forward=lambda self: _signbit(self))


def _signbit(self: Any) -> ArrayOrTensor:
    return np.signbit(self) if self.dtype.kind == "f" else np.less(self, 0)


def _stepwise(kernel: str, function: Any) -> Callable[..., Array]:
    """Return a rounding kernel: integers are copied, bool refused."""

    def rounded(self: Array) -> Array:
        if self.dtype.kind == "b":
            raise unsupported(kernel, self)
        return function(self) if self.dtype.kind == "f" else np.array(self)

    return rounded


floor = op(
    "floor(self)", "FloorBackward0", "Round down; the gradient is zero.", layout="operands", forward=_stepwise("floor_vml_cpu", np.floor),
    inplace=True, grads={"self": zeros}, samples=(sample((2, 3)),),
    note="Saves nothing, yet has a node: its gradient is zeros, not None. So have ceil, round and trunc.",
)
ceil = op(
    "ceil(self)", "CeilBackward0", "Round up; the gradient is zero.", layout="operands", forward=_stepwise("ceil_vml_cpu", np.ceil),
    inplace=True, grads={"self": zeros}, samples=(sample((2, 3)),),
    note="Saves nothing, yet has a node: its gradient is zeros, not None.",
)
trunc = op(
    "trunc(self)", "TruncBackward0", "Round towards zero; the gradient is zero.",
    layout="operands", forward=_stepwise("trunc_vml_cpu", np.trunc), inplace=True, grads={"self": zeros}, samples=(sample((2, 3)),),
    note="Saves nothing, yet has a node: its gradient is zeros, not None.",
)
alias("fix", trunc)
round_ = op(
    "round(self)", "RoundBackward0", "Round to the nearest integer, halves to the even one; the gradient is zero.",
    layout="operands", forward=_stepwise("round_vml_cpu", np.rint), inplace=True, grads={"self": zeros}, samples=(sample((2, 3)),),
)


def _round_decimals(self: Array, decimals: int) -> Array:
    if self.dtype.kind != "f":
        raise unsupported("round_cpu" if decimals else "round_vml_cpu", self)
    factor = self.dtype.type(10.0 ** abs(decimals))
    return np.rint(self * factor) / factor if decimals >= 0 else np.rint(self / factor) * factor


op(
    "round(self, *, decimals: int)", "RoundBackward1", "Round to a number of decimals (negative: tens, hundreds).",
    layout="operands", forward=_round_decimals, inplace=True, grads={"self": zeros}, samples=(sample((2, 3), decimals=1),),
)
composite(
    "special_round(self, *, decimals: int = 0)", "Round to a number of decimals.",
    lambda self, decimals: round_(self, decimals=decimals), spaces=("special",),
)
frac = op(
    "frac(self)", "FracBackward0", "The part behind the point, with the sign of x.",
    layout="operands", forward=floats_only("frac_cpu", lambda self: self - np.trunc(self)), inplace=True,
    grads={"self": lambda grad: grad}, samples=(sample((2, 3)),),
)


def _nan_to_num(self: Array, nan: Any, posinf: Any, neginf: Any) -> Array:
    if self.dtype.kind != "f":
        return np.array(self)
    limits = np.finfo(self.dtype)
    result = np.array(self)
    np.copyto(result, 0.0 if nan is None else nan, where=np.isnan(self))
    np.copyto(result, limits.max if posinf is None else posinf, where=self == np.inf)
    np.copyto(result, limits.min if neginf is None else neginf, where=self == -np.inf)
    return result


nan_to_num = op(
    "nan_to_num(self, nan: float? = None, posinf: float? = None, neginf: float? = None)", "NanToNumBackward0",
    "Replace nan by 0 and the infinities by the largest numbers, or by those given.", layout="operands", forward=_nan_to_num, inplace=True,
    grads={"self": lambda grad, self: grad * find("_isfinite")(self)}, samples=(sample((2, 3)),),
)


def _angle(self: Array) -> Array:
    return in_blocks(_angle_of, self, into=True) if self.size > _MANY else _angle_of(self)


def _angle_of(self: Array, out: Array | None = None) -> Array:
    found = np.empty_like(self) if out is None else out
    least = np.minimum.reduce(self, None, initial=0)
    np.copyto(found, 0 if least == 0 else self < 0)
    if least != 0:
        found *= self.dtype.type(math.pi)
    if math.isnan(least):
        np.copyto(found, self, where=np.isnan(self))
    return found


_MANY = 1 << 12
"""Elements from which blocks pay."""


unary(
    "angle", "0 for positive numbers, π for negative ones.",
    _angle, lambda grad: zeros(grad), inplace=False, saves=("self",),
)
composite("conj(self)", "The tensor itself: there are no complex numbers.", lambda self: self)
composite("conj_physical(self)", "The tensor itself: there are no complex numbers.", lambda self: self)
composite("real(self)", "The tensor itself: there are no complex numbers.", lambda self: self)


# --- logistic -----------------------------------------------------------------------------------------------------


def _logistic(out: Array, work: Array, self: Array) -> None:
    np.negative(self, work)
    np.exp(work, work)
    np.add(work, ONE[work.dtype], work)
    np.reciprocal(work, out)


def _sigmoid(self: Array) -> Array:
    return chained(_logistic, self)


def _sigmoid_slope(out: Array, work: Array, grad: Array, output: Array) -> None:
    np.subtract(ONE[work.dtype], output, work)
    np.multiply(work, output, work)
    np.multiply(grad, work, out)


@reusing(lambda into, grad, result: chained(_sigmoid_slope, grad, result, into=into))
def _sigmoid_gradient(grad: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    return chained(_sigmoid_slope, grad, result) if type(grad) is np.ndarray else sigmoid_backward(grad, result)


sigmoid = unary(
    "sigmoid", "1 / (1 + exp(-x)).", _sigmoid, _sigmoid_gradient, ufunc=_sigmoid, spaces=("torch", "Tensor", "F"),
    note="Saves only its result.",
)
sigmoid_backward: Operation = op(
    "sigmoid_backward(grad_output, output)", "SigmoidBackwardBackward0", "The derivative of sigmoid, from its result.",
    layout="operands", forward=lambda grad_output, output: chained(_sigmoid_slope, grad_output, output), spaces=(), unguarded=True,
    grads={
        "grad_output": lambda grad, output: sigmoid_backward(grad, output),
        "output": lambda grad, grad_output, output: grad * grad_output * plus(times(output, -2), 1),
    },
)
alias("expit", sigmoid, spaces=("special",))


def _logit(self: Array, eps: float | None) -> Array:
    if eps is not None:
        self = np.clip(self, eps, 1 - eps)
    return np.log(self / (1 - self))


def _logit_slope(low: float, high: float, outside: float, out: Array, work: Array, grad: Array, self: Array) -> None:
    np.subtract(ONE[self.dtype], self, out=out)
    np.multiply(out, self, out=out)
    np.divide(grad, np.abs(out, out=out), out=out)  # of -0 as of 0
    if self.size and not (np.minimum.reduce(self, None) >= low and np.maximum.reduce(self, None) <= high):
        np.copyto(out, outside, where=(self < low) | (self > high))


def _logit_gradient(grad: Any, self: Any, eps: float | None) -> ArrayOrTensor:
    """Inside the bounds 1 / (x (1 - x)); outside zero with `eps`, nan without."""
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    if not isinstance(grad, Tensor):
        return chained(partial(_logit_slope, low, high, math.nan if eps is None else 0.0), grad, self)
    inside = find("logical_and")(self >= low, self <= high)
    return where(inside, grad / (self * number_minus(1.0, self)), math.nan if eps is None else 0.0)


logit = op(
    "logit(self, eps: float? = None)", "LogitBackward0", "log(x / (1 - x)); with `eps` x is first kept within [eps, 1 - eps].",
    forward=_logit, dtypes="float", inplace=True, grads={"self": _logit_gradient},
    samples=(sample(Within(0.1, 0.9, 2, 3)), sample(Within(0.01, 0.99, 2, 3), 0.1)),
    spaces=("torch", "Tensor", "special"),
)
implements("abs")(lambda self: abs_(self))
