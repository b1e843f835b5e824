"""`.data =` and `detach_` reach what nodes saved of a tensor, as in PyTorch, where they saved the tensor itself.

Figures are PyTorch 2.13's.
"""

import gc
from typing import Any

import pytest

import gradsh
from gradsh.engine.autograd.replace_saved import _nodes_with

torch: Any = gradsh
NEW = [5.0, 6.0]


def leaf() -> Any:
    return torch.ones(2, requires_grad=True)


def of_a_leaf(x: Any) -> tuple[Any, Any]:
    return x * x, x


def of_the_middle(x: Any) -> tuple[Any, Any]:
    h = x * 2
    return h * h, h


def of_a_constant(x: Any) -> tuple[Any, Any]:
    c = torch.ones(2)
    return x * c, c


def of_a_result(x: Any) -> tuple[Any, Any]:
    y = x.exp()
    return y, y


def of_a_twin(x: Any) -> tuple[Any, Any]:
    return x * x.detach(), x


def of_a_view(x: Any) -> tuple[Any, Any]:
    v = x.view(2)
    return v * v, x


def of_several(x: Any) -> tuple[Any, Any]:
    return torch.addcmul(x, x, x), x


CASES: list[tuple[Any, list[float]]] = [
    (of_a_leaf, [10, 12]), (of_the_middle, [20, 24]), (of_a_constant, [5, 6]), (of_a_result, [2.7182818] * 2),
    (of_a_twin, [1, 1]), (of_a_view, [2, 2]), (of_several, [11, 13]),
]


@pytest.mark.parametrize(("program", "grad"), CASES)
def test_new_data_is_what_was_saved(program: Any, grad: list[float]) -> None:
    for _ in range(4):  # by the general ways, then by the fast ones
        x = leaf()
        y, changed = program(x)
        gc.freeze()  # as the program does
        changed.data = torch.tensor(NEW)
        assert changed._version == 0
        y.sum().backward()
        assert x.grad.tolist() == pytest.approx(grad)


def test_what_was_detached_in_place_is_of_no_use() -> None:
    x = leaf()
    h = x * 2
    y = h * h
    h.detach_()
    assert y.grad_fn._saved_self.tolist() == [2, 2]
    assert y.grad_fn._saved_self.grad_fn is None
    with pytest.raises(RuntimeError, match="a saved tensor that has been detached in-place"):
        y.sum().backward()


def test_who_saved_nothing_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes through all objects: a training loop that sets `p.data` after its backward must not pay for it."""
    searches: list[object] = []

    def nowhere(array: object) -> list[object]:
        searches.append(array)
        return []

    monkeypatch.setattr("gradsh.engine.autograd.replace_saved._nodes_with", nowhere)
    p = leaf()
    h = p * p
    h.sum().backward()
    p.data = p.data - 0.1
    p.data += 0.1
    h.detach_()
    assert searches == []
    h = p * p
    p.data = p.data - 0.1
    assert len(searches) == 1
    assert list(_nodes_with(object())) == []


def test_a_saved_operand_is_told_as_the_tensor_is_now() -> None:
    x, c = leaf(), torch.ones(2)
    y = x * c
    c.requires_grad_()
    assert y.grad_fn._saved_other is c
    h = x * 3
    y = h.abs()
    h[0] = 1.0
    h.exp_()
    del h  # the graph of the writes goes with it, in PyTorch the node has the tensor still
    with pytest.raises(RuntimeError, match="output 0 of Exp, is at version 2"):
        y.sum().backward()
