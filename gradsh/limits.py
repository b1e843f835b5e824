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


def bound_memory(size: int | None) -> None:
    """Bound what this process may take beyond what it has, where the system can: a larger request fails at once."""
    if size is None:
        return
    try:
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = pages * resource.getpagesize() + size
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    except (ImportError, OSError, ValueError):
        return
