"""Large gradients that are read for the last time give their memory away, and no others: nothing that anybody holds changes."""

import tracemalloc

import numpy as np
import pytest

import gradsh
from gradsh.engine.autograd import donation

SIZE = 1 << 20  # 4 MB: heavy enough for the fast step to be written at once
RANDOM = np.random.default_rng(8)


def leaf(low=-1.0, high=1.0):
    return gradsh.from_numpy(RANDOM.uniform(low, high, SIZE).astype(np.float32)).requires_grad_()


def test_a_gradient_that_one_name_holds_is_spare():
    alone = np.empty(3)
    assert donation.donatable(alone) is alone
    other = alone
    assert donation.donatable(alone) is None
    del other
    assert donation.donatable(alone) is alone
    view = alone[:2]
    assert donation.donatable(view) is None
    assert donation.donatable(alone) is None
    del view
    alone.flags.writeable = False
    assert donation.donatable(alone) is None


def test_a_view_of_all_of_an_array_gives_it_back_where_nothing_else_sees_it():
    view = np.arange(6.0).reshape(2, 3).copy().T.T
    whole = donation.base_if_unshared(view)
    assert whole is view.base
    assert donation.base_if_unshared(view) is None  # which `whole` sees now
    del whole
    other = view.base[:1]
    assert donation.base_if_unshared(view) is None
    del other
    assert donation.base_if_unshared(view) is not None
    assert donation.base_if_unshared(view.T) is None
    assert donation.base_if_unshared(view[:1]) is None
    assert donation.base_if_unshared(view.base) is None
    assert donation.base_if_unshared(np.frombuffer(bytes(8))) is None


def test_a_weights_gradient_is_the_product_itself():
    """The product lies as the weight does, though it comes through the transpose of a transpose."""
    x, w, b = (gradsh.randn(*shape, requires_grad=True) for shape in ((5, 3), (4, 3), (4,)))
    for _ in range(6):  # the fast steps are written after a few
        w.grad = None
        gradsh.nn.functional.linear(x, w, b).sum().backward()
    assert w.grad.numpy().base is None or w.grad.numpy().base.shape == (4, 3)
    assert (w.grad._version, w.grad.stride()) == (0, (3, 1))
    kept = w.grad
    gradsh.nn.functional.linear(x, w, b).sum().backward()
    assert w.grad is kept
    np.testing.assert_allclose(kept.numpy(), 2 * np.ones((5, 4)).T @ x.detach().numpy(), rtol=1e-5)


def test_what_a_pass_was_given_is_not_written():
    x = leaf()
    y = gradsh.sigmoid(x) * gradsh.tanh(x)
    start = gradsh.from_numpy(RANDOM.standard_normal(SIZE).astype(np.float32))
    before = start.numpy().copy()
    y.backward(start)
    np.testing.assert_array_equal(start.numpy(), before)
    np.testing.assert_array_equal(y.detach().numpy(), (gradsh.sigmoid(x) * gradsh.tanh(x)).detach().numpy())


@pytest.mark.parametrize("code", [
    lambda x, y: gradsh.tanh(x * y) + gradsh.sigmoid(x * y), lambda x, y: gradsh.relu(x * y) * x, lambda x, y: (x * y) ** 2 + (x * y),
    lambda x, y: gradsh.tanh(gradsh.tanh(x)) * y.exp(), lambda x, y: (x + y) * (x + y), lambda x, y: (x * y).view(2, -1).t() * 3,
])
def test_gradients_are_those_of_the_parts(code):
    """Small tensors take other ways: what is large must come out as piece by piece."""
    x, y = leaf(), leaf()
    code(x, y).sum().backward()
    for start in (0, SIZE // 2 + 8, SIZE - 16):
        part = slice(start, start + 16)
        a, b = (gradsh.from_numpy(one.detach().numpy()[part].copy()).requires_grad_() for one in (x, y))
        code(a, b).sum().backward()
        np.testing.assert_allclose(x.grad.numpy()[part], a.grad.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(y.grad.numpy()[part], b.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_that_somebody_keeps_stay_as_they_are():
    x = leaf()
    inner = gradsh.tanh(x)
    middle = inner * inner
    seen = []
    middle.register_hook(seen.append)
    inner.retain_grad()
    gradsh.sigmoid(middle).backward(gradsh.ones(SIZE))
    s = gradsh.sigmoid(middle.detach()).numpy()
    np.testing.assert_allclose(seen[0].numpy(), s * (1 - s), rtol=1e-5)
    np.testing.assert_allclose(inner.grad.numpy(), seen[0].numpy() * 2 * inner.detach().numpy(), rtol=1e-5, atol=1e-7)


def test_a_kept_graph_gives_the_same_twice():
    x = leaf()
    y = (gradsh.tanh(x) * gradsh.sigmoid(x) + x**2).mean()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    x.grad = None
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), first)


def test_slopes_stand_where_gradients_stood():
    """The most that is alive at once: x's gradient so far, two results, two gradients on their way, and nothing being made."""
    x = leaf()
    tracemalloc.start()
    try:
        (gradsh.tanh(x) * gradsh.sigmoid(x) + x**2).mean().backward()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5.5 * x.nbytes
