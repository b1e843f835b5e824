"""Routines of LAPACK that numpy's own library has and numpy does not offer. They take matrices column by column."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


@cache
def routine(name: str) -> Callable[..., int] | None:
    """Return a routine that is called with numbers, letters and arrays, and returns LAPACK's code; None where there is none."""
    try:
        import ctypes

        found = getattr(ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__), f"scipy_{name}_64_")
    except (AttributeError, ImportError, KeyError, OSError):  # another library than that of numpy's wheels
        return None
    found.restype = None

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
