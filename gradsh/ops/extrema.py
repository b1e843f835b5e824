"""Largest and smallest elements: max, min, amax, amin, aminmax, argmax, argmin, and how ties share the gradient."""

from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import note, writes
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import wrap_dim, wrap_dims
from gradsh.ops.kernels.along import placed
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.reduce import PLAIN, Dims, add_reduce, restored, unsqueezed
from gradsh.text.fault import fail

# --- derivatives ------------------------------------------------------------------------------------------------


def shared_evenly(grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    """Give all elements equal to the result the same share of the gradient (nan counts as equal to nan)."""
    value, array = array_of(result), array_of(self)
    mask = np.isnan(array) if np.isnan(value) else array == value
    if isinstance(grad, PLAIN):
        count = int(np.count_nonzero(mask))
        # none where the tensor was changed unnoticed, through .data
        return np.asarray(mask, order="C") * np.true_divide(grad, count) if count else np.zeros(array.shape, grad.dtype)
    zeros = find("zeros")(array.shape, dtype=grad.dtype)
    return find("masked_fill")(zeros, make(mask), grad / make(np.asarray(np.count_nonzero(mask))))


def at_indices(
    grad: ArrayOrTensor, dim: int, indices: Any, sizes: tuple[int, ...], keepdim: bool = True
) -> ArrayOrTensor:
    """Put a gradient at the places where the values came from, zeros elsewhere."""
    ndim = len(sizes)
    if not keepdim and sizes:
        grad, indices = unsqueezed(grad, (dim,), ndim), unsqueezed(indices, (dim,), ndim)
    if isinstance(grad, PLAIN):
        whole = np.zeros(sizes, grad.dtype)
        if not ndim:
            return np.array(grad)
        target, where = placed(whole, indices, wrap_dim(dim, ndim))
        target[where] = grad if target is whole else grad.reshape(-1)
        return whole
    return find("scatter")(find("zeros")(sizes, dtype=grad.dtype), dim, indices, grad)


@writes(2)
def selected_grad(
    grad: ArrayOrTensor, dim: int, indices: ArrayOrTensor, self_sizes: tuple[int, ...], keepdim: bool
) -> ArrayOrTensor:
    """Put the gradient of values chosen along a dimension where they came from."""
    return at_indices(grad, dim, indices, self_sizes, keepdim)


def shared_by_count(grad: Any, self: object, result: Any, dim: Dims, keepdim: bool) -> ArrayOrTensor:
    """Share the gradient among the elements of each slice that equal its extremum."""
    dim = dim or ()
    grad, result = restored(grad, dim, keepdim), restored(result, dim, keepdim)
    if isinstance(grad, PLAIN):
        mask = self == result
        return grad / add_reduce(mask, axis=wrap_dims(dim, mask.ndim), keepdims=True, dtype=grad.dtype) * mask
    mask = result == self
    return grad / find("sum")(mask, dim, True) * mask


# --- kernels ----------------------------------------------------------------------------------------------------


def nonzero_extent(name: str, self: Array, dim: int) -> None:
    """Refuse to choose from a dimension of extent 0."""
    if self.ndim and self.shape[dim] == 0:
        called = name if name == "aminmax" else f"{name}()"
        message = f"{called}: Expected reduction dim {dim} to have non-zero size."
        raise fail("shape", message, IndexError, shape=self.shape)


def nonempty(name: str, self: Array) -> None:
    """Refuse to choose from no elements."""
    if self.size == 0:
        message = (
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
        raise fail("shape", message, shape=self.shape)


def chosen(self: Array, indices: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the values at `indices` (which keep the axis) and these indices."""
    values = np.take_along_axis(self, indices, axis)
    if not keepdim:
        values, indices = np.squeeze(values, axis), np.squeeze(indices, axis)
    return np.ascontiguousarray(values).reshape(values.shape), indices


def _declare(name: str, reduce: object, arg: object, word: str) -> None:
    """Declare max or min: of all elements and of two tensors, along a dimension, over dimensions, and where."""
    _declare_whole(name, reduce, word)
    _declare_along(name, arg, word)
    _declare_over(name, reduce, word)
    _declare_where(name, arg, word)


def _declare_whole(name: str, reduce: Any, word: str) -> None:

    def whole(self: Array) -> Array:
        nonempty(name, self)
        return reduce(self, axis=None)

    op(
        f"{name}(self)", f"{name.capitalize()}Backward1", f"The {word} element.", forward=whole, grads={"self": writes(1)(shared_evenly)},
        samples=(sample((2, 3)),), note="Elements that tie share the gradient evenly.",
    )
    other = "maximum" if name == "max" else "minimum"
    composite(
        f"{name}(self, other)", f"The {word} of two elements, as {other}.",
        lambda self, other_: find(other)(self, other_), samples=(sample((2, 3), (2, 3)),),
    )


def _declare_along(name: str, arg: Any, word: str) -> None:
    def along(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        axis = wrap_dim(dim, self.ndim)
        nonzero_extent(name, self, axis)
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        return chosen(self, arg(self, axis, keepdims=True), axis, keepdim)

    op(
        f"{name}(self, dim: int, keepdim: bool = False)", f"{name.capitalize()}Backward0",
        f"The {word} element along a dimension, and where.", forward=along, fields=("values", "indices"),
        grads={"self": selected_grad},
        samples=(sample((2, 3), 1), sample((2, 3), 0, True)),
        note="Of elements that tie, the one at the returned index gets the whole gradient.",
    )


def _declare_over(name: str, reduce: Any, word: str) -> None:
    def over(self: Array, dim: Dims, keepdim: bool) -> Array:
        axes = wrap_dims(dim, self.ndim)
        if self.size == 0:
            if not dim:
                nonempty(f"a{name}", self)
            for axis in dim or axes:
                nonzero_extent(f"a{name}", self, axis)
        return reduce(self, axis=axes, keepdims=keepdim)

    op(
        f"a{name}(self, dim: ints = (), keepdim: bool = False)", f"A{name}Backward0", f"The {word} element over dimensions.",
        layout="contiguous",
        forward=over, grads={"self": shared_by_count}, samples=(sample((2, 3)), sample((2, 3), 1), sample((2, 3), (0, 1), True)),
        note="Elements that tie share the gradient evenly.",
    )


def _declare_where(name: str, arg: Any, word: str) -> None:
    def where(self: Array, dim: int | None, keepdim: bool) -> Any:
        if self.dtype == np.bool_:
            raise fail("dtype", f"arg{name}(): does not support bool input")
        if dim is None:
            if self.size == 0:
                message = f"arg{name}(): Expected reduction dim to be specified for input.numel() == 0."
                raise fail("shape", message, IndexError, shape=self.shape)
            index = np.asarray(arg(self.reshape(-1), 0))
            return index.reshape((1,) * self.ndim) if keepdim else index
        axis = wrap_dim(dim, self.ndim)
        nonzero_extent(f"arg{name}", self, axis)
        return np.zeros((), np.int64) if self.ndim == 0 else arg(self, axis, keepdims=keepdim)

    op(f"arg{name}(self, dim: int? = None, keepdim: bool = False)", "", f"Where the {word} element is (the first, if they tie).",
       forward=where)


_declare("max", np.maximum.reduce, np.argmax, "largest")
_declare("min", np.minimum.reduce, np.argmin, "smallest")


def _aminmax(self: Array, dim: int | None, keepdim: bool) -> tuple[Array, Array]:
    low: Any = np.minimum.reduce
    high: Any = np.maximum.reduce
    if dim is None:
        if self.size == 0:
            message = "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            raise fail("shape", message)
        axes: Any = tuple(range(self.ndim))
    else:
        axis = wrap_dim(dim, self.ndim)
        nonzero_extent("aminmax", self, axis)
        axes = (axis,) if self.ndim else ()
    return low(self, axis=axes, keepdims=keepdim), high(self, axis=axes, keepdims=keepdim)


def _aminmax_grad(
    grad0: ArrayOrTensor, grad1: ArrayOrTensor, self: ArrayOrTensor, dim: int | None, keepdim: bool, min: ArrayOrTensor,
    max: ArrayOrTensor,
) -> ArrayOrTensor:
    dims = () if dim is None else (dim,)
    parts = [
        shared_by_count(grad, self, value, dims, keepdim) for grad, value in ((grad0, min), (grad1, max)) if grad is not None
    ]
    if len(parts) == 1:
        return parts[0]
    both = parts[0] + parts[1]
    note(both, 1)  # PyTorch adds in place
    return both


op(
    "aminmax(self, *, dim: int? = None, keepdim: bool = False)", "AminmaxBackward0", "Smallest and largest element.",
    forward=_aminmax, fields=("min", "max"), grads={"self": _aminmax_grad}, samples=(sample((2, 3)), sample((2, 3), dim=1)),
)
