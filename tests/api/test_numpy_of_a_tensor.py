"""`.numpy()` of a tensor that requires grad: refused while gradients are recorded, given where they are not."""

import pytest

import gradsh as torch


def test_numpy_is_given_where_nothing_is_recorded():
    x = torch.ones(2, requires_grad=True)
    for mode in (torch.no_grad(), torch.inference_mode(), torch.set_grad_enabled(False)):
        with mode:
            for one in (x, x * 2):
                assert one.numpy().sum() == one.sum().item()
    torch.set_grad_enabled(True)
    for one in (x, x * 2):
        with pytest.raises(RuntimeError, match="Can't call numpy"):
            one.numpy()
    with torch.no_grad():
        x.numpy()[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
    assert x._version == 0


def test_numpy_is_given_inside_of_functions_and_hooks():
    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((x.requires_grad, x.numpy().tolist()))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad.numpy().tolist())
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: seen.append(x.numpy().tolist()))
    Twice.apply(x).sum().backward()
    assert seen == [(True, [1.0, 1.0]), [1.0, 1.0], [1.0, 1.0]]
