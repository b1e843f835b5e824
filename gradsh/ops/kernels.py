"""What kernels share: refusing dtypes in PyTorch's words, bringing operands to one dtype, working in blocks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dtype import Array, of_numpy, result_type
from gradsh.text.fault import fail

BLOCK = 1 << 16
"""Elements at a time in chains of ufuncs: their temporaries stay in the cache."""


def unsupported(kernel: str, array: Any) -> Exception:
    """Return PyTorch's error for a kernel that does not exist for a dtype."""
    title = of_numpy(np.asarray(array).dtype).title
    return fail("dtype", f"\"{kernel}\" not implemented for '{title}'", NotImplementedError)


def not_bool(kernel: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that refuses bool tensors as PyTorch's `kernel` does."""

    def checked(self: Any, *others: Any) -> Any:
        if self.dtype.kind == "b":
            raise unsupported(kernel, self)
        return function(self, *others)

    return checked


def floats_only(kernel: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that refuses integers and bool."""

    def checked(self: Any, *others: Any) -> Any:
        if self.dtype.kind != "f":
            raise unsupported(kernel, self)
        return function(self, *others)

    return checked


def common_dtype(*operands: Any) -> Any:
    """Return the numpy dtype of an operation on arrays and Python numbers."""
    arrays = [one for one in operands if isinstance(one, np.ndarray)]
    numbers = [one for one in operands if one is not None and not isinstance(one, np.ndarray)]
    return result_type(arrays, numbers, current().default_dtype)


def together(*operands: Any) -> list[Any]:
    """Return the operands as arrays of their common dtype; None stays None."""
    dtype = common_dtype(*operands)
    return [None if one is None else np.asarray(one).astype(dtype, copy=False) for one in operands]


def blocked(function: Callable[[Array], Array]) -> Callable[[Any], Any]:
    """Return a kernel that runs a chain of ufuncs in blocks when its one input is large and contiguous."""

    def kernel(self: Any) -> Any:
        self = np.asarray(self)
        if self.size <= BLOCK or not self.flags.c_contiguous:
            return function(self)
        result = np.empty_like(self)
        source, target = self.reshape(-1), result.reshape(-1)
        for start in range(0, source.size, BLOCK):
            stop = start + BLOCK
            target[start:stop] = function(source[start:stop])
        return result

    return kernel


def zero_division(other: Any) -> None:
    """Refuse an integer division by zero."""
    if other.dtype.kind != "f" and not np.all(other):
        raise fail("arithmetic", "ZeroDivisionError", RuntimeError)


_INTS = {4: np.int32, 8: np.int64}


def gated(grad: Any, mask: Any) -> Any:
    """Return `grad` where the mask holds, 0 elsewhere, also where grad is inf or nan.

    For arrays of one shape the bits are masked: `np.where` on an irregular mask is six times slower.
    """
    if grad.dtype.kind != "f" or not grad.ndim or grad.shape != mask.shape or not grad.flags.c_contiguous or not mask.flags.c_contiguous:
        return np.where(mask, grad, np.zeros((), grad.dtype))
    integer = _INTS[grad.itemsize]
    result = np.negative(mask.view(np.int8), dtype=integer)
    np.bitwise_and(result, grad.view(integer), out=result)
    return result.view(grad.dtype)
