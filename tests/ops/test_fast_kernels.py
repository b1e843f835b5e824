"""Kernels that take another way for large arrays: they give what the plain way gives, special numbers included."""

import math

import numpy as np
import pytest

import gradsh
from gradsh.engine.rng import generator, normals
from gradsh.engine.rng.generator import Generator
from gradsh.ops import decompose, householder
from gradsh.ops.kernels import accurate_sum, common, elementary, lu, remainders, running, shrinking
from gradsh.ops.kernels.lu import lu_factor

RANDOM = np.random.default_rng(5)
F32 = np.float32


def pairs():
    """Numbers and divisors: of many sizes, multiples and their neighbours, and every special number with every other."""
    special = np.array([0, -0.0, 1, -1, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-38, 3, 7, 2**24, 2**24 - 1], F32)
    yield np.tile(np.repeat(special, 16), 3), np.tile(special, 48)
    for exponent in range(-6, 10):
        a = (RANDOM.standard_normal(2000) * 10.0**exponent).astype(F32)
        b = RANDOM.standard_normal(2000).astype(F32)
        yield a, b
        yield a, np.array(F32(-0.7))
        yield a[:1000, None], b[:3]
        whole = (np.round(a) * b).astype(F32)
        yield whole, b
        yield np.nextafter(whole, F32(0)), -b


def same(found, wanted):
    np.testing.assert_array_equal(found, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(wanted)[number])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_remainders_of_large_arrays_are_those_of_the_library():
    for a, b in pairs():
        same(remainders.fmod(a, b), np.fmod(a, b))
        same(remainders.floor_quotient(a, b), np.floor_divide(a, b))
        rest = np.fmod(a, b)
        same(remainders.remainder(a, b), np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest))


def test_a_remainder_of_zero_has_the_sign_of_the_number():
    for count in (1, 1000):
        found = gradsh.remainder(gradsh.tensor([-1.5, 1.5] * count), 0.5).numpy()
        np.testing.assert_array_equal(np.signbit(found), [True, False] * count)


@pytest.mark.parametrize("n", [2, 3, 5, 40, 3000])
def test_swaps_at_once_are_swaps_one_by_one(monkeypatch, n):
    for _ in range(30 if n < 50 else 1):
        targets = np.arange(n - 1) + RANDOM.integers(0, 1 << 30, n - 1) % np.arange(n, 1, -1)
        monkeypatch.setattr(generator, "_MANY", 0)
        found = generator._swapped(targets)
        monkeypatch.setattr(generator, "routine", lambda name: None)
        np.testing.assert_array_equal(found, generator._swapped(targets))


def test_long_orders_take_as_many_numbers_as_short_ones():
    generator = Generator(3)
    assert sorted(generator.randperm(5000).tolist()) == list(range(5000))
    other = Generator(3)
    other.randint(0, 10, (4999,))
    assert generator.randint(0, 1000, (5,)).tolist() == other.randint(0, 1000, (5,)).tolist()


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_as_good_as_float32(approximate):
    numbers = np.linspace(-9, 9, 70_001)
    short = gradsh.tensor(numbers.astype(F32), requires_grad=True)
    found = gradsh.nn.functional.gelu(short, approximate=approximate)
    found.sum().backward()
    long = gradsh.tensor(numbers.astype(F32).astype(np.float64), requires_grad=True)
    wanted = gradsh.nn.functional.gelu(long, approximate=approximate)
    wanted.sum().backward()
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=2e-7, atol=6e-7)
    np.testing.assert_allclose(short.grad.numpy(), long.grad.numpy(), rtol=0, atol=1.5e-6)
    if approximate == "none":
        exact = [x * 0.5 * math.erfc(-x * math.sqrt(0.5)) for x in numbers[::1000]]
        np.testing.assert_allclose(wanted.detach().numpy()[::1000], exact, rtol=0, atol=1e-6)


def layer(x, w, b):
    return gradsh.nn.functional.layer_norm(x, x.shape[-1:], w, b)


def group(x, w, b):
    return gradsh.nn.functional.group_norm(x, 3, w, b)


def batch(x, w, b):
    return gradsh.nn.functional.batch_norm(x, None, None, w, b, True)


@pytest.mark.parametrize("wanted", [(True, True, True), (True, False, False), (False, True, True)])
@pytest.mark.parametrize(("norm", "shape", "size"), [
    (layer, (70, 512), 512), (layer, (700, 40), 40), (layer, (3, 20_000), 20_000), (layer, (5, 9, 501), 501),
    (group, (7, 12, 9, 33), 12), (group, (5, 12, 8, 40), 12), (group, (2, 6, 70, 71), 6), (batch, (7, 12, 9, 33), 12),
    (batch, (5, 12, 640), 12), (batch, (2, 6, 70, 71), 6), (batch, (700, 30), 30),
])
def test_large_norms_are_those_of_float64(norm, shape, size, wanted):
    x, grad = (RANDOM.standard_normal(shape).astype(F32) for _ in range(2))
    x += 1
    w, b = (RANDOM.standard_normal(size).astype(F32) for _ in range(2))
    found = []
    for dtype in (F32, np.float64):
        given = [
            gradsh.from_numpy(one.astype(dtype)).requires_grad_(need) for one, need in zip((x, w, b), wanted, strict=True)
        ]
        for arguments in (given, (given[0], None, None)) if wanted[0] else (given,):
            result = norm(*arguments)
            result.backward(gradsh.from_numpy(grad.astype(dtype)))
            found.append([result.detach(), *(one.grad for one in given if one.requires_grad)])
    half = len(found) // 2
    for short, long in zip(found[:half], found[half:], strict=True):
        for one, other in zip(short, long, strict=True):
            assert one.dtype == gradsh.float32
            scale = float(other.abs().max())
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("count", [1, 3, 40, 5000])
def test_zeros_keep_their_sign_at_a_bound_of_zero(count):
    for zero in (0.0, -0.0):
        x = gradsh.tensor([zero] * count)
        for found in (gradsh.relu(x), x.clamp(min=0), x.clamp(max=0), x.clamp(min=-0.0), gradsh.nn.functional.relu6(x)):
            assert set(np.signbit(found.numpy()).tolist()) == {bool(np.signbit(zero))}


@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (None, 0.2), (0.2, None), (0.5, -0.5), (math.nan, 1.0), (-math.inf, math.inf)])
def test_large_tensors_are_kept_in_bounds_as_small_ones_are(bounds):
    x = RANDOM.standard_normal(6000).astype(F32)
    x[:3] = np.nan, np.inf, -np.inf
    whole = gradsh.from_numpy(x).clamp(*bounds).numpy()
    np.testing.assert_array_equal(whole, np.concatenate([gradsh.from_numpy(part).clamp(*bounds).numpy() for part in x.reshape(-1, 100)]))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_places_along_a_dimension_are_the_same_in_any_layout(dim, turned):
    x, values = (gradsh.from_numpy(RANDOM.standard_normal((4, 5, 6)).astype(F32)) for _ in range(2))
    index = gradsh.from_numpy(RANDOM.integers(0, 4, (3, 4, 5)))
    wanted = {"gather": np.zeros((3, 4, 5), F32), "scatter_add": x.numpy().copy(), "scatter": x.numpy().copy()}
    for place in np.ndindex(3, 4, 5):
        to = (*place[:dim], int(index[place]), *place[dim + 1 :])
        wanted["gather"][place] = x.numpy()[to]
        wanted["scatter_add"][to] += values.numpy()[place]
        wanted["scatter"][to] = values.numpy()[place]
    if turned:
        x = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    np.testing.assert_array_equal(x.gather(dim, index).numpy(), wanted["gather"])
    np.testing.assert_array_equal(x.scatter_add(dim, index, values).numpy(), wanted["scatter_add"])
    np.testing.assert_array_equal(x.scatter(dim, index, values).numpy(), wanted["scatter"])
    np.testing.assert_array_equal(x.scatter_reduce(dim, index, values, "sum").numpy(), wanted["scatter_add"])


@pytest.mark.parametrize("shape", [(3, 5), (48, 48), (49, 49), (130, 130), (2, 3, 100, 100), (60, 150), (150, 60), (97, 49)])
def test_lu_of_any_size_is_the_matrix_again(shape):
    matrix = RANDOM.standard_normal(shape)
    packed, pivots = lu_factor(matrix)
    *_, rows, columns = shape
    steps = min(rows, columns)
    lower = np.tril(packed, -1)[..., :steps] + np.eye(rows, steps)
    found = lower @ np.triu(packed)[..., :steps, :]
    assert np.abs(lower).max() <= 1
    for place in np.ndindex(*shape[:-2]):
        order = list(range(rows))
        for step, other in enumerate(pivots[place].tolist()):
            order[step], order[other - 1] = order[other - 1], order[step]
        np.testing.assert_allclose(found[place], matrix[place][order], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("shape", "dim"), [((70, 300), 1), ((70, 300), 0), ((70, 300), None), ((3, 70_000), 1), ((20, 30, 40), (1, 2))])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norms_of_large_arrays_do_not_overflow_early(shape, dim, keepdim):
    x = (RANDOM.standard_normal(shape) * 1e25).astype(F32)
    found = gradsh.linalg.vector_norm(gradsh.from_numpy(x), 2, dim, keepdim)
    wanted = np.sqrt(np.square(x.astype(np.float64)).sum(axis=dim, keepdims=keepdim))
    assert found.dtype == gradsh.float32
    assert tuple(found.shape) == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=3e-7)


@pytest.mark.parametrize("factor", [-1.0, -2.7, -1e-30, -1e-38, -1e38, -0.0])
def test_logarithms_rounded_to_float32_are_those_of_the_library(factor):
    values = -RANDOM.random(20_000)
    values[0] = -0.0
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.array([math.log1p(value) * factor for value in values.tolist()]).astype(F32)
        found = normals.scaled_log1p(values, factor)
    same(found, wanted)


def test_logarithms_near_the_middle_between_two_float32_are_looked_up(monkeypatch):
    values = -RANDOM.random(1000)
    middle = np.float64(F32(-0.25)) - 2.0**-26 + np.arange(-3, 4) * 2.0**-54  # what numpy is made to answer: off by a few bits
    monkeypatch.setattr(np, "log1p", lambda given: np.resize(middle, given.shape))
    found = normals.scaled_log1p(values, 1.0)
    same(found, np.array([math.log1p(value) for value in values.tolist()]).astype(F32))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_the_median_of_all_is_that_of_one_row(dtype, count):
    x = gradsh.from_numpy((RANDOM.standard_normal(count) * 9).round()).to(getattr(gradsh, dtype))
    for name in ("median", "nanmedian"):
        assert getattr(gradsh, name)(x).item() == getattr(gradsh, name)(x, 0)[0].item()
        if dtype != "int64" and count > 2:
            holed = x.clone()
            holed[1] = math.nan
            whole, row = getattr(gradsh, name)(holed).item(), getattr(gradsh, name)(holed, 0)[0].item()
            assert whole == row or (math.isnan(whole) and math.isnan(row))


@pytest.mark.parametrize(("function", "low"), [
    (lambda x: gradsh.nn.functional.prelu(x, gradsh.tensor([0.25, 1.0, -3.0])), -9), (gradsh.angle, -9), (gradsh.logit, 0.0),
    (lambda x: gradsh.nn.functional.prelu(x, gradsh.tensor([0.25, 0.0, math.inf])), -9), (lambda x: gradsh.logit(x, 0.1), 0.0),
    (lambda x: gradsh.nn.functional.huber_loss(x, gradsh.zeros_like(x), reduction="none"), -9),
    (lambda x: gradsh.nn.functional.smooth_l1_loss(x, gradsh.zeros_like(x), reduction="none"), -9),
])
def test_large_arrays_give_what_their_rows_give(function, low):
    rows = (RANDOM.random((30_000, 3)) * (1 - low) + low).astype(F32)
    rows[:8] = np.array([0, -0.0, 1, -1, math.nan, math.inf, -math.inf, 1e-40], F32)[:, None]
    large, small = (gradsh.from_numpy(part.copy()).requires_grad_() for part in (rows, rows[:20]))
    for x in (large, small):
        function(x).backward(gradsh.ones(len(x), 3))
    same(function(large).detach().numpy()[:20], function(small).detach().numpy())
    same(large.grad.numpy()[:20], small.grad.numpy())


def as_good(found, wanted):
    """Off by 3 units in the last place at most, with the same special numbers and signs."""
    number = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~number], wanted[~number])
    np.testing.assert_array_max_ulp(found[number], wanted[number], 3)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(wanted)[number])


SPECIAL = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 2e-9, 1e38, -1e38, 3, -3, 200, -200], F32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["expm1", "exp2", "log1p", "log10", "sinh", "cosh", "arctanh", "arcsin", "arccos", "arctan", "tan"])
def test_functions_by_formulas_are_those_of_the_library(name):
    ufunc = getattr(np, name)
    kernel = getattr(elementary, name.replace("arc", "a"))
    numbers = np.arange(0, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(F32)  # of every size, nan among them
    numbers[:16] = SPECIAL
    for given in (numbers, numbers[(np.abs(numbers) > 0.01) & (np.abs(numbers) < 0.99)], np.linspace(-20, 20, 999, dtype=F32)):
        as_good(kernel(given), ufunc(given.astype(np.float64)).astype(F32))
    for whole in (-3, 0, 3, 10):
        assert elementary.exp2(np.full(1000, whole, F32))[0] == 2.0**whole


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["arctan2", "logaddexp", "logaddexp2"])
def test_functions_of_two_numbers_by_formulas_are_those_of_the_library(name):
    ufunc, kernel = getattr(np, name), getattr(elementary, name.replace("arc", "a"))
    as_good(kernel(np.repeat(SPECIAL, 64), np.tile(SPECIAL, 64)), ufunc(np.repeat(SPECIAL, 64), np.tile(SPECIAL, 64)))
    a, b = (RANDOM.standard_normal((300, 400)).astype(F32) * 5 for _ in range(2))
    for x, y in ((a, b), (a, b[0]), (b[:, :1], a[:1]), (a.T, b.T), (a, b[0, 0, ...])):
        found = kernel(x, y)
        assert found.strides == ufunc(x, y).strides
        np.testing.assert_allclose(found, ufunc(x.astype(np.float64), y), rtol=5e-7, atol=2e-7)


@pytest.mark.parametrize("function", [
    gradsh.nn.functional.softplus, gradsh.nn.functional.elu, gradsh.nn.functional.celu, gradsh.nn.functional.logsigmoid,
])
def test_large_activations_are_those_of_float64(function):
    numbers = np.concatenate([np.linspace(-40, 40, 70_001), [0, -0.0, np.inf, -np.inf, np.nan]]).astype(F32)
    short, long = (gradsh.from_numpy(numbers.astype(kind)).requires_grad_() for kind in (F32, np.float64))
    for x in (short, long):
        function(x).sum().backward()
    np.testing.assert_allclose(function(short).detach().numpy(), function(long).detach().numpy(), rtol=3e-7)
    np.testing.assert_allclose(short.grad.numpy(), long.grad.numpy(), rtol=4e-6)


def test_trigamma_of_large_arrays_is_that_of_float64():
    numbers = np.concatenate([np.linspace(-30, 30, 100_001), [-2e4, np.inf, np.nan, 1e-30, 3e30]]).astype(F32)
    short, long = (gradsh.polygamma(1, gradsh.from_numpy(numbers.astype(kind))).numpy() for kind in (F32, np.float64))
    np.testing.assert_allclose(short, long.astype(F32), rtol=2e-7)


@pytest.mark.parametrize("scale", [1e-38, 1e-3, 1, 5])
def test_erf_of_float32_is_that_of_float64(scale):
    numbers = np.concatenate([np.linspace(-scale, scale, 70_001), [np.inf, -np.inf]]).astype(F32)
    found = gradsh.erf(gradsh.from_numpy(numbers)).numpy()
    np.testing.assert_allclose(found, [math.erf(x) for x in numbers.tolist()], rtol=3e-7, atol=3e-45)
    assert np.abs(found).max() <= 1
    same(found[-2:], np.array([1, -1], F32))


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 40, 40), (90, 70), (0, 4, 4)])
def test_linear_algebra_is_the_same_without_lapack(monkeypatch, shape):
    matrix = RANDOM.standard_normal(shape)
    tau = RANDOM.random((*shape[:-2], shape[-1]))
    calls = [lambda: lu_factor(matrix), lambda: householder._product(matrix.astype(F32), tau.astype(F32))]
    if shape[-1] == shape[-2]:
        factor = np.tril(matrix) + 9 * np.eye(shape[-1])
        calls += [lambda: decompose._cholesky_inverse(factor, False), lambda: decompose._cholesky_inverse(factor.swapaxes(-1, -2), True)]
    for call in calls:
        found = call()
        with monkeypatch.context() as patch:
            for module in (lu, householder, decompose):
                patch.setattr(module, "routine", lambda name: None)
            wanted = call()
        for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, wanted)), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * max(1, np.abs(other).max(initial=0)) if one.dtype == F32 else 1e-10)


@pytest.mark.parametrize("shape", [(30, 700), (3, 20_003), (40_000,), (2000, 17)])
def test_running_sums_of_large_arrays_are_those_of_float64(shape):
    x = RANDOM.standard_normal(shape).astype(F32)
    holed = x.copy()
    holed.reshape(-1)[[5, 40, 9000]] = np.inf, np.nan, -np.inf
    for given in (x, holed):
        np.testing.assert_array_equal(gradsh.from_numpy(given).cumsum(-1).numpy(), given.cumsum(-1, dtype=np.float64).astype(F32))
    back = gradsh.from_numpy(x.copy()).requires_grad_()
    back.cumsum(-1).backward(gradsh.from_numpy(x))
    np.testing.assert_array_equal(back.grad.numpy(), np.flip(np.flip(x, -1).cumsum(-1, dtype=np.float64), -1).astype(F32))


@pytest.mark.parametrize("shape", [(1000,), (30, 40), (40, 5, 30)])
@pytest.mark.parametrize("kind", ["apart", "ties", "nan"])
def test_places_in_the_order_of_large_arrays_are_those_of_sort(shape, kind):
    x = RANDOM.standard_normal(shape).astype(F32)
    x = np.round(x * 3) + 0 if kind == "ties" else x
    if kind == "nan":
        x[RANDOM.random(shape) < 0.05] = np.nan
    given = gradsh.from_numpy(x)
    for dim, extent in enumerate(shape):
        values, places = (one.numpy() for one in given.sort(stable=True, dim=dim))
        found = given.kthvalue(extent // 3 + 1, dim)
        same(found[0].numpy(), np.take(values, extent // 3, dim))
        if kind == "apart":
            same(found[1].numpy(), np.take(places, extent // 3, dim))
        if kind != "nan":
            for one, all_of_them in zip(given.median(dim), (values, places), strict=True):
                same(one.numpy(), np.take(all_of_them, (extent - 1) // 2, dim))


@pytest.mark.parametrize("dtype", [F32, np.float64])
@pytest.mark.parametrize("shape", [(7, 33), (5, 3, 700), (900, 3), (0, 40), (40, 0)])
def test_products_of_rows_are_those_of_float64(shape, dtype):
    x = (1 + 0.1 * RANDOM.standard_normal(shape)).astype(dtype)
    given = gradsh.from_numpy(x)
    np.testing.assert_allclose(given.prod().numpy(), x.prod(dtype=np.float64), rtol=2e-5)
    for keep in (False, True):
        found, wanted = given.prod(-1, keep).numpy(), x.prod(-1, keepdims=keep, dtype=np.float64)
        assert (found.shape, found.dtype) == (wanted.shape, dtype)
        np.testing.assert_allclose(found, wanted, rtol=2e-5)


@pytest.mark.parametrize("shape", [(100, 130), (130, 100), (3, 70, 65), (1000, 5)])
@pytest.mark.parametrize("diagonal", [-300, -64, -1, 0, 3, 64, 150])
def test_triangles_of_large_matrices_are_those_of_the_library(shape, diagonal):
    x = RANDOM.standard_normal(shape).astype(F32)
    for name in ("tril", "triu"):
        same(getattr(gradsh.from_numpy(x), name)(diagonal).numpy(), getattr(np, name)(x, diagonal))


@pytest.mark.parametrize("function", [np.maximum, np.minimum])
@pytest.mark.parametrize("steps", [1, 100, 128, 700])
@pytest.mark.parametrize("dtype", [F32, np.float64, np.int64, np.uint8, np.bool_])
def test_running_extrema_of_rows_are_those_one_by_one(function, steps, dtype):
    numbers = np.round(RANDOM.standard_normal((40, steps)) * 3)
    if dtype in {F32, np.float64}:
        for special in (-0.0, math.nan, math.inf, -math.inf):
            numbers[RANDOM.random(numbers.shape) < 0.02] = special
    rows = np.abs(numbers).astype(dtype) if dtype in {np.uint8, np.bool_} else numbers.astype(dtype)
    values, places = running.running_extrema(function, rows)
    for row, value, place in zip(rows.tolist(), values.tolist(), places.tolist(), strict=True):
        best = 0
        for step, number in enumerate(row):
            if number != number or (row[best] == row[best] and function(number, row[best]) == number):
                best = step
            assert place[step] == best
            np.testing.assert_array_equal(value[step], row[best])


def test_the_hypotenuse_of_large_arrays_is_the_library_s():
    special = np.array([0, -0.0, 1, -3, math.inf, -math.inf, math.nan, 1e38, 1e-38, 1e-45], F32)
    a, b = np.tile(np.repeat(special, 10), 20), np.tile(special, 200)
    np.testing.assert_array_max_ulp(elementary.hypot(a, b), np.hypot(a.astype(np.float64), b).astype(F32), 0)
    np.testing.assert_array_equal(elementary.hypot(a[:, None], b[:3]), elementary.hypot(*np.broadcast_arrays(a[:, None], b[:3])))


@pytest.mark.parametrize("n", [2, 3, 7])
def test_sums_over_a_narrow_last_dim_are_numpy_s(n):
    numbers = RANDOM.standard_normal((3000, n)).astype(F32)
    for special in (-0.0, math.inf, -math.inf, math.nan):
        numbers[RANDOM.random(numbers.shape) < 0.1] = special
    numbers[:5] = -0.0
    with np.errstate(invalid="ignore"):
        for keepdim in (True, False):
            same(accurate_sum.narrow_sum(numbers, (1,), keepdim), np.add.reduce(numbers, axis=1, keepdims=keepdim))


@pytest.mark.parametrize("lambd", [0.0, -0.0, 0.5, -1.0, math.inf, math.nan])
def test_shrinking_large_arrays_is_shrinking_numbers_one_by_one(lambd):
    special = np.array([0, -0.0, 0.5, -0.5, 1, -1, 1e-45, math.inf, -math.inf, math.nan, -math.nan], F32)
    x = np.tile(special, 500)
    with np.errstate(invalid="ignore"):
        same(shrinking.outside(x, lambd), np.tile(shrinking.outside(special, lambd), 500))
        same(shrinking.gradient(x[::-1].copy(), x, lambd), np.where((x < -lambd) | (x > lambd), x[::-1], F32(0)))


def test_choices_of_bits_keep_them():
    for dtype in (F32, np.float64):
        a, b = RANDOM.standard_normal((2, 3000)).astype(dtype)
        a[:100], b[50:150] = -0.0, -math.nan
        mask = RANDOM.random(3000) < 0.5
        for left, right in ((a, b), (a, np.array(math.nan, dtype)), (np.array(-0.0, dtype), b)):
            np.testing.assert_array_equal(common.pick(mask, left, right).view(np.int8), np.where(mask, left, right).view(np.int8))
        np.testing.assert_array_equal(common.gated(b, mask).view(np.int8), np.where(mask, b, dtype(0)).view(np.int8))
