"""A second derivative through an operation that saves its result and wrote into a view: it goes by the view, as in PyTorch."""

import pytest

import gradsh as torch

NAMES = ["relu_", "exp_", "sigmoid_", "tanh_", "sqrt_"]


def names(node):
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in found:
            found.append(one)
            waiting += [following for following, _ in one.next_functions]
    return [one.name() for one in found]


@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_double_backward_goes_through_the_view(name, alive):
    x = torch.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    plain = getattr(torch, name[:-1])(x * 2)
    (want,) = torch.autograd.grad((plain**2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((want * want).sum(), x)

    y = x * 2
    view = y.view(2, 2)
    getattr(view, name)()
    if not alive:
        del view
    (grad,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    assert torch.allclose(grad, want)
    own = name[:-1].capitalize() + "Backward0"
    assert (own in names(grad.grad_fn)) == (not alive)
    (grad * grad).sum().backward()
    assert torch.allclose(x.grad, second)
    if name != "relu_" or alive:
        with pytest.raises(RuntimeError, match="second time"):
            (grad * grad).sum().backward()


def test_relu_in_place_behind_an_instance_norm():
    net = torch.nn.Sequential(torch.nn.InstanceNorm2d(2), torch.nn.ReLU(True))
    x = torch.rand(2, 2, 5, 5, requires_grad=True)
    (grad,) = torch.autograd.grad((net(x) ** 2).sum(), x, create_graph=True)
    (grad * grad).sum().backward()
    assert x.grad is not None
