"""torch.func.rearrange: axes split, permuted and joined as a pattern such as "b (h two) w -> b h (two w)" says."""

import keyword
import math
from collections.abc import Iterable
from typing import NamedTuple

from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail

ELLIPSIS = "…"


class Side(NamedTuple):
    """One side of a pattern: the names that make up each axis, none for an axis of extent 1."""

    groups: list[list[str]]
    packed_rest: bool
    """Whether the ellipsis stands in brackets."""

    def names(self) -> set[str]:
        """Return the names."""
        return {name for group in self.groups for name in group}


def rearrange(tensor: object, pattern: str, **axes_lengths: int) -> Tensor:
    """Return a tensor whose axes are those on the right of `->`; `axes_lengths` gives extents that the tensor does not tell."""
    tensor = tensor if isinstance(tensor, Tensor) else find("stack")(tensor)
    left, right = _sides(pattern, axes_lengths)
    groups = _left_axes(left, tensor.dim())
    rest = [name for group in groups for name in group if name.startswith(ELLIPSIS)]
    if not groups:
        return tensor
    names = [name for group in groups for name in group]
    extents, strides = _split(tensor, groups, axes_lengths)
    single = [name for name in names if name.isdecimal()]
    wanted: list[list[str]] = []
    for group in right.groups:
        wanted += [[name] for name in rest] if group == [ELLIPSIS] and not right.packed_rest else [_expanded(group, rest)]
    return _laid(tensor, names, extents, strides, single, wanted)


def _laid(
    tensor: Tensor, names: list[str], extents: list[int], strides: list[int], single: list[str],
    wanted: list[list[str]],
) -> Tensor:
    """Split the axes, permute them and join them, by the operations that PyTorch's graph shows; axes of extent 1 are summed."""
    as_strided, offset = find("as_strided"), tensor.storage_offset()
    found = as_strided(tensor, extents, strides, offset)
    order = [names.index(name) for name in (*single, *(name for group in wanted for name in group))]
    sizes = dict(zip(names, extents, strict=True))
    if order != sorted(order):
        found = as_strided(found, [extents[place] for place in order], [strides[place] for place in order], offset)
    lead = tuple(sizes[name] for name in single)
    found = find("reshape")(found, (*lead, *(math.prod(sizes[name] for name in group) for group in wanted)))
    return find("sum")(found, tuple(range(len(single)))) if single else found


def _expanded(group: list[str], rest: list[str]) -> list[str]:
    return [name for one in group for name in (rest if one == ELLIPSIS else [one])]


def _left_axes(side: Side, dims: int) -> list[list[str]]:
    """Return the names of each axis of a tensor: the ellipsis as several, an axis of extent 1 by a number."""
    has_rest = [ELLIPSIS] in side.groups
    given = len([one for one in side.groups if not one]) + len(side.names()) - 1 if has_rest else len(side.groups)
    if given > dims if has_rest else given != dims:
        relation = "less than or equal to the number of dimensions in the" if has_rest else "equal to the number of dimensions in the"
        raise refused(f"Number of dimensions in pattern ({given}) must be {relation} tensor ({dims})")
    found: list[list[str]] = []
    for number, group in enumerate(side.groups):
        if group == [ELLIPSIS]:
            found += [[f"{ELLIPSIS}{place}"] for place in range(dims - len(side.groups) + 1)]
        else:
            found.append(group or [str(number)])
    return found


def _split(tensor: Tensor, groups: list[list[str]], lengths: dict[str, int]) -> tuple[list[int], list[int]]:
    """Return the extents and the strides of all names: an axis is split into those of its group."""
    extents: list[int] = []
    strides: list[int] = []
    for extent, stride, group in zip(tensor.shape, tensor.stride(), groups, strict=True):
        parts = [lengths.get(name, -1) for name in group]
        known = math.prod(part for part in parts if part >= 0)
        message = ""
        if parts.count(-1) > 1:
            first, second = [name for name, part in zip(group, parts, strict=True) if part < 0][:2]
            message = f"cannot infer the sizes of two dimensions at once {first} and {second}"
        elif -1 not in parts and known != extent:
            message = f"Dimension sizes to do not match ({extent} != {known}) when matching dimension pack ({', '.join(group)})"
        elif -1 in parts and (known == 0 or extent % known):
            shown = ", ".join("'?'" if part < 0 else str(part) for part in parts)
            message = f"inferred dimension does not evenly fit into larger dimension: {extent} vs ({shown})"
        if message:
            raise refused(message)
        parts = [extent // known if part < 0 else part for part in parts]
        extents += parts
        strides += [stride * math.prod(parts[place + 1 :]) for place in range(len(parts))]
    return extents, strides


def _sides(pattern: str, lengths: dict[str, int]) -> tuple[Side, Side]:
    """Read a pattern."""
    parts = pattern.split("->")
    if len(parts) != 2:
        raise refused("Pattern must contain a single '->' separator")
    if ELLIPSIS in lengths:
        raise refused(f"'{ELLIPSIS}' is not an allowed axis identifier")
    left, right = map(side_of, parts)
    one, other = left.names(), right.names()
    if ELLIPSIS in other and ELLIPSIS not in one:
        raise refused(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.packed_rest:
        raise refused(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for length in lengths.values():
        if type(length) is not int:
            raise fail("type", f"rearrange axis lengths must be integers, got: {type(length)}", TypeError)
    if any(name.isdecimal() for name in one | other):
        raise refused("rearrange only supports unnamed axes of size 1")
    if one != other:
        raise refused(f"Identifiers only on one side of rearrange expression (should be on both): {_shown(one ^ other)}")
    if unknown := lengths.keys() - one:
        raise refused(f"Identifiers not found in rearrange expression: {_shown(unknown)}")
    return left, right


def _shown(names: Iterable[str]) -> str:
    return "{" + ", ".join(repr(name) for name in sorted(names)) + "}"


def side_of(text: str) -> Side:
    """Read one side of a pattern."""
    if "." in text:
        if "..." not in text:
            raise refused("Expression may contain dots only inside ellipsis (...)")
        if text.count("...") != 1 or text.count(".") != 3:
            raise refused("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
    found = Side([], False)
    group: list[str] | None = None
    for word in _words(text.replace("...", ELLIPSIS)):
        if word == "(":
            if group is not None:
                raise refused("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
            found.groups.append(group)
        elif word == ")":
            if group is None:
                raise refused("Brackets are not balanced")
            group = None
        else:
            if word in found.names():
                raise refused(f"Indexing expression contains duplicate dimension '{word}'")
            _check_name(word)
            found = found._replace(packed_rest=found.packed_rest or (word == ELLIPSIS and group is not None))
            names = [] if word.isdecimal() and int(word) == 1 else [word]
            if group is None:
                found.groups.append(names)
            else:
                group += names
    if group is not None:
        raise refused(f"Imbalanced parentheses in expression: '{text.replace('...', ELLIPSIS)}'")
    return found


def _words(text: str) -> list[str]:
    strange = next((char for char in text if not (char.isalnum() or char in f"_() {ELLIPSIS}")), None)
    if strange is not None:
        raise refused(f"Unknown character '{strange}'")
    return text.replace("(", " ( ").replace(")", " ) ").split()


def _check_name(word: str) -> None:
    if word.isdecimal():
        if int(word) < 1:
            raise refused(f"Anonymous axis should have positive length, not {int(word)}")
    elif word != ELLIPSIS:
        reason = ""
        if not word.isidentifier():
            reason = "not a valid python identifier"
        elif word[0] == "_" or word[-1] == "_":
            reason = "axis name should should not start or end with underscore"
        if reason:
            raise refused(f"Invalid axis identifier: {word}\n{reason}")
        if keyword.iskeyword(word):
            current().warning(f"It is discouraged to use axes names that are keywords: {word}", RuntimeWarning)
        if word == "axis":
            current().warning("It is discouraged to use 'axis' as an axis name and will raise an error in future", FutureWarning)


def refused(message: str) -> Exception:
    """Return the error of a pattern."""
    return fail("value", message, ValueError)
