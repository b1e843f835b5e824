"""Kernels on numbers of reduced precision: they get float32, and what they return is rounded once.

So PyTorch's kernels on the CPU do it; what differs is said by `reduced` in an operation's record.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.cancellable import run_kernel
from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import of_numpy
from gradsh.engine.values.reduced import REDUCED, SINGLE, cast, widened
from gradsh.text.fault import fail

_ROUNDED_NUMBERS = frozenset({"add", "sub", "rsub", "pow"})
"""Operations in which PyTorch rounds a number that is no operand (`alpha`, an exponent)."""


def holds_reduced(arguments: list[Any], places: Iterable[int]) -> bool:
    """Whether any of a kernel's arguments at these places is of reduced precision (a dtype asked for, too), or a list of which one is."""
    for place in places:
        value = arguments[place]
        if type(value) is np.ndarray:
            dtype = value.dtype
            if dtype is not SINGLE and dtype in REDUCED:
                return True
        elif (type(value) is list and holds_reduced(value, range(len(value)))) or (isinstance(value, np.dtype) and value in REDUCED):
            return True
    return False


def compute_reduced(record: Overload, arrays: list[Any]) -> object:
    """Run the kernel on arguments in float32; its results are rounded to the dtype of the first operand, or to the one asked for.

    Operands of several dtypes are the kernel's affair, which refuses or promotes them. A layer may have weights of float32 ("mixed",
    "all"); then the first result alone is rounded ("mixed").
    """
    asked = next((one for one in arrays if isinstance(one, np.dtype)), None)
    places = record.tensors or ()
    operands = [one for place in places for one in (arrays[place] if type(arrays[place]) is list else (arrays[place],))]
    dtypes = [one.dtype for one in operands if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
    reduced = next((one for one in dtypes if one in REDUCED), None)
    takes_float32 = record.reduced in {"mixed", "all"}
    if reduced is not None and record.reduced and not takes_float32:
        raise _unsupported(record.reduced, of_numpy(reduced).title)
    if record.dtypes == "keep" and not takes_float32 and len({one.dtype for one in operands if np.ndim(one) and one.dtype.kind == "f"}) > 1:
        return run_kernel(record.forward, arrays)
    first = reduced if record.dtypes != "keep" else next(iter(dtypes), None)  # where dtypes are unified, float32 is a number's
    if asked is None and not dtypes and (default := current().default_dtype) in REDUCED:  # floats without a dtype of their own
        return with_single_default(lambda: _all_narrowed(run_kernel(record.forward, arrays), default, None))
    dtype = first if asked is None else asked
    if record.name.rstrip("_") in _ROUNDED_NUMBERS:
        arrays = [float(cast(np.asarray(one), dtype)) if type(one) is float else one for one in arrays]
    if asked in REDUCED:
        arrays = [SINGLE if one is asked else one for one in arrays]
    arrays = [[widened(one) for one in each] if type(each) is list else widened(each) for each in arrays]
    found = run_kernel(record.forward, arrays)
    if dtype not in REDUCED:
        return found
    return _all_narrowed(found, dtype, 1 if record.reduced == "mixed" and SINGLE in dtypes else None)


def with_single_default(make: Callable[[], Any]) -> Any:
    """Return what is made while float32 is the default dtype."""
    ambient = current()
    before, ambient.default_dtype = ambient.default_dtype, SINGLE
    try:
        return make()
    finally:
        ambient.default_dtype = before


def _unsupported(kernel: str, title: str) -> Exception:
    if " " in kernel:
        return fail("dtype", kernel.format(title=title))
    return fail("dtype", f"\"{kernel}\" not implemented for '{title}'", NotImplementedError)


def _all_narrowed(found: Any, dtype: Any, count: int | None) -> Any:
    """Round a result, or the first so many of several (all of them where `count` is None)."""
    if type(found) is tuple or type(found) is list:
        return type(found)(one if count is not None and place >= count else _narrowed(one, dtype) for place, one in enumerate(found))
    return _narrowed(found, dtype)


def _narrowed(found: Any, dtype: Any) -> Any:
    return cast(np.asarray(found), dtype) if getattr(found, "dtype", None) == SINGLE else found
