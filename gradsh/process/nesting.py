"""Stops a script that piles up objects which Python can only drop by recursion: a million slices of slices end the process.

Lists, dictionaries and instances are dropped without recursion however deep they nest; the types named here are not. Tuples
are, but their hashes are not taken without. A tower of them grows by at least one object a storey, so that looking at a few of
the objects of some collections of the garbage collector is enough to see one in time; see also `deepen_stack`, which gives it
room until then.
"""

import functools
import gc
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import GeneratorType

STOREY = 300
"""Bytes of stack for a storey, with much to spare: dropping one takes about 100 at most."""
MOST = 4
"""Times as many objects as there may be storeys that a look visits: a queue of many short things is no tower."""
EVERY = 150_000
"""How many objects are made, about, between two looks."""
LOOKS = 1000
"""About so many of the youngest objects are looked at."""
STACK = 120 << 20
"""Bytes of stack that are asked for: what Linux leaves free below the stack whatever the limit was at the start."""

BARE: frozenset[type] = frozenset({
    slice, property, staticmethod, classmethod, deque, enumerate, reversed, map, filter, zip, GeneratorType, functools.partial,
    type(iter(int, 1)), type(functools.cmp_to_key(lambda a, b: 0)(1)), type(itertools.tee(())[0]), type(reversed([])), type(iter([])),
    type({}.values()), type({}.items()), type({}.keys()), type(functools.lru_cache(print)), type(list[int]), type(int | None), super,
    *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
})  # fmt: skip

WIDE = 256
"""Items from which a tuple counts as data: a tower of these takes gigabytes before it is deeper than the stack."""

_stack = [8 << 20]
"""Bytes of stack that there are."""


class Surveyor:
    """A callback of the collector: calls `stop(reason)` when it finds a tower."""

    def __init__(self, stop: Callable[[str], None]) -> None:
        self.stop = stop
        self._left = EVERY

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        """Look at some young objects before a collection."""
        if phase != "start":
            return
        self._left -= gc.get_threshold()[0]  # a collection comes after so many objects
        if self._left > 0:
            return
        self._left = EVERY
        young = gc.get_objects(0)
        depths: dict[int, int] = {}
        for one in young[:: len(young) // LOOKS + 1]:
            if _is_bare(one) and is_tower(one, depths):
                self.stop("objects are nested too deeply")
                return


def is_tower(top: object, depths: dict[int, int]) -> bool:
    """Whether more objects of bare types than the stack takes stand on one another below `top`.

    `depths` keeps what has been counted, by the ids of objects; an object counts as 0 while it is looked at.
    """
    storeys = _stack[0] // STOREY
    way = [top]
    rest = [_storeys(top)]
    depths.setdefault(id(top), 0)
    while way and len(depths) < MOST * storeys:
        following = next((one for one in rest[-1] if id(one) not in depths), None)
        if following is not None:
            depths[id(following)] = 0
            way.append(following)
            rest.append(_storeys(following))
            continue
        depth = 1 + max((depths[id(one)] for one in rest.pop()), default=0)
        depths[id(way.pop())] = depth
        if depth > storeys or len(way) > storeys:
            return True
    return False


def _storeys(one: object) -> list[object]:
    return [inner for inner in gc.get_referents(one) if _is_bare(inner)]


def _is_bare(one: object) -> bool:
    return type(one) in BARE or (isinstance(one, tuple) and len(one) < WIDE)


@contextmanager
def surveyed(stop: Callable[[str], None]) -> Iterator[None]:
    """Watch for towers within the block."""
    deepen_stack()
    surveyor = Surveyor(stop)
    gc.callbacks.insert(0, surveyor)  # before the governor hides what there is
    try:
        yield
    finally:
        gc.callbacks.remove(surveyor)


def deepen_stack() -> None:
    """Let the stack of the main thread grow further than usual, where the system can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        if 0 <= soft < STACK:
            soft = STACK if hard < 0 else min(STACK, hard)
            resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
        _stack[0] = min(STACK, soft) if soft >= 0 else STACK
