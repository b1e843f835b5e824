"""gradcheck and gradgradcheck: what they accept, what they refuse, and in which words."""

import pytest

from gradsh.api.gradcheck import GradcheckError, gradcheck, gradgradcheck
from gradsh.api.torch import NAMESPACES

torch = NAMESPACES["torch"]


class Half(torch.autograd.Function):
    """A square whose backward forgets the 2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x


def leaf(*numbers):
    return torch.tensor(list(numbers), dtype=torch.float64, requires_grad=True)


def test_right_derivatives_pass():
    x, y = leaf(1.0, 2.0, 3.0), leaf(0.5, 0.1, 0.2)
    assert gradcheck(lambda a: a * a, x)
    assert gradcheck(lambda a, b: (a * b, (a + b).sin()), (x, y))
    assert gradgradcheck(lambda a, b: (a * b).sin(), (x, y))
    assert gradgradcheck(lambda a: a**3, (x,), (leaf(1.0, 1.0, 1.0),))


def test_a_wrong_derivative_is_shown_with_both_jacobians():
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 1 with respect to input 0,\nnumerical:tensor") as caught:
        gradcheck(lambda a: (a + 1, Half.apply(a)), (leaf(1.0, 2.0),))
    assert "analytical:tensor([[1., 0.],\n        [0., 2.]], dtype=torch.float64)" in str(caught.value)
    assert gradcheck(Half.apply, (leaf(1.0),), raise_exception=False) is False


def test_outputs_that_need_no_gradient_must_not_move():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda a: a.detach() * 2, (leaf(1.0),))
    assert gradcheck(lambda a: torch.ones(2), (leaf(1.0),))
    assert gradcheck(lambda a: (a.detach(), a * 2), (leaf(1.0),))  # beside others they are not looked at


def test_inputs_that_cannot_be_checked():
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda a: a, (torch.ones(2),))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda a: a * 2, (torch.ones(1, dtype=torch.float64).expand(3).requires_grad_(),))
