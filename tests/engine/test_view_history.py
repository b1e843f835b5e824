"""Views without a history of their own, and gradients retained across writes."""

import pytest

from gradsh.api.torch import NAMESPACES

torch = NAMESPACES["torch"]


@pytest.mark.parametrize("make", [lambda x: x[0], lambda x: x.narrow(0, 0, 1), lambda x: x.t()])
@pytest.mark.parametrize("leaf", [True, False])
def test_a_view_made_under_no_grad_needs_a_gradient_that_goes_nowhere(make, leaf):
    base = torch.ones(3, 4, requires_grad=True)
    x = base if leaf else base * 1
    with torch.no_grad():
        view = make(x)
    assert view.requires_grad
    assert view.is_leaf
    doubled = view * 2
    assert doubled.grad_fn.next_functions == ((None, 0), (None, 0))
    doubled.sum().backward()
    assert view.grad is None
    assert base.grad is None


@pytest.mark.parametrize("write", [lambda b, y: b.mul_(2.0), lambda b, y: y.mul_(2.0), lambda b, y: y[0].fill_(1.0)])
def test_retain_grad_follows_a_view_that_is_written(write):
    base = torch.ones(3, 4, requires_grad=True) * 1
    y = base.view(4, 3)
    y.retain_grad()
    before = y.sum()
    write(base, y)
    y.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [[1.0] * 3] * 4
    y.grad = None
    before.backward()
    assert y.grad is None
