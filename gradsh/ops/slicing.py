"""Views of parts: one index, a range, diagonals, windows; and the gradients that put a part back in its place."""


import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import wrap_dim
from gradsh.engine.values.storage import strided
from gradsh.text.fault import fail

MAX = (1 << 63) - 1
"""The end of a slice that names none."""


def _select(self: Array, dim: int, index: int) -> Array:
    if self.ndim == 0:
        raise fail("index", "select() cannot be applied to a 0-dim tensor.", IndexError)
    place = wrap_dim(dim, self.ndim)
    extent = self.shape[place]
    if not -extent <= index < extent:
        message = f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {place}"
        raise fail("index", message, IndexError)
    found: Array = self[(slice(None),) * place + (index, Ellipsis)]
    return found


def _select_backward(grad_output: Array, input_sizes: tuple[int, ...], dim: int, index: int) -> Array:
    whole = np.zeros(input_sizes, grad_output.dtype)
    whole[(slice(None),) * wrap_dim(dim, len(input_sizes)) + (index,)] = grad_output
    return whole


select = op(
    "select(self, dim: int, index: int)", "SelectBackward0", "A view of the part at one index of a dimension.",
    forward=_select, kind="view",
    grads={"self": lambda grad, self_sizes, dim, index: select_backward(grad, self_sizes, dim, index)},
    samples=(sample((3, 4), 1, 2), sample((3, 4), 0, -1), sample((3, 4), 0, 3, rejects="index")),
)
select_backward: Operation = op(
    "select_backward(grad_output, input_sizes: ints, dim: int, index: int)", "SelectBackwardBackward0",
    "The gradient of select: zeros but for the selected part.", forward=_select_backward, spaces=(),
    grads={"grad_output": lambda grad, dim, index: select(grad, dim, index)},
)


def _cut(self: Array, dim: int, start: int | None, end: int | None, step: int) -> tuple[slice, ...]:
    if step <= 0:
        raise fail("value", "slice step must be positive")
    place = wrap_dim(dim, self.ndim)
    return (slice(None),) * place + (slice(start or 0, MAX if end is None else end, step),)


def _slice(self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    if self.ndim == 0:
        raise fail("value", "slice() cannot be applied to a 0-dim tensor.")
    found: Array = self[_cut(self, dim, start, end, step)]
    return found


def _slice_backward(
    grad_output: Array, input_sizes: tuple[int, ...], dim: int, start: int, end: int, step: int
) -> Array:
    whole = np.zeros(input_sizes, grad_output.dtype)
    whole[_cut(whole, dim, start, end, step)] = grad_output
    return whole


def _slice_gradient(
    grad: ArrayOrTensor, self_sizes: tuple[int, ...], dim: int, start: int | None, end: int | None, step: int
) -> ArrayOrTensor:
    return slice_backward(grad, self_sizes, dim, start or 0, MAX if end is None else end, step)


slice_ = op(
    "slice(self, dim: int = 0, start: int? = None, end: int? = None, step: int = 1)", "SliceBackward0",
    "A view of a range along a dimension.", forward=_slice, kind="view", spaces=(), grads={"self": _slice_gradient},
    samples=(sample((5, 3), 0, 1, 4), sample((5, 3), 0, 0, 5, 2)),
)
slice_backward: Operation = op(
    "slice_backward(grad_output, input_sizes: ints, dim: int, start: int, end: int, step: int)",
    "SliceBackwardBackward0", "The gradient of a slice: zeros but for the range.", forward=_slice_backward, spaces=(),
    grads={"grad_output": lambda grad, dim, start, end, step: slice_(grad, dim, start, end, step)},
)


def _narrow(self: ArrayOrTensor, dim: int, start: int, length: int) -> ArrayOrTensor:
    if isinstance(start, Tensor):
        if start.ndim or not isinstance(start.item(), int) or start.dtype.name == "bool":
            raise fail("type", "start must be an 0-dim integral Tensor.")
        start = start.item()
    if not isinstance(start, int):
        raise fail("type", f"narrow(): argument 'start' must be int, not {type(start).__name__}", TypeError)
    if self.ndim == 0:
        raise fail("shape", "narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise fail("value", "narrow(): length must be non-negative.")
    extent = self.shape[wrap_dim(dim, self.ndim)]
    if not -extent <= start <= extent:
        message = f"start out of range (expected to be in range of [{-extent}, {extent}], but got {start})"
        raise fail("index", message, IndexError)
    if start < 0:
        start += extent
    if start + length > extent:
        raise fail("value", f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    return slice_(self, dim, start, start + length)


narrow = composite(
    "narrow(self, dim: int, start: any, length: int)", "A view of `length` elements of a dimension from `start` on.", _narrow,
    samples=(sample((3, 4), 1, 1, 2),), note="It is a slice: SliceBackward0.",
)


def diagonal_axes(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    """Return the two dimensions of a diagonal, counted from the front; they must differ."""
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise fail("value", f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return a, b


def diagonal_array(self: Array, offset: int, a: int, b: int) -> Array:
    """Return the view of the diagonals of two (wrapped) dimensions of an array."""
    rows, columns = self.shape[a], self.shape[b]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    steps = self.strides
    start = 0 if count == 0 else offset * steps[b] if offset >= 0 else -offset * steps[a]
    rest = [dim for dim in range(self.ndim) if dim not in (a, b)]
    shape = (*(self.shape[dim] for dim in rest), count)
    return strided(self, shape, (*(steps[dim] for dim in rest), steps[a] + steps[b]), start)


def _diagonal_backward(grad_output: Array, input_sizes: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Array:
    whole = np.zeros(input_sizes, grad_output.dtype)
    diagonal_array(whole, offset, *diagonal_axes(whole.ndim, dim1, dim2))[...] = grad_output
    return whole


diagonal = op(
    "diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1)", "DiagonalBackward0",
    "A view of the diagonals of two dimensions, as the last dimension.", forward=lambda self, offset, dim1,
    dim2: diagonal_array(self, offset, *diagonal_axes(self.ndim, dim1, dim2)), kind="view",
    grads={"self": lambda grad, self_sizes, offset, dim1, dim2: diagonal_backward(grad, self_sizes, offset, dim1, dim2)},
    samples=(sample((4, 4)), sample((3, 4), 1), sample((2, 3, 4), -1, 0, 2)),
)
diagonal_backward: Operation = op(
    "diagonal_backward(grad_output, input_sizes: ints, offset: int, dim1: int, dim2: int)", "DiagonalBackwardBackward0",
    "The gradient of diagonal: zeros but for the diagonals.", forward=_diagonal_backward, spaces=(),
    grads={"grad_output": lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2)},
)


def _unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    place = wrap_dim(dimension, self.ndim)
    extent = self.shape[place] if self.ndim else 1
    if not 0 <= size <= extent:
        raise fail("value", f"maximum size for tensor at dimension {place} is {extent} but size is {size}")
    if step <= 0:
        raise fail("value", f"step is {step} but must be > 0")
    if self.ndim == 0:
        return strided(self, (size,), (self.itemsize,))
    windows = (extent - size) // step + 1
    shape = (*self.shape[:place], windows, *self.shape[place + 1 :], size)
    steps = self.strides
    return strided(self, shape, (*steps[:place], steps[place] * step, *steps[place + 1 :], steps[place]))


def _unfold_backward(grad_in: Array, input_sizes: tuple[int, ...], dim: int, size: int, step: int) -> Array:
    whole = np.zeros(input_sizes, grad_in.dtype)
    if not input_sizes:
        return np.asarray(whole + grad_in.sum(dtype=grad_in.dtype))
    windows = _unfold(whole, dim, size, step)
    for place in range(size):  # windows overlap each other, but not at one place within them
        windows[..., place] += grad_in[..., place]
    return whole


unfold = op(
    "unfold(self, dimension: int, size: int, step: int)", "UnfoldBackward0",
    "A view of all windows of a size along a dimension; the windows' elements become the last dimension.",
    forward=_unfold, kind="view", spaces=("Tensor",),
    grads={"self": lambda grad, self_sizes, dimension, size, step: unfold_backward(grad, self_sizes, dimension, size, step)},
    samples=(sample((6,), 0, 3, 1), sample((2, 7), 1, 2, 2)),
)
unfold_backward: Operation = op(
    "unfold_backward(grad_in, input_sizes: ints, dim: int, size: int, step: int)", "UnfoldBackwardBackward0",
    "The gradient of unfold: each element gets the sum over its windows.", forward=_unfold_backward, spaces=(),
    grads={"grad_in": lambda grad, dim, size, step: unfold(grad, dim, size, step)},
)
