"""Resizing: nearest, linear and cubic interpolation dim by dim; patches of images (unfold) and their sum (fold)."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.arguments import applied
from gradsh.ops.conv import spatial
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.conv_windows import ConvGeometry, add_windows, out_extents, padded, windows
from gradsh.ops.kernels.resize import interpolated, spread_back
from gradsh.text.fault import fail

_LETTERS = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}
_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def _check_sizes(self: Array, output_size: tuple[int, ...], dims: int) -> None:
    sizes = self.shape[2:]
    if any(n <= 0 for n in (*sizes, *output_size)):
        shown = [
            ", ".join(f"{letter}: {n}" for letter, n in zip(_LETTERS[dims], some, strict=False))
            for some in (sizes, output_size)
        ]
        message = (
            f"Input and output sizes should be greater than 0, but got input ({shown[0]}) output ({shown[1]})"
        )
        raise fail("value", message)


def _kernel_of(mode: str, dims: int) -> str:
    """Return the name of PyTorch's kernel, which its errors say."""
    plain = "nearest" if mode == "exact" else mode
    if dims == 2 and plain != "cubic":
        return f"upsample_{'bilinear' if plain == 'linear' else plain}2d_channels_last"
    return f"compute_indices_weights_{plain}"


def _records(name: str, node: str, mode: str, dims: int) -> Operation:
    """Declare one mode of interpolation in one number of dims, and its gradient."""
    corners = mode in {"linear", "cubic", "linear_aa", "cubic_aa"}
    scales = _SCALES[dims]
    rest = ("align_corners: bool, " if corners else "") + ", ".join(f"{scale}: float? = None" for scale in scales)

    def split(values: tuple[Any, ...]) -> tuple[bool, tuple[object, ...]]:
        return (values[0], values[1:]) if corners else (False, values)

    def kernel(self: Array, output_size: tuple[int, ...], *values: object) -> Array:
        _check_sizes(self, output_size, dims)
        if self.dtype.kind in ("bi" if mode != "linear" or dims == 2 else "biu") and not mode.endswith("_aa"):
            raise unsupported(_kernel_of(mode, dims), self)
        return interpolated(self, output_size, mode, *split(values))

    def backward_kernel(
        grad_output: Array, output_size: tuple[int, ...], input_size: tuple[int, ...], *values: object
    ) -> Array:
        return spread_back(grad_output, tuple(input_size), mode, *split(values))

    names = " ".join(("align_corners",) * corners + scales)
    op(
        f"{name}_backward(grad_output, output_size: ints, input_size: ints, {rest})", node + "Backward0",
        f"Gradient of {name}.", forward=backward_kernel, spaces=(),
        grads={"grad_output": applied(name, f"grad output_size {names}")},
    )
    return op(
        f"{name}(self, output_size: ints, {rest})", node + "0", f"Interpolation ({mode}) of the last {dims} dims.",
        layout="channels", forward=kernel, spaces=(),
        grads={"self": applied(f"{name}_backward", f"grad output_size self_sizes {names}")},
    )


_MODES: dict[tuple[str, int], Operation] = {}
for _dims in (1, 2, 3):
    _MODES["nearest", _dims] = _records(
        f"upsample_nearest{_dims}d", f"UpsampleNearest{_dims}DBackward", "nearest", _dims)
    _MODES["nearest-exact", _dims] = _records(
        f"_upsample_nearest_exact{_dims}d", f"UpsampleNearestExact{_dims}DBackward", "exact", _dims)
for _dims, _name in ((1, "linear"), (2, "bilinear"), (3, "trilinear")):
    _MODES[_name, _dims] = _records(
        f"upsample_{_name}{_dims}d", f"Upsample{_name.title()}{_dims}DBackward", "linear", _dims)
_MODES["bicubic", 2] = _records("upsample_bicubic2d", "UpsampleBicubic2DBackward", "cubic", 2)
_MODES["bilinear_aa", 2] = _records("_upsample_bilinear2d_aa", "UpsampleBilinear2DAaBackward", "linear_aa", 2)
_MODES["bicubic_aa", 2] = _records("_upsample_bicubic2d_aa", "UpsampleBicubic2DAaBackward", "cubic_aa", 2)
_CORNERS = {"linear", "bilinear", "trilinear", "bicubic"}
_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}


def _target(
    input: Tensor, size: int | None, scale_factor: float | None, recompute: bool, dims: int
) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """Return the wanted extents and the scales (None each where the size was given)."""
    shape = tuple(input.shape)[2:]
    if size is not None and scale_factor is not None:
        raise fail("value", "only one of size or scale_factor should be defined", ValueError)
    if size is not None:
        if recompute:
            raise fail("value", "recompute_scale_factor is not meaningful with an explicit size.", ValueError)
        if isinstance(size, (list, tuple)) and len(size) != dims:
            message = (
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(shape)} and output size of {size}. Please provide input tensor in (N, C, d1, d2, "
                "...,dK) format and output size in (o1, o2, ...,oK) format."
            )
            raise fail("shape", message, ValueError)
        return (tuple(size) if isinstance(size, (list, tuple)) else (int(size),) * dims), (None,) * dims
    if scale_factor is None:
        raise fail("value", "either size or scale_factor should be defined", ValueError)
    if isinstance(scale_factor, (list, tuple)) and len(scale_factor) != dims:
        message = (
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(shape)} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, "
            "d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
        raise fail("shape", message, ValueError)
    scales = tuple(scale_factor) if isinstance(scale_factor, (list, tuple)) else (scale_factor,) * dims
    wanted = tuple(int(n * float(scale)) for n, scale in zip(shape, scales, strict=True))
    return wanted, (None,) * dims if recompute else tuple(float(scale) for scale in scales)


def _interpolate(
    input: Tensor, size: int | None, scale_factor: float | None, mode: str, align_corners: bool | None,
    recompute_scale_factor: object, antialias: bool,
) -> Tensor:
    ndim = len(input.shape)
    dims = ndim - 2
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        message = (
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
        raise fail("value", message, ValueError)
    wanted, scales = _target(input, size, scale_factor, bool(recompute_scale_factor), dims)
    if antialias and not (mode in ("bilinear", "bicubic") and ndim == 4):
        message = (
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
        raise fail("value", message, ValueError)
    if mode == "area" and dims in (1, 2, 3):
        return find(f"adaptive_avg_pool{dims}d")(input, wanted)
    found = _MODES.get((mode + "_aa" if antialias else mode, dims))
    if found is None:
        raise _wrong_mode(mode, ndim)
    corners = (bool(align_corners),) if mode in _CORNERS else ()
    return found(input, wanted, *corners, *scales)


def _wrong_mode(mode: str, ndim: int) -> Exception:
    if mode in _NEEDS and ndim in (3, 4, 5):
        message = f"Got {ndim}D input, but {mode} mode needs {_NEEDS[mode]}D input"
    else:
        message = (
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    return fail("value", message, NotImplementedError)


interpolate = composite(
    "interpolate(input, size: any? = None, scale_factor: any? = None, mode: str = 'nearest', align_corners: bool? = None, "
    "recompute_scale_factor: any? = None, antialias: bool = False)",
    "Resize the dims after batch and channels to a size, or by a factor.", _interpolate, ("F",),
    samples=(sample((1, 2, 3), 5), sample((1, 2, 3, 3), None, 2.0, "bilinear")),
)


def _old_name(name: str, more: str, doc: str, *mode: object) -> None:
    """Declare a deprecated name of `interpolate`, which takes the mode or has one of its own."""

    def body(*given: object) -> Tensor:
        current().warning(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
        return interpolate(*given, *mode)

    composite(f"{name}(input, size: any? = None, scale_factor: any? = None{more})", doc, body, ("F",))


_old_name("upsample", ", mode: str = 'nearest', align_corners: bool? = None", "The old name of interpolate.")
_old_name("upsample_nearest", "", "The old name of interpolate with the nearest element.", "nearest")
_old_name("upsample_bilinear", "", "The old name of bilinear interpolate between aligned corners.", "bilinear", True)

# --- unfold and fold --------------------------------------------------------------------------------------------


def _geometry(
    kernel_size: tuple[int, ...], dilation: tuple[int, ...], padding: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[tuple[int, ...], ConvGeometry]:
    kernel = spatial(kernel_size, 2, "kernel_size")
    return kernel, ConvGeometry(
        spatial(stride, 2, "stride"), spatial(padding, 2, "padding"), spatial(dilation, 2, "dilation"), 1
    )


def _check_patches(kernel: tuple[int, ...], geometry: ConvGeometry) -> None:
    for name, pair, least in (
        ("kernel size", kernel, 1), ("dilation", geometry.dilation, 1), ("stride", geometry.stride, 1)):
        if any(n < least for n in pair):
            short = {"kernel size": ("kernel_height", "kernel_width"), "dilation": ("dilation_height", "dilation_width"),
                     "stride": ("stride_height", "stride_width")}[name]
            message = (
                f"{name} should be greater than zero, but got {short[0]}: {pair[0]} {short[1]}: {pair[1]}"
            )
            raise fail("value", message)
    if any(n < 0 for n in geometry.padding):
        p = geometry.padding
        raise fail("value", f"padding should be non-negative, but got pad_height: {p[0]} pad_width: {p[1]}")


def _im2col(
    self: Array, kernel_size: tuple[int, ...], dilation: tuple[int, ...], padding: tuple[int, ...],
    stride: tuple[int, ...],
) -> Array:
    kernel, geometry = _geometry(kernel_size, dilation, padding, stride)
    _check_patches(kernel, geometry)
    if self.ndim not in (3, 4) or 0 in self.shape[-3:]:
        message = (
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(self.shape)}"
        )
        raise fail("shape", message)
    out = out_extents(self.shape[-2:], kernel, geometry)
    if any(n < 1 for n in out):
        h, w = self.shape[-2:]
        message = (
            f"Given input with spatial size ({h}, {w}), kernel_size={_pair(kernel)}, dilation="
            f"{_pair(geometry.dilation)}, padding={_pair(geometry.padding)}, calculated shape of the array of sliding "
            f"blocks as {_pair(out)}, but its components must be at least one."
        )
        raise fail("shape", message)
    view = windows(padded(self, geometry.padding), kernel, out, geometry.stride, geometry.dilation)
    rows = self.shape[-3] * kernel[0] * kernel[1]
    return np.array(view).reshape(*self.shape[:-3], rows, out[0] * out[1])


def _pair(values: tuple[int, ...]) -> str:
    return f"({values[0]}, {values[1]})"


def _col2im(
    self: Array, output_size: tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...],
    padding: tuple[int, ...], stride: tuple[int, ...],
) -> Array:
    kernel, geometry = _geometry(kernel_size, dilation, padding, stride)
    extents = spatial(output_size, 2, "output_size")
    _check_patches(kernel, geometry)
    if self.ndim not in (2, 3) or 0 in self.shape[-2:]:
        message = (
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(self.shape)}"
        )
        raise fail("shape", message)
    area = kernel[0] * kernel[1]
    if self.shape[-2] % area:
        message = (
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.shape[-2]} and kernel_size={_pair(kernel)}."
        )
        raise fail("shape", message)
    out = out_extents(extents, kernel, geometry)
    if self.shape[-1] != out[0] * out[1]:
        message = (
            f"Given output_size={_pair(extents)}, kernel_size={_pair(kernel)}, dilation={_pair(geometry.dilation)}, "
            f"padding={_pair(geometry.padding)}, stride={_pair(geometry.stride)}, expected size of input's dimension 2 "
            f"to match the calculated number of sliding blocks {out[0]} * {out[1]} = {out[0] * out[1]}, but got "
            f"input.size(2)={self.shape[-1]}."
        )
        raise fail("shape", message)
    lead = (*self.shape[:-2], self.shape[-2] // area)
    border = tuple(n + 2 * p for n, p in zip(extents, geometry.padding, strict=True))
    whole = np.zeros(lead + border, self.dtype)
    add_windows(whole, self.reshape(*lead, *kernel, *out), geometry)
    inner: Any = (..., *(slice(p, p + n) for n, p in zip(extents, geometry.padding, strict=True)))
    return np.ascontiguousarray(whole[inner])


_PATCH = "kernel_size: ints, dilation: ints, padding: ints, stride: ints"
im2col: Operation = op(
    f"im2col(self, {_PATCH})", "Im2ColBackward0", "The patches of images as columns.", forward=_im2col, spaces=(),
    grads={
        "self": lambda grad, self_argsize1m, self_argsize2m, kernel_size, dilation, padding, stride:
            col2im(grad, (self_argsize2m, self_argsize1m), kernel_size, dilation, padding, stride),
    },
)
col2im: Operation = op(
    f"col2im(self, output_size: ints, {_PATCH})", "Col2ImBackward0", "Images from the sums of their patches.",
    forward=_col2im, spaces=(),
    grads={
        "self": lambda grad, kernel_size, dilation, padding, stride:
            im2col(grad, kernel_size, dilation, padding, stride),
    },
)


def _two(value: int) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)


composite(
    "F_unfold(input, kernel_size: any, dilation: any = 1, padding: any = 0, stride: any = 1)",
    "The patches of images (N, C, H, W) as columns (N, C * kernel, places).",
    lambda input, *numbers: im2col(input, *(_two(one) for one in numbers)), ("F",),
)
fold = composite(
    "fold(input, output_size: any, kernel_size: any, dilation: any = 1, padding: any = 0, stride: any = 1)",
    "Images from the sums of their patches.", lambda input, *numbers: col2im(input, *(_two(one) for one in numbers)),
    ("F",),
)
