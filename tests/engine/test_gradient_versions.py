"""How often gradients, and what their graphs saved, were written: PyTorch's versions, which tell who wrote in place."""

import pytest

import gradsh as torch

F = torch.nn.functional


def versions(function, *shape):
    """Return the version of a leaf's gradient after one pass, a second one, and one over a sum."""
    leaf = torch.ones(shape, requires_grad=True)
    function(leaf).sum().backward()
    first = leaf.grad._version
    function(leaf).sum().backward()
    again, leaf.grad = leaf.grad._version, None
    (function(leaf) + function(leaf) * 2).sum().backward()
    return first, again, leaf.grad._version


def graph(tensor):
    """Return the nodes behind a tensor."""
    found, todo = [], [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found.append(node)
            todo += [edge[0] for edge in node.next_functions]
    return found


@pytest.mark.parametrize("shape", [(), (1,), (0, 3)])
def test_zeros_are_made_as_the_gradient_lies(shape):
    alike = 1 if shape else 0  # expanded, which the leaf is not: it is copied
    assert versions(torch.floor, *shape)[0] == alike
    assert versions(F.logsigmoid, *shape)[0] == alike
    assert versions(torch.Tensor.double, *shape)[0] == alike
    assert versions(lambda x: x.div(2, rounding_mode="floor"), *shape)[0] == alike


def test_gradients_without_dims_are_written_as_others():
    assert versions(torch.max) == (1, 2, 2)
    assert versions(lambda x: x.index_select(0, torch.tensor([0]))) == (1, 2, 2)
    x = torch.ones((), requires_grad=True)
    torch.autograd.backward([(torch.ones(2, 2) * x).sum(), (-x).sum()])
    assert x.grad._version == 1  # the sum is no view, so it is added to in place


def test_gradients_out_of_row_major_order_are_added_to_in_place():
    x = torch.ones(3, 3).t().requires_grad_()
    torch.atan2(x, x + 1).sum().backward()
    assert (x.grad._version, x.grad.stride()) == (1, (1, 3))


def test_comparisons_in_place_fill_the_other_gradient():
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True)
    grads = torch.autograd.grad((x * 1).eq_(y).sum(), [x, y])
    assert [one._version for one in grads] == [0, 1]


def test_an_empty_running_maximum_has_itself_for_a_gradient():
    x = torch.ones(0, 3, requires_grad=True)
    torch.autograd.grad(x.cummax(0).values.sum(), x, create_graph=True)
    assert x._version == 0


@pytest.mark.parametrize(("function", "written"), [
    (F.silu, 2), (F.mish, 2), (torch.atanh, 2), (lambda x: x.norm(p=3, dim=0), 1), (lambda x: x.addcdiv(x, x + 1) ** 2, 2),
])
def test_factors_of_derivatives_that_are_computed_in_place(function, written):
    x = torch.tensor([0.25, 0.5, 0.75], requires_grad=True)
    grad, = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    saved = [node._saved_other._version for node in graph(grad) if node.name() in {"MulBackward0", "DivBackward0"}
             if node._saved_other is not None]
    saved += [node._saved_self._version for node in graph(grad) if node.name() == "DivBackward0" and node._saved_self is not None]
    assert max(saved) == written


def test_gradients_in_one_memory_share_its_counter():
    x, y = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
    for _ in range(2):
        torch.stack([x, y]).sum().backward()
    assert (x.grad._version, y.grad._version) == (2, 2)
    passed, z = torch.ones(2), torch.ones(2, requires_grad=True)
    z.view(-1).backward(passed)
    z.view(-1).backward(passed)
    assert (z.grad._version, passed._version) == (1, 1)  # the leaf took over a view of what was passed


def test_gradients_that_stand_for_zeros_are_not_written():
    x = torch.ones(2, requires_grad=True)
    x.sgn().sum().backward()
    for write in (lambda: x.sum().backward(), x.grad.zero_, lambda: x.grad.add_(1)):
        with pytest.raises(RuntimeError, match="ZeroTensors are immutable"):
            write()
    assert x.grad.clone().add_(1).tolist() == [1, 1]
    y = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.autograd.grad(y.sum(0).sum(), y)[0].relu_()  # expanded


@pytest.mark.parametrize(("function", "version"), [(lambda x: x.sum(0), 1), (lambda x: x.view(-1), 0), (lambda x: x.flip(0), 1)])
def test_gradients_without_elements_are_copied_where_they_are_expanded(function, version):
    assert versions(function, 0, 3)[0] == version


def test_gradients_of_two_directions_are_added_in_place():
    x = torch.ones(3, 1, 2, requires_grad=True)
    torch.nn.LSTM(2, 2, bidirectional=True)(x)[0].sum().backward()
    assert x.grad._version == 1


def test_distances_lie_in_row_major_order():
    x = torch.rand(3, 3).t().requires_grad_()
    distances = torch.cdist(x, x + 1)
    distances.sum().backward()
    assert (distances.is_contiguous(), x.grad.stride(), x.grad._version) == (True, (1, 3), 1)  # copied, as the leaf lies
