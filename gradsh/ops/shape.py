"""Composites that give tensors another shape: reshape, flatten, movedim, repeat and their like."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import alias, composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import expandable, wrap_dim
from gradsh.ops.arguments import zeros_of_shape
from gradsh.ops.copy_cast import clone
from gradsh.ops.function_forms import takes_tuple
from gradsh.ops.join import at_least
from gradsh.ops.kernels.geometry import array_of, resolve_size, view_strides
from gradsh.ops.layout import contiguous_format
from gradsh.ops.view import expand, permute, reshape_alias, sum_to_shape, transpose, unsafe_view, unsqueeze, view
from gradsh.text.fault import fail


def _reshape(self: ArrayOrTensor, shape: tuple[int, ...]) -> ArrayOrTensor:
    array = array_of(self)
    if array.flags.c_contiguous:
        return view(self, shape)
    wanted = resolve_size(shape, array.size, array.shape)
    if view_strides(array.shape, array.strides, wanted, array.itemsize) is not None:
        return reshape_alias(self, wanted)
    return unsafe_view(clone(self, memory_format=contiguous_format), wanted)


reshape = composite(
    "reshape(self, *shape: ints)", "The same elements in another shape: a view where the memory allows it, else a copy.",
    _reshape, samples=(sample((2, 6), (3, 4)), sample((2, 6), (-1,)), sample((2, 3), (4, -1), rejects="shape")),
    note="A view is ViewBackward0, a copy UnsafeViewBackward0 over CloneBackward0.",
)
takes_tuple(reshape)


# --- views under other names ------------------------------------------------------------------------------------

METHOD = ("Tensor",)
composite("view_as(self, other)", "A view in the shape of another tensor.", lambda self, other: view(self, tuple(other.shape)), METHOD)
composite("reshape_as(self, other)", "The elements in the shape of another tensor.", lambda self,
    other: reshape(self, tuple(other.shape)), METHOD)
composite("expand_as(self, other)", "A view expanded to the shape of another tensor.", lambda self,
    other: expand(self, tuple(other.shape)), METHOD)
takes_tuple(composite("broadcast_to(self, *size: ints)", "A view expanded to a shape.", lambda self, size: expand(self, size)))
composite("ravel(self)", "All elements in one dimension.", lambda self: reshape(find("contiguous")(self), (-1,)))


def _flatten(self: Tensor, start_dim: int, end_dim: int) -> Any:
    start, end = wrap_dim(start_dim, self.ndim), wrap_dim(end_dim, self.ndim)
    if start > end:
        raise fail("value", "flatten() has invalid args: start_dim cannot come after end_dim")
    if self.ndim == 0:
        return _reshape(self, (1,))
    if start == end:
        return self
    shape = tuple(self.shape)
    return _reshape(self, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


composite(
    "flatten(self, start_dim: int = 0, end_dim: int = -1)", "The tensor with several dimensions made one.", _flatten,
    samples=(sample((2, 3, 4), 1),), note="A 1-d tensor returns itself, not a view.",
)


def _unflatten(self: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    place = wrap_dim(dim, self.ndim)
    if not sizes:
        raise fail("value", "unflatten: sizes must be non-empty")
    shape = tuple(self.shape)
    if not shape:
        message = f"unflatten got an unexpected error:\nDimension specified as {place} but tensor has no dimensions"
        raise fail("shape", message)
    try:
        inner = resolve_size(sizes, shape[place])
    except RuntimeError as error:
        if "only one" in str(error) or "invalid shape" in str(error):
            raise fail("value", f"unflatten got an unexpected error:\n{error}") from None
        message = (
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {place} ({shape[place]}) in the input "
            "tensor"
        )
        raise fail("shape", message, shapes=(shape,)) from None
    return view(self, (*shape[:place], *inner, *shape[place + 1 :]))


composite("unflatten(self, dim: int, sizes: tuple)", "A view with one dimension made several.", _unflatten,
    samples=(sample((3, 4), 1, (2, 2)),))
for _name in ("swapaxes", "swapdims"):
    _first, _second = ("axis0", "axis1") if _name == "swapaxes" else ("dim0", "dim1")
    composite(
        f"{_name}(self, {_first}: int, {_second}: int)", "A view with two dimensions exchanged.", lambda self, a, b: transpose(self, a, b),
        note="It is a transpose: TransposeBackward0.",
    )


def _movedim(self: Tensor, source: tuple[int, ...], destination: tuple[int, ...]) -> Tensor:
    if len(source) != len(destination):
        message = (
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims "
            f"as destination ({list(destination)} dims)"
        )
        raise fail("value", message)
    old, new = ([wrap_dim(dim, self.ndim) for dim in dims] for dims in (source, destination))
    for what, dims, given in (("source", old, source), ("destination", new, destination)):
        if len(set(dims)) != len(dims):
            raise fail("value", f"movedim: repeated dim in `{what}` ({list(given)})")
    if self.ndim == 0:
        return find("alias")(self)
    order = [-1] * self.ndim
    for here, there in zip(old, new, strict=True):
        order[there] = here
    rest = iter(dim for dim in range(self.ndim) if dim not in old)
    return permute(self, tuple(next(rest) if dim < 0 else dim for dim in order))


movedim = composite(
    "movedim(self, source: int, destination: int)", "A view with a dimension moved to another place.",
    lambda self, source, destination: _movedim(self, (source,), (destination,)), note="It is a permutation: PermuteBackward0.",
)
composite("movedim(self, source: tuple, destination: tuple)", "A view with dimensions moved to other places.", _movedim)
alias("moveaxis", movedim)


def _atleast(ndim: int) -> None:
    def body(tensors: tuple[Tensor, ...]) -> Any:
        given = tensors[0] if len(tensors) == 1 else tensors
        if isinstance(given, (list, tuple)):
            return tuple(at_least(one, ndim) for one in given)
        return at_least(given, ndim)

    composite(f"atleast_{ndim}d(*tensors: any)", f"The tensor as one of at least {ndim} dimension{'s' * (ndim > 1)}.", body, ("torch",))


for _ndim in (1, 2, 3):
    _atleast(_ndim)


def _sum_to_size(self: Tensor, size: tuple[int, ...]) -> ArrayOrTensor:
    if not expandable(tuple(size), tuple(self.shape)):
        message = f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}."
        raise fail("shape", message, shapes=(size, self.shape))
    return sum_to_shape(self, size)


composite("sum_to_size(self, *size: ints)",
    "The tensor summed down to a shape that it could have been expanded from.", _sum_to_size, METHOD)


# --- repetition -------------------------------------------------------------------------------------------------


def _repeat(self: Array, repeats: tuple[int, ...]) -> Array:
    if len(repeats) < self.ndim:
        message = "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        raise fail("shape", message)
    if any(count < 0 for count in repeats):
        lead = len(repeats) - self.ndim
        shape = [count * (self.shape[dim - lead] if dim >= lead else 1) for dim, count in enumerate(repeats)]
        raise fail("value", f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    return np.array(np.tile(self, repeats), order="C")


def _repeat_backward(grad: ArrayOrTensor, repeats: tuple[int, ...], self_sizes: tuple[int, ...]) -> ArrayOrTensor:
    total = find("sum")
    if 0 in repeats:
        return zeros_of_shape(grad, self_sizes)
    lead = len(repeats) - len(self_sizes)
    for _ in range(lead):
        grad = total(grad, (0,), False)
    shape: list[int] = []
    summed: list[int] = []
    for count, extent in zip(repeats[lead:], self_sizes, strict=True):
        if count != 1:
            summed.append(len(shape))
            shape.append(count)
        shape.append(extent)
    return total(reshape(grad, tuple(shape)), tuple(summed), False) if summed else grad


repeat = op(
    "repeat(self, *repeats: ints)", "RepeatBackward0", "A copy that repeats the tensor along its dimensions.", forward=_repeat,
    spaces=METHOD, grads={"self": _repeat_backward}, samples=(sample((3, 4), (2, 3)), sample((3,), (2, 1, 2))),
)
takes_tuple(composite(
    "tile(self, *dims: ints)", "A copy that repeats the tensor along its dimensions, the last ones first.",
    lambda self, dims: repeat(self, (1,) * (self.ndim - len(dims)) + tuple(dims)),
))


def _repeat_interleave(self: Tensor, repeats: int, dim: int | None, output_size: object) -> Tensor:
    source = _flatten(self, 0, -1) if dim is None else self
    place = wrap_dim(dim or 0, source.ndim)
    if isinstance(repeats, int):
        if repeats < 0:
            raise fail("value", "Repeats must be non-negative")
        if source.ndim == 0 and dim is not None:
            wrap_dim(place + 1, 0)  # refused as PyTorch's unsqueeze refuses it
        shape = list(source.shape)
        wide = expand(unsqueeze(source, place + 1), (*shape[: place + 1], repeats, *shape[place + 1 :]))
        return _flatten(clone(wide, memory_format=contiguous_format), place, place + 1)
    counts = array_of(repeats)
    if counts.ndim > 1:
        raise fail("shape", "repeats must be 0-dim or 1-dim tensor")
    extent = source.shape[place] if source.ndim else 1
    if counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (extent,))
    if counts.shape != (extent,):
        message = (
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({place}) = {extent}"
        )
        raise fail("shape", message)
    return find("index_select")(source, place, _interleaved(counts))


def _interleaved(counts: Array) -> object:
    if counts.dtype.kind not in "iu":
        raise fail("dtype", "repeats has to be Long or Int tensor")
    if counts.size and counts.min() < 0:
        raise fail("value", "repeats can not be negative")
    return make(np.repeat(np.arange(counts.size), counts))


composite(
    "repeat_interleave(self, repeats: int, dim: int? = None, *, output_size: int? = None)",
    "Each element (or part along a dimension) repeated.", _repeat_interleave,
)
composite(
    "repeat_interleave(self, repeats, dim: int? = None, *, output_size: int? = None)",
    "Each part repeated as often as `repeats` says.", _repeat_interleave,
)
composite(
    "repeat_interleave(repeats, *, output_size: int? = None)", "Each index repeated as often as its element says.",
    lambda repeats, output_size: _interleaved(array_of(repeats)), ("torch",),
)


# --- channels ---------------------------------------------------------------------------------------------------


def _pixels(name: str, self: Array, factor: str, r: int) -> tuple[int, ...]:
    """Return the shape of an image whose pixels a factor can join or part."""
    if self.ndim < 3:
        message = f"{name} expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)"
        raise fail("shape", message)
    if r <= 0:
        raise fail("value", f"{name} expects a positive {factor}, but got {r}")
    return self.shape


def _pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    r = upscale_factor
    *batch, channels, height, width = _pixels("pixel_shuffle", self, "upscale_factor", r)
    if channels % (r * r):
        message = (
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
        raise fail("shape", message)
    parts = self.reshape((math.prod(batch), channels // (r * r), r, r, height, width))
    return parts.transpose(0, 1, 4, 2, 5, 3).reshape((*batch, channels // (r * r), height * r, width * r)).copy()


def _pixel_unshuffle(self: Array, downscale_factor: int) -> Array:
    r = downscale_factor
    *batch, channels, height, width = _pixels("pixel_unshuffle", self, "downscale_factor", r)
    for what, extent in (("height", height), ("width", width)):
        if extent % r:
            message = (
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but input.size({-2 if what == 'height' else -1})"
                f"={extent} is not divisible by {r}"
            )
            raise fail("shape", message)
    parts = self.reshape((math.prod(batch), channels, height // r, r, width // r, r))
    return parts.transpose(0, 1, 3, 5, 2, 4).reshape((*batch, channels * r * r, height // r, width // r)).copy()


pixel_shuffle = op(
    "pixel_shuffle(self, upscale_factor: int)", "PixelShuffleBackward0", "Channels spread into pixels.", forward=_pixel_shuffle,
    spaces=("torch", "F"), grads={"self": lambda grad, upscale_factor: pixel_unshuffle(grad, upscale_factor)},
    samples=(sample((1, 8, 2, 3), 2),),
)
pixel_unshuffle: Operation = op(
    "pixel_unshuffle(self, downscale_factor: int)", "PixelUnshuffleBackward0", "Pixels gathered into channels.", forward=_pixel_unshuffle,
    spaces=("torch", "F"), grads={"self": lambda grad, downscale_factor: pixel_shuffle(grad, downscale_factor)},
    samples=(sample((1, 2, 4, 6), 2),),
)


def _channel_shuffle(self: Array, groups: int) -> Array:
    if self.ndim < 3:
        raise fail("shape", f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise fail("value", f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    count, channels, *rest = self.shape
    if channels % groups:
        message = f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        raise fail("shape", message)
    return self.reshape((count, groups, channels // groups, *rest)).swapaxes(1, 2).reshape(self.shape).copy()


channel_shuffle: Operation = op(
    "channel_shuffle(self, groups: int)", "ChannelShuffleBackward0", "Channels in groups, dealt out like cards.", forward=_channel_shuffle,
    spaces=("torch", "F"), grads={"self": lambda grad, groups: channel_shuffle(grad, grad.shape[1] // groups)},
    samples=(sample((1, 4, 2, 2), 2),),
)


alias("native_channel_shuffle", channel_shuffle, ("torch", "F"))

# --- combinations -----------------------------------------------------------------------------------------------


def _cartesian(tensors: Any) -> Tensor:
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    for one in given:
        if one.ndim != 1:
            raise fail("shape", f"Expect a 1D vector, but got shape {list(one.shape)}")
    if len(given) == 1:
        return given[0]
    grids = [_flatten(one, 0, -1) for one in find("meshgrid")(given)]
    return find("stack")(grids, 1)


composite("cartesian_prod(*tensors: any)", "All combinations of elements of vectors, one row each.", _cartesian, ("torch",))


def _combinations(self: Any, r: int, with_replacement: bool) -> Tensor:
    if self.ndim != 1:
        raise fail("shape", "Expect a 1D vector, but got shape " + str(list(self.shape)))
    if r < 0:
        raise fail("value", f"Expect a non-negative number, but got {r}")
    if r == 0:
        return find("empty")((0,), dtype=self.dtype)
    grids = find("meshgrid")([self] * r)
    places = np.indices((self.shape[0],) * r)
    rising = [a <= b if with_replacement else a < b for a, b in pairwise(places)]
    mask = make(np.logical_and.reduce([np.ones(places.shape[1:], np.bool_), *rising]))
    mask.counter.version = 2  # PyTorch makes it in place
    columns = [find("masked_select")(grid, mask) for grid in grids]
    return find("stack")(columns, 1)


composite("combinations(self, r: int = 2, with_replacement: bool = False)",
    "All combinations of r elements of a vector, one row each.", _combinations, ("torch",))


def _block_diag(tensors: Sequence[Array]) -> Array:
    for place, one in enumerate(tensors):
        if one.ndim > 2:
            message = f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {place} has {one.ndim} dimensions"
            raise fail("shape", message)
    blocks = [np.atleast_2d(one) for one in tensors]
    rows, columns = (sum(one.shape[axis] for one in blocks) for axis in (0, 1))
    whole = np.zeros((rows, columns), blocks[0].dtype)
    row = column = 0
    for one in blocks:
        whole[row : row + one.shape[0], column : column + one.shape[1]] = one
        row, column = row + one.shape[0], column + one.shape[1]
    return whole


def _block_diag_backward(grad: object, tensors_sizes: Sequence[tuple[int, ...]]) -> list[object]:
    found, row, column = [], 0, 0
    for size in tensors_sizes:
        height, width = ((1, 1), (1, size[0] if size else 1), size)[len(size)] if len(size) < 2 else size
        part = find("narrow")(find("narrow")(grad, 0, row, height), 1, column, width)
        for _ in range(2 - len(size)):
            part = find("squeeze")(part, -1)
        found.append(part)  # what a row has too many is summed away when it arrives
        row, column = row + height, column + width
    return found


composite(
    "block_diag(*tensors: any)", "A matrix with the given matrices along its diagonal.",
    lambda tensors: block_diag_of(list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)),
    ("torch",),
)
block_diag_of: Operation = op(
    "_block_diag(tensors: Tensors)", "BlockDiagBackward0", "A matrix with the given matrices along its diagonal.", forward=_block_diag,
    dtypes="promote", spaces=(), attributes=(), grads={"tensors": _block_diag_backward},
)
