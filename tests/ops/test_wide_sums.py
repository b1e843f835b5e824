"""Sums of float32 are as good as those that run in float64, and large softmaxes those of their rows."""

import numpy as np
import pytest

from gradsh.ops.kernels import common as kernels
from gradsh.ops.kernels.accurate_sum import wide_sum
from gradsh.ops.kernels.norm import moments
from gradsh.ops.softmax import _log_softmax_backward, _softmax_backward, log_softmax_array, softmax_array

RANDOM = np.random.default_rng(2)


@pytest.mark.parametrize(("shape", "axes"), [
    ((50, 1000), (1,)), ((3, 4, 1700), (0, 2)), ((3, 4, 50, 31), (0, 2, 3)), ((3, 4, 50, 33), (2, 3)), ((20_001,), (0,)),
    ((2, 3, 4099), (1, 2)), ((0, 1000), (1,)), ((30, 700), (0,)), ((7, 8), (1,)), ((300, 63), (0, 1)), ((256, 64), (1,)),
])
def test_wide_sums(shape, axes):
    x = (RANDOM.standard_normal(shape) + 3).astype(np.float32)
    wanted = np.add.reduce(x, axis=axes, keepdims=True, dtype=np.float64)
    for given in (x, np.asarray(x, order="F"), x.astype(np.float64)):
        found = wide_sum(given, axes)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=5e-7)


@pytest.mark.parametrize("centre", [0.0, 1e3])
def test_moments_far_from_zero(centre):
    x = (RANDOM.standard_normal((4, 30_000)) + centre).astype(np.float32)
    mean, variance = moments(x, (1,))
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(1, keepdims=True), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(variance, x.astype(np.float64).var(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_in_parts(monkeypatch, axis):
    x, grad = (RANDOM.standard_normal((40, 9, 11)).astype(np.float32) for _ in range(2))
    x[3, 4, 5], x[0, 0, 0], x[1] = np.inf, np.nan, -np.inf

    def all_four():
        soft, log = softmax_array(x, axis), log_softmax_array(x, axis)
        return soft, log, _softmax_backward(grad, soft, axis, None), _log_softmax_backward(grad, log, axis, None)

    whole = all_four()
    monkeypatch.setattr(kernels, "BLOCK", 250)
    for one, other in zip(all_four(), whole, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.base is None
