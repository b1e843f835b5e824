"""Kernels on numbers of reduced precision: they get float32, and what they return is rounded once.

So PyTorch's kernels on the CPU do it; what differs is said by `reduced` in an operation's record.
"""

from typing import Any

import numpy as np

from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import of_numpy
from gradsh.engine.values.reduced import REDUCED, SINGLE, cast, is_reduced, widened
from gradsh.text.fault import fail

EXACT_NUMBERS = frozenset({"mul", "div", "floor_divide"})
"""Operations in which PyTorch does not round a number (or single element) to the reduced precision of the tensor beside it."""


_ROUNDED_NUMBERS = frozenset({"add", "sub", "rsub", "pow"})
"""Operations in which PyTorch rounds a number that is no operand (`alpha`, an exponent)."""


def holds_reduced(value: object) -> bool:
    """Whether an argument of a kernel is of reduced precision (a dtype asked for, too), or a list of which one is."""
    if type(value) is list:
        return any(map(is_reduced, value))
    return is_reduced(value) or (isinstance(value, np.dtype) and value in REDUCED)


def compute_reduced(record: Overload, arrays: list[Any]) -> object:
    """Run the kernel on arguments in float32; its results are rounded to the dtype of the first operand, or to the one asked for.

    Where operands of float32 are among those of reduced precision (weights of a layer), the first result alone is rounded.
    """
    asked = next((one for one in arrays if isinstance(one, np.dtype)), None)
    places = record.tensors or ()
    operands = [one for place in places for one in (arrays[place] if type(arrays[place]) is list else (arrays[place],))]
    dtypes = [one.dtype for one in operands if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
    reduced = next((one for one in dtypes if one in REDUCED), None)
    if reduced is not None and record.reduced not in {"", "all"}:
        raise _unsupported(record.reduced, of_numpy(reduced).title)
    first = reduced if record.dtypes != "keep" else next(iter(dtypes), None)  # where dtypes are unified, float32 is a number's
    dtype = first if asked is None else asked
    if record.name.rstrip("_") in _ROUNDED_NUMBERS:
        arrays = [float(cast(np.asarray(one), dtype)) if type(one) is float else one for one in arrays]
    if asked in REDUCED:
        arrays = [SINGLE if one is asked else one for one in arrays]
    arrays = [[widened(one) for one in each] if type(each) is list else widened(each) for each in arrays]
    found = record.forward(*arrays)
    if dtype not in REDUCED:
        return found
    if type(found) is tuple or type(found) is list:
        mixed = record.dtypes == "keep" and record.reduced != "all" and SINGLE in dtypes
        return type(found)(one if mixed and place else _narrowed(one, dtype) for place, one in enumerate(found))
    return _narrowed(found, dtype)


def _unsupported(kernel: str, title: str) -> Exception:
    if " " in kernel:
        return fail("dtype", kernel.format(title=title), RuntimeError)
    return fail("dtype", f"\"{kernel}\" not implemented for '{title}'", NotImplementedError)


def _narrowed(found: Any, dtype: Any) -> Any:
    return cast(np.asarray(found), dtype) if getattr(found, "dtype", None) == SINGLE else found
