"""Short cuts of the float32 normals: they come to the bits of the polynomials with fused products, for every uniform."""

import math

import numpy as np
import pytest

from gradsh.engine.rng import float32_math
from gradsh.engine.rng.float32_math import fused
from tests.sweep import part

F32 = np.float32
BLOCK = 1 << 16
LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
    -2.4999993993e-1, 3.3333331174e-1,
)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)


def horner(x, coefficients):
    found, *rest = (np.full_like(x, one) for one in coefficients)
    for one in rest:
        found = fused(found, x.astype(float), one)
    return found


def cephes_log(x):
    m, e = np.frexp(x)
    small = m < F32(0.70710678)
    e, y = (e - small).astype(F32), m + m * small - 1
    z = y * y
    p = fused(horner(y, LOG) * y, z.astype(float), e * F32(-2.12194440e-4)) - z * F32(0.5) + y
    return fused(e, 0.693359375, p)


def cephes_cos_sin(u):
    t = u * F32(2 * math.pi)
    octant = ((t * F32(1.27323954473516)).astype(np.int32) + 1) & ~1
    for one in (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8):
        t = fused(octant.astype(F32), float(F32(one)), t)
    z = t * t
    c = fused(horner(z, COS) * z, z.astype(float), z * F32(-0.5)) + 1
    s = fused(horner(z, SIN) * z, t.astype(float), t)
    quarter = octant // 2 % 4
    return np.choose(quarter, [c, -s, -c, s]), np.choose(quarter, [s, c, -s, -c])


@pytest.mark.parametrize("start", part(range(0, 1 << 24, BLOCK), 51))
def test_short_cuts_come_to_the_bits_of_fused_products(start):
    words = np.arange(start, start + BLOCK, dtype=np.uint32)
    uniforms, room, short = words.astype(F32) * F32(2.0**-24), float32_math.Room(BLOCK), np.empty(BLOCK, F32)
    unsure = float32_math.radii(words, short, room)
    exact = np.sqrt(cephes_log(1 - uniforms) * F32(-2))
    short[unsure] = exact[unsure]
    cos, sin = float32_math.cos_sin(words, room)
    pairs = (short, exact), (float32_math.exact_radii(words), exact), *zip((cos, sin), cephes_cos_sin(uniforms), strict=True)
    for found, wanted in pairs:
        np.testing.assert_array_equal(found.view(np.int32), wanted.view(np.int32))


def test_fused_products_are_rounded_once_at_ties_too():
    near = F32(1 + 2**-12)  # its square lies half-way between two float32: what is added decides
    added = np.array([2**-60, -(2**-60), 0, 2**-30], F32)
    for factor in (1.0, -1.0):
        a, c = np.full(4, F32(factor) * near), F32(factor) * added
        found = fused(a, float(near), c)
        below, above = 1 + 2**-11, 1 + 2**-11 + 2**-23
        assert (factor * found.astype(np.float64)).tolist() == [above, below, below, above]
