"""What a run may use: the bounds that the command line sets."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds of a session; None stands for none. Seconds, bytes of memory, characters of output.

    `allow_files` is the one folder in which a script's commands may read and write files.
    """

    timeout: float | None = None
    max_memory: int | None = None
    max_output: int | None = None
    allow_files: str | None = None


UNBOUNDED = Limits()
FOR_TESTS = Limits(timeout=60.0, max_memory=2 << 30, max_output=50 << 20)


_bounded = False


def bound_memory(size: int | None) -> None:
    """Bound, once, what this process may take beyond what it has, where the system can: larger requests then fail.

    numpy and its BLAS take their work space first, since BLAS ends the process when it cannot have that.
    """
    global _bounded  # noqa: PLW0603  # the bound is the process's own, and so is the fact that it is set
    if size is None or _bounded:
        return
    _bounded = True
    try:
        import resource
        from pathlib import Path

        _take_work_space()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = pages * resource.getpagesize() + size
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    except (ImportError, OSError, ValueError):
        return


def _take_work_space() -> None:
    import numpy as np

    for dtype in (np.float32, np.float64):
        square = np.ones((512, 512), dtype)
        square @ square
