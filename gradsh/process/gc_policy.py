"""When Python's collector of cycles looks for garbage: when memory has grown, not when many objects were made.

Graphs have no cycles, so they die with their last reference; only what a script ties into a knot itself (an object that
refers to itself, a gradient that holds its own graph) waits for the collector. Looking through a growing graph again and
again costs a third of the time it takes to build one, and finds nothing. A program that owns its process therefore skips
the looks that Python's count of objects asks for, as long as little memory has been added since the last real one.
"""

import gc
import os
from collections.abc import Callable
from contextlib import suppress

OBJECTS = 2_000
"""Objects between two moments at which memory is looked at."""
OLDEST = 2
SLACK = 256 << 20
"""Bytes by which resident memory may grow before garbage is looked for."""


class Governor:
    """A callback of the collector that lets it pass over everything there is, or asks for a real collection."""

    def __init__(self) -> None:
        self.base = 0
        """Bytes of resident memory after the last real collection."""
        self.slack = SLACK
        self.ask: Callable[[], None] | None = None
        """Asks for a call of `toposort` as soon as the program can take it; a collection cannot begin within another. None:
        nobody is there to do it, and Python's own order of collections goes on."""

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Decide when a collection is about to begin; one of everything was asked for, or is due at last."""
        if phase != "start" or info["generation"] == OLDEST:
            return
        if resident_memory() - self.base < self.slack:
            gc.freeze()  # what is frozen is not looked through; this takes no time
        elif self.ask is not None:
            gc.freeze()
            self.ask()
        else:
            gc.unfreeze()
            self.base = resident_memory()

    def collect(self) -> None:
        """Look for garbage everywhere."""
        gc.unfreeze()
        gc.collect()
        self.base = resident_memory()


governor = Governor()


def govern() -> None:
    """Let the governor decide in this process, where the system tells how much memory is used."""
    gc.set_threshold(OBJECTS, 50, 1000)
    governor.base = resident_memory()
    if governor.base and governor not in gc.callbacks:
        gc.callbacks.append(governor)


_told: list[int] = []
"""The process that the file below is about, and the file, which is kept open: behind the sandbox's wall none can be opened."""


def memory_pages() -> tuple[int, int]:
    """Return the pages of memory that the process has asked for, and those in use. Raises OSError where nothing tells them."""
    if _told[:1] != [os.getpid()]:
        _told[:] = (os.getpid(), os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC))
    asked, used, *_ = os.pread(_told[1], 100, 0).split()
    return int(asked), int(used)


def kept_open() -> tuple[int, ...]:
    """Return the files that must stay open for it."""
    with suppress(OSError):
        memory_pages()
    return tuple(_told[1:])


def resident_memory() -> int:
    """Return the bytes of memory that the process has in use; 0 where the system does not tell."""
    with suppress(OSError, ValueError, ImportError):
        import resource

        return memory_pages()[1] * resource.getpagesize()
    return 0
