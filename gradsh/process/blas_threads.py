"""Threads of OpenBLAS, numpy's library for products: a program begins with one, and has them all from its first large tensor on.

A thread that has nothing to do looks for work for 30 ms after its birth: half of what a small script takes. Below `LARGE`
OpenBLAS uses one in any case, so that the results are the same.
"""

import os
import sys
from contextlib import suppress

SETTINGS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Where a person says how many there are; nothing is changed then."""
LARGE = 1 << 15
"""Bytes of the first tensor that brings the threads: the square of a matrix of so many is worth a second one."""
SETTERS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")
)
"""What the function is called in the builds of OpenBLAS that numpy comes with."""
_held: list[str | None] = []
"""What `SETTINGS[0]` was before it held the threads back (None: not set), while it does."""


def hold() -> None:
    """Begin with one thread, whoever said how many there are in the end; to be called before numpy is imported."""
    if not _held:
        _held.append(os.environ.get(SETTINGS[0]))
        os.environ[SETTINGS[0]] = "1"


def let_go() -> None:
    """Have as many threads as a person said, or as there are processors, if they are held back."""
    if not _held:
        return
    before = _held.pop()
    if before is None:
        os.environ.pop(SETTINGS[0], None)
    else:
        os.environ[SETTINGS[0]] = before
    use(wanted())


def use(count: int) -> None:
    """Have so many threads from now on."""
    try:
        import ctypes

        library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
        for name in SETTERS:
            if hasattr(library, name):
                getattr(library, name)(count)
                return
    except (ImportError, KeyError, OSError):  # another library than OpenBLAS, which the setting did not concern
        return


def wanted() -> int:
    """Return how many threads a person wants, or how many processors there are for this process."""
    for name in SETTINGS:
        with suppress(KeyError, ValueError):
            return max(1, int(os.environ[name]))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
