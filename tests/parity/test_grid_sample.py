"""Pixels that a grid names: values, gradients and second gradients are PyTorch's in every mode."""

from itertools import product
from typing import Any

import gradsh.nn.functional as functional
import pytest

import gradsh

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
MODES = [*product((2, 3), ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))]


@pytest.mark.parametrize(("dims", "mode", "padding", "align"), [one for one in MODES if one[:2] != (3, "bicubic")])
def test_grid_sample(dims: int, mode: str, padding: str, align: bool) -> None:
    torch.manual_seed(1)
    image = torch.randn(2, 2, *(3, 4, 5)[:dims], dtype=torch.float64)
    grid = torch.rand(2, *(2, 3, 2)[:dims], dims, dtype=torch.float64) * 3.4 - 1.7
    found = [gradients(engine, f, image, grid, mode, padding, align) for engine, f in ((gradsh, functional), (torch, torch.nn.functional))]
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(torch.tensor(ours.tolist(), dtype=torch.float64), theirs.detach())


def gradients(engine: Any, f: Any, image: Any, grid: Any, *options: Any) -> list[Any]:
    """The result, its gradients, and gradients of a function of these."""
    x, g = (engine.tensor(one.tolist(), dtype=engine.float64, requires_grad=True) for one in (image, grid))
    y = f.grid_sample(x, g, *options)
    first = engine.autograd.grad((y**2).sum(), (x, g), create_graph=True)
    assert y.grad_fn.name() == f"GridSampler{image.dim() - 2}DBackward0"
    return [y, *first, *engine.autograd.grad((first[0] ** 3).sum() + (first[1] ** 2).sum(), (x, g))]


@pytest.mark.parametrize(("size", "align"), [((2, 1, 3, 4), False), ((2, 1, 3, 4), True), ((2, 1, 2, 3, 4), False)])
def test_affine_grid(size: tuple[int, ...], align: bool) -> None:
    dims = len(size) - 2
    values = torch.randn(2, dims, dims + 1).tolist()
    ours, theirs = (one.tensor(values, requires_grad=True) for one in (gradsh, torch))
    (functional.affine_grid(ours, size, align_corners=align) ** 2).sum().backward()
    (torch.nn.functional.affine_grid(theirs, size, align_corners=align) ** 2).sum().backward()
    torch.testing.assert_close(torch.tensor(ours.grad.tolist()), theirs.grad)
