"""The operators whose result can outgrow any memory or take hours: product, power and shift look at their operands first."""

from typing import Any

import numpy as np

from gradsh.text.fault import fail

MAX_BITS = 1 << 22
"""Largest integer, in bits, that a script may compute (about 1.2 million digits)."""
MAX_WORK = 1 << 42
"""Most products of bits that a power modulo a number may take: about a second."""
MAX_ITEMS = 1 << 28
"""Most items that repeating a string, a list or a tuple may give."""

_SEQUENCES = (str, list, tuple, bytes, bytearray)


def _too_large(what: str) -> Exception:
    return fail("limit", f"{what} would be too large", OverflowError)


def _check_array(left: object, right: object) -> None:
    """Refuse the one array of Python objects that numpy still makes, of large integers: they grow without bound."""
    for one in (left, right):
        if isinstance(one, np.ndarray) and one.dtype.hasobject:
            raise fail("type", "arrays of large integers are not part of gradsh: use a list", TypeError)


def _check_product(left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MAX_BITS:
            raise _too_large("the integer")
        return
    _check_array(left, right)
    for many, times in ((left, right), (right, left)):
        if isinstance(many, _SEQUENCES) and isinstance(times, int) and times > 0 and len(many) * times > MAX_ITEMS:
            raise _too_large("the repeated " + type(many).__name__)


def times(left: Any, right: Any) -> Any:
    """Return `left * right`; OverflowError of kind `limit` for an enormous integer or sequence."""
    kind = type(left)
    if (kind is not float and kind in _WATCHED) or type(right) in _REPEATED:
        _check_product(left, right)
    return left * right


def in_place_times(left: Any, right: Any) -> Any:
    """Return what `left *= right` binds to left."""
    if type(left) in _WATCHED or type(right) in _REPEATED:
        _check_product(left, right)
    left *= right
    return left


def _check_power(left: object, right: object) -> None:
    _check_array(left, right)
    if isinstance(left, int) and isinstance(right, int) and right > 0 and left.bit_length() * right > MAX_BITS:
        if left in {-1, 0, 1}:
            return
        raise _too_large("the integer")


def power(left: Any, right: Any) -> Any:
    """Return `left ** right`; OverflowError of kind `limit` for an enormous integer."""
    if type(left) in _WATCHED:
        _check_power(left, right)
    return left**right


class BoundedList(list[Any]):
    """What `list` is as a base of a script's class: repeating it is bounded, and it tells the truth about what it holds."""

    __module__ = "builtins"
    __script_base__ = True
    FIXED = frozenset({"__getitem__", "__iter__", "__len__", "__mul__", "__rmul__", "__imul__"})
    """What no class derived from it may define: others look at a list by these."""

    def __init_subclass__(cls, **options: object) -> None:
        other = next((name for name in cls.FIXED if name in cls.__dict__), "")
        if other or not all(issubclass(base, list) for base in cls.__mro__[:-1]):
            what = f"cannot define `{other}`" if other else "has no other base"
            way = "derive from nothing, and keep the list in an attribute"
            raise fail("type", f"a class derived from `list` {what} here: {way}", TypeError)
        super().__init_subclass__(**options)

    def __mul__(self, times: Any) -> Any:
        _check_product(list(self), times)
        return super().__mul__(times)

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Any:
        _check_product(list(self), times)
        return super().__imul__(times)


BoundedList.__name__ = BoundedList.__qualname__ = "list"


def modular_power(base: Any, exp: object, mod: object) -> Any:
    """Return `pow(base, exp, mod)`; OverflowError of kind `limit` where that would take minutes in one call."""
    sizes = [one.bit_length() if isinstance(one, int) else 0 for one in (exp, mod)]
    if sizes[0] * sizes[1] ** 2 > MAX_WORK:
        raise _too_large("the power")
    return pow(base, exp, mod)


def in_place_power(left: Any, right: Any) -> Any:
    """Return what `left **= right` binds to left."""
    if type(left) in _WATCHED:
        _check_power(left, right)
    left **= right
    return left


def _check_shift(left: object, right: object) -> None:
    _check_array(left, right)
    if isinstance(left, int) and isinstance(right, int) and left and left.bit_length() + right > MAX_BITS:
        raise _too_large("the integer")


def shift(left: Any, right: Any) -> Any:
    """Return `left << right`; OverflowError of kind `limit` for an enormous integer."""
    _check_shift(left, right)
    return left << right


def in_place_shift(left: Any, right: Any) -> Any:
    """Return what `left <<= right` binds to left."""
    _check_shift(left, right)
    left <<= right
    return left


_REPEATED = frozenset({str, list, tuple, bytes, bytearray})
_WATCHED = _REPEATED | {int, bool, np.ndarray}
