"""Gradients that arrive at one node from several edges are all counted, also where they are one array."""

import numpy as np

import gradsh
from gradsh.engine.graph.tensor import make


def leaf(*values: float) -> gradsh.Tensor:
    return make(np.array(values, np.float32)).requires_grad_()


def test_one_array_by_two_edges() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    (y + y).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_one_array_by_two_edges_of_two_nodes() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    z = (y + x) + (y + x) + y
    z.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_leaf_takes_over_the_array_that_another_has_let_go_of() -> None:
    for turned in (False, True):  # PyTorch's versions: a gradient that is copied has been written once
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        (((x + w) if turned else (w + x)) * w).sum().backward()
        assert (x.grad._version, w.grad._version) == (0, 1)
        assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 4.0], [7.0, 10.0])
