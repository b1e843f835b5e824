"""Routines of BLAS and LAPACK that numpy's own library has and numpy does not offer. LAPACK's take matrices column by column."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


def _symbol(name: str) -> Any:
    """Return a function of the library; None where numpy has another one than in its wheels."""
    try:
        import ctypes

        found = getattr(ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__), f"scipy_{name}64_")
    except (AttributeError, ImportError, KeyError, OSError):
        return None
    found.restype = None
    return found


@cache
def routine(name: str) -> Callable[..., int] | None:
    """Return a routine that is called with numbers, letters and arrays, and returns LAPACK's code; None where there is none."""
    import ctypes

    found = _symbol(f"{name}_")
    if found is None:
        return None

    def passed(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return ctypes.c_void_p(argument.ctypes.data)
        return argument.encode() if isinstance(argument, str) else ctypes.byref(ctypes.c_int64(argument))

    def call(*arguments: object) -> int:
        info = ctypes.c_int64()
        lengths = [ctypes.c_size_t(1) for one in arguments if isinstance(one, str)]  # Fortran passes them behind the others
        found(*map(passed, arguments), ctypes.byref(info), *lengths)
        return info.value

    return call


@cache
def axpy(kind: str) -> Callable[[float, Any, Any], None] | None:
    """Return BLAS's `axpy(number, x, y)` for contiguous arrays of a dtype (its letter): it adds number * x to y.

    None where it does not round once, or there is none. Elements are in groups of `AXPY`: it may round what is left over twice.
    """
    import ctypes

    add, threads, use = map(_symbol, (f"cblas_{'s' if kind == 'f' else 'd'}axpy", "openblas_get_num_threads", "openblas_set_num_threads"))
    if add is None:
        return None
    threads.restype = ctypes.c_int
    whole, number, address = ctypes.c_int64, ctypes.c_float if kind == "f" else ctypes.c_double, ctypes.c_void_p
    add.argtypes = (whole, number, address, whole, address, whole)

    def call(number: float, x: Any, y: Any) -> None:
        count = threads() if x.size > _SHARED else 1
        if count > 1:  # one passes through memory as fast, and does not wait for another
            use(1)
        add(x.size, number, x.__array_interface__["data"][0], 1, y.__array_interface__["data"][0], 1)
        if count > 1:
            use(count)

    near = 1 + 2.0 ** ((np.finfo(kind).machep - 1) // 2)  # whose square has a digit too many
    x, y = np.full(AXPY, near, kind), np.full(AXPY, -near * near, kind)
    call(near, x, y)
    return call if y.all() else None


AXPY = 64
_SHARED = 10_000
"""Elements from which OpenBLAS has several threads add."""
