"""The first few of many are found without ordering all of them, and are those of the whole order."""

import numpy as np
import pytest

from gradsh.ops import sort

RANDOM = np.random.default_rng(12)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("values", [
    lambda shape: RANDOM.standard_normal(shape).astype(np.float32), lambda shape: RANDOM.integers(0, 9, shape),
    lambda shape: np.where(RANDOM.random(shape) < 0.1, np.nan, RANDOM.standard_normal(shape)),
    lambda shape: np.where(RANDOM.random(shape) < 0.1, RANDOM.choice([np.inf, -np.inf], shape), 0.0),
])
def test_topk_is_the_start_of_the_order(monkeypatch, values, axis, largest):
    shape = [3, 4, 5]
    shape[axis] = 2003
    array = values(tuple(shape))
    for k in (1, 2, 10, 24):
        found = sort._topk(array, k, axis, largest, True)
        with monkeypatch.context() as whole:
            whole.setattr(
                sort, "_first_places", lambda rows, count, descending: sort.order(rows, -1, descending)[..., :count],
            )
            wanted = sort._topk(array, k, axis, largest, True)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
            assert one.flags.c_contiguous
