"""Forward mode: dual tensors, tangents through views and writes, functions with a `jvp`, nested derivatives."""

import pytest

from gradsh.api.torch import NAMESPACES

torch = NAMESPACES["torch"]
fw = torch.autograd.forward_ad
X, V = [1.0, 2.0, 3.0], [1.0, 0.0, 2.0]


def dual(requires_grad=False):
    return fw.make_dual(torch.tensor(X, requires_grad=requires_grad), torch.tensor(V))


def tangent(tensor):
    return fw.unpack_dual(tensor).tangent


def test_a_tangent_goes_along_and_ends_with_the_level():
    with fw.dual_level():
        y = dual() * 3
        assert tangent(y).tolist() == [3, 0, 6]
        assert repr(y) == "tensor([3., 6., 9.], tangent=tensor([3., 0., 6.]))"
        assert tangent(y.detach()) is None
        assert tangent(fw.unpack_dual(y).primal) is None
    assert tangent(y) is None


def test_outside_of_a_level_nothing_is_followed():
    assert fw.unpack_dual(torch.ones(2)).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        dual()
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    with fw.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode AD"):
        fw.enter_dual_level()


@pytest.mark.parametrize(("primal", "direction", "words"), [
    (torch.ones(2), torch.ones(3), "different size"), (torch.ones(2), torch.ones(2, dtype=torch.int64), "Expected tangent to be floating"),
    (torch.ones(2, dtype=torch.int64), torch.ones(2), "Expected primal to be floating"),
])
def test_tangents_that_do_not_fit(primal, direction, words):
    with fw.dual_level(), pytest.raises((RuntimeError, ValueError), match=words):
        fw.make_dual(primal, direction)


def test_a_write_into_a_view_reaches_the_base_and_its_other_views():
    with fw.dual_level():
        base = torch.zeros(4)
        low, high = base[:2], base[1:]
        high.copy_(dual())
        assert tangent(base).tolist() == [0, 1, 0, 2]
        assert tangent(low).tolist() == [0, 1]
        low.mul_(5)
        assert tangent(base).tolist() == [0, 5, 0, 2]
        assert tangent(high).tolist() == [5, 0, 2]
        base.zero_()
        assert tangent(base).tolist() == [0, 0, 0, 0]


def test_a_write_to_a_result_leaves_the_tangent_of_the_input():
    with fw.dual_level():
        x = dual()
        y = x + 1
        y.mul_(10)
        assert (tangent(x).tolist(), tangent(y).tolist()) == (V, [10, 0, 20])


def test_dropout_drops_the_same_elements_of_the_tangent():
    torch.manual_seed(0)
    with fw.dual_level():
        x = fw.make_dual(torch.ones(100), torch.ones(100))
        y = torch.nn.functional.dropout(x, 0.5)
        assert torch.equal(tangent(y), fw.unpack_dual(y).primal)


def test_nothing_is_saved_where_nothing_requires_grad():
    with fw.dual_level():
        y = (dual().exp() * 2).sum()
        assert y.grad_fn is None


def test_reverse_over_forward_and_forward_over_reverse():
    with fw.dual_level():
        x = dual(requires_grad=True)
        y = (x**3).sum()
        (second,) = torch.autograd.grad(tangent(y), x, retain_graph=True)
        assert second.tolist() == [6, 0, 36]
        (first,) = torch.autograd.grad(y, x)
        assert (first.tolist(), tangent(first).tolist()) == ([3, 12, 27], [6, 0, 36])


def test_the_graph_is_the_same_with_and_without_tangents():
    def names(x):
        node, found = (x.exp() * x).sum().grad_fn, []
        while node is not None:
            found.append((node.name(), [one.name for one in node.saved]))
            node = node.next_functions[0][0] if node.next_functions else None
        return found

    x = torch.tensor(X, requires_grad=True)
    with fw.dual_level():
        assert names(dual(requires_grad=True))[:3] == names(x)[:3]


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * 2

    @staticmethod
    def jvp(ctx, direction):
        (x,) = ctx.saved_tensors
        assert x.tolist() == X
        return direction * 2


def test_a_function_pushes_by_its_jvp():
    with fw.dual_level():
        assert tangent(Double.apply(dual())).tolist() == [2, 0, 4]
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            type("Bare", (torch.autograd.Function,), {"forward": staticmethod(lambda _ctx, x: x * 2)}).apply(dual())


def test_what_pytorch_does_not_follow_is_refused():
    with fw.dual_level():
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with _cdist_forward"):
            torch.cdist(dual().reshape(1, 3), torch.ones(1, 3))
        with pytest.raises(NotImplementedError, match="out= function"):
            torch.add(dual(), 1, out=torch.ones(3))


def cube(x):
    return (x**3).sum() * x[0]


def test_derivatives_nest():
    x, v = torch.tensor(X), torch.tensor(V)
    func = torch.func
    value, pushed = func.jvp(cube, (x,), (v,))
    assert (value.item(), pushed.item()) == (36, 93)
    hessian = func.hessian(cube)(x)
    for nested in (func.jacfwd(func.jacfwd(cube)), func.jacfwd(func.jacrev(cube)), func.jacrev(func.jacfwd(cube))):
        assert torch.allclose(nested(x), hessian)
    out, product = func.linearize(torch.sin, x)
    assert torch.allclose(product(v), torch.cos(x) * v)
    assert torch.allclose(out, torch.sin(x))


def test_gradcheck_holds_both_modes():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(_ctx, x):
            return x * 2

        @staticmethod
        def backward(_ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(_ctx, direction):
            return direction * 3

    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.tanh, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(torch.tanh, x, check_fwd_over_rev=True)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)


def test_checking_a_derivative_draws_none_of_the_programs_random_numbers():
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    before = torch.get_rng_state().tolist()
    for _ in range(3):
        assert torch.autograd.gradcheck(func=torch.tanh, inputs=(x,), check_forward_ad=True)
    assert torch.get_rng_state().tolist() == before
