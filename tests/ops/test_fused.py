"""Products that are not rounded before a number is added: against exact arithmetic, and against PyTorch's bits."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gradsh
from gradsh.ops.kernels.fused import accumulate, fused

SIZES = [1, 5, 67, 5_000, 5_003]


def numbers(size: int, dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(size) * 2.0 ** rng.integers(-8, 8, size)).astype(dtype)


def exactly(a: Any, b: Any, c: Any) -> Any:
    sums = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in np.nditer(np.broadcast_arrays(a, b, c))]
    if np.asarray(c).dtype == np.float64:
        return np.array([float(one) for one in sums])
    return np.array([nearest(one) for one in sums], np.float32)


def nearest(exact: Fraction) -> Any:
    """The float32 next to a fraction, which is not twice rounded."""
    near = np.float32(float(exact))
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    return min(around, key=lambda one: abs(Fraction(float(one)) - exact))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_a_product_is_rounded_once(dtype: str, size: int) -> None:
    a, b, c = (numbers(size, dtype, seed) for seed in range(3))
    c[::2] = -(a * b)[::2]  # what is left of these is what rounding lost
    assert (fused(a, b, c) == exactly(a, b, c)).all()
    number = np.dtype(dtype).type(0.3)
    c[::2] = -(a * number)[::2]
    wanted = exactly(a, number, c)
    assert (fused(a, 0.3, c) == wanted).all()
    assert (accumulate(c.copy(), a, 0.3) == wanted).all()
    strided = np.repeat(c, 2)[::2]
    assert (accumulate(strided, a, 0.3) == wanted).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [3, 5_003])
def test_what_is_not_finite_stays_so(dtype: str, size: int) -> None:
    a = np.full(size, np.inf, dtype)
    ones = np.ones(size, dtype)
    assert (fused(a, ones, ones) == np.inf).all()
    assert (fused(ones, a, -a) == np.inf).sum() == 0
    assert np.isnan(fused(a, 0.0, ones)).all()
    assert np.isnan(fused(ones * np.nan, 0.0, ones)).all()
    assert not np.signbit(fused(-ones, 0.0, 0 * ones)).any()


def test_integers_multiply_as_they_do() -> None:
    x = gradsh.tensor([3, 4])
    assert x.add(gradsh.tensor([1, 2]), alpha=5).tolist() == [8, 14]
    assert x.addcmul(gradsh.tensor([1, 2]), gradsh.tensor([2, 2]), value=3).tolist() == [9, 16]


def test_weight_1_gives_the_end_exactly() -> None:
    x, y = gradsh.tensor([1e8, -3.0]), gradsh.tensor([0.1, 0.7])
    assert x.lerp(y, 1.0).tolist() == y.tolist()
    assert x.lerp(y, gradsh.ones(2)).tolist() == y.tolist()


WAYS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, z: x.add(y, alpha=0.3),
    "add_": lambda x, y, z: x.add_(y, alpha=-0.3),
    "sub": lambda x, y, z: x.sub(y, alpha=0.3),
    "addcmul": lambda x, y, z: x.addcmul(y, z, value=0.3),
    "addcmul_": lambda x, y, z: x.addcmul_(y, z),
    "addcdiv": lambda x, y, z: x.addcdiv(y, z, value=0.3),
    "lerp": lambda x, y, z: x.lerp(y, 0.1),
    "lerp_": lambda x, y, z: x.lerp_(y, 0.7),
    "lerp by tensors": lambda x, y, z: x.lerp(y, z),
    "rows": lambda x, y, z: x.reshape(1, -1).add(y.reshape(1, -1)[:, :1], alpha=0.3),
}


def torch_with_fmadd() -> Any:
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() not in {"AVX2", "AVX512"}:
        pytest.skip("PyTorch's kernels have no fmadd here")
    return torch


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [32, 5_024])
@pytest.mark.parametrize("name", WAYS)
def test_bits_are_pytorchs(name: str, size: int, dtype: str) -> None:
    arrays = [numbers(size, dtype, seed) for seed in range(3)]
    mine, theirs = (
        WAYS[name](*(library.from_numpy(one.copy()) for one in arrays)).numpy() for library in (gradsh, torch_with_fmadd())
    )
    assert (mine == theirs).all()


OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.01}),
    "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.1, "weight_decay": 1e-3}),
    "Nesterov": ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    "Adamax": ("Adamax", {}), "Rprop": ("Rprop", {}), "ASGD": ("ASGD", {}),
}
"""Those in which no root is taken: PyTorch's is that of MKL, which is not the nearest number."""


@pytest.mark.parametrize("size", [32, 5_024])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_change_parameters_to_pytorchs_bits(name: str, size: int) -> None:
    kind, options = OPTIMIZERS[name]
    found = []
    for library in (gradsh, torch_with_fmadd()):
        parameter = library.nn.Parameter(library.from_numpy(numbers(size, "float32", 0)))
        optimizer = getattr(library.optim, kind)([parameter], **options)
        for seed in range(1, 5):
            parameter.grad = library.from_numpy(numbers(size, "float32", seed))
            optimizer.step()
        found.append(parameter.detach().numpy())
    assert (found[0] == found[1]).all()
