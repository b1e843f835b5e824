"""Convolution's kernels against the definition, whatever the work is cut into and whichever way it takes."""

import random
from itertools import product

import numpy as np
import pytest

from gradsh.ops.kernels import conv as kernels
from gradsh.ops.kernels.conv_windows import ConvGeometry, out_extents


def by_definition(x, w, geometry):
    """Add up, place by place of the filter, what it meets of the padded input."""
    dims = w.ndim - 2
    out = out_extents(x.shape[2:], w.shape[2:], geometry)
    border = [(0, 0), (0, 0), *((p, p) for p in geometry.padding)]
    whole = np.pad(x, border)
    groups, filters, channels = geometry.groups, w.shape[0] // geometry.groups, w.shape[1]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    for place in product(*(range(k) for k in w.shape[2:])):
        met = whole[(..., *(
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, s, n in zip(place, geometry.dilation, geometry.stride, out, strict=True)
        ))]
        for group in range(groups):
            rows = slice(group * filters, (group + 1) * filters)
            part = met[:, group * channels : (group + 1) * channels]
            y[:, rows] += np.einsum("nc...,oc->no...", part, w[(rows, slice(None), *place)])
    assert y.ndim == dims + 2
    return y


def drawn(seed):
    """Draw a geometry with operands for it; None where the filter does not fit."""
    draw = random.Random(seed)
    rng = np.random.default_rng(seed)
    dims, groups = draw.choice((1, 2, 2, 3)), draw.choice((1, 1, 2, 3))
    plain = draw.random() < 0.5
    geometry = ConvGeometry(
        tuple(1 if plain else draw.choice((1, 1, 2, 3)) for _ in range(dims)),
        tuple(draw.randint(0, 3) for _ in range(dims)),
        tuple(draw.choice((1, 1, 2)) for _ in range(dims)),
        groups,
    )
    kernel = tuple(draw.randint(1, 4) for _ in range(dims))
    extents = tuple(draw.randint(1, 10) for _ in range(dims))
    if any(n < 1 for n in out_extents(extents, kernel, geometry)):
        return None
    channels, filters = groups * draw.randint(1, 3), groups * draw.randint(1, 3)
    x = rng.standard_normal((draw.randint(1, 5), channels, *extents))
    w = rng.standard_normal((filters, channels // groups, *kernel))
    return geometry, np.asfortranarray(x) if draw.random() < 0.2 else x, w


@pytest.mark.parametrize(("block", "few", "waste"), [(1, 1, 1.25), (60, 4, 100), (400, 50, 1.25), (1 << 18, 256, 1.25)])
def test_products_and_adjoints_agree_with_the_definition(monkeypatch, block, few, waste):
    for name, value in (("BLOCK", block), ("FEW", few), ("WASTE", waste)):
        monkeypatch.setattr(kernels, name, value)
    ways = set()
    for seed in range(120):
        case = drawn(seed)
        if case is None:
            continue
        geometry, x, w = case
        y = by_definition(x, w, geometry)
        bias = np.arange(float(w.shape[0]))
        found = kernels.correlate(x, w, geometry, (), bias)
        np.testing.assert_allclose(found, y + bias.reshape(-1, *(1,) * (w.ndim - 2)), atol=1e-10)
        other = np.random.default_rng(seed).standard_normal(y.shape)
        by_input, by_filter = kernels.adjoints(other, geometry, x.shape[2:], w.shape[2:], x, w)
        assert by_input.shape == x.shape
        assert by_filter.shape == w.shape
        for one in (found, by_input, by_filter):  # a leaf takes over what owns its memory, and lies as it does
            assert one.flags.c_contiguous
            assert one.base is None
        along_x, along_w = (np.random.default_rng(seed + 1).standard_normal(one.shape) for one in (x, w))
        assert np.vdot(by_input, along_x) == pytest.approx(np.vdot(other, by_definition(along_x, w, geometry)), abs=1e-9)
        assert np.vdot(by_filter, along_w) == pytest.approx(np.vdot(other, by_definition(x, along_w, geometry)), abs=1e-9)
        walks = kernels.walks_of(x.shape[2:], y.shape[2:], w.shape[2:], geometry)
        ways.add(kernels._fits_rows(walks, w.shape[0], x.shape[1]))
    assert ways == {True, False}


def test_each_adjoint_can_be_asked_for_alone():
    geometry, x, w = next(case for case in map(drawn, range(100)) if case is not None and case[2].ndim == 4)
    y = by_definition(x, w, geometry)
    both = kernels.adjoints(y, geometry, x.shape[2:], w.shape[2:], x, w)
    np.testing.assert_array_equal(kernels.spread(y, w, x.shape[2:], geometry), both[0])
    np.testing.assert_array_equal(kernels.filter_of(x, y, w.shape[2:], geometry), both[1])
    assert kernels.adjoints(y, geometry, x.shape[2:], w.shape[2:], x, None)[0] is None
    assert kernels.adjoints(y, geometry, x.shape[2:], w.shape[2:], None, w)[1] is None


def test_a_gradient_of_one_repeated_number_is_taken_as_any_other():
    geometry = ConvGeometry((1, 1), (1, 1), (1, 1), 1)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 2, 6, 5)), rng.standard_normal((4, 2, 3, 3))
    ones = np.broadcast_to(1.0, (3, 4, 6, 5))
    for repeated, plain in zip(
        kernels.adjoints(ones, geometry, (6, 5), (3, 3), x, w),
        kernels.adjoints(np.array(ones), geometry, (6, 5), (3, 3), x, w), strict=True,
    ):
        np.testing.assert_array_equal(repeated, plain)
