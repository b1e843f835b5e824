"""Sums, products and losses of large arrays go another way than small ones and give the same; so do thresholds, angles and blends."""

import numpy as np
import pytest

import gradsh
from gradsh.ops.kernels.accurate_sum import LARGE, long_sum

F = gradsh.nn.functional
RANDOM = np.random.default_rng(11)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("shape", "axes"), [
    ((300, 1000), (1,)), ((400, 254), (1,)), ((100, 1009), (1,)), ((5, 30, 700), (1, 2)), ((70_001,), (0,)), ((2, 1 << 16), (0, 1)),
])
@pytest.mark.parametrize("keepdim", [False, True])
def test_long_sums_are_those_of_float64(shape, axes, keepdim):
    x = normal(*shape)
    found = long_sum(x, axes, keepdim)
    wanted = np.add.reduce(x, axis=axes, keepdims=keepdim, dtype=np.float64)
    assert (found.shape, found.dtype) == (wanted.shape, np.float32)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-5)


def test_other_sums_are_left_to_numpy():
    x = normal(300, 1000)
    assert long_sum(x, (0,)) is long_sum(x.T, (1,)) is long_sum(x.astype(np.float64), (1,)) is long_sum(x[:, :50].copy(), (1,)) is None
    assert gradsh.full((LARGE,), np.inf).sum().item() == np.inf
    assert np.isnan(gradsh.tensor([np.inf, -np.inf] * LARGE).sum().item())


@pytest.mark.parametrize(("value", "wanted"), [(None, 0), (np.nan, np.nan), (np.inf, np.nan), (0, 0)])
def test_a_product_that_has_become_zero_keeps_its_sign(value, wanted):
    x = normal(40_007)
    if value is not None:
        x[30_000] = value
    found = gradsh.from_numpy(x).prod().numpy()
    np.testing.assert_array_equal(found, np.float32(wanted))
    if wanted == 0:
        assert np.signbit(found) == np.logical_xor.reduce(np.signbit(x))


@pytest.mark.parametrize("shape", [(100, 1000), (9, 20_001), (3, 70_000), (2000, 64)])
def test_products_of_many_rows_are_those_of_float64(shape):
    x = np.exp(0.01 * normal(*shape)) * np.sign(normal(*shape))
    found = gradsh.from_numpy(x).prod(1)
    np.testing.assert_allclose(found.numpy(), np.multiply.reduce(x.astype(np.float64), axis=1), rtol=1e-3)


@pytest.mark.parametrize("steps", [15, 16, 1009, 20_000])
@pytest.mark.parametrize("special", [None, 0, np.inf, np.nan, 1e30, 1e-30])
def test_running_products_are_those_of_float64(steps, special):
    x = np.exp(0.1 * normal(2000 if steps < 20 else 40, steps)) * np.sign(normal(1, steps))
    if special is not None:
        x[3, 5:15] = special
    with np.errstate(all="ignore"):
        wanted = np.multiply.accumulate(x, axis=1, dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(gradsh.from_numpy(x).cumprod(1).numpy(), wanted)


@pytest.mark.parametrize(("edge", "value"), [(0.1, 20), (0, 1), (0, np.inf), (0.1, 0.1), (-1, 2), (0.5, 0.2)])
def test_thresholds_of_large_arrays_are_those_of_numbers(edge, value):
    x = normal(10_000)
    x[:9] = 0.1, 0, -0.0, np.nan, np.inf, -np.inf, 1e-45, np.nextafter(np.float32(0.1), np.float32(1)), 3e38
    found = F.threshold(gradsh.from_numpy(x), edge, value).numpy()
    np.testing.assert_array_equal(found, np.where(x <= np.float32(edge), np.float32(value), x))


@pytest.mark.parametrize("low", [-1, 0])
@pytest.mark.parametrize("unknown", [False, True])
def test_angles_of_large_arrays(low, unknown):
    x = np.maximum(normal(200_000), np.float32(low))
    x[7] = np.nan if unknown else -0.0
    found = gradsh.angle(gradsh.from_numpy(x)).numpy()
    np.testing.assert_array_equal(found, np.where(np.isnan(x), x, np.where(x < 0, np.float32(np.pi), np.float32(0))))


@pytest.mark.parametrize("count", [5000, 300_000])
def test_blends_of_large_arrays_are_those_of_their_parts(count):
    """But for the product, which is rounded from 65,536 elements on."""
    x, y, weight = (gradsh.from_numpy(normal(count)) for _ in range(3))
    parts = [gradsh.lerp(*(one[start : start + 1000] for one in (x, y, weight))) for start in range(0, count, 1000)]
    error = 0 if count < 1 << 16 else 1e-6
    np.testing.assert_allclose(gradsh.lerp(x, y, weight).numpy(), gradsh.cat(parts).numpy(), rtol=error, atol=error)


@pytest.mark.parametrize("loss", [
    lambda x, y, to: F.huber_loss(x, y, to, 0.7), lambda x, y, to: F.smooth_l1_loss(x, y, reduction=to, beta=0.7),
])
@pytest.mark.parametrize("scale", [1e-4, 1, 1e3])
def test_reduced_losses_of_large_arrays_are_the_sums_of_the_errors(loss, scale):
    x, y = (gradsh.from_numpy(normal(100_003) * np.float32(scale)) for _ in range(2))
    errors = loss(x, y, "none").numpy().astype(np.float64)
    np.testing.assert_allclose(loss(x, y, "sum").item(), errors.sum(), rtol=2e-7)
    np.testing.assert_allclose(loss(x, y, "mean").item(), errors.mean(), rtol=2e-7)


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_smoothed_losses_of_integers_are_refused(loss):
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        loss(gradsh.tensor([1, 2]), gradsh.tensor([3, 1]))


def test_rows_by_one_row_in_blocks():
    x, slopes = normal(300, 501), np.abs(normal(501)) / 9
    found = F.prelu(gradsh.from_numpy(x), gradsh.from_numpy(slopes)).numpy()
    np.testing.assert_array_equal(found, np.where(x > 0, x, x * slopes))
