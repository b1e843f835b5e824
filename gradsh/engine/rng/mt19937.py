"""MT19937 in numpy: the stream of 32-bit words that every random number is made of.

`numpy.random` has the same engine but costs 16 ms to import: it makes the words of very long draws, and of long ones once
it is there. Here only the recurrence is needed, and it vectorises.
Words are made a block of 624 at a time (several blocks for long draws) and handed out in order.
"""

import sys
from functools import cache
from typing import Any

import numpy as np

Words = np.ndarray[tuple[int, ...], np.dtype[np.uint32]]

BLOCK = 624
"""Words of state, and words that one twist of the state yields."""

_MIDDLE = 397
_LAG = BLOCK - _MIDDLE  # so many new words depend on old ones only
_ROUND = BLOCK - 1  # so many mixes of neighbours are known at once
_BLOCKS_AT_ONCE = 64  # 160 kB of words: stays in the second-level cache

_PART = 1 << 15
"""Pairs of words that numpy's engine makes at a time: what it returns stays in the cache."""
_HALF = np.uint64(32)
_LONG, _VERY_LONG = 1 << 14, 1 << 20
"""Words from which numpy's own engine is faster: once it is imported, and with its import."""

_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_MATRIX = np.uint32(0x9908B0DF)


def _twist(line: Words) -> None:
    """Fill `line` from its 625th word on, by the recurrence over the 624 words before each."""
    mixed, low = np.empty(_ROUND, np.uint32), np.empty(_ROUND, np.uint32)
    for start in range(0, line.size - BLOCK, _ROUND):
        count = min(_ROUND, line.size - BLOCK - start)
        y, odd = mixed[:count], low[:count]
        np.bitwise_and(line[start : start + count], _UPPER, out=y)
        np.bitwise_and(line[start + 1 : start + 1 + count], _LOWER, out=odd)
        np.bitwise_or(y, odd, out=y)
        np.bitwise_and(y, _ONE, out=odd)
        np.multiply(odd, _MATRIX, out=odd)
        np.right_shift(y, _ONE, out=y)
        np.bitwise_xor(y, odd, out=y)
        for part in range(0, count, _LAG):
            stop = min(part + _LAG, count)
            far = line[start + _MIDDLE + part : start + _MIDDLE + stop]
            np.bitwise_xor(y[part:stop], far, out=line[start + BLOCK + part : start + BLOCK + stop])


def _temper(words: Words) -> Words:
    """Return the output words of raw state words."""
    y = words ^ (words >> np.uint32(11))
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    y ^= y >> np.uint32(18)
    return y


def _seeded(seed: int) -> Words:
    """Return the 624 state words that a seed's low 32 bits give."""
    word = seed & 0xFFFFFFFF
    words = [word]
    for i in range(1, BLOCK):
        word = (1812433253 * (word ^ (word >> 30)) + i) & 0xFFFFFFFF
        words.append(word)
    return np.array(words, np.uint32)


class Twister:
    """The engine: a block of state, its tempered words, and how many of them are handed out.

    `next` counts the words handed out of the block; `left` is 1 where the block is used up or was only seeded, so
    that the next word needs a twist. Both have the values that PyTorch's engine has.
    """

    __slots__ = ("block", "left", "next", "tempered")

    def __init__(self, block: Words, left: int, position: int) -> None:
        self.block = block
        self.left = left
        self.next = position
        self.tempered: Words | None = None

    @classmethod
    def seeded(cls, seed: int) -> "Twister":
        """Return the engine that a seed starts; only its low 32 bits count."""
        return cls(_seeded(seed), 1, 0)

    def copy(self) -> "Twister":
        """Return an engine that goes on with the same words."""
        return Twister(self.block.copy(), self.left, self.next)

    def words(self, count: int) -> Words:
        """Return the next `count` 32-bit words; the caller must not write into them."""
        ready = self.left - 1
        if count <= ready:
            return self._take(count)
        out = np.empty(count, np.uint32)
        out[:ready] = self._take(ready)
        self._refill(out[ready:])
        return out

    def _take(self, count: int) -> Words:
        """Hand out words of the present block, which has that many."""
        if self.tempered is None:
            self.tempered = _temper(self.block)
        start = self.next
        self.next += count
        self.left -= count
        return self.tempered[start : start + count]

    def _refill(self, out: Words) -> None:
        """Fill `out` (not empty) from new blocks, the last of which becomes the present one."""
        size = out.size
        if size >= (_LONG if "numpy.random" in sys.modules else _VERY_LONG):
            self._refill_by_numpy(out)
            return
        done = 0
        while done < size:
            blocks = min(_BLOCKS_AT_ONCE, -(-(size - done) // BLOCK))
            line = np.empty((blocks + 1) * BLOCK, np.uint32)
            line[:BLOCK] = self.block
            _twist(line)
            fresh = _temper(line[BLOCK:])
            count = min(size - done, fresh.size)
            out[done : done + count] = fresh[:count]
            done += count
            self.block = line[-BLOCK:].copy()
        self.tempered = fresh[-BLOCK:].copy()
        self.next = count - (blocks - 1) * BLOCK
        self.left = BLOCK + 1 - self.next

    def _refill_by_numpy(self, out: Words) -> None:
        engine, numbers = _numpys_engine()
        state: Any = engine.state
        state["state"] = {"key": self.block, "pos": BLOCK}
        engine.state = state
        whole = out.size & ~1
        pairs = out[:whole].view(np.uint64)
        for start in range(0, pairs.size, _PART):
            part = pairs[start : start + _PART]
            drawn = numbers.integers(0, 1 << 64, part.size, np.uint64)  # two words each, the first one the high one
            np.right_shift(drawn, _HALF, out=part)
            part |= np.left_shift(drawn, _HALF, out=drawn)
        if whole < out.size:
            out[-1] = numbers.integers(0, 1 << 32, dtype=np.uint32)
        left = engine.state
        self.block = left["state"]["key"].astype(np.uint32)
        self.tempered = _temper(self.block)
        self.next = int(left["state"]["pos"])
        self.left = BLOCK + 1 - self.next


@cache
def _numpys_engine() -> tuple[Any, Any]:
    from numpy.random import MT19937, Generator

    engine = MT19937(0)
    return engine, Generator(engine)
