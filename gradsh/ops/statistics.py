"""Variance, standard deviation, and the two together with the mean; covariance and correlation."""

import math
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.shape import wrap_dim, wrap_dims
from gradsh.ops.kernels.geometry import array_of, beside
from gradsh.ops.reduce import PLAIN, Dims, add_reduce, mean_backward, mean_over, unsqueezed
from gradsh.ops.scalars import minus, times
from gradsh.text.fault import fail

# --- kernels ----------------------------------------------------------------------------------------------------


def _counted(sizes: tuple[int, ...], dim: Dims) -> int:
    return math.prod(sizes[wrap_dim(one, len(sizes))] for one in dim or range(len(sizes))) if sizes else 1


def _variance(self: Array, dim: Dims, correction: int | None, keepdim: bool) -> tuple[Array, Array]:
    """Return variance and mean. float32 is summed in float64, as PyTorch's running mean is about that good."""
    if self.dtype.kind != "f":
        raise fail("dtype", "std and var only support floating point and complex dtypes")
    axes = wrap_dims(dim, self.ndim)
    count = _counted(self.shape, dim)
    divisor = count - (1 if correction is None else correction)
    if divisor <= 0:
        current().warning(
            "std and var(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel)."
        )
    wide = self.astype(np.float64, copy=False)
    mean = mean_over(wide, axes, True)
    centred = wide - mean
    total = add_reduce(centred * centred, axis=axes, keepdims=True)
    variance = total / np.float64(max(divisor, 0))
    shape = variance.shape if keepdim else tuple(n for place, n in enumerate(self.shape) if place not in axes)
    return variance.reshape(shape), mean.astype(self.dtype).reshape(shape)


def _var(self: Array, dim: Dims, correction: int | None, keepdim: bool) -> Array:
    return _variance(self, dim, correction, keepdim)[0].astype(self.dtype)


def _std(self: Array, dim: Dims, correction: int | None, keepdim: bool) -> Array:
    return np.sqrt(_variance(self, dim, correction, keepdim)[0]).astype(self.dtype)


def _var_mean(self: Array, dim: Dims, correction: int | None, keepdim: bool) -> tuple[Array, ...]:
    variance, mean = _variance(self, dim, correction, keepdim)
    return variance.astype(self.dtype), mean


def _std_mean(self: Array, dim: Dims, correction: int | None, keepdim: bool) -> tuple[Array, ...]:
    variance, mean = _variance(self, dim, correction, keepdim)
    return np.sqrt(variance).astype(self.dtype), mean


# --- derivatives ------------------------------------------------------------------------------------------------


def var_backward(grad: ArrayOrTensor, self: Any, dim: Dims, correction: int | None, keepdim: bool) -> ArrayOrTensor:
    """Return the gradient of a variance: 2 / (n - correction) * (x - mean) * grad."""
    sizes = tuple(self.shape)
    whole = not dim or not sizes
    degrees = _counted(sizes, None if whole else dim) - (1 if correction is None else correction)
    if whole and degrees <= 0:
        return _without_freedom(grad, self)
    factor = 2.0 / degrees if degrees else float("inf")
    if not whole and not keepdim and len(sizes) > 1:
        grad = unsqueezed(grad, dim, len(sizes))
    if isinstance(grad, PLAIN):
        return times(grad, factor) * (self - mean_over(self, wrap_dims(dim, len(sizes)), True))
    mean = find("mean")
    return times(grad, factor) * (self - (mean(self) if whole else mean(self, dim, True)))


def _without_freedom(grad: ArrayOrTensor, self: object) -> Any:
    """Return what PyTorch gives where nothing is left to divide by: nan at the mean, infinity elsewhere."""
    array = array_of(self)
    slope = np.where(array == mean_over(array, tuple(range(array.ndim)), True), np.nan, np.inf)
    return grad * beside(grad, slope.astype(current().default_dtype))


def std_backward(
    grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor, dim: Dims, correction: int | None, keepdim: bool
) -> ArrayOrTensor:
    """Return the gradient of a standard deviation; 0 where the deviation is 0."""
    ratio = find("masked_fill")(grad / times(result, 2), result == 0, 0)
    return var_backward(ratio, self, dim, correction, keepdim)


def _mean_added(
    found: ArrayOrTensor, grad: ArrayOrTensor | None, self: ArrayOrTensor, dim: Dims, keepdim: bool
) -> ArrayOrTensor:
    """Add to the gradient through the spread (None without one) that through the mean."""
    if grad is None:
        return found
    sizes = tuple(self.shape)
    part = mean_backward(grad, sizes, dim, _counted(sizes, None), keepdim)
    return part if found is None else found + part


def _var_mean_grad(
    grad0: ArrayOrTensor, grad1: ArrayOrTensor, self: ArrayOrTensor, dim: Dims, correction: int | None, keepdim: bool
) -> ArrayOrTensor:
    found = None if grad0 is None else var_backward(grad0, self, dim, correction, keepdim)
    return _mean_added(found, grad1, self, dim, keepdim)


def _std_mean_grad(
    grad0: ArrayOrTensor, grad1: ArrayOrTensor | None, self: ArrayOrTensor, result0: ArrayOrTensor, dim: Dims,
    correction: int | None, keepdim: bool,
) -> ArrayOrTensor:
    found = None if grad0 is None else std_backward(grad0, self, result0, dim, correction, keepdim)
    return _mean_added(found, grad1, self, dim, keepdim)


# --- records ----------------------------------------------------------------------------------------------------


def _declare(name: str, node: str, doc: str, forward: object, grads: dict[object, object]) -> None:
    """Declare the three overloads: dim and unbiased; dim and correction; unbiased alone."""

    def by_dim(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> Tensor | tuple[Tensor, ...]:
        return find(name)(self, dim, correction=1 if unbiased else 0, keepdim=keepdim)

    spaces = ("torch",) if name.endswith("_mean") else ("torch", "Tensor")
    composite(f"{name}(self, dim: ints, unbiased: bool = True, keepdim: bool = False)", doc, by_dim, spaces)
    op(
        f"{name}(self, dim: ints? = None, *, correction: number? = None, keepdim: bool = False)", node, doc,
        layout="contiguous", forward=forward, grads=grads, spaces=spaces,
        samples=(sample((3, 4)), sample((3, 4), 1), sample((3, 4), 1, correction=0), sample((3, 4), (0, 1), keepdim=True)),
        note="Saves self and result; var saves only self." if name == "std" else "",
    )
    composite(f"{name}(self, dim: ints?, unbiased: bool = True, keepdim: bool = False)", doc, by_dim, spaces)
    composite(
        f"{name}(self, unbiased: bool)", doc,
        lambda self, unbiased: find(name)(self, None, correction=1 if unbiased else 0, keepdim=False), spaces,
    )


_declare("var", "VarBackward0", "Variance, divided by n - 1 unless told otherwise.", _var, {
    "self": lambda grad, self, dim, correction, keepdim: var_backward(grad, self, dim, correction, keepdim)
})
_declare("std", "StdBackward0", "Standard deviation, with n - 1 unless told otherwise.", _std, {
    "self": lambda grad, self, result, dim, correction, keepdim: std_backward(grad, self, result, dim, correction, keepdim)
})
_declare("var_mean", "VarMeanBackward0", "Variance and mean.", _var_mean, {"self": _var_mean_grad})
_declare("std_mean", "StdMeanBackward0", "Standard deviation and mean.", _std_mean, {"self": _std_mean_grad})

# --- covariance -------------------------------------------------------------------------------------------------


def _weights(fweights: Any, aweights: Any, observations: int) -> Any:
    """Return the product of frequencies and weights, None without either."""
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        array = array_of(given)
        if array.ndim > 1:
            message = f"cov(): expected {name} to have one or fewer dimensions but got {name} with {array.ndim} dimensions"
            raise fail("shape", message)
        if (array.dtype.kind not in "iu") == (name == "fweights"):
            wanted = "integral" if name == "fweights" else "floating point"
            message = f"cov(): expected {name} to have {wanted} dtype but got {name} with {of_numpy(array.dtype).title} dtype"
            raise fail("dtype", message)
        if array.size != observations:
            message = (
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{array.size} != {observations}"
            )
            raise fail("shape", message)
        if array.size and array.min() < 0:
            raise fail("value", f"cov(): {name} cannot be negative")
        weights = given if weights is None else weights * given
    return weights


def _cov(self: Tensor, correction: int, fweights: object, aweights: object) -> Tensor:
    if self.ndim > 2:
        message = f"cov(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions"
        raise fail("shape", message)
    if array_of(self).dtype == np.bool_:
        raise fail("dtype", "cov(): bool dtype is not supported for input")
    points = find("view")(self, (1, -1)) if self.ndim < 2 else self
    weights = _weights(fweights, aweights, points.shape[1])
    total = find("sum")
    weight = make(np.asarray(points.shape[1])) if weights is None else total(weights)
    if weights is not None and array_of(weight) == 0:
        raise fail("value", "cov(): weights sum to zero, can't be normalized")
    mean = total(points if weights is None else points * weights, (1,)) / weight
    if aweights is not None and correction != 0:
        factor = weight - times(total(weights * aweights), correction) / weight
    else:
        factor = minus(weight, correction) if correction else weight
    if array_of(factor) <= 0:
        current().warning(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
        )
        factor = find("zero_")(factor)
    points = points - find("unsqueeze")(mean, 1)
    weighted = points if weights is None else points * weights
    return find("squeeze")(find("mm")(points, find("t")(weighted)) / factor)


composite(
    "cov(self, *, correction: int = 1, fweights: Tensor? = None, aweights: Tensor? = None)",
    "Covariance of the variables (rows) over the observations (columns).", _cov, samples=(sample((2, 4)),),
)


def _corrcoef(self: Tensor) -> Tensor:
    if self.ndim > 2:
        message = f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions"
        raise fail("shape", message)
    covariance = find("cov")(self)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = find("sqrt")(find("diagonal")(covariance))
    view = find("view")
    return find("clamp")(covariance / view(deviation, (-1, 1)) / view(deviation, (1, -1)), -1, 1)


composite("corrcoef(self)", "Correlation of the variables (rows).", _corrcoef, samples=(sample((2, 4)),))
