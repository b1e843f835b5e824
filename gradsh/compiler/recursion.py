"""How deep Python may recurse while gradsh works on a script, as a block that restores what was set before."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deeper(frames: int) -> Iterator[None]:
    """Allow `frames` more Python frames than are in use now, within the block (never fewer than were allowed)."""
    before = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(max(before, depth + frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
