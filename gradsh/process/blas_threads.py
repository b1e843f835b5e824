"""Threads of OpenBLAS, numpy's library for products: a program begins with one, and has them all from its first large tensor on.

A thread that has nothing to do looks for work for 30 ms after its birth: half of what a small script takes. Below `LARGE`
OpenBLAS uses one in any case, so that the results are the same.
"""

import os
import sys

SETTINGS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Where a person says how many there are; nothing is changed then."""
LARGE = 1 << 15
"""Bytes of the first tensor that brings the threads: the square of a matrix of so many is worth a second one."""
SETTERS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")
)
"""What the function is called in the builds of OpenBLAS that numpy comes with."""
_held: list[str] = []
"""The setting that holds the threads back, while one does."""


def hold() -> None:
    """Begin with one thread, unless a person has said how many; to be called before numpy is imported."""
    if not any(name in os.environ for name in SETTINGS):
        os.environ[SETTINGS[0]] = "1"
        _held.append(SETTINGS[0])


def let_go() -> None:
    """Have as many threads as there are processors, if they are held back."""
    if not _held:
        return
    del os.environ[_held.pop()]
    try:
        import ctypes

        library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        for name in SETTERS:
            if hasattr(library, name):
                getattr(library, name)(count)
                return
    except (ImportError, KeyError, OSError):  # another library than OpenBLAS, which the setting did not concern
        return
