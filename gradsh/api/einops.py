"""einops: axes split, permuted, reduced, repeated and joined as a pattern says, by the operations that einops calls."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

from gradsh.api.rearrange import ELLIPSIS, Side, refused, side_of
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail

_REDUCTIONS = {"min": "amin", "max": "amax", "sum": "sum", "mean": "mean"}
_ONE_BY_ONE = ("prod", "any", "all")


class EinopsError(RuntimeError):
    """What einops raises for a tensor that does not fit its pattern."""


def rearrange(tensor: object, pattern: str, **axes_lengths: int) -> Any:
    """Return the tensor with the axes on the right of `->`; a list of tensors is stacked first."""
    return _applied(tensor, pattern, "rearrange", axes_lengths)


def reduce(tensor: object, pattern: str, reduction: str, **axes_lengths: int) -> Any:
    """Return the tensor reduced over the axes that the right of `->` does not name."""
    return _applied(tensor, pattern, reduction, axes_lengths)


def repeat(tensor: object, pattern: str, **axes_lengths: int) -> Any:
    """Return the tensor repeated along the axes that only the right of `->` names."""
    return _applied(tensor, pattern, "repeat", axes_lengths)


def einsum(*tensors_and_pattern: Any) -> Any:
    """Return torch.einsum of the tensors by a pattern whose names may be words, which comes last."""
    *tensors, pattern = tensors_and_pattern
    letters: dict[str, str] = {}
    words = pattern.replace("->", " -> ").replace(",", " , ").split()
    short = (one if one in {"->", ",", "..."} else letters.setdefault(one, chr(ord("a") + len(letters))) for one in words)
    return find("einsum")("".join(short), *tensors)


def pack(tensors: Sequence[Any], pattern: str) -> tuple[Any, list[Any]]:
    """Return the tensors in one, joined along the axis `*`, and the shapes that it had in each."""
    before, after = _around_star(pattern)
    shapes = [one.shape for one in tensors]
    ends = [len(shape) - after for shape in shapes]
    flat = [one.reshape((*shape[:before], -1, *shape[end:])) for one, shape, end in zip(tensors, shapes, ends, strict=True)]
    return find("cat")(flat, before), [shape[before:end] for shape, end in zip(shapes, ends, strict=True)]


def unpack(tensor: Any, packed_shapes: Sequence[Any], pattern: str) -> list[Any]:
    """Return the tensors that `pack` joined; one of the shapes may hold a -1."""
    before, _ = _around_star(pattern)
    shape = tuple(tensor.shape)
    sizes = [-1 if -1 in one else math.prod(one) for one in packed_shapes]
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[before] - sum(size for size in sizes if size >= 0)
    begins = [sum(sizes[:place]) for place in range(len(sizes) + 1)]
    filler = (slice(None),) * before
    return [
        tensor[(*filler, slice(begin, begin + size))].reshape((*shape[:before], *one, *shape[before + 1 :]))
        for begin, size, one in zip(begins, sizes, packed_shapes, strict=False)
    ]


def _around_star(pattern: str) -> tuple[int, int]:
    names = pattern.split()
    if names.count("*") != 1:
        raise refused(f'Invalid pattern "{pattern}": it has one * among its axes')
    return names.index("*"), len(names) - names.index("*") - 1


def _applied(tensor: Any, pattern: str, how: str, lengths: dict[str, int]) -> Any:
    """Split the axes, permute them, reduce, add and join them, each only where the pattern asks for it."""
    tensor = tensor if isinstance(tensor, Tensor) else find("stack")(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise refused("Pattern must contain a single '->' separator")
    shape = tensor.shape
    try:
        left, right = map(side_of, sides)
        groups, wanted = (_spread(side, len(shape) - len(left.groups) + 1) for side in (left, right))
        sizes = _sizes(shape, groups, lengths)
        names, target = list(chain.from_iterable(groups)), list(chain.from_iterable(wanted))
        reduced, added = [name for name in names if name not in target], [name for name in target if name not in names]
        _check(how, reduced, added, sizes)
    except ValueError as error:
        given = f' Error while processing {how}-reduction pattern "{pattern}".\n Input tensor shape: {shape}. '
        raise fail("shape", f"{given}Additional info: {lengths}.\n {error}", EinopsError, tensor=tensor) from None
    if any(len(group) != 1 for group in groups):
        tensor = tensor.reshape(tuple(sizes[name] for name in names))
    order = [names.index(name) for name in (*(name for name in target if name in names), *reduced)]
    if order != sorted(order):
        tensor = tensor.permute(order)
    if reduced:
        tensor = _reduced(tensor, how, len(order) - len(reduced))
    if added:
        for name in added:
            tensor = tensor.unsqueeze(target.index(name))
        tensor = tensor.expand(tuple(sizes[name] if name in added else -1 for name in target))
    return tensor.reshape(tuple(math.prod(sizes[name] for name in group) for group in wanted)) if any(
        len(group) != 1 for group in wanted) else tensor


def _spread(side: Side, rest: int) -> list[list[str]]:
    """Return the names of each axis; the ellipsis stands for so many axes."""
    names = [f"{ELLIPSIS}{place}" for place in range(rest)]
    found: list[list[str]] = []
    for group in side.groups:
        if group == [ELLIPSIS] and not side.packed_rest:
            found += [[name] for name in names]
        else:
            found.append([name for one in group for name in (names if one == ELLIPSIS else [one])])
    return found


def _sizes(shape: tuple[int, ...], groups: list[list[str]], lengths: dict[str, int]) -> dict[str, int]:
    """Return the extents of all names."""
    if len(shape) != len(groups):
        raise refused(f"Wrong shape: expected {len(groups)} dims. Received {len(shape)}-dim tensor.")
    if strange := [length for length in lengths.values() if type(length) is not int]:
        raise refused(f"Lengths of axes are integers, not {type(strange[0]).__name__}")
    sizes = dict(lengths)
    for extent, group in zip(shape, groups, strict=True):
        sizes.update((name, int(name)) for name in group if name.isdecimal())
        unknown = [name for name in group if name not in sizes]
        known = math.prod(sizes[name] for name in group if name in sizes)
        if len(unknown) > 1:
            raise refused(f"Could not infer sizes for {set(unknown)}")
        if not unknown and known != extent:
            raise refused(f"Shape mismatch, {extent} != {known}")
        if unknown and (known == 0 or extent % known):
            raise refused(f"Shape mismatch, can't divide axis of length {extent} in chunks of {known}")
        sizes.update((name, extent // known) for name in unknown)
    return sizes


def _check(how: str, reduced: list[str], added: list[str], sizes: dict[str, int]) -> None:
    sizes.update((name, int(name)) for name in added if name.isdecimal())
    one_sided = reduced + added if how == "rearrange" else reduced if how == "repeat" else added
    if one_sided:
        many = "Unexpected identifiers on the left side of repeat" if how == "repeat" else (
            "Identifiers only on one side of expression (should be on both)")
        raise refused(f"{many}: {set(one_sided)}")
    if unknown := [name for name in added if name not in sizes]:
        raise refused(f"Specify sizes for new axes in repeat: {set(unknown)}")
    if how not in {"rearrange", "repeat", *_REDUCTIONS, *_ONE_BY_ONE}:
        raise refused(f"Unknown reduction {how}")


def _reduced(tensor: Any, how: str, first: int) -> Any:
    """Reduce over the axes from the given one on."""
    if how in _REDUCTIONS:
        return find(_REDUCTIONS[how])(tensor, tuple(range(first, tensor.dim())))
    for axis in reversed(range(first, tensor.dim())):
        tensor = find(how)(tensor, axis)
    return tensor
