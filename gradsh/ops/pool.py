"""Pooling: greatest values, averages, powers, with fixed or adaptive windows, in one to three dims."""

import math
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.arguments import applied, with_gradient, words, zeros_of_shape
from gradsh.ops.kernels import pool as kernels
from gradsh.ops.kernels.common import refusing, unsupported
from gradsh.ops.kernels.pool import PoolWindow
from gradsh.text.fault import fail

_WORDS = {1: "a single int", 2: "a tuple of two ints", 3: "a tuple of three ints"}


def numbers(value: int, dims: int, name: str, what: str) -> tuple[int, ...]:
    """Return a number for each dim, which an int stands for all of; a list of one stays one, as PyTorch's nodes show."""
    found: tuple[int, ...] = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(found) not in (1, dims):
        raise fail("value", f"{name}: {what} must either be a single int, or {_WORDS[dims]}")
    return found


def _optional(value: int | None, dims: int, name: str) -> tuple[int, ...]:
    if value is None or (not isinstance(value, int) and len(value) == 0):
        return ()
    message = f"{name}: stride must either be omitted, a single int, or {_WORDS[dims]}"
    if not isinstance(value, int) and len(value) not in (1, dims):
        raise fail("value", message)
    return numbers(value, dims, name, "stride")


# --- max pooling ------------------------------------------------------------------------------------------------

_MAX = "kernel_size: ints, stride: ints, padding: ints, dilation: ints, ceil_mode: bool"


def _window(
    self: Array, dims: int, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], ceil_mode: bool,
) -> PoolWindow:
    full = [one * dims if len(one) == 1 else one for one in (kernel, stride or kernel, padding, dilation)]
    kernels.check_input(self, full[0], full[1], full[3])
    return PoolWindow(self.shape[self.ndim - dims :], full[0], full[1], full[2], full[3], ceil_mode)


def _gathered(grad: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Read a gradient at the places that the greatest values came from."""
    lead = tuple(indices.shape)[: len(indices.shape) - dims]
    if 0 in tuple(indices.shape):
        return find("reshape")(grad, tuple(indices.shape))
    view = find("view")
    flat = view(find("contiguous")(grad), (*lead, -1))
    return view(find("gather")(flat, -1, view(indices, (*lead, -1))), tuple(indices.shape))


def _max_records(dims: int) -> Operation:
    """Declare max pooling with indices in `dims` dims and its gradient."""
    name = f"max_pool{dims}d_with_indices"

    def forward(self: Array, *given: Any) -> tuple[Array, Array]:
        window = _window(self, dims, *given)
        kernels.check_pool(self, window, dims)
        return kernels.max_pool(self, window)

    def backward(grad_output: Array, self: Array, *given: Any) -> Array:
        *settings, indices = given
        window = _window(self, dims, *settings)
        return kernels.scatter_indices(grad_output, indices, self.shape, dims, window.disjoint())

    return with_gradient(
        f"{name}(self, {_MAX})", f"{name}_backward(grad_output, self, {_MAX}, indices)", f"MaxPool{dims}DWithIndices",
        "Greatest value of each window, and its index.", forward=forward, backward=backward,
        reads=f"self {words(_MAX)} result1", second=lambda grad, indices: _gathered(grad, indices, dims),
    )


_MAX_POOLS = {dims: _max_records(dims) for dims in (2, 3)}


def _max_pool(
    dims: int, input: Tensor, kernel_size: int, stride: int | None, padding: int, dilation: int, ceil_mode: bool,
    return_indices: bool,
) -> Tensor | tuple[Tensor, ...]:
    name = f"max_pool{dims}d"
    kernel = numbers(kernel_size, dims, name, "kernel_size")
    steps = _optional(stride, dims, name)
    border = numbers(padding, dims, name, "padding")
    apart = numbers(dilation, dims, name, "dilation")
    if dims > 1:
        values, indices = _MAX_POOLS[dims](input, kernel, steps, border, apart, ceil_mode)
        return (values, indices) if return_indices else values
    return _max_rows(input, kernel, steps or kernel, border, apart, ceil_mode, return_indices)


def _check_rows(input: Tensor, name: str) -> None:
    if len(input.shape) not in (2, 3):
        message = (
            f"Expected 2 to 3 dimensions, but got {len(input.shape)}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )
        raise fail("shape", message)


def _check_max_rows(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], ceil_mode: bool,
) -> None:
    if len(input.shape) not in (2, 3) or 0 in input.shape[-2:]:
        message = (
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )
        raise fail("shape", message)
    for name, (value,) in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value <= 0:
            raise fail("value", f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding[0] < 0:
        raise fail("value", f"max_pool1d() padding must be non-negative, but got {padding[0]}")
    if padding[0] > kernel[0] // 2:
        message = (
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding[0]} and "
            f"kernel_size={kernel[0]}"
        )
        raise fail("value", message)
    window = PoolWindow((input.shape[-1],), kernel, stride, padding, dilation, ceil_mode)
    if window.out[0] <= 0:
        raise fail("shape", f"max_pool1d() Invalid computed output size: {window.out[0]}")


def _max_rows(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], ceil_mode: bool, return_indices: bool,
) -> Any:
    """Pool rows as images of height 1; without a gradient PyTorch takes a kernel of its own, whose result is no view."""
    if return_indices:
        _check_rows(input, "max_pool1d")
    else:
        _check_max_rows(input, kernel, stride, padding, dilation, ceil_mode)
    squeeze = find("squeeze")
    wide = find("unsqueeze")(input, -2)
    values, indices = _MAX_POOLS[2](wide, (1, *kernel), (1, *stride), (0, *padding), (1, *dilation), ceil_mode)
    if not return_indices and isinstance(values, Tensor) and not (values.requires_grad or current().saved_hooks):
        return make(values.array.squeeze(-2))
    return (squeeze(values, -2), squeeze(indices, -2)) if return_indices else squeeze(values, -2)


# --- average pooling --------------------------------------------------------------------------------------------

_AVG = (
    "kernel_size: ints, stride: ints, padding: ints, ceil_mode: bool, count_include_pad: bool, "
    "divisor_override: int?"
)


def _avg_records(dims: int) -> Operation:
    """Declare average pooling in `dims` dims and its gradient."""

    def prepared(
        self: Array, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], ceil_mode: bool,
        *rest: Any,
    ) -> Any:
        window = _window(self, dims, kernel_size, stride, padding, (1,) * dims, ceil_mode)
        return window, lambda: kernels.divisors(window, *rest)

    def forward(self: Array, *given: Any) -> Array:
        if given[-1] == 0:
            raise fail("value", "divisor must be not zero")
        if self.dtype.kind in "biu" and self.dtype != np.int64:
            raise unsupported(f"avg_pool{dims}d{'_out_frame' if dims > 2 else ''}", self)
        window, divisors = prepared(self, *given)
        kernels.check_pool(self, window, dims)
        return kernels.avg_pool(self, window, divisors())

    def backward(grad_output: Array, self: Array, *given: Any) -> Array:
        window, divisors = prepared(self, *given)
        return kernels.spread_average(grad_output, window, divisors())

    return with_gradient(
        f"_avg_pool{dims}d(self, {_AVG})", f"avg_pool{dims}d_backward(grad_output, self, {_AVG})", f"AvgPool{dims}D",
        "Average of each window.", forward=forward, backward=backward, reads=f"self {words(_AVG)}",
        second=applied(f"_avg_pool{dims}d", f"grad {words(_AVG)}"), reduced="avg_pool3d_out_frame" if dims == 3 else "",
    )


_AVG_POOLS = {dims: _avg_records(dims) for dims in (2, 3)}


def _avg_pool(
    dims: int, input: Tensor, kernel_size: int, stride: int | None, padding: int, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None = None,
) -> Tensor:
    name = f"avg_pool{dims}d"
    kernel = numbers(kernel_size, dims, name, "kernel_size")
    steps = _optional(stride, dims, name)
    border = numbers(padding, dims, name, "padding")
    if dims > 1:
        return _AVG_POOLS[dims](input, kernel, steps, border, ceil_mode, count_include_pad, divisor_override)
    _check_rows(input, name)
    wide = find("unsqueeze")(input, -2)
    result = _AVG_POOLS[2](
        wide, (1, *kernel), (1, *(steps or kernel)), (0, *border), ceil_mode, count_include_pad, None
    )
    return find("squeeze")(result, -2)


# --- adaptive pooling -------------------------------------------------------------------------------------------


def _targets(output_size: int, shape: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """Return the wanted extents; None keeps the input's."""
    wanted: tuple[Any, ...] = (output_size,) * dims if isinstance(output_size, int) or output_size is None else tuple(output_size)
    if not isinstance(output_size, int) and len(shape) <= len(wanted):
        raise fail("shape", f"Input dimension should be at least {len(wanted) + 1}", ValueError)
    given = shape[len(shape) - dims :]
    return tuple(given[place] if n is None else n for place, n in enumerate(wanted))


def _check_adaptive(name: str, self: Array, dims: int) -> None:
    if self.ndim not in (dims + 1, dims + 2):
        colon = ":" if "max" in name else ""
        raise fail("shape", f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(self.shape)}")
    if any(n == 0 for n in self.shape[1:]):
        message = (
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(self.shape)}"
        )
        raise fail("shape", message)


def _check_targets(name: str, shape: tuple[int, ...], wanted: tuple[int, ...], dims: int) -> None:
    """Refuse extents that are too few, too many or negative, each pooling in its own words."""
    message = ""
    if name.endswith("1d") and len(wanted) != 1:
        message = f"{name}() argument 'output_size' should contain one int (got {len(wanted)})"
    elif len(wanted) != int(name[-2]):
        message = f"{name}(): internal error: output_size.size() must be {dims}" if "max" in name else f"{name}: output_size must be {dims}"
    elif any(n < 0 for n in wanted) and "max" in name:
        negative = next(n for n in wanted if n < 0)
        result = [*shape[: len(shape) - len(wanted)], *([1] if dims == 2 and len(wanted) == 1 else []), *wanted]
        message = f"Trying to create tensor with negative dimension {negative}: {result}"
    elif any(n < 0 for n in wanted):
        full = [1, *wanted] if len(wanted) == 1 else list(wanted)
        shown = f"{full[0]}, {','.join(str(n) for n in full[1:])}"
        message = f"adaptive_avg_pool{dims}d: elements of output_size must be greater than or equal to 0 but received {{{shown}}}"
    if message:
        raise fail("value", message)


def _kernel_of(kind: str, dims: int) -> str:
    """Return the name of PyTorch's kernel, which its errors say."""
    return f"{kind}_pool{dims}d{'_cpu' if dims > 2 else ''}"


def _adaptive_avg_records(dims: int) -> Operation:
    node = f"AdaptiveAvgPool{dims}DBackward"

    @refusing("biu", _kernel_of("adaptive_avg", dims))
    def forward(self: Array, output_size: tuple[int, ...]) -> Array:
        _check_adaptive(f"adaptive_avg_pool{dims}d", self, dims)
        return kernels.adaptive_avg(self, output_size)

    gradient: Operation = op(
        f"_adaptive_avg_pool{dims}d_backward(grad_output, self)", node + "Backward0",
        "Gradient of adaptive average pooling.",
        forward=lambda grad_output, self: kernels.adaptive_avg_backward(grad_output, self.shape, dims),
        unguarded=True, spaces=(), attributes=(),
        grads={
            "grad_output": lambda grad, grad_output_sizes:
                forward_op(grad, tuple(grad_output_sizes)[len(grad_output_sizes) - dims :]),
            "self": lambda grad, self_sizes: zeros_of_shape(grad, self_sizes),
        },
    )
    forward_op: Operation = op(
        f"_adaptive_avg_pool{dims}d(self, output_size: ints)", node + "0", "Averages of even parts.",
        layout="channels", forward=forward, spaces=(), grads={"self": lambda grad, self: gradient(grad, self)},
    )
    return forward_op


def _adaptive_max_records(dims: int) -> Operation:

    @refusing("biu", _kernel_of("adaptive_max", dims))
    def forward(self: Array, output_size: tuple[int, ...]) -> tuple[Array, Array]:
        _check_adaptive(f"adaptive_max_pool{dims}d", self, dims)
        return kernels.adaptive_max(self, output_size)

    name = f"adaptive_max_pool{dims}d"
    return with_gradient(
        f"_{name}(self, output_size: ints)", f"{name}_backward(grad_output, self, indices)", f"AdaptiveMaxPool{dims}D",
        "Greatest values of even parts.", forward=forward, reads="self result1",
        backward=lambda grad_output, self, indices: kernels.scatter_indices(grad_output, indices, self.shape, dims, False),
        second=lambda grad, indices: _gathered(grad, indices, dims),
    )


_ADAPTIVE_AVG = {dims: _adaptive_avg_records(dims) for dims in (2, 3)}
_ADAPTIVE_MAX = {dims: _adaptive_max_records(dims) for dims in (2, 3)}


def _adaptive_avg_pool(dims: int, input: Tensor, output_size: int) -> Tensor:
    wanted = _targets(output_size, tuple(input.shape), dims)
    if dims == 1:
        _check_rows(input, "adaptive_avg_pool1d")
        _check_targets("adaptive_avg_pool1d", tuple(input.shape), wanted, 2)
        wide = _even(find("unsqueeze")(input, -2), (1, *wanted), 2)
        return find("squeeze")(wide, -2)
    _check_targets(f"adaptive_avg_pool{dims}d", tuple(input.shape), wanted, dims)
    return _even(input, wanted, dims)


def _even(input: Tensor, wanted: tuple[int, ...], dims: int) -> Tensor:
    """Average over even parts; over the whole it is a mean, in PyTorch's graph too."""
    if all(n == 1 for n in wanted) and len(input.shape) > dims:
        return find("mean")(input, tuple(range(-1, -dims - 1, -1)), True)
    return _ADAPTIVE_AVG[dims](input, wanted)


def _adaptive_max_pool(
    dims: int, input: Tensor, output_size: int, return_indices: bool
) -> Tensor | tuple[Tensor, Tensor]:
    wanted = _targets(output_size, tuple(input.shape), dims)
    if dims == 1:
        _check_rows(input, "adaptive_max_pool1d")
        _check_targets("adaptive_max_pool1d", tuple(input.shape), wanted, 2)
        squeeze = find("squeeze")
        wide = _ADAPTIVE_MAX[2](find("unsqueeze")(input, -2), (1, *wanted))
        values, indices = (squeeze(one, -2) for one in wide)
    else:
        _check_targets(f"adaptive_max_pool{dims}d", tuple(input.shape), wanted, dims)
        values, indices = _ADAPTIVE_MAX[dims](input, wanted)
    return (values, indices) if return_indices else values


# --- powers -----------------------------------------------------------------------------------------------------


def _lp_pool(dims: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    kernel = numbers(kernel_size, dims, f"lp_pool{dims}d", "kernel_size")
    mean = _avg_pool(dims, find("pow")(input, norm_type), kernel_size, stride, 0, ceil_mode, True)
    signed = find("sign")(mean) * find("relu")(find("abs")(mean))
    return find("pow")(find("mul")(signed, math.prod(kernel)), 1.0 / norm_type)


# --- the functions ----------------------------------------------------------------------------------------------


def _declare(dims: int, shape: tuple[int, ...]) -> None:
    """Declare the functions of one number of dims."""
    both = ("torch", "F")
    composite(
        f"max_pool{dims}d(input, kernel_size: sizes, stride: sizes? = None, padding: sizes = 0, dilation: sizes = 1, "
        "ceil_mode: bool = False, return_indices: bool = False)",
        "Greatest value of each window.", lambda *values: _max_pool(dims, *values), both,
        samples=(sample(shape, 2), sample(shape, 2, 1, 1)),
        note="Saves its input and the int64 indices. Of several greatest values the first counts.",
    )
    override = ", divisor_override: int? = None" if dims > 1 else ""
    composite(
        f"avg_pool{dims}d(input, kernel_size: sizes, stride: sizes? = None, padding: sizes = 0, ceil_mode: bool = False, "
        f"count_include_pad: bool = True{override})",
        "Average of each window.", lambda *values: _avg_pool(dims, *values), both if dims == 1 else ("F",),
        samples=(sample(shape, 2), sample(shape, 3, 2, 1)),
        note="Saves its whole input, of which the gradient needs the shape only.",
    )
    composite(
        f"adaptive_avg_pool{dims}d(input, output_size: any?)", "Averages of windows that divide the input evenly.",
        lambda *values: _adaptive_avg_pool(dims, *values), both if dims == 1 else ("F",), samples=(sample(shape, 2),),
    )
    composite(
        f"adaptive_max_pool{dims}d(input, output_size: any?, return_indices: bool = False)",
        "Greatest values of windows that divide the input evenly.",
        lambda *values: _adaptive_max_pool(dims, *values), ("F",), samples=(sample(shape, 2),),
    )
    composite(
        f"lp_pool{dims}d(input, norm_type: number, kernel_size: sizes, stride: sizes? = None, ceil_mode: bool = False)",
        "Root of the sum of powers over each window.", lambda *values: _lp_pool(dims, *values), ("F",),
    )


_declare(1, (2, 2, 6))
_declare(2, (1, 2, 4, 4))
_declare(3, (1, 1, 4, 4, 4))
