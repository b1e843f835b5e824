"""Variance, standard deviation, and the two together with the mean; covariance and correlation."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dtype import Array
from gradsh.engine.op import composite, find, op, sample
from gradsh.engine.shape import wrap_dim, wrap_dims
from gradsh.ops.reduce import PLAIN, Dims, add_reduce, mean_over, unsqueezed
from gradsh.ops.scalars import times
from gradsh.text.fault import fail

# --- kernels ----------------------------------------------------------------------------------------------------


def _counted(sizes: tuple[int, ...], dim: Dims) -> int:
    if not sizes:
        return 1
    count = 1
    for one in dim or range(len(sizes)):
        count *= sizes[wrap_dim(one, len(sizes))]
    return count


def _variance(self: Array, dim: Dims, correction: Any, keepdim: bool, name: str) -> tuple[Any, Any]:
    """Return variance and mean. float32 is summed in float64, as PyTorch's running mean is about that good."""
    if self.dtype.kind != "f":
        message = f"{name} only support floating point and complex dtypes"
        raise fail("dtype", message, RuntimeError)
    axes = wrap_dims(dim, self.ndim)
    count = _counted(self.shape, dim)
    divisor = count - (1 if correction is None else correction)
    if divisor <= 0:
        current().warning(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel)."
        )
    wide = self.astype(np.float64, copy=False)
    mean = mean_over(wide, axes, True)
    centred = wide - mean
    total = add_reduce(centred * centred, axis=axes, keepdims=True)
    variance = total / np.float64(max(divisor, 0))
    shape = variance.shape if keepdim else tuple(n for place, n in enumerate(self.shape) if place not in axes)
    return variance.reshape(shape), mean.astype(self.dtype).reshape(shape)


def _var(self: Array, dim: Dims, correction: Any, keepdim: bool) -> Any:
    return _variance(self, dim, correction, keepdim, "std and var")[0].astype(self.dtype)


def _std(self: Array, dim: Dims, correction: Any, keepdim: bool) -> Any:
    return np.sqrt(_variance(self, dim, correction, keepdim, "std and var")[0]).astype(self.dtype)


def _var_mean(self: Array, dim: Dims, correction: Any, keepdim: bool) -> Any:
    variance, mean = _variance(self, dim, correction, keepdim, "std and var")
    return variance.astype(self.dtype), mean


def _std_mean(self: Array, dim: Dims, correction: Any, keepdim: bool) -> Any:
    variance, mean = _variance(self, dim, correction, keepdim, "std and var")
    return np.sqrt(variance).astype(self.dtype), mean


# --- derivatives ------------------------------------------------------------------------------------------------


def var_backward(grad: Any, self: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    """Return the gradient of a variance: 2 / (n - correction) * (x - mean) * grad."""
    sizes = tuple(self.shape)
    count = _counted(sizes, dim) if dim and sizes else _counted(sizes, None)
    degrees = max(count - (1 if correction is None else correction), 0)
    factor = 2.0 / degrees if degrees else float("inf")
    if isinstance(grad, PLAIN):
        if dim and sizes and not keepdim:
            grad = unsqueezed(grad, dim, len(sizes))
        return times(grad, factor) * (self - mean_over(self, wrap_dims(dim, len(sizes)), True))
    mean = find("mean")
    if not dim or not sizes:
        return times(grad, factor) * (self - mean(self))
    if not keepdim and len(sizes) > 1:
        grad = unsqueezed(grad, dim, len(sizes))
    return times(grad, factor) * (self - mean(self, dim, True))


def std_backward(grad: Any, self: Any, result: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    """Return the gradient of a standard deviation; 0 where the deviation is 0."""
    ratio = find("masked_fill")(grad / times(result, 2), result == 0, 0)
    return var_backward(ratio, self, dim, correction, keepdim)


def _sum_of(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _mean_part(grad: Any, sizes: tuple[int, ...], dim: Dims, keepdim: bool) -> Any:
    from gradsh.ops.reduce import mean_backward

    return mean_backward(grad, sizes, dim, _counted(sizes, None), keepdim)


def _var_mean_grad(grad0: Any, grad1: Any, self: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    parts = []
    if grad0 is not None:
        parts.append(var_backward(grad0, self, dim, correction, keepdim))
    if grad1 is not None:
        parts.append(_mean_part(grad1, tuple(self.shape), dim, keepdim))
    return _sum_of(parts)


def _std_mean_grad(
    grad0: Any, grad1: Any, self: Any, result0: Any, dim: Dims, correction: Any, keepdim: bool
) -> Any:
    parts = []
    if grad0 is not None:
        parts.append(std_backward(grad0, self, result0, dim, correction, keepdim))
    if grad1 is not None:
        parts.append(_mean_part(grad1, tuple(self.shape), dim, keepdim))
    return _sum_of(parts)


# --- records ----------------------------------------------------------------------------------------------------


def _declare(name: str, node: str, doc: str, forward: Any, grads: dict[Any, Any], **parts: Any) -> None:
    """Declare the three overloads: dim and unbiased; dim and correction; unbiased alone."""

    def by_dim(self: Any, dim: Dims, unbiased: bool, keepdim: bool) -> Any:
        return find(name)(self, dim, correction=1 if unbiased else 0, keepdim=keepdim)

    composite(f"{name}(self, dim: ints, unbiased: bool = True, keepdim: bool = False)", doc, by_dim)
    op(
        f"{name}(self, dim: ints? = None, *, correction: number? = None, keepdim: bool = False)", node, doc,
        forward=forward, grads=grads,
        samples=(sample((3, 4)), sample((3, 4), 1), sample((3, 4), 1, correction=0), sample((3, 4), (0, 1), keepdim=True)),
        **parts,
    )
    composite(f"{name}(self, dim: ints?, unbiased: bool = True, keepdim: bool = False)", doc, by_dim)
    composite(
        f"{name}(self, unbiased: bool)", doc,
        lambda self, unbiased: find(name)(self, None, correction=1 if unbiased else 0, keepdim=False),
    )


_declare("var", "VarBackward0", "Variance, divided by n - 1 unless told otherwise.", _var, {
    "self": lambda grad, self, dim, correction, keepdim: var_backward(grad, self, dim, correction, keepdim)
})
_declare("std", "StdBackward0", "Standard deviation, with n - 1 unless told otherwise.", _std, {
    "self": lambda grad, self, result, dim, correction, keepdim: std_backward(grad, self, result, dim, correction, keepdim)
})
_declare("var_mean", "VarMeanBackward0", "Variance and mean.", _var_mean, {"self": _var_mean_grad})
_declare("std_mean", "StdMeanBackward0", "Standard deviation and mean.", _std_mean, {"self": _std_mean_grad})
