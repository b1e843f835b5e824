"""Special functions: erf and its relatives, gamma and Bessel functions, entropies."""

import math
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import Within, alias, composite, op, sample, unary
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels import special_functions as functions
from gradsh.ops.kernels.common import together
from gradsh.ops.pointwise import exp, log, reciprocal, sgn
from gradsh.ops.power import power
from gradsh.ops.scalars import minus, over, plus, times
from gradsh.ops.select import masked_fill, where
from gradsh.text.fault import fail

_POSITIVE = Within(0.3, 3.0, 2, 3)
_BOTH = ("torch", "Tensor", "special")
_SPECIAL = ("special",)

# --- error functions ----------------------------------------------------------------------------------------------

erf = unary(
    "erf", "The error function.", functions.erf_kernel,
    lambda grad, self: times(exp(-power(self, 2)), 2.0 / math.sqrt(math.pi)) * grad, spaces=_BOTH,
)
erfc = unary(
    "erfc", "1 - erf(x), accurate for large x.", functions.erfc_kernel,
    lambda grad, self: times(exp(-power(self, 2)), -2.0 / math.sqrt(math.pi)) * grad, spaces=_BOTH,
)
erfinv: Operation = unary(
    "erfinv", "The inverse of erf.", functions.erfinv_kernel,
    lambda grad, self: times(exp(power(erfinv(self), 2)), 0.5 * math.sqrt(math.pi)) * grad,
    at=Within(-0.9, 0.9, 2, 3), spaces=_BOTH,
)
unary(
    "erfcx", "exp(x²) erfc(x).", functions.erfcx_kernel,
    lambda grad, self, result: minus(times(self, 2.0) * result, 2.0 / math.sqrt(math.pi)) * grad,
    node="SpecialErfcxBackward0", inplace=False, spaces=_SPECIAL, reduced="erfcx_cpu",
)
unary(
    "ndtri", "The quantile of the normal distribution.", functions.ndtri_kernel,
    lambda grad, result: times(grad, math.sqrt(2 * math.pi)) * exp(over(power(result, 2), 2)),
    node="SpecialNdtriBackward0", inplace=False, at=Within(0.1, 0.9, 2, 3), spaces=_SPECIAL, reduced="ndtri_cpu",
)
unary(
    "log_ndtr", "The logarithm of the normal distribution function.", functions.log_ndtr_kernel,
    lambda grad, self, result: over(grad, math.sqrt(2 * math.pi)) * exp(-(result + over(power(self, 2), 2))),
    node="SpecialLogNdtrBackward0", inplace=False, spaces=_SPECIAL, reduced="log_ndtr_cpu",
)
composite(
    "ndtr(self)", "The normal distribution function, by erf.",
    lambda self: times(plus(erf(times(self, math.sqrt(0.5))), 1), 0.5), spaces=_SPECIAL,
)

# --- gamma functions ----------------------------------------------------------------------------------------------

lgamma = unary(
    "lgamma", "The logarithm of |Γ(x)|.", functions.lgamma_kernel, lambda grad, self: grad * digamma(self),
    at=_POSITIVE,
)
digamma: Operation = unary(
    "digamma", "The derivative of log Γ.", functions.digamma_kernel, lambda grad, self: grad * polygamma(1, self),
    at=_POSITIVE, spaces=_BOTH,
)


def _polygamma(n: int, self: Array) -> Array:
    if n < 0:
        raise fail("value", "polygamma(n, x) does not support negative n.")
    return functions.polygamma_kernel(n, self)


polygamma: Operation = op(
    "polygamma(n: int, self)", "PolygammaBackward0", "The n-th derivative of digamma.", forward=_polygamma, dtypes="float",
    spaces=("torch", "special"), grads={"self": lambda grad, n, self: grad * polygamma(n + 1, self)},
    samples=(sample(1, _POSITIVE), sample(2, _POSITIVE)),
)
op(
    "polygamma_(self, n: int)", "PolygammaBackward1", "The n-th derivative of digamma. In place.", kind="inplace", dtypes="float",
    forward=lambda self, n: _polygamma(n, self), spaces=("Tensor",),
    grads={"self": lambda grad, n, self: grad * polygamma(n + 1, self)},
)
composite(
    "Tensor_polygamma(self, n: int)", "The n-th derivative of digamma.", lambda self, n: polygamma(n, self), spaces=("Tensor",),
)
zeta: Operation = op(
    "zeta(self, other)", "SpecialZetaBackward0", "Hurwitz's zeta function.", layout="operands",
    forward=functions.zeta_kernel, dtypes="float", reduced="zeta_cpu",
    spaces=_SPECIAL, grads={"self": None, "other": lambda grad, self, other: grad * -self * zeta(plus(self, 1.0), other)},
)


def _zeta(self: float, other: Array) -> Array:
    a, b = (np.asarray(one) for one in together(self, other))
    dtype = a.dtype if a.dtype.kind == "f" else current().default_dtype
    return functions.zeta_kernel(a.astype(dtype), b.astype(dtype))


op(
    "zeta(self: number, other)", "SpecialZetaBackward1", "Hurwitz's zeta function.", layout="operands", forward=_zeta, spaces=_SPECIAL,
    grads={"other": lambda grad, self, other: times(grad, -self) * zeta(float(self) + 1.0, other)},
    samples=(sample(2.5, _POSITIVE),), reduced="zeta_cpu",
)
op(
    "zeta(self, other: number)", "SpecialZetaBackward2", "Hurwitz's zeta function.", layout="operands", forward=_zeta, spaces=_SPECIAL,
    grads={"self": None}, reduced="zeta_cpu",
)


def _mvlgamma_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, p: int) -> ArrayOrTensor:
    """The sum of digamma over the shifted arguments."""
    steps = np.arange(1 - p, 1, dtype=np.float64) / 2
    shifts: Any = steps.astype(self.array.dtype if isinstance(self, Tensor) else self.dtype)
    if isinstance(self, Tensor):
        shifts = make(shifts)
        return grad * find("sum")(digamma(shifts + find("unsqueeze")(self, -1)), (-1,))
    return grad * functions.digamma_kernel(shifts + np.asarray(self)[..., None]).sum(-1)


def _mvlgamma(self: Array, p: int) -> Array:
    if p < 1:
        raise fail("value", "p has to be greater than or equal to 1")
    total = np.asarray(p * (p - 1) / 4 * math.log(math.pi), self.dtype)
    for step in range(p):
        total = total + functions.lgamma_kernel(self - step / 2)
    return total


op(
    "mvlgamma(self, p: int)", "MvlgammaBackward0", "The logarithm of the multivariate gamma function.", forward=_mvlgamma,
    dtypes="float", inplace=True, grads={"self": _mvlgamma_gradient}, samples=(sample(Within(1.0, 3.0, 2, 3), 2),),
)

# --- Bessel functions ---------------------------------------------------------------------------------------------


def _i1_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    """I1'(x) = I0(x) - I1(x)/x, one half at 0."""
    away = find("abs")(self) > _tiny(self)
    safe = where(away, self, _tiny(self))
    return grad * where(away, i0(safe) - result * reciprocal(safe), 0.5)


def _i1e_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    away = find("abs")(self) > _tiny(self)
    safe = where(away, self, _tiny(self))
    return grad * where(away, i0e(safe) - result * (sgn(safe) + reciprocal(safe)), 0.5)


def _tiny(value: ArrayOrTensor) -> float:
    array = value if isinstance(value, (np.ndarray, np.generic)) else value.array
    return float(np.finfo(array.dtype).eps)


i0 = unary(
    "i0", "The modified Bessel function I0.", functions.i0_kernel, lambda grad, self: grad * i1(self), spaces=_BOTH,
)
i0e = unary(
    "i0e", "exp(-|x|) I0(x).", functions.i0e_kernel,
    lambda grad, self, result: grad * (i1e(self) - sgn(self) * result), node="SpecialI0EBackward0", inplace=False,
    spaces=_SPECIAL,
)
i1: Operation = unary(
    "i1", "The modified Bessel function I1.", functions.i1_kernel, _i1_gradient, node="SpecialI1Backward0",
    inplace=False, spaces=_SPECIAL,
)
i1e: Operation = unary(
    "i1e", "exp(-|x|) I1(x).", functions.i1e_kernel, _i1e_gradient, node="SpecialI1EBackward0", inplace=False,
    spaces=_SPECIAL,
)

# --- entropies ----------------------------------------------------------------------------------------------------


def _entr(self: Array) -> Array:
    product = -self * np.log(self)
    return np.where(self > 0, product, np.where(self == 0, np.zeros((), self.dtype), np.where(self < 0, -np.inf, self)))


unary(
    "entr", "-x log(x), 0 at 0, -inf below.", lambda self: _entr(self).astype(self.dtype),
    lambda grad, self: grad * -plus(log(self), 1), node="SpecialEntrBackward0", inplace=False, at=_POSITIVE,
    spaces=_SPECIAL,
)


def _xlog1py(self: Array, other: Array) -> Array:
    product = self * np.log1p(other)
    return np.where((self == 0) & ~np.isnan(other), np.zeros((), product.dtype), product)


def _xlog1py_any(self: Array | float, other: Array | float) -> Array:
    a, b = together(self, other)
    dtype = a.dtype if a.dtype.kind == "f" else current().default_dtype
    return _xlog1py(a.astype(dtype), b.astype(dtype))


def _number_gradient(grad: ArrayOrTensor, self: ArrayOrTensor, other: float) -> ArrayOrTensor:
    product = xlog1py(grad, other)
    return product if other > -1 else masked_fill(product, self == 0.0, 0.0)


xlog1py: Operation = op(
    "xlog1py(self, other)", "SpecialXlog1PyBackward0", "self * log1p(other), 0 where `self` is 0.",
    layout="operands", forward=_xlog1py_any, spaces=_SPECIAL, samples=(sample((2, 3), _POSITIVE),),
    grads={
        "self": lambda grad, self, other: masked_fill(
            xlog1py(grad, other), find("logical_and")(self == 0.0, other <= -1.0), 0.0
        ),
        "other": lambda grad, self, other: grad * self / plus(other, 1),
    },
)
op(
    "xlog1py(self: number, other)", "SpecialXlog1PyBackward1", "A number times log1p(other).", layout="operands", forward=_xlog1py_any,
    spaces=_SPECIAL, grads={"other": lambda grad, self, other: times(grad, self) / plus(other, 1)},
    samples=(sample(2.0, _POSITIVE),),
)
op(
    "xlog1py(self, other: number)", "SpecialXlog1PyBackward2", "self times log1p of a number.", layout="operands", forward=_xlog1py_any,
    spaces=_SPECIAL, grads={"self": _number_gradient}, samples=(sample((2, 3), 2.0),),
)

alias("psi", digamma, spaces=_SPECIAL)
alias("gammaln", lgamma, spaces=_SPECIAL)
alias("multigammaln", find("mvlgamma"), spaces=_SPECIAL)
