"""Work in blocks: what comes out is what comes out in one go, lies as a ufunc would lay it, and owns its memory."""

import math

import numpy as np
import pytest

import gradsh
from gradsh.ops import attention, pairwise_distance
from gradsh.ops.kernels import common as kernels
from gradsh.ops.kernels import point_pairs

RANDOM = np.random.default_rng(3)
F32 = np.float32


def fused(out, work, a, b):
    np.multiply(a, b, work)
    np.add(work, a, out)


def kinds(shape):
    array = RANDOM.standard_normal(shape).astype(F32)
    return array, np.asarray(array, order="F"), np.broadcast_to(F32(2), shape), np.broadcast_to(array[:1], shape)


@pytest.mark.parametrize("block", [5, 1 << 16])
@pytest.mark.parametrize("shape", [(3,), (4, 5), (2, 3, 4), (0, 3), (1,)])
def test_a_chain_of_ufuncs_is_the_formula(monkeypatch, block, shape):
    monkeypatch.setattr(kernels, "BLOCK", block)
    for a in kinds(shape):
        for b in kinds(shape)[:2]:
            found, wanted = kernels.chained(fused, a, b), a * b + a
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == F32
            assert found.base is None
            if found.size:
                assert found.strides == (a * b).strides


def test_a_chain_brings_its_operands_together():
    found = kernels.chained(fused, np.array(2.0), np.arange(3, dtype=F32))
    np.testing.assert_array_equal(found, [2.0, 4.0, 6.0])
    assert found.dtype == np.float64


@pytest.mark.parametrize("block", [64, 1 << 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gate_lets_nothing_through_that_is_closed(monkeypatch, block, dtype):
    monkeypatch.setattr(kernels, "BLOCK", block)
    grad = RANDOM.standard_normal((30, 40)).astype(dtype)
    grad[0, :6] = np.inf, -np.inf, np.nan, np.inf, -np.inf, np.nan
    mask = RANDOM.random((30, 40)) < 0.5
    mask[0, :6] = True, True, True, False, False, False
    for given in (grad, grad.T.copy().T, np.broadcast_to(grad[:1], grad.shape)):
        found = kernels.gated(given, mask)
        np.testing.assert_array_equal(found, np.where(mask, given, 0))
        assert found.dtype == dtype
        assert found.base is None
    picked = kernels.pick(mask, grad, dtype(7))
    np.testing.assert_array_equal(picked, np.where(mask, grad, 7))
    assert picked.base is None


@pytest.mark.parametrize("code", [
    lambda x: gradsh.tanh(x), lambda x: gradsh.sigmoid(x), lambda x: x**2, lambda x: x**3, lambda x: x**1, lambda x: x**0,
    lambda x: x**-1, lambda x: x.abs() ** 1.5, lambda x: gradsh.relu(x), lambda x: x.sigmoid().tanh() * x,
])
def test_gradients_of_large_tensors_are_those_of_their_parts(code):
    numbers = RANDOM.uniform(-2, 2, 70_001).astype(F32)
    whole = gradsh.from_numpy(numbers.copy()).requires_grad_()
    code(whole).backward(gradsh.from_numpy(numbers[::-1].copy()))
    parts = []
    for start in range(0, 70_001, 10_000):
        piece = gradsh.from_numpy(numbers[start : start + 10_000].copy()).requires_grad_()
        code(piece).backward(gradsh.from_numpy(numbers[::-1][start : start + 10_000].copy()))
        parts.append(piece.grad.numpy())
    np.testing.assert_allclose(whole.grad.numpy(), np.concatenate(parts), rtol=1e-6)


@pytest.mark.parametrize("shape", [(512, 300), (3, 256, 70), (2, 64, 32, 33), (256, 17)])
def test_large_transposes_are_copied_as_they_are(monkeypatch, shape):
    monkeypatch.setattr(kernels, "BLOCK", 1 << 10)
    array = RANDOM.standard_normal(shape).astype(F32)
    for given in (array.T, array.swapaxes(-1, -2), np.moveaxis(array, 0, -1), array, np.broadcast_to(array[..., :1], shape)):
        found = kernels.row_major(given, np.dtype(np.float64))
        np.testing.assert_array_equal(found, given)
        assert found.dtype == np.float64
        assert found.flags.c_contiguous
        assert found.base is None


@pytest.mark.parametrize(("masked", "causal"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("shape", [(3, 2, 17, 5), (1, 3, 40, 4), (5, 1, 9, 3)])
def test_attention_of_many_heads_is_that_of_each(monkeypatch, shape, masked, causal):
    batch, heads, length, _ = shape
    given = [RANDOM.standard_normal(shape).astype(F32) for _ in range(4)]
    mask = gradsh.from_numpy(RANDOM.standard_normal((batch, 1, length, length)).astype(F32)) if masked else None

    def attended(n, h):
        q, k, v, grad = (gradsh.from_numpy(one[n, h].copy()) for one in given)
        leaves = [one.requires_grad_() for one in (q, k, v)]
        out = gradsh.nn.functional.scaled_dot_product_attention(*leaves, None if mask is None else mask[n], is_causal=causal)
        out.backward(grad)
        return [out.detach().numpy(), *(one.grad.numpy() for one in leaves)]

    whole = attended(slice(None), slice(None))
    for scores in (1, 2 * length * length, 2 * heads * length * length):
        monkeypatch.setattr(attention, "_AT_ONCE", scores)
        for found, wanted in zip(attended(slice(None), slice(None)), whole, strict=True):
            np.testing.assert_array_equal(found, wanted)
    for n in range(batch):
        for h in range(heads):
            place = (slice(n, n + 1), slice(h, h + 1))
            for found, wanted in zip(attended(*place), whole, strict=True):
                np.testing.assert_array_equal(found, wanted[place])


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, math.inf])
def test_distances_of_pairs_are_those_of_parts(monkeypatch, p):
    points = gradsh.from_numpy(RANDOM.standard_normal((20, 3)).astype(F32))
    whole = gradsh.pdist(points, p).numpy()
    monkeypatch.setattr(pairwise_distance, "BLOCK", 10)
    np.testing.assert_array_equal(gradsh.pdist(points, p).numpy(), whole)
    np.testing.assert_array_equal(gradsh.pdist(gradsh.zeros(4, 0), p).numpy(), np.zeros(6, F32))


@pytest.mark.parametrize("spread", [0.0, 1e-5, 1.0, 1e30])
def test_distances_by_products_are_those_by_differences(spread):
    centres = np.repeat(RANDOM.standard_normal((40, 20)), 4, axis=0)
    points = (centres + spread * RANDOM.standard_normal((160, 20))).astype(F32)
    assert point_pairs.fits(2, points)
    first, second = np.triu_indices(160, 1)
    differences = points[first].astype(np.float64) - points[second]
    lengths = np.sqrt(np.vecdot(differences, differences))
    leaf = gradsh.from_numpy(points).requires_grad_()
    found = gradsh.pdist(leaf)
    np.testing.assert_allclose(found.detach().numpy(), lengths, rtol=2e-7)
    grad = RANDOM.random(lengths.size).astype(F32)
    found.backward(gradsh.from_numpy(grad))
    pulls = differences * np.divide(grad, lengths, out=np.zeros_like(lengths), where=lengths != 0)[:, None]
    wanted = np.zeros((160, 20))
    np.add.at(wanted, first, pulls)
    np.subtract.at(wanted, second, pulls)
    np.testing.assert_allclose(leaf.grad.numpy(), wanted, rtol=1e-5, atol=1e-4)


def test_distances_from_what_is_not_finite_are_those_by_differences():
    points = RANDOM.standard_normal((160, 20)).astype(F32)
    points[3, 4] = math.inf
    found = gradsh.pdist(gradsh.from_numpy(points)).numpy()
    assert np.isinf(found).sum() == 159
    assert not np.isnan(found).any()
