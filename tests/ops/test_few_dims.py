"""Tensors without dims or without elements, where operations ask for a dim."""

import pytest

import gradsh as torch


@pytest.mark.parametrize(("code", "words"), [
    ("F.cross_entropy(torch.ones(()), torch.ones(()))", "Dimension specified as 1 but tensor has no dimensions"),
    ("F.multilabel_soft_margin_loss(torch.ones(()), torch.ones(()))", "Dimension specified as -1 but tensor has no dimensions"),
    ("torch.ones(()).take_along_dim(torch.tensor(0), -1)", "Dimension specified as 0 but tensor has no dimensions"),
    ("torch.cdist(torch.ones(2, 3), torch.tensor(1))", "cdist only supports at least 2D tensors, X2 got: 0D"),
])
def test_too_few_dimensions_are_refused_first(code, words):
    with pytest.raises((IndexError, RuntimeError), match=words):
        eval(code, {"torch": torch, "F": torch.nn.functional})


def test_scatter_at_one_place_and_select_of_nothing():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert x.scatter(0, torch.tensor(1), x).tolist() == [1, 1, 3]
    y = torch.ones(0, 3, requires_grad=True)
    y.index_select(-1, torch.tensor([0, 0])).sum().backward()
    assert y.grad.shape == (0, 3)
