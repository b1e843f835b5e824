"""Long draws come from numpy's engine: the same words, and the same state after them."""

import numpy as np
import pytest

from gradsh.engine.rng import mt19937
from gradsh.engine.rng.mt19937 import BLOCK, Twister


@pytest.mark.parametrize("before", [0, 1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2000])
@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK, 100_000, (1 << 16) + 7])
def test_both_engines_give_the_same_words(monkeypatch, before, count):
    engines = [Twister.seeded(2**40 + 17), Twister.seeded(2**40 + 17)]
    found = []
    for engine, bound in zip(engines, (1, 1 << 40), strict=True):
        for name in ("_LONG", "_VERY_LONG"):
            monkeypatch.setattr(mt19937, name, 1 << 40)
        head = engine.words(before) if before else np.empty(0, np.uint32)
        for name in ("_LONG", "_VERY_LONG"):
            monkeypatch.setattr(mt19937, name, bound if name == "_LONG" else max(bound >> 20, 1 << 14))
        body = engine.words(count)
        for name in ("_LONG", "_VERY_LONG"):
            monkeypatch.setattr(mt19937, name, 1 << 40)
        found.append((head, body, engine.words(10), engine.left, engine.next, engine.block, engine.words(1500)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0][1].dtype == np.uint32
