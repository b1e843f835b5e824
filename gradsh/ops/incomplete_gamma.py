"""The regularized incomplete gamma functions: igamma and igammac, gammainc and gammaincc of torch.special."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gradsh.engine.dispatch.declare import alias, op
from gradsh.engine.graph.tensor import ArrayOrTensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.special_functions import in_double, lgamma_kernel
from gradsh.ops.scalars import plus
from gradsh.text.fault import fail

_MOST_TERMS = 4000


def _series(a: Array, x: Array) -> Array:
    """Return the lower function over its first factor: sum x^n / (a+1)…(a+n)."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    place = a.copy()
    for _ in range(_MOST_TERMS):
        place += 1
        term *= x / place
        total += term
        if (term <= total * 1e-17).all():
            break
    return total


def _fraction(a: Array, x: Array) -> Array:
    """Return the upper function over its first factor, by Lentz's way through its continued fraction."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / np.where(b == 0, tiny, b)
    found = d.copy()
    for n in range(1, _MOST_TERMS):
        factor = -n * (n - a)
        b = b + 2
        d = factor * d + b
        c = b + factor / c
        d = 1 / np.where(d == 0, tiny, d)
        change = d * np.where(c == 0, tiny, c)
        found *= change
        if (abs(change - 1) < 1e-16).all():
            break
    return found


def _lower_and_upper(a: Array, x: Array) -> tuple[Array, Array]:
    a, x = (np.atleast_1d(np.asarray(one, np.float64)) for one in np.broadcast_arrays(a, x))
    lower, upper = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    edge = (a >= 0) & (x >= 0)
    zero, one = edge & (((x == 0) & (a > 0)) | (np.isinf(a) & ~np.isinf(x))), edge & (((a == 0) & (x > 0)) | (np.isinf(x) & ~np.isinf(a)))
    lower[zero], upper[zero], lower[one], upper[one] = 0, 1, 1, 0
    plain = edge & (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    with np.errstate(all="ignore"):
        below = plain & (x <= a + 1)
        for chosen in (below, plain & ~below):
            p, q = a[chosen], x[chosen]
            factor = np.exp(p * np.log(q) - q - lgamma_kernel(p))
            part = factor * _series(p, q) / p if chosen is below else factor * _fraction(p, q)
            lower[chosen], upper[chosen] = (part, 1 - part) if chosen is below else (1 - part, part)
    return lower, upper


def _shaped(which: int) -> Callable[..., Array]:
    return in_double(lambda a, x: _lower_and_upper(a, x)[which].reshape(np.broadcast_shapes(np.shape(a), np.shape(x))))


def _density(self: ArrayOrTensor, other: ArrayOrTensor) -> ArrayOrTensor:
    """Return the derivative of the lower function by its second argument."""
    return find("exp")(plus(self, -1) * find("log")(other) - other - find("lgamma")(self))


def _declare(name: str, shown: str, doc: str, which: int, sign: int) -> None:
    def by_first(grad: object) -> NoReturn:
        del grad
        raise fail("other", f"the derivative for '{name}: input' is not implemented.", NotImplementedError)

    def check(self: Array, other: Array) -> None:
        dtype = np.result_type(self, other)
        if dtype.kind != "f":
            raise unsupported(f"{name}_cpu", np.empty(0, dtype))

    operation = op(
        f"{name}(self, other)", f"{name.capitalize()}Backward0", doc, forward=_shaped(which), dtypes="float", inplace=True, check=check,
        grads={"self": by_first, "other": lambda grad, self, other: grad * _density(self, other) * sign}, forward_mode="refused",
    )
    alias(shown, operation, spaces=("special",))


_declare("igamma", "gammainc", "The regularized lower incomplete gamma function.", 0, 1)
_declare("igammac", "gammaincc", "The regularized upper incomplete gamma function.", 1, -1)


# --- how random numbers follow their parameters ---------------------------------------------------------------------


def _slope(share: Any, a: Array) -> Array:
    """Return the derivative by `a` of what `share(a)` computes, from both sides."""
    step = 1e-4 * np.maximum(a, 1e-2)
    return np.asarray((share(a + step) - share(a - step)) / (2 * step))


def _gamma_grad(a: Array, x: Array) -> Array:
    """Return how a gamma number moves with its concentration: minus the slope of the cumulative probability, over the density."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        density = np.exp((a - 1) * np.log(x) - x - lgamma_kernel(a))
        below = _slope(lambda near: _lower_and_upper(near, x)[0].reshape(x.shape), a)
        above = _slope(lambda near: _lower_and_upper(near, x)[1].reshape(x.shape), a)
        return np.where(x <= a, -below, above) / density


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction of the regularized incomplete beta function, by Lentz's way."""
    tiny = 1e-300
    c, d = np.ones_like(x), 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(abs(d) < tiny, tiny, d)
    found = d.copy()
    for m in range(1, _MOST_TERMS):
        change = np.ones_like(x)
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + factor * d, 1 + factor / c
            d, c = 1 / np.where(abs(d) < tiny, tiny, d), np.where(abs(c) < tiny, tiny, c)
            change = d * c
            found *= change
        if (abs(change - 1) < 1e-15).all():
            break
    return found


def _beta_share(a: Array, b: Array, x: Array) -> Array:
    """Return the cumulative probability up to x of the beta distribution."""
    front = np.exp(a * np.log(x) + b * np.log1p(-x) + lgamma_kernel(a + b) - lgamma_kernel(a) - lgamma_kernel(b))
    near = x < (a + 1) / (a + b + 2)
    p, q, y = np.where(near, a, b), np.where(near, b, a), np.where(near, x, 1 - x)
    part = front * _beta_fraction(p, q, y) / p
    return np.where(near, part, 1 - part)


def _dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """Return how a Dirichlet number moves with its concentration, over 1 - x."""
    x, alpha, total = (np.asarray(one, np.float64) for one in np.broadcast_arrays(x, alpha, total))
    beta = total - alpha
    with np.errstate(all="ignore"):
        density = np.exp(
            (alpha - 1) * np.log(x) + (beta - 1) * np.log1p(-x) + lgamma_kernel(total) - lgamma_kernel(alpha) - lgamma_kernel(beta)
        )
        return -_slope(lambda near: _beta_share(near, beta, x), alpha) / density / (1 - x)


op(
    "_standard_gamma_grad(self, output)", "StandardGammaGradBackward0", "How gamma numbers move with their concentrations.",
    forward=in_double(_gamma_grad), grads={"self": None}, spaces=("torch",),
)
op(
    "_dirichlet_grad(x, alpha, total)", "DirichletGradBackward0", "How Dirichlet numbers move with their concentrations.",
    forward=in_double(_dirichlet_grad), grads={"x": None}, spaces=("torch",),
)
