"""Softmax, its logarithm and softmin, and logsumexp."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy
from gradsh.engine.values.shape import wrap_dim, wrap_dims
from gradsh.ops.kernels.common import in_parts, unsupported
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.reduce import PLAIN, Dims, add_reduce, row_major, unsqueezed

max_reduce = np.maximum.reduce


_NARROW = 32
"""Extent of the last dim up to which its maxima are taken of the transpose: numpy is slow on short rows."""


def _shifted(self: Array, axis: int, out: Array | None = None) -> Array:
    if self.ndim == 2 and axis == 1 and 0 < self.shape[1] <= _NARROW < self.shape[0]:
        return np.subtract(self, max_reduce(self.T.copy(), axis=0)[:, None], out)
    return np.subtract(self, max_reduce(self, axis=axis, keepdims=True), out)


def softmax_array(self: Array, dim: int) -> Array:
    """Return the softmax of an array along a dimension."""
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind != "f":
        raise unsupported("softmax_lastdim_kernel_impl" if axis >= self.ndim - 1 else "softmax_kernel_impl", self)
    if self.ndim == 0 or self.size == 0:
        return np.asarray(np.exp(self - self))
    return _by_entries(_softmax, axis, row_major(self))


def _softmax(self: Array, axis: int, out: Array | None = None) -> Array:
    exps = _shifted(self, axis, out)
    np.exp(exps, exps)
    exps /= add_reduce(exps, axis=axis, keepdims=True)
    return exps


def _log_softmax(self: Array, axis: int, out: Array | None = None) -> Array:
    shifted = _shifted(self, axis, out)
    shifted -= np.log(add_reduce(np.exp(shifted), axis=axis, keepdims=True))
    return shifted


def _by_entries(kernel: Any, axis: int, *arrays: Array) -> Array:
    """Run a kernel along an axis: where that is not the first, on some entries of the first at a time."""
    return in_parts(lambda *parts, out=None: kernel(*parts, axis, out), *arrays) if axis else kernel(*arrays, axis)


def log_softmax_array(self: Array, dim: int) -> Array:
    """Return the logarithm of the softmax of an array along a dimension."""
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind != "f":
        raise unsupported("log_softmax_lastdim_kernel_impl" if axis >= self.ndim - 1 else "log_softmax_kernel_impl", self)
    if self.ndim == 0 or self.size == 0:
        return np.asarray(self - self)
    return _by_entries(_log_softmax, axis, row_major(self))


# --- derivatives, which are operations of their own -------------------------------------------------------------


def _softmax_backward(grad_output: Array, output: Array, dim: int, input_dtype: object) -> Array:
    if output.ndim == 0 or output.size == 0:
        product = grad_output * output
        return np.asarray(product - output * product)
    return _by_entries(_softmax_slope, wrap_dim(dim, output.ndim), grad_output, output)


def _softmax_slope(grad: Array, output: Array, axis: int, out: Array | None = None) -> Array:
    found: Array = np.subtract(grad, _dots(grad, output, axis), out)
    found *= output
    return found


_LONG = 1 << 12
"""Products up to which float32 adds them up well, several at once."""


def _dots(a: Array, b: Array, axis: int) -> Array:
    """Return the sums of products along an axis, which is kept."""
    if axis == a.ndim - 1 and a.shape[axis] <= _LONG:
        return np.vecdot(a, b)[..., None]
    return add_reduce(a * b, axis=axis, keepdims=True)


def _sum_kept(value: object, dim: int) -> Any:
    if isinstance(value, PLAIN):
        return add_reduce(value, axis=wrap_dim(dim, value.ndim), keepdims=True) if value.ndim else value
    return find("sum")(value, (dim,), True)


def _softmax_twice(grad: ArrayOrTensor, grad_output: ArrayOrTensor, output: object, dim: int) -> ArrayOrTensor:
    weighted = _sum_kept(grad_output * output, dim)
    return grad_output * grad - weighted * grad - grad_output * _sum_kept(output * grad, dim)


softmax_backward: Any = op(
    "_softmax_backward_data(grad_output, output, dim: int, input_dtype: dtype? = None)", "SoftmaxBackwardDataBackward0",
    "The derivative of softmax.", forward=_softmax_backward, spaces=(), attributes=("dim",),
    grads={
        "grad_output": lambda grad, output, dim: softmax_backward(grad, output, dim),
        "output": lambda grad, grad_output, output, dim: _softmax_twice(grad, grad_output, output, dim),
    },
)


def _log_softmax_backward(grad_output: Array, output: Array, dim: int, input_dtype: object) -> Array:
    if output.ndim == 0 or output.size == 0:
        return np.asarray(grad_output - np.exp(output) * grad_output)
    return _by_entries(_log_softmax_slope, wrap_dim(dim, output.ndim), grad_output, output)


def _log_softmax_slope(grad: Array, output: Array, axis: int, out: Array | None = None) -> Array:
    found: Array = np.exp(output, out)
    found *= add_reduce(grad, axis=axis, keepdims=True)
    return np.subtract(grad, found, out=found)


log_softmax_backward = op(
    "_log_softmax_backward_data(grad_output, output, dim: int, input_dtype: dtype? = None)",
    "LogSoftmaxBackwardDataBackward0", "The derivative of log_softmax.", forward=_log_softmax_backward, spaces=(),
    attributes=("dim",),
    grads={
        "grad_output": lambda grad, output, dim: grad - _sum_kept(grad * _exp(output), dim),
        "output": lambda grad, grad_output, output, dim: -_sum_kept(grad_output, dim) * _exp(output) * grad,
    },
)


def _exp(value: ArrayOrTensor) -> ArrayOrTensor:
    return np.exp(value) if isinstance(value, PLAIN) else find("exp")(value)


# --- what users call --------------------------------------------------------------------------------------------

_SPACES = ("torch", "Tensor", "special")

softmax = op(
    "softmax(self, dim: int)", "SoftmaxBackward0", "exp(x) / sum of exp(x) along a dimension.",
    forward=softmax_array, spaces=_SPACES,
    grads={"self": lambda grad, result, dim, self_dtype: softmax_backward(grad, result, dim)},
    samples=(sample((2, 3), 1), sample((2, 3), 0), sample((), 0)),
    note="Saves only its result.",
)
log_softmax = op(
    "log_softmax(self, dim: int)", "LogSoftmaxBackward0", "Logarithm of the softmax, computed without overflow.",
    forward=log_softmax_array, spaces=_SPACES,
    grads={"self": lambda grad, result, dim, self_dtype: log_softmax_backward(grad, result, dim)},
    samples=(sample((2, 3), 1), sample((2, 3), 0), sample((), 0)),
)


def implicit_dim(name: str, ndim: int) -> int:
    """Return the dimension that F.softmax takes when none is given, with its warning."""
    message = f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    current().warning(message)
    return 0 if ndim in {0, 1, 3} else 1


def _with_dtype(operation: Any) -> Any:
    def body(self: Tensor, dim: int | None, _stacklevel: int, dtype: NumpyDType | None) -> Tensor:
        if dim is None:
            dim = implicit_dim(operation.name, len(self.shape))
        if dtype is not None and array_of(self).dtype != dtype:
            self = find("to")(self, of_numpy(dtype))
        return operation(self, dim)

    return body


def _positional(operation: object) -> Any:
    body = _with_dtype(operation)
    return lambda self, dim, dtype: body(self, dim, 3, dtype)


for _operation in (softmax, log_softmax):
    _name = _operation.name
    _doc = _operation.records[0].doc
    composite(f"{_name}(self, dim: int, dtype: dtype? = None)", _doc, _positional(_operation), _SPACES)
    composite(f"F_{_name}(self, dim: int? = None, _stacklevel: int = 3, dtype: dtype? = None)", _doc, _with_dtype(_operation), ("F",))


def _softmin(self: Tensor, dim: int | None, _stacklevel: int, dtype: object) -> Tensor:
    if dim is None:
        dim = implicit_dim("softmin", len(self.shape))
    return softmax(-self, dim, dtype=dtype) if dtype is not None else softmax(-self, dim)


composite("softmin(self, dim: int? = None, _stacklevel: int = 3, dtype: dtype? = None)", "Softmax of the negative.", _softmin,
          ("F",), samples=(sample((2, 3), 1),))

# --- logsumexp --------------------------------------------------------------------------------------------------


def _logsumexp(self: Array, dim: Dims, keepdim: bool) -> Array:
    if self.dtype.kind != "f":
        self = self.astype(current().default_dtype)
    axes = wrap_dims(dim, self.ndim)
    if self.size == 0:
        return np.log(add_reduce(np.exp(self), axis=axes, keepdims=keepdim))
    peak = max_reduce(self, axis=axes, keepdims=True)
    peak = np.where(np.isinf(peak), self.dtype.type(0), peak)
    total = np.log(add_reduce(np.exp(self - peak), axis=axes, keepdims=True)) + peak
    return total if keepdim else total.reshape(tuple(n for place, n in enumerate(total.shape) if place not in axes))


def _logsumexp_grad(
    grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor, dim: Dims, keepdim: bool
) -> ArrayOrTensor:
    ndim = len(self.shape)
    if not keepdim and ndim:
        grad, result = unsqueezed(grad, dim, ndim), unsqueezed(result, dim, ndim)
    return grad * _exp(self - result)


op(
    "logsumexp(self, dim: ints, keepdim: bool = False)", "LogsumexpBackward0", "Logarithm of the sum of exp, without overflow.",
    layout="contiguous", forward=_logsumexp, grads={"self": _logsumexp_grad}, spaces=("torch", "Tensor", "special"),
    samples=(sample((2, 3), 1), sample((2, 3), (0, 1), True)),
    note="Saves self and result.",
)
