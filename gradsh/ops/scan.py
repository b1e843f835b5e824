"""Running results along a dimension: cumsum, cumprod, cummax, cummin, logcumsumexp; differences and trapezoids."""

from math import prod
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.kernels import running
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.geometry import array_of, beside
from gradsh.ops.kernels.norm_rows import parts
from gradsh.ops.reduce import PLAIN, row_major, widened
from gradsh.ops.scalars import over, times
from gradsh.text.fault import fail

# --- cumsum -----------------------------------------------------------------------------------------------------


def _accumulate(function: object, self: Array, dim: int, dtype: Any) -> Array:
    """Accumulate along a dimension; float32 in float64, as PyTorch does."""
    axis = wrap_dim(dim, self.ndim)
    wide = row_major(widened(self, dtype))
    if wide.ndim == 0 or wide.size == 0:
        return wide.copy()
    return _accumulated(function, wide, axis)


_MANY, _BROAD = 1 << 14, 64
"""Numbers in all from which blocks pay; numbers beside each other from which ufuncs on them do."""


_TOGETHER = 16
"""Numbers whose running sums are one product with a triangle of ones."""
_TRIANGLE = np.triu(np.ones((_TOGETHER, _TOGETHER)))


def _sums(rows: Array, out: Array) -> bool:
    """Write running sums of rows, by products; not where numbers are not finite."""
    count, steps = rows.shape
    parted = np.empty((count, -(-steps // _TOGETHER), _TOGETHER))
    flat = parted.reshape(count, -1)
    flat[:, :steps], flat[:, steps:] = rows, 0
    before = np.add.accumulate(parted @ _TRIANGLE[0], axis=1)
    if not np.isfinite(before[:, -1]).all():
        return False
    parted[:, 1:, 0] += before[:, :-1]
    out[...] = (parted.reshape(-1, _TOGETHER) @ _TRIANGLE).reshape(count, -1)[:, :steps]
    return True


_TINY = 1e-200
"""Bound of the products of a group that can be multiplied before those before it are."""


def _products(rows: Array, out: Array) -> bool:
    """Write running products of rows, by steps in all groups at once; not where a group's product is out of bounds."""
    count, steps = rows.shape
    groups = steps // _TOGETHER
    even, parted = groups * _TOGETHER, (count, groups, _TOGETHER)
    beside = np.empty((_TOGETHER, count * groups + 8))[:, : count * groups].reshape(_TOGETHER, count, groups)  # 8: no power of 2
    beside[...] = rows[:, :even].reshape(parted).transpose(2, 0, 1)
    whole = np.multiply.reduce(beside, axis=0)
    size = np.abs(whole)
    if not (groups and np.minimum.reduce(size, None) > _TINY and np.maximum.reduce(size, None) < 1 / _TINY):
        return False
    np.multiply.accumulate(whole, axis=1, out=whole)
    beside[0, :, 1:] *= whole[:, :-1]
    for step in range(1, _TOGETHER):
        beside[step] *= beside[step - 1]
    out[:, :even].reshape(parted)[...] = beside.transpose(1, 2, 0)
    out[:, even:] = whole[:, -1:] * np.multiply.accumulate(rows[:, even:], axis=1, dtype=np.float64)
    return True


def _accumulated(function: Any, wide: Array, axis: int, order: slice = slice(None)) -> Array:
    """Accumulate along an axis in the order given."""
    if wide.dtype != np.float32 or wide.size < _MANY:
        place = (slice(None),) * axis + (order,)
        found: Array = np.empty(wide.shape, wide.dtype)
        found[place] = function.accumulate(wide[place], axis=axis, dtype=np.float64 if wide.dtype == np.float32 else None)
        return found
    steps, inner = wide.shape[axis], prod(wide.shape[axis + 1 :])
    rows = wide.reshape(-1, steps, inner)
    found = np.empty(rows.shape, wide.dtype)
    for part in parts(len(rows), steps * inner if inner > 1 else steps // 2):
        given = rows[part, order]
        if inner == 1 and (_sums if function is np.add else _products)(given[..., 0], found[part, order, 0]):
            continue
        running = given.astype(np.float64)
        if inner < _BROAD:
            function.accumulate(running, axis=1, out=running)
        else:
            for step in range(1, steps):
                function(running[:, step - 1], running[:, step], out=running[:, step])
        found[part, order] = running
    return found.reshape(wide.shape)


def _reversed_cumsum(value: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    if isinstance(value, PLAIN):
        return _accumulated(np.add, row_major(value), wrap_dim(dim, value.ndim), slice(None, None, -1))
    flip = find("flip")
    return flip(cumsum(flip(value, (dim,)), dim), (dim,))


def _cumsum_grad(grad: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    shape = tuple(grad.shape)
    if not shape or shape[dim] == 1 or 0 in shape:
        return grad
    return _reversed_cumsum(grad, dim)


cumsum = op(
    "cumsum(self, dim: int, *, dtype: dtype? = None)", "CumsumBackward0", "Running sum along a dimension.",
    forward=lambda self, dim, dtype: _accumulate(np.add, self, dim, dtype), inplace=True, grads={"self": _cumsum_grad},
    samples=(sample((2, 3), 1), sample((2, 3), 0), sample((), 0)),
    note="Saves nothing.",
)

# --- cumprod ----------------------------------------------------------------------------------------------------


def _cumprod_grad(grad: Any, self: ArrayOrTensor, dim: int, result: Any) -> ArrayOrTensor:
    shape = tuple(self.shape)
    if not shape or shape[dim] == 1 or 0 in shape:
        return grad
    if not (array_of(self) == 0).any():
        return _reversed_cumsum(result * grad, wrap_dim(dim, len(shape))) / self
    if isinstance(grad, PLAIN):
        return _cumprod_grad_with_zeros(grad, self, wrap_dim(dim, len(shape)), result)
    return _cumprod_grad_recorded(grad, self, wrap_dim(dim, len(shape)))


def _cumprod_grad_with_zeros(grad: Any, self: Any, axis: int, result: Array) -> Array:
    """Divide where that is possible (before the first zero); at the first zero skip it; after it nothing arrives."""
    zeros_so_far = np.add.accumulate(self == 0, axis=axis, dtype=np.int64)
    before = zeros_so_far == 0
    weighted = np.where(before, result * grad, 0)
    safe = np.where(before, self, self.dtype.type(1))
    whole = np.where(before, _reversed_cumsum(weighted, axis) / safe, self.dtype.type(0))
    first = (zeros_so_far == 1) & (self == 0)
    behind = (zeros_so_far == 1) & ~first
    skipping = np.multiply.accumulate(np.where(before | behind, self, self.dtype.type(1)), axis=axis)
    share = np.add.reduce(np.where(zeros_so_far == 1, skipping * grad, 0), axis=axis, keepdims=True)
    return np.where(first, share, whole).astype(grad.dtype)


def _cumprod_grad_recorded(grad: ArrayOrTensor, self: Any, axis: int) -> Any:
    """The sum over all outputs of the products that leave one input out: differentiable at zeros too."""
    narrow, cat, prod = find("narrow"), find("cat"), find("prod")
    count = self.shape[axis]
    whole = find("zeros_like")(self.detach())
    for k in range(count):
        before = prod(narrow(self, axis, 0, k), axis, True) if k else None
        behind = cumprod(narrow(self, axis, k + 1, count - k - 1), axis) if k < count - 1 else None
        if before is None:
            ones = find("ones")(tuple(1 if dim == axis else n for dim, n in enumerate(self.shape)), dtype=self.dtype)
            left_out = cat([ones, behind], axis)
        elif behind is None:
            left_out = before
        else:
            left_out = cat([before, find("expand")(before, tuple(behind.shape)) * behind], axis)
        part = find("sum")(narrow(grad, axis, k, count - k) * left_out, (axis,))
        find("copy_")(find("select")(whole, axis, k), part)
    return whole


cumprod = op(
    "cumprod(self, dim: int, *, dtype: dtype? = None)", "CumprodBackward0", "Running product along a dimension.",
    forward=lambda self, dim, dtype: _accumulate(np.multiply, self, dim, dtype), inplace=True,
    grads={"self": _cumprod_grad}, samples=(sample((2, 3), 1), sample((2, 3), 0)),
    note="Saves self and result; after a 0 the gradient is computed without division.",
)

# --- cummax, cummin ---------------------------------------------------------------------------------------------


def _running(function: Any, self: Array, dim: int, name: str) -> tuple[Array, Array]:
    """Return running extrema and where they are: at the latest of those that tie."""
    if self.ndim == 0 and dim not in {-1, 0}:
        raise fail("index", f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}", IndexError)
    if self.ndim == 0 or self.size == 0:
        return self.copy(), np.zeros(self.shape, np.int64)
    axis, self = wrap_dim(dim, self.ndim), row_major(self)
    if axis == self.ndim - 1 and self.size > running.MANY:
        found = running.running_extrema(function, self.reshape(-1, self.shape[axis]))
        return found[0].reshape(self.shape), found[1].reshape(self.shape)
    values = function.accumulate(self, axis=axis)
    fresh = self == values
    if self.dtype.kind == "f":
        fresh |= np.isnan(self)
    shape = [1] * self.ndim
    shape[axis] = self.shape[axis]
    places = np.arange(self.shape[axis]).reshape(shape)
    return values, np.maximum.accumulate(np.where(fresh, places, 0), axis=axis)


def _running_grad(grad: ArrayOrTensor, self: ArrayOrTensor, indices: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    return self if 0 in self.shape else _scattered(grad, tuple(self.shape), indices, dim)


@writes(2)
def _scattered(grad: ArrayOrTensor, shape: tuple[int, ...], indices: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    zeros = np.zeros(shape, grad.dtype) if isinstance(grad, PLAIN) else find("zeros")(shape, dtype=grad.dtype)
    return find("scatter_add")(zeros, dim, indices, grad)


for _name, _function in (("cummax", np.maximum), ("cummin", np.minimum)):
    op(
        f"{_name}(self, dim: int)", f"{_name.capitalize()}Backward0",
        f"Running {'maximum' if _name == 'cummax' else 'minimum'} along a dimension, and where it is.",
        forward=lambda self, dim, function=_function, name=_name: _running(function, self, dim, name), fields=("values", "indices"),
        grads={"self": _running_grad}, samples=(sample((2, 3), 1),),
    )

# --- logcumsumexp -----------------------------------------------------------------------------------------------


def _logcumsumexp(self: Array, dim: int) -> Array:
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind != "f":
        raise unsupported("logcumsumexp_out_cpu", self)
    if self.ndim == 0 or self.size == 0:
        return self.copy()
    accumulate = np.logaddexp.accumulate
    return accumulate(row_major(self), axis=axis)


def _logcumsumexp_grad(grad: ArrayOrTensor, self: object, result: object, dim: int) -> ArrayOrTensor:
    """Work with the logarithms of the positive and of the negative gradients, which cannot overflow."""
    shape = tuple(grad.shape)
    if not shape or 0 in shape:
        return grad
    flip, exp, where = find("flip"), find("exp"), find("where")

    def back(value: ArrayOrTensor) -> ArrayOrTensor:
        return flip(logcumsumexp(flip(value, (dim,)), dim), (dim,))

    log_size = find("log")(find("abs")(grad))
    dtype = array_of(grad).dtype
    floor = beside(grad, np.asarray(np.finfo(dtype).min, dtype))
    positive, negative = where(grad > 0, log_size, floor), where(grad < 0, log_size, floor)
    return exp(back(positive - result) + self) - exp(back(negative - result) + self)


logcumsumexp = op(
    "logcumsumexp(self, dim: int)", "LogcumsumexpBackward0", "Logarithm of the running sum of exp along a dimension.",
    forward=_logcumsumexp, grads={"self": _logcumsumexp_grad}, samples=(sample((2, 3), 1),),
)

# --- differences and trapezoids ---------------------------------------------------------------------------------


def _diff(self: Tensor, n: int, dim: int, prepend: object, append: object) -> Tensor:
    if self.ndim == 0:
        raise fail("shape", "diff expects input to be at least one-dimensional")
    if n < 0:
        raise fail("value", f"order must be non-negative but got {n}")
    if n and (prepend is not None or append is not None):
        parts = [part for part in (prepend, self, append) if part is not None]
        self = find("cat")(parts, dim)
    if n == 0:
        return find("copy_")(find("zeros_like")(self), self)
    narrow = find("narrow")
    extent = self.shape[wrap_dim(dim, self.ndim)]
    combine = find("logical_xor") if array_of(self).dtype == np.bool_ else find("sub")
    for step in range(1, min(n, extent) + 1):
        lower = narrow(self, dim, 0, extent - step)
        self = combine(narrow(self, dim, 1, extent - step), lower)
    return self


composite(
    "diff(self, n: int = 1, dim: int = -1, prepend: Tensor? = None, append: Tensor? = None)",
    "Differences of neighbours, n times.", _diff, samples=(sample((2, 4), dim=1), sample((2, 4), 2)),
)


def _ends(value: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    cut = find("slice")
    return cut(value, dim, 0, -1), cut(value, dim, 1, None)


def _widths(y: Tensor, x: Tensor, dim: int, name: str) -> Tensor:
    """Return the distances of the sample points, viewed so that they broadcast over y."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise fail("shape", f"{name}: There must be one `x` value for each sample point")
        x = find("view")(x, tuple(x.shape[0] if place == dim else 1 for place in range(y.ndim)))
    elif x.ndim < y.ndim:
        x = find("view")(x, (1,) * (y.ndim - x.ndim) + tuple(x.shape))
    left, right = _ends(x, dim)
    return right - left


def _no_bool(name: str, *values: object) -> None:
    if any(array_of(value).dtype == np.bool_ for value in values):
        given = "`x` or `y`" if len(values) > 1 else "`y`"
        raise fail("dtype", f"{name}: received a bool input for {given}, but bool is not supported")


def _trapezoid(y: Tensor, x: Tensor | None, dx: object, dim: int) -> ArrayOrTensor:
    axis = wrap_dim(dim, y.ndim)
    if y.shape[axis] == 0:
        return find("zeros")(tuple(n for place, n in enumerate(y.shape) if place != axis), dtype=y.dtype)
    total = find("sum")
    if x is None:
        _no_bool("trapezoid", y)
        select = find("select")
        ends = times(select(y, dim, 0) + select(y, dim, -1), 0.5)
        return times(total(y, (dim,)) - ends, dx)
    _no_bool("trapezoid", y, x)
    widths = _widths(y, x, axis, "trapezoid")
    left, right = _ends(y, axis)
    return over(total((left + right) * widths, (axis,)), 2.0)


def _cumulative_trapezoid(y: Tensor, x: Tensor | None, dx: int, dim: int) -> ArrayOrTensor:
    axis = wrap_dim(dim, y.ndim)
    if x is None:
        _no_bool("cumulative_trapezoid", y)
        left, right = _ends(y, dim)
        return cumsum(times(left + right, dx / 2.0), dim)
    _no_bool("cumulative_trapezoid", y, x)
    widths = _widths(y, x, axis, "cumulative_trapezoid")
    left, right = _ends(y, axis)
    return over(cumsum((left + right) * widths, axis), 2.0)


for _name, _body, _doc in (
    ("trapezoid", _trapezoid, "Integral along a dimension by the trapezoidal rule."),
    ("cumulative_trapezoid", _cumulative_trapezoid, "Running integral along a dimension by the trapezoidal rule."),
    ("trapz", _trapezoid, "Integral along a dimension by the trapezoidal rule."),
):
    composite(
        f"{_name}(y, x: Tensor? = None, *, dx: number = 1, dim: int = -1)", _doc, _body, ("torch",),
        samples=(sample((2, 4)), sample((2, 4), (4,))),
    )


def _gradient(
    input: Tensor, spacing: list[float] | float | None, dim: tuple[int, ...] | None, edge_order: int
) -> tuple[Tensor, ...]:
    """Return the central differences along each dimension, with one-sided ones at its ends."""
    if input.array.dtype == np.uint8:
        raise fail("dtype", "torch.gradient does not support uint8 input.")
    if input.array.dtype.kind != "f":
        input = find("true_divide")(input, 1)
    if edge_order not in (1, 2):
        raise fail("value", "torch.gradient only supports edge_order=1 and edge_order=2.")
    given = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = [wrap_dim(one, input.ndim) for one in given]
    twice = next((axis for place, axis in enumerate(axes) if axis in axes[:place]), None)
    if twice is not None:
        raise fail("value", f"dim {twice} appears multiple times in the list of dims")
    if any(input.shape[axis] <= edge_order for axis in axes):
        raise fail("shape", "torch.gradient expected each dimension size to be at least edge_order+1")
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(axes)
    if isinstance(spacing, Tensor):
        steps = [spacing] * len(axes)
    if len(steps) != len(axes):
        argument = f"dim() = {input.ndim}', since dim argument was not given" if dim is None else "dim' argument"
        text = f"unspecified, a scalar, or a list of length equal to 'self.{argument}, but got a list of length {len(steps)}"
        raise fail("value", f"torch.gradient expected spacing to be {text}")
    ways = {True: _by_coordinates, False: _differences}
    return tuple(ways[isinstance(step, Tensor)](input, axis, step, edge_order) for axis, step in zip(axes, steps, strict=True))


def _by_coordinates(input: Tensor, axis: int, places: Any, edge_order: int) -> Tensor:
    """Return the derivatives where the elements stand at given places: through a parabola of three, at the ends of two for order 1."""
    narrow, size = find("narrow"), input.shape[axis]
    if tuple(places.shape) != (size,):
        text = "torch.gradient expected each element of 'coordinates' to have the same length as the dimension that it belongs to"
        raise fail("shape", text)
    gaps = narrow(places, 0, 1, size - 1) - narrow(places, 0, 0, size - 1)
    along = [-1 if one == axis else 1 for one in range(input.ndim)]

    def weighted(start: int, count: int, *weights: object) -> Tensor:
        parts = [find("reshape")(one, along) * narrow(input, axis, start + shift, count) for shift, one in enumerate(weights)]
        return sum(parts[1:], parts[0])

    def at(place: int) -> Tensor:
        return narrow(gaps, 0, place % (size - 1), 1)

    if edge_order == 1:
        first, last = (
            (narrow(input, axis, end % size, 1) - narrow(input, axis, (end - 1) % size, 1)) / find("reshape")(gap, along)
            for end, gap in ((1, at(0)), (-1, at(-1)))
        )
    else:
        a, b = at(0), at(1)
        first = weighted(0, 1, -(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b)))
        a, b = at(-2), at(-1)
        last = weighted(size - 3, 1, b / (a * (a + b)), -(a + b) / (a * b), (a + 2.0 * b) / (b * (a + b)))
    a, b = narrow(gaps, 0, 0, size - 2), narrow(gaps, 0, 1, size - 2)
    inner = weighted(0, size - 2, -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b)))
    return find("cat")([first, inner, last], axis)


def _differences(input: Tensor, axis: int, step: float, edge_order: int) -> Tensor:
    narrow, size = find("narrow"), input.shape[axis]

    def at(place: int) -> Any:
        return narrow(input, axis, place % size, 1)

    if edge_order == 1:
        first, last = at(1) - at(0), at(-1) - at(-2)
    else:
        first = times(at(0), -1.5) + times(at(1), 2.0) - times(at(2), 0.5)
        last = times(at(-1), 1.5) - times(at(-2), 2.0) + times(at(-3), 0.5)
    inner = narrow(input, axis, 2, size - 2) - narrow(input, axis, 0, size - 2)
    return find("cat")([over(first, step), over(over(inner, step), 2), over(last, step)], axis)


composite(
    "gradient(input, *, spacing: any? = None, dim: any? = None, edge_order: int = 1)",
    "Central differences along each dimension, as a tuple.", _gradient, ("torch",), samples=(sample((3, 4)),),
)
