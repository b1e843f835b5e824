"""torch.testing: `assert_close`, with PyTorch's tolerances and sentences."""

from typing import Any

import numpy as np

from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail

_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(
    actual: object, expected: object, *, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
    check_dtype: bool = True, check_stride: bool = False, msg: object = None, allow_subclasses: bool = True, **_: object,
) -> None:
    """Raise AssertionError unless both are equal up to rounding: tensors, numbers, and lists or dictionaries of them."""
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise fail("value", f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", ValueError)
    options = (rtol, atol, equal_nan, check_dtype, check_stride)
    for first, second, where in _pairs(actual, expected):
        message = _plain_difference(first, second)
        if message is None:
            if not _related(first, second, allow_subclasses):
                message = f"No comparison pair was able to handle inputs of type {type(first)} and {type(second)}."
                raise fail("type", message, TypeError)
            message = _difference(first, second, *options)
        if message:
            whole = f"{message}\n\nThe failure occurred for item {where}" if where else message
            raise AssertionError(whole if msg is None else msg(whole) if callable(msg) else str(msg))


def _related(first: object, second: object, subclasses: bool) -> bool:
    """Return whether two values are compared at all: numbers, and those of which one's type is that of the other or a subclass of it."""
    if isinstance(first, str) or isinstance(second, str):
        return False
    numbers = all(isinstance(one, (int, float, np.number)) for one in (first, second))
    related = isinstance(first, type(second)) or isinstance(second, type(first))
    return numbers or (related and (subclasses or type(first) is type(second)))


def _plain_difference(actual: ArrayOrTensor, expected: ArrayOrTensor) -> str | None:
    """Return what differs between containers, None and bools, "" for nothing, None where the values are of another kind."""
    if actual is None or expected is None:
        return "" if actual is expected else f"None mismatch: {actual} is not {expected}"
    if all(isinstance(one, (bool, np.bool_)) for one in (actual, expected)):
        return "" if bool(actual) is bool(expected) else f"Booleans mismatch: {actual} is not {expected}"
    if isinstance(actual, dict) and isinstance(expected, dict):
        lost, more = (sorted(one.keys() - other.keys()) for one, other in ((expected, actual), (actual, expected)))
        return (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {lost}\nAdditional keys in the actual mapping: {more}"
        )
    if all(isinstance(one, (list, tuple)) for one in (actual, expected)):
        return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
    return None


def _pairs(actual: object, expected: object, where: str = "") -> Any:
    if isinstance(actual, dict) and isinstance(expected, dict) and actual.keys() == expected.keys():
        for name in actual:
            yield from _pairs(actual[name], expected[name], f"{where}[{name!r}]")
    elif isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)) and len(actual) == len(expected):
        for place, (first, second) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(first, second, f"{where}[{place}]")
    else:
        yield actual, expected, where


def _difference(
    actual: object, expected: object, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool, check_stride: bool
) -> str:
    """Return the sentence about what differs, "" for nothing."""
    scalars = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    first, second = (one if isinstance(one, Tensor) else find("tensor")(one, dtype=_wide(one)) for one in (actual, expected))
    checks = (("shape", True), ("dtype", check_dtype and not scalars))
    for name, wanted in checks:
        if wanted and getattr(first, name) != getattr(second, name):
            return f"The values for attribute '{name}' do not match: {getattr(first, name)} != {getattr(second, name)}."
    if check_stride and first.stride() != second.stride():
        return f"The values for attribute 'stride()' do not match: {first.stride()} != {second.stride()}."
    default = max(_TOLERANCES.get(str(one.array.dtype), (0.0, 0.0)) for one in (first, second))
    relative, absolute = (default[0], default[1]) if rtol is None or atol is None else (rtol, atol)
    one, other = (np.asarray(each.array, np.float64) for each in (first, second))
    bad = ~np.isclose(one, other, relative, absolute, equal_nan=equal_nan)
    integers = first.array.dtype.kind in "iub"
    return _told(one, other, bad, (relative, absolute), integers) if bad.any() else ""


def _wide(value: object) -> object:
    from gradsh.engine.values import dtype as dtypes

    return dtypes.float64 if isinstance(value, float) else None


def _told(one: Array, other: Array, bad: Any, limits: tuple[float, float], integers: bool) -> str:
    """Return PyTorch's sentences about two arrays that differ where `bad` is set."""
    with np.errstate(all="ignore"):
        apart = np.abs(one - other)
        share = apart / np.abs(other)
    exact = not any(limits)
    kind = "equal" if exact else "close"
    shown = [int if integers else float, float]
    if not bad.ndim:
        lines = [f"Expected {shown[0](other)} but got {shown[0](one)}."]
        title, title_end, opening = "{} difference", "", f"Scalars are not {kind}!"
    else:
        wrong = int(bad.sum())
        lines = [f"Mismatched elements: {wrong} / {bad.size} ({wrong / bad.size:.1%})"]
        title, title_end, opening = "Greatest {} difference", " at index {}", f"Tensor-likes are not {kind}!"
    for name, values, limit, form in zip(("absolute", "relative"), (apart, share), reversed(limits), shown, strict=True):
        place = np.unravel_index(np.argmax(np.where(bad, values, -1)), bad.shape) if bad.ndim else ()
        value = form(values[place]) if form is int or not bad.ndim else float(np.float32(values[place]))
        allowed = "" if exact else f" (up to {limit:g} allowed)"
        line = title.format(name) + f": {value}" + title_end.format(tuple(map(int, place))) + allowed
        lines.append(line[0].upper() + line[1:])
    return f"{opening}\n\n" + "\n".join(lines)
