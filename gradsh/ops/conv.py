"""Convolutions of one, two and three dims, plain and transposed: one node, ConvolutionBackward0, for all of them."""

from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, cpp_name, of_numpy
from gradsh.ops.arguments import applied, words
from gradsh.ops.kernels.conv import adjoints, correlate, filter_of, spread
from gradsh.ops.kernels.conv_windows import ConvGeometry
from gradsh.ops.kernels.geometry import array_of
from gradsh.text.fault import fail

_REST = "stride: tuple, padding: tuple, dilation: tuple, transposed: bool, output_padding: tuple, groups: int"


def spatial(value: tuple[int, ...] | int, dims: int, name: str) -> tuple[int, ...]:
    """Return one number for each spatial dim; a single one stands for all. Raises as PyTorch where they do not fit."""
    numbers = (value,) if isinstance(value, int) else tuple(value)
    if len(numbers) == 1:
        return numbers * dims
    if len(numbers) != dims:
        message = (
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got {name}={list(numbers)}"
        )
        raise fail("value", message)
    return numbers


# --- the kernels ------------------------------------------------------------------------------------------------


def _transposed_extents(
    extents: tuple[int, ...], kernel: tuple[int, ...], geometry: ConvGeometry, output_padding: tuple[int, ...]
) -> tuple[int, ...]:
    rows = zip(
        extents, kernel, geometry.stride, geometry.padding, geometry.dilation, output_padding, strict=True
    )
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + extra + 1 for n, k, s, p, d, extra in rows)


def _forward(
    input: Array, weight: Array, bias: Array | None, stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int,
) -> Array:
    dims = weight.ndim - 2
    stride, padding, dilation = (
        spatial(stride, dims, "stride"), spatial(padding, dims, "padding"), spatial(dilation, dims, "dilation"),
    )
    output_padding = spatial(output_padding, dims, "output_padding")
    geometry = ConvGeometry(stride, padding, dilation, groups)
    _check(input, weight, bias, geometry, transposed, output_padding)
    if transposed:
        extents = _transposed_extents(input.shape[2:], weight.shape[2:], geometry, output_padding)
        result = spread(input, weight, extents, geometry)
        if bias is not None:
            result += bias.reshape(-1, *(1,) * dims)
        return result
    return correlate(input, weight, geometry, (), bias)


def _check(
    input: Array, weight: Array, bias: Array | None, geometry: ConvGeometry, transposed: bool,
    output_padding: tuple[int, ...],
) -> None:
    _check_dtypes(input, weight, bias)
    if any(p < 0 for p in geometry.padding):
        raise fail("value", "negative padding is not supported")
    if any(s <= 0 for s in geometry.stride):
        raise fail("value", "non-positive stride is not supported")
    if any(d <= 0 for d in geometry.dilation):
        got = "" if any(d < 0 for d in geometry.dilation) else f", but got {list(geometry.dilation)}"
        raise fail("value", f"dilation should be greater than zero{got}")
    if geometry.groups <= 0:
        raise fail("value", "non-positive groups is not supported")
    if input.ndim != weight.ndim:
        message = (
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but "
            f"got {input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
        raise fail("shape", message)
    _check_channels(input, weight, bias, geometry, transposed)
    if transposed:
        _check_transposed(input, weight, geometry, output_padding)
    else:
        _check_extents(input, weight, geometry)


def _check_dtypes(input: Array, weight: Array, bias: Array | None) -> None:
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype != input.dtype:
            if name == "bias":
                message = f"Input type ({cpp_name(input.dtype)}) and bias type ({cpp_name(other.dtype)}) should be the same"
            else:
                a, b = of_numpy(input.dtype).title, of_numpy(other.dtype).title
                message = f"expected scalar type {a} but found {b}"
            raise fail("dtype", message)


def _check_channels(input: Array, weight: Array, bias: Array | None, geometry: ConvGeometry, transposed: bool) -> None:
    groups = geometry.groups
    what = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(weight.shape)}"
    if weight.shape[0] < groups:
        message = (
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
        raise fail("shape", message)
    if weight.shape[0] % groups:
        message = (
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(weight.shape)}] instead"
        )
        raise fail("shape", message)
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if input.shape[1] != wanted:
        message = (
            f"{what}, expected input{list(input.shape)} to have {wanted} channels, but got {input.shape[1]} channels "
            "instead"
        )
        raise fail("shape", message, shapes=(input.shape, weight.shape))
    filters = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and bias.shape != (filters,):
        message = (
            f"{what if transposed else f'Given weight of size {list(weight.shape)}'}, expected bias to be "
            f"1-dimensional with {filters} elements, but got bias of size {list(bias.shape)} instead"
        )
        raise fail("shape", message)


def _check_extents(input: Array, weight: Array, geometry: ConvGeometry) -> None:
    whole = [n + 2 * p for n, p in zip(input.shape[2:], geometry.padding, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(geometry.dilation, weight.shape[2:], strict=True)]
    if any(n < k for n, k in zip(whole, reach, strict=True)):
        a, b = (" x ".join(str(n) for n in one) for one in (whole, reach))
        message = (
            f"Calculated padded input size per channel: ({a}). Kernel size: ({b}). Kernel size can't be greater than "
            "actual input size"
        )
        raise fail("shape", message, shapes=(input.shape, weight.shape))


def _spelled(**numbers: tuple[int, ...]) -> str:
    """Spell numbers of two dims as PyTorch does: name_height: 1 name_width: 1 …"""
    words = ("depth", "height", "width")
    parts = []
    for name, values in numbers.items():
        if len(values) == 1:  # rows are images of height 1
            values = (0 if name == "output_padding" else 1, *values)
        parts += [f"{name}_{word}: {n}" for word, n in zip(words[3 - len(values) :], values, strict=True)]
    return " ".join(parts)


def _check_transposed(input: Array, weight: Array, geometry: ConvGeometry, output_padding: tuple[int, ...]) -> None:
    rows = zip(output_padding, geometry.stride, geometry.dilation, strict=True)
    if any(extra >= s and extra >= d for extra, s, d in rows):
        message = "output padding must be smaller than either stride or dilation, but got " + _spelled(
            output_padding=output_padding, stride=geometry.stride, dilation=geometry.dilation)
        raise fail("value", message)
    extents = _transposed_extents(input.shape[2:], weight.shape[2:], geometry, output_padding)
    if any(n <= 0 for n in extents):
        sizes = " x ".join(str(n) for n in input.shape[2:])
        out = " x ".join(str(n) for n in extents)
        message = (
            f"Given input size per channel: ({sizes}). Calculated output size per channel: ({out}). Output size is "
            "too small"
        )
        raise fail("shape", message)


def _backward(
    grad_output: Array, input: Array, weight: Array, bias_sizes: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int,
    output_mask: tuple[bool, ...],
) -> tuple[Array | None, Array | None, Array | None]:
    dims = weight.ndim - 2
    geometry = ConvGeometry(
        spatial(stride, dims, "stride"), spatial(padding, dims, "padding"), spatial(dilation, dims, "dilation"), groups
    )
    grad_input = grad_weight = grad_bias = None
    if transposed:
        if output_mask[0]:
            grad_input = correlate(grad_output, weight, geometry, input.shape[2:])
        if output_mask[1]:
            grad_weight = filter_of(grad_output, input, weight.shape[2:], geometry)
    elif output_mask[0] or output_mask[1]:
        grad_input, grad_weight = adjoints(
            grad_output, geometry, input.shape[2:], weight.shape[2:],
            input if output_mask[1] else None, weight if output_mask[0] else None,
        )
    if output_mask[2]:
        grad_bias = np.add.reduce(grad_output, axis=(0, *range(2, grad_output.ndim)))
    return grad_input, grad_weight, grad_bias


# --- second derivatives -----------------------------------------------------------------------------------------


def _double(
    grads: list[ArrayOrTensor | None] | list[ArrayOrTensor], grad_output: ArrayOrTensor, input: ArrayOrTensor,
    weight: ArrayOrTensor, stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...],
    transposed: bool, output_padding: tuple[int, ...], groups: int, needs: tuple[bool, ...],
) -> Gradients:
    """Return the gradients by (grad_output, input, weight): convolutions again, for they are linear in each."""
    by_input, by_weight, by_bias = grads
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    empty = array_of(input).size == 0
    terms = []
    if by_input is not None and not empty:
        terms.append(convolution(by_input, weight, None, *rest))
    if by_weight is not None and not empty:
        terms.append(convolution(input, by_weight, None, *rest))
    if by_bias is not None:
        shape = tuple(-1 if dim == 1 else 1 for dim in range(len(grad_output.shape)))
        row = tuple(by_bias.shape[0] if extent == -1 else 1 for extent in shape)
        terms.append(find("expand")(find("view")(by_bias, row), tuple(grad_output.shape)))
    second = None
    for term in terms:
        second = term if second is None else second + term
    grad_weight = grad_input = None
    if by_input is not None and needs[2] and not empty:
        grad_weight = _double_weight(by_input, grad_output, weight, rest)
    if by_weight is not None and needs[1] and not empty:
        grad_input = _double_input(by_weight, grad_output, input, weight, rest)
    return second, grad_input, grad_weight


def _double_weight(by_input: object, grad_output: object, weight: Any, rest: Any) -> Array:
    """Correlate input and output with batch and channels exchanged; a window of the result is the filter's gradient."""
    stride, padding, dilation, transposed, output_padding, groups = rest
    transpose = find("transpose")
    outputs, inputs = transpose(grad_output, 0, 1), transpose(by_input, 0, 1)
    big, small = (outputs, inputs) if transposed else (inputs, outputs)
    walk = (dilation, padding, stride, False, output_padding, 1)
    if groups == 1:
        found = convolution(big, small, None, *walk)
    else:
        found = find("cat")([
            convolution(_group(big, groups, g), _group(small, groups, g), None, *walk) for g in range(groups)
        ], 1)
    return _narrowed(transpose(found, 0, 1), weight)


def _group(value: Any, groups: int, place: int) -> object:
    each = value.shape[0] // groups
    return find("narrow")(value, 0, each * place, each)


def _narrowed(found: Array, like: Array) -> Array:
    """Cut off what a stride that does not divide left over at the end."""
    for dim in range(2, len(like.shape)):
        if found.shape[dim] > like.shape[dim]:
            found = find("narrow")(found, dim, 0, like.shape[dim])
    return found


def _double_input(by_weight: object, grad_output: Any, input: Any, weight: Any, rest: Any) -> Array:
    stride, padding, dilation, transposed, output_padding, groups = rest
    if transposed:
        found = convolution(grad_output, by_weight, None, stride, padding, dilation, False, output_padding, groups)
        return _narrowed(found, input)
    dims = len(weight.shape) - 2
    wide = [spatial(one, dims, "padding") for one in (dilation, padding, stride, output_padding)]
    rows = zip(weight.shape[2:], *wide[:3], grad_output.shape[2:], input.shape[2:], wide[3], strict=True)
    extra = tuple(
        old if n == (k - 1) * d - 2 * p + s * (out - 1) + 1 else n - ((k - 1) * d - 2 * p + s * (out - 1) + 1)
        for k, d, p, s, out, n, old in rows
    )
    return convolution(grad_output, by_weight, None, stride, padding, dilation, True, extra, groups)


convolution_backward: Operation = op(
    f"convolution_backward(grad_output, input, weight, bias_sizes: ints?, {_REST}, output_mask: any)",
    "ConvolutionBackwardBackward0", "Gradients of a convolution by input, weight and bias.",
    forward=_backward, grads={("grad_output", "input", "weight"): _double}, spaces=(),
)


convolution: Operation = op(
    f"convolution(input, weight, bias: Tensor?, {_REST})", "ConvolutionBackward0",
    "Convolution of any number of dims, plain or transposed.", layout="channels", forward=_forward,
    spaces=("torch",),
    grads={
        ("input", "weight", "bias"): applied("convolution_backward", f"grad input weight bias_optsizes {words(_REST)} needs"),
    },
    note="Saves input and weight whichever needs a gradient, also when only the bias does.",
)

# --- the functions ----------------------------------------------------------------------------------------------


def _batched(input: Tensor, dims: int, name: str) -> tuple[Any, bool]:
    """Return the input with a batch dim, and whether it had one."""
    ndim = len(input.shape)
    if ndim not in (dims + 1, dims + 2):
        message = (
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
        raise fail("shape", message)
    return (input, True) if ndim == dims + 2 else (find("unsqueeze")(input, 0), False)


def _same(
    input: Tensor, weight: Any, bias: object, stride: tuple[int, ...], dilation: tuple[int, ...], groups: int,
    dims: int,
) -> Tensor:
    """Convolve with as much padding as keeps the extents; an odd one more at the end."""
    stride, dilation = spatial(stride, dims, "stride"), spatial(dilation, dims, "dilation")
    if any(s != 1 for s in stride):
        raise fail("value", "padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    left = tuple(total // 2 for total in totals)
    if any(total % 2 for total in totals):
        pad = [n for total in reversed(totals) for n in (0, total % 2)]
        input = find("constant_pad_nd")(input, pad, 0)
    return convolution(input, weight, bias, stride, left, dilation, False, (0,) * dims, groups)


def _convolve(
    dims: int, input: Tensor, weight: Tensor, bias: object, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    if len(weight.shape) != dims + 2:
        _batched(input, dims, f"conv{dims}d")
        found = len(weight.shape) - 2
        message = (
            "weight should have at least three dimensions" if len(weight.shape) < 3 else
            f"Expected {len(weight.shape)}-dimensional input for {len(weight.shape)}-dimensional weight"
            f"{list(weight.shape)}, but got {len(input.shape)}-dimensional input of size {list(input.shape)} instead"
            if padding == "same" else
            f"expected stride to be a single integer value or a list of {found} values to match the convolution "
            f"dimensions, but got stride={list(spatial(stride, dims, 'stride'))}"
        )
        raise fail("shape", message)
    input, was_batched = _batched(input, dims, f"conv{dims}d")
    if padding == "same":
        result = _same(input, weight, bias, stride, dilation, groups, dims)
    else:
        if isinstance(padding, str):
            if padding != "valid":
                raise fail("value", f"Invalid padding string: '{padding}'")
            border: tuple[int, ...] = (0,)
            more: tuple[int, ...] = (0,)
        else:
            border, more = spatial(padding, dims, "padding"), (0,) * dims
        steps, apart = spatial(stride, dims, "stride"), spatial(dilation, dims, "dilation")
        result = convolution(input, weight, bias, steps, border, apart, False, more, groups)
    return result if was_batched else find("squeeze")(result, 0)


def _convolve_transposed(
    dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple[int, ...] | int,
    padding: tuple[int, ...] | int, output_padding: tuple[int, ...] | int, groups: int, dilation: tuple[int, ...] | int,
) -> Tensor:
    input, was_batched = _batched(input, dims, f"conv_transpose{dims}d")
    stride, padding, dilation, output_padding = (
        spatial(value, dims, name) for name, value in (
            ("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding))
    )
    result = convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return result if was_batched else find("squeeze")(result, 0)


def _declare(dims: int, input: tuple[int, ...], weight: tuple[int, ...]) -> None:
    """Declare the two functions of one number of dims."""
    where = ("torch", "F")

    words = {1: "rows", 2: "images", 3: "volumes"}[dims]
    composite(
        f"conv{dims}d(input, weight, bias: Tensor? = None, stride: ints = 1, padding: any = 0, dilation: ints = 1, "
        "groups: int = 1)",
        f"Convolution of {words}: input (N, C, …) with weight (O, C / groups, …).",
        lambda *values: _convolve(dims, *values), where,
        samples=(sample(input, weight, weight[:1]), sample(input, weight, None, 2, 1)),
        note="Saves input and weight, whichever needs a gradient. `padding` may be 'valid' or 'same'.",
    )
    composite(
        f"conv_transpose{dims}d(input, weight, bias: Tensor? = None, stride: ints = 1, padding: ints = 0, "
        "output_padding: ints = 0, groups: int = 1, dilation: ints = 1)",
        f"Transposed convolution of {words}: weight is (C, O / groups, …).",
        lambda *values: _convolve_transposed(dims, *values), where,
        samples=(sample(input, (input[1], 2, *weight[2:])),),
    )


_declare(1, (2, 2, 5), (3, 2, 3))
_declare(2, (1, 2, 4, 4), (2, 2, 3, 3))
_declare(3, (1, 1, 3, 3, 3), (2, 1, 2, 2, 2))
