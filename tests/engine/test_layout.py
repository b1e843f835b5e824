"""How results lie in memory: elementwise as the first operand, reductions row by row, pooling with channels where they were."""

import numpy as np
import pytest

from gradsh.api.torch import NAMESPACES
from gradsh.engine.values.layout import in_order, is_channels_last, order_of

torch = NAMESPACES["torch"]
F = torch.nn.functional


def laid(shape, order):
    """Return a tensor of the shape whose dims lie in memory in the order, the slowest first."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return torch.rand(*(shape[dim] for dim in order)).permute(*back)


def test_the_first_operand_decides():
    x, y = torch.rand(3, 4), torch.rand(4, 3)
    assert (x + y.t()).stride() == (4, 1)
    assert (y.t() + x).stride() == (1, 3)
    assert (y.t() * 2).stride() == (1, 3)
    assert torch.where(y.t() > 0.5, x, 0.0).stride() == (1, 3)
    assert (y.t() + torch.rand(4)).stride() == (1, 3)


def test_a_broadcast_operand_leaves_it_to_the_next():
    x = laid((3, 4, 5), (2, 1, 0))
    assert (torch.rand(5) + x).stride() == x.stride()
    assert (torch.rand(3, 1, 1) * x).stride() == x.stride()


@pytest.mark.parametrize("reduced", ["sum", "mean", "amax", "prod", "var", "logsumexp", "norm"])
def test_reductions_are_row_major(reduced):
    x = laid((2, 3, 4, 5), (3, 2, 1, 0))
    result = torch.norm(x, 2, 0) if reduced == "norm" else getattr(x, reduced)(0)
    assert result.stride() == (20, 5, 1)
    result.view(-1)


def test_images_keep_channels_last():
    x = laid((2, 3, 4, 4), (0, 2, 3, 1))
    assert is_channels_last(x.array)
    for result in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.conv2d(x, torch.rand(3, 3, 1, 1)), F.pad(x, (1, 1)), torch.cat([x, x])):
        assert result.is_contiguous(memory_format=torch.channels_last)
        assert not result.is_contiguous()
    assert torch.cat([x, torch.rand(2, 3, 4, 4)]).is_contiguous()


def test_rows_come_out_as_rows():
    assert F.layer_norm(laid((2, 3, 4), (2, 1, 0)), (4,)).is_contiguous()
    assert laid((3, 4), (1, 0)).masked_fill(torch.tensor(False), 0.0).is_contiguous()


def gradients(function, *given, turned):
    """Return the strides of the gradients of a function of leaves, for a gradient of the result in one order or the other."""
    leaves = [one.clone().requires_grad_() for one in given]
    result = function(*leaves)
    grad = torch.ones(*result.shape[::-1]).t() if turned else torch.ones(*result.shape)
    found = [torch.autograd.grad(result, leaves, grad, retain_graph=True) for _ in range(4)]  # the general way and the fast path
    strides = {tuple(one.stride() for one in each) for each in found}
    assert len(strides) == 1
    return strides.pop()


def test_the_gradient_decides_before_what_was_saved():
    x, y = torch.rand(3, 4), torch.rand(4, 3)
    rows, columns = (4, 1), (1, 3)
    assert gradients(torch.mul, x, x, turned=True) == (columns, columns)
    assert gradients(torch.mul, y.t(), x, turned=False) == (rows, rows)
    assert gradients(torch.exp, y.t(), turned=False) == (rows,)
    assert gradients(torch.relu, y.t(), turned=False) == (columns,)  # its derivative reads the result first
    assert gradients(torch.relu, x, turned=True) == (rows,)
    assert gradients(lambda one: torch.where(one > 0.5, one, 0.0), y.t(), turned=False) == (columns,)
    assert gradients(torch.maximum, x, y.t(), turned=True) == (rows, rows)


def test_sums_of_broadcast_gradients_are_row_major():
    wide, flat = torch.rand(2, 3, 4), torch.rand(3, 4)
    for function in (torch.add, torch.mul, torch.sub, torch.div):
        leaves = [laid((2, 3, 4), (2, 1, 0)).requires_grad_(), flat.clone().requires_grad_()]
        grad = torch.autograd.grad(function(*leaves), leaves, laid((2, 3, 4), (2, 1, 0)))
        assert grad[1].stride() == (4, 1)
    assert torch.autograd.grad(wide.requires_grad_().split(1, 1), wide, [laid((2, 1, 4), (2, 1, 0))] * 3)[0].is_contiguous()


def test_one_element_is_taken_over_unless_it_stands_for_more():
    def version(function):
        leaf = torch.ones(1, requires_grad=True)
        function(leaf).backward()
        return leaf.grad._version

    assert version(lambda one: one.squeeze()) == 0
    assert version(lambda one: (one * 2).sum()) == 0
    assert version(lambda one: one.sum()) == 1  # a number that is repeated once
    assert version(lambda one: one[..., None].sum()) == 1
    assert version(lambda one: one.flip(0).sum()) == 1
    assert version(lambda one: F.pad(one, (1, 1)).sum()) == 1
    assert torch.ones(3).expand(2, 1, 3).stride() == (0, 3, 1)
    assert torch.ones(()).expand(1, 1).stride() == (0, 0)


def test_writes_over_what_they_read():
    x = torch.ones(()).expand(3, 3)
    x.copy_(x.expand_as(x))  # the very same elements: nothing to copy
    with pytest.raises(RuntimeError, match="single memory location"):
        x.copy_(x.clone())
    y = torch.ones(3, 3)
    y.t().addmm_(y, y)  # products of matrices look at no memory
    with pytest.raises(RuntimeError, match=r"setStorage: sizes \[1, 3\], strides \[0, 1\].*a storage size of 12"):
        torch.zeros(0, 3).index_fill(0, torch.tensor([0]), 2)
    view = torch.rand(3, requires_grad=True).expand(2, 3)
    with pytest.raises(RuntimeError, match="view of a leaf Variable"):
        view[...] = 1.5


def test_the_order_of_dims():
    wide = np.zeros((2, 3, 4))
    assert order_of((2, 3, 4), [wide]) == (0, 1, 2)
    assert order_of((4, 3, 2), [wide.T]) == (2, 1, 0)
    assert order_of((4, 3, 2), [np.zeros((3, 1)), wide.T]) == (2, 1, 0)
    turned = in_order(np.zeros((4, 3, 2)), (2, 1, 0))
    assert turned.shape == (4, 3, 2)
    assert turned.T.flags.c_contiguous
