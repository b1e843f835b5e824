"""The loss of rows of classes that all count is picked at once: the same numbers as by the way that weighs and ignores."""

import numpy as np
import pytest

from gradsh.ops import class_loss, softmax

RANDOM = np.random.default_rng(4)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_ways_agree(monkeypatch, reduction, dtype):
    scores = RANDOM.standard_normal((40, 7)).astype(dtype)
    target = RANDOM.integers(0, 7, 40)
    assert class_loss._places(scores, target, None, -100) is not None
    at_once = class_loss._nll_forward(scores, target, None, reduction, -100)
    grad = RANDOM.standard_normal(at_once[0].shape).astype(dtype)
    slope = class_loss._nll_backward(grad, scores, target, None, reduction, -100, at_once[1])
    monkeypatch.setattr(class_loss, "_places", lambda *_: None)
    weighed = class_loss._nll_forward(scores, target, None, reduction, -100)
    for one, other in zip(at_once, weighed, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-6)
    other = class_loss._nll_backward(grad, scores, target, None, reduction, -100, weighed[1])
    assert slope.dtype == other.dtype == dtype
    np.testing.assert_allclose(slope, other, rtol=1e-6)


@pytest.mark.parametrize(("target", "ignore_index"), [([0, 3, -100], -100), ([0, 3, 2], 2), ([0, 3, 2], 0)])
def test_what_is_ignored_is_not_picked_at_once(target, ignore_index):
    scores = RANDOM.standard_normal((3, 4))
    assert class_loss._places(scores, np.array(target), None, ignore_index) is None
    loss, total = class_loss._nll_forward(scores, np.array(target), None, 1, ignore_index)
    kept = [row for row, one in enumerate(target) if one != ignore_index]
    assert total == len(kept)
    assert loss == pytest.approx(-np.mean([scores[row, target[row]] for row in kept]))


@pytest.mark.parametrize("shape", [(100, 3), (100, 32), (100, 33), (3, 100), (2, 1)])
def test_short_rows_have_the_same_softmax(shape):
    scores = RANDOM.standard_normal(shape)
    scores[0, 0], scores[-1, -1] = np.inf, np.nan
    shifted = scores - scores.max(1, keepdims=True)
    np.testing.assert_array_equal(softmax._shifted(scores, 1), shifted)
