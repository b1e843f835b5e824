"""Pixels picked at places that a grid names, and the grids of affine maps.

Each axis of a place gives taps: neighbours along it, each with its weight and the weight's derivatives. A value is the sum over
all combinations of taps of the pixel there times the product of the weights; pixels outside of the image count as zero.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import Within, composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.create import evenly_spaced
from gradsh.ops.kernels.common import unsupported
from gradsh.text.fault import fail
from gradsh.text.tuples import NamedTuple

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of {} for details."
)
_STEEP = -0.75
"""The slope of PyTorch's cubic weights at distance 1."""


class Tap(NamedTuple):
    """A neighbour along one axis: its place, and its weight with the first and second derivative by the coordinate."""

    place: Array
    weight: Any
    slope: Any
    bend: Any


def _padded(x: Array, size: int, padding: int, align: bool) -> tuple[Array, Any]:
    """Return coordinates moved into the image as the padding wants it, and the derivative of that."""
    if padding == 0:
        return x, 1
    sign: Any = 1
    if padding == 2:
        low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
        if span == 0:
            return np.zeros_like(x), 0
        away = np.abs(x - low)
        flips = np.floor(away / span)
        rest = np.fmod(away, span)
        odd = flips % 2 == 1
        sign = np.where(odd, -1, 1) * np.where(x < low, -1, 1)
        x = np.where(odd, span - rest, rest) + low
    return np.clip(x, 0, size - 1), sign * ((x > 0) & (x < size - 1))


def _cubic(t: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the weights of the four neighbours of a point, `t` behind the second one, each with its derivatives."""
    a = _STEEP
    for d, way, far in ((t + 1, 1, True), (t, 1, False), (1 - t, -1, False), (2 - t, -1, True)):
        if far:
            yield ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, way * ((3 * a * d - 10 * a) * d + 8 * a), 6 * a * d - 10 * a
        else:
            yield ((a + 2) * d - (a + 3)) * d * d + 1, way * (3 * (a + 2) * d - 2 * (a + 3)) * d, 6 * (a + 2) * d - 2 * (a + 3)


def _axis(coordinate: Array, size: int, mode: int, padding: int, align: bool) -> tuple[list[Tap], object]:
    """Return the taps along one axis, and the derivative of the pixel's coordinate by the grid's."""
    scale = (size - 1) / 2 if align else size / 2
    x = (coordinate + 1) / 2 * (size - 1) if align else ((coordinate + 1) * size - 1) / 2
    if mode == 2:
        base = np.floor(x)
        places = (_padded(base + offset, size, padding, align)[0] for offset in range(-1, 3))
        return [Tap(place, *weights) for place, weights in zip(places, _cubic(x - base), strict=True)], scale
    x, slope = _padded(x, size, padding, align)
    if mode == 1:
        return [Tap(np.rint(x), np.ones_like(x), 0, 0)], scale * slope
    base = np.floor(x)
    t = x - base
    return [Tap(base, 1 - t, -1, 0), Tap(base + 1, t, 1, 0)], scale * slope


class Sampling:
    """The places of one grid in images of one shape, (N, C, *extents)."""

    def __init__(self, shape: tuple[int, ...], grid: Array, mode: int, padding: int, align: bool) -> None:
        self.shape, self.extents = shape, shape[2:]
        self.places = grid.shape[1:-1]
        flat = grid.reshape(grid.shape[0], -1, grid.shape[-1])
        along = [_axis(flat[..., -1 - dim], size, mode, padding, align) for dim, size in enumerate(self.extents)]
        self.scales = [scale for _, scale in along]
        self.corners = list(product(*(taps for taps, _ in along)))

    def pixels(self, corner: tuple[Tap, ...]) -> tuple[Array, Array]:
        """Return the numbers of a corner's pixels within a channel, and which of them are in the image."""
        inside = reduce(np.logical_and, [(tap.place >= 0) & (tap.place < size) for tap, size in zip(corner, self.extents, strict=True)])
        number: Any = 0
        for tap, size in zip(corner, self.extents, strict=True):
            number = number * size + np.clip(np.nan_to_num(tap.place), 0, size - 1).astype(np.int64)
        return number, inside

    def values(self, image: Array, corner: tuple[Tap, ...]) -> Array:
        """Return an image's pixels at a corner, (N, C, places); zero outside."""
        number, inside = self.pixels(corner)
        flat = image.reshape(*self.shape[:2], -1)
        return np.where(inside[:, None], np.take_along_axis(flat, number[:, None], 2), 0)

    def spread(self, image: Array, values: Array, corner: tuple[Tap, ...]) -> None:
        """Add values (N, C, places) to the flat image's pixels at a corner."""
        number, inside = self.pixels(corner)
        channels = np.arange(self.shape[0] * self.shape[1]).reshape(*self.shape[:2], 1)
        np.add.at(image.reshape(len(channels) * self.shape[1], -1), (channels, number[:, None]), values * inside[:, None])

    def weight(self, corner: tuple[Tap, ...], *by: int) -> Any:
        """Return a corner's weight, or its derivative by the grid's coordinates of some axes."""
        factors = [(tap.weight, tap.slope, tap.bend)[by.count(dim)] for dim, tap in enumerate(corner)]
        return reduce(np.multiply, factors + [self.scales[dim] for dim in by])

    def whole(self, values: Array) -> Array:
        """Return values (N, C, places) in the shape of the result."""
        return values.reshape(*values.shape[:2], *self.places)


def _check(dims: int, input: Array, grid: Array, mode: int) -> None:
    sizes = f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[:1] != grid.shape[:1]:
        raise fail("shape", f"grid_sampler(): expected grid and input to have same batch size, {sizes}")
    if grid.shape[-1] != input.ndim - 2:
        text = f"expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes {list(grid.shape)}"
        raise fail("shape", f"grid_sampler(): {text}")
    empty = next((dim for dim in range(2, input.ndim) if not input.shape[dim]), None)
    if empty is not None:
        text = f"non-empty spatial dimensions, but input has sizes {list(input.shape)} with dimension {empty} being empty"
        raise fail("shape", f"grid_sampler(): expected input to have {text}")
    if input.ndim != dims + 2 or grid.ndim != dims + 2:
        text = f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, {sizes}"
        raise fail("shape", text)
    if dims == 3 and mode == 2:
        raise fail("value", "grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype.kind != "f":
        raise unsupported("grid_sampler3d_cpu" if dims == 3 else "grid_sampler_2d_cpu_kernel_impl", input)


def _sampled(dims: int, input: Array, grid: Array, mode: int, padding: int, align: bool) -> Array:
    _check(dims, input, grid, mode)
    at = Sampling(input.shape, grid, mode, padding, align)
    parts = (at.values(input, corner) * at.weight(corner)[:, None] for corner in at.corners)
    return at.whole(reduce(np.add, parts)).astype(input.dtype, copy=False)


def _gradients(grad: Array, input: Array, grid: Array, mode: int, padding: int, align: bool) -> tuple[Array, Array]:
    """Return the gradients of the image and of the grid."""
    at = Sampling(input.shape, grid, mode, padding, align)
    flat = grad.reshape(*grad.shape[:2], -1)
    image = np.zeros(input.shape, input.dtype)
    towards = [np.zeros(flat.shape[::2], grid.dtype) for _ in at.extents]
    for corner in at.corners:
        at.spread(image, flat * at.weight(corner)[:, None], corner)
        pull = (flat * at.values(input, corner)).sum(1)
        for dim, sum_ in enumerate(towards):
            sum_ += pull * at.weight(corner, dim)
    return image, np.stack(towards[::-1], -1).reshape(grid.shape)


def _second_gradients(
    u_image: Array, u_grid: Array, grad: Array, input: Array, grid: Array, mode: int, padding: int, align: bool,
) -> tuple[Array, Array, Array]:
    """Return the gradients of what `_gradients` got, by those of what it gave."""
    at = Sampling(input.shape, grid, mode, padding, align)
    flat = grad.reshape(*grad.shape[:2], -1)
    along = u_grid.reshape(len(grid), -1, len(at.extents))[..., ::-1]
    image, result = np.zeros(input.shape, input.dtype), np.zeros_like(flat)
    towards = [np.zeros(flat.shape[::2], grid.dtype) for _ in at.extents]
    dims = range(len(at.extents))
    for corner in at.corners:
        values, wanted = at.values(input, corner), at.values(u_image, corner)
        pull = reduce(np.add, [along[..., dim] * at.weight(corner, dim) for dim in dims])[:, None]
        result += wanted * at.weight(corner)[:, None] + values * pull
        at.spread(image, flat * pull, corner)
        for dim, sum_ in enumerate(towards):
            sum_ += (flat * wanted).sum(1) * at.weight(corner, dim)
            bent = reduce(np.add, [along[..., other] * at.weight(corner, dim, other) for other in dims])
            sum_ += (flat * values).sum(1) * bent
    return result.reshape(grad.shape), image, np.stack(towards[::-1], -1).reshape(grid.shape)


_OPTIONS = "interpolation_mode: int, padding_mode: int, align_corners: bool"


def _records(dims: int) -> Operation:
    name = f"grid_sampler_{dims}d"
    node = f"GridSampler{dims}DBackward"

    def second(
        grads: list[Array], grad_output: object, input: object, grid: object, interpolation_mode: int, padding_mode: int,
        align_corners: bool,
    ) -> tuple[Array, ...]:
        given = [find("zeros_like")(like) if one is None else one for one, like in zip(grads, (input, grid), strict=True)]
        return twice(*given, grad_output, input, grid, interpolation_mode, padding_mode, align_corners)

    twice = op(
        f"_{name}_backward_backward(u_image, u_grid, grad_output, input, grid, {_OPTIONS})", "",
        f"The gradients of {name}_backward.", forward=_second_gradients, spaces=(),
    )
    once = op(
        f"{name}_backward(grad_output, input, grid, {_OPTIONS})", f"{node}Backward0", f"The gradients of {name}.",
        forward=_gradients, spaces=(), grads={("grad_output", "input", "grid"): second},
    )
    steps = ((1, 2, 3, 4, 4)[: dims + 2], Within(-1.3, 1.3, 1, *(2,) * (dims - 1), 3, dims))
    return op(
        f"{name}(input, grid, {_OPTIONS})", f"{node}0", f"Pixels of images at the places of a grid, in {dims} dimensions.",
        forward=lambda *values: _sampled(dims, *values), dtypes="same", spaces=("torch",), forward_mode="refused",
        grads={
            ("input", "grid"): lambda grad, input, grid, interpolation_mode, padding_mode, align_corners:
                once(grad, input, grid, interpolation_mode, padding_mode, align_corners),
        },
        samples=[sample(*steps, mode, padding, align) for mode, padding, align in (
            (0, 0, False), (0, 1, True), (0, 2, False), (0, 2, True), *(((2, 0, False), (2, 1, True)) if dims == 2 else ()),
        )],
    )


_SAMPLERS = {dims: _records(dims) for dims in (2, 3)}


def _grid_sampler(input: Tensor, grid: object, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    return _SAMPLERS[3 if input.dim() == 5 else 2](input, grid, interpolation_mode, padding_mode, align_corners)


grid_sampler = composite(f"grid_sampler(input, grid, {_OPTIONS})", "Pixels of images at the places of a grid.", _grid_sampler, ("torch",))


def _grid_sample(input: object, grid: object, mode: str, padding_mode: str, align_corners: bool | None) -> Tensor:
    for what, given, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDINGS)):
        if given not in known:
            listed = "'bilinear', 'nearest' or 'bicubic'" if known is MODES else "'zeros', 'border', or 'reflection'"
            text = f"nn.functional.grid_sample(): expected {what} to be {listed}, but got: '{given}'"
            raise fail("value", text, ValueError)
    if align_corners is None:
        current().warning(_CHANGED.format("grid_sample"))
    return grid_sampler(input, grid, MODES.index(mode), PADDINGS.index(padding_mode), bool(align_corners))


composite(
    "grid_sample(input, grid, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool? = None)",
    "Pixels of images at the places of a grid, whose coordinates go from -1 to 1.", _grid_sample, ("F",),
    samples=(sample((1, 2, 3, 4), Within(-1.0, 1.0, 1, 2, 2, 2), align_corners=False),),
)

# --- grids ------------------------------------------------------------------------------------------------------


def _base(size: tuple[int, ...], dtype: Any, align: bool) -> Array:
    """Return the places of an image in homogeneous coordinates, (pixels, dims + 1)."""
    axes = np.meshgrid(*(_centres(n, np.dtype(dtype).type, align) for n in size[2:]), indexing="ij")[::-1]
    return np.stack([*(axis.ravel() for axis in axes), np.ones(int(np.prod(size[2:])), dtype)], -1)


def _centres(extent: int, kind: Any, align: bool) -> Array:
    """Return the places of pixels along an axis, rounded as PyTorch's: a sample at a pixel's very place has its gradient from one side."""
    if extent <= 1:
        return np.zeros(1, kind)
    places = evenly_spaced(-1, 1, extent, kind)
    return places if align else places * kind(extent - 1) / kind(extent)


def _affine(theta: Array, size: tuple[int, ...], align_corners: bool) -> Array:
    base = _base(size, theta.dtype, align_corners)
    return (base @ theta.swapaxes(1, 2)).reshape(size[0], *size[2:], len(size) - 2)


def _affine_gradient(grad: ArrayOrTensor, size: tuple[int, ...], align_corners: bool) -> ArrayOrTensor:
    base = _base(size, getattr(grad, "array", grad).dtype, align_corners)
    flat = find("reshape")(grad, (size[0], -1, len(size) - 2))
    return find("matmul")(find("transpose")(flat, 1, 2), make(base) if isinstance(grad, Tensor) else base)


affine_grid_generator: Operation = op(
    "affine_grid_generator(theta, size: tuple, align_corners: bool)", "AffineGridGeneratorBackward0",
    "The grid of places that affine matrices (N, 2, 3) or (N, 3, 4) give.", forward=_affine, spaces=("torch",),
    grads={"theta": lambda grad, size, align_corners: _affine_gradient(grad, size, align_corners)},
    forward_mode="linear", samples=(sample((2, 2, 3), (2, 1, 3, 2), False), sample((1, 3, 4), (1, 1, 2, 2, 3), True)),
)


def _affine_grid(theta: Tensor, size: tuple[int, ...], align_corners: bool | None) -> Tensor:
    size = tuple(size)
    if not theta.is_floating_point():
        raise fail("dtype", f"Expected theta to have floating point type, but got {theta.dtype}", ValueError)
    if len(size) not in {4, 5}:
        text = "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively."
        raise fail("shape", f"{text} Got size {size}.", NotImplementedError)
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        text = f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got {theta.shape}."
        raise fail("shape", text, ValueError)
    if min(size) <= 0:
        raise fail("shape", f"Expected non-zero, positive output size. Got {size}", ValueError)
    if align_corners is None:
        current().warning(_CHANGED.format("affine_grid"))
    if theta.shape[0] != size[0]:
        text = "Expected size for first two dimensions of batch2 tensor to be: "
        raise fail("shape", f"{text}[{size[0]}, {dims + 1}] but got: [{theta.shape[0]}, {dims + 1}].")
    return affine_grid_generator(theta, size, bool(align_corners))


composite(
    "affine_grid(theta, size: any, align_corners: bool? = None)", "The grid that affine matrices give, for grid_sample.",
    _affine_grid, ("F",), samples=(sample((2, 2, 3), (2, 1, 3, 2), align_corners=False),),
)
