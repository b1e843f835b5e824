"""What gradsh promises beyond PyTorch's behaviour: no cycles, what a checkpoint shows, what pack hooks are told."""

import gc
import weakref
from typing import Any

import pytest

from gradsh.api.torch import NAMESPACES

torch = NAMESPACES["torch"]
nn = torch.nn


def dies_at_once(make: Any) -> bool:
    """Whether the node behind what `make()` returns goes with its last reference, without the collector."""
    gc.collect()
    gc.disable()
    try:
        result = make()
        seen = weakref.ref(result.grad_fn)
        del result
        return seen() is None
    finally:
        gc.enable()


class Cube(torch.autograd.Function):  # type: ignore[misc]
    """Saves its input and its output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Return the cube."""
        result = x * x * x
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Return the gradient."""
        x, _ = ctx.saved_tensors
        return grad * 3 * x * x


def hooked(x: Any) -> Any:
    """A graph with saved-tensor hooks that return what they get."""
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return x.exp().sum()


def with_multi_hook(x: Any) -> Any:
    """A graph with a multi-grad hook on inner tensors."""
    y = x.exp()
    torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: None)
    return y.sum()


@pytest.mark.parametrize(
    "compute",
    [
        Cube.apply,
        hooked,
        with_multi_hook,
        lambda x: nn.LSTM(3, 2)(x.view(1, 1, 3))[0].sum(),
        lambda x: nn.Linear(3, 2)(x).sum(),
        lambda x: torch.utils.checkpoint.checkpoint(lambda y: y.exp().sin(), x, use_reentrant=False),
    ],
)
def test_graph_dies_with_its_last_reference(compute: Any) -> None:
    """No reference cycle holds a graph."""
    x = torch.ones(3, requires_grad=True)
    assert dies_at_once(lambda: compute(x))


def test_custom_function_lists_what_it_saved() -> None:
    """Saved tensors of a custom function are listed and freed like any others."""
    x = torch.ones(3, requires_grad=True)
    y = Cube.apply(x)
    assert [(one.name, tuple(one.shape), one.nbytes, one.freed) for one in y.grad_fn.saved] == [
        ("saved_tensors", (3,), 12, False)
    ] * 2
    y.sum().backward()
    assert [one.freed for one in y.grad_fn.saved] == [True, True]


def test_pack_hook_is_told_node_and_name() -> None:
    """A pack hook of three parameters sees for which node, and under which name, it packs."""
    told = []

    def pack(tensor: Any, node: Any, name: str) -> Any:
        told.append((node.name(), name, tuple(tensor.shape)))
        return tensor

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = (x * torch.ones(2)).exp().sum()
    y.backward()
    assert told == [("MulBackward0", "other", (2,)), ("ExpBackward0", "result", (2,))]


def test_checkpoint_keeps_no_array() -> None:
    """What a checkpoint saved is there by shape only, and marked."""
    x = torch.ones(4, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
    (saved,) = y.grad_fn.saved
    assert saved.array is None
    assert saved.recomputed
    assert saved.nbytes == 16


def test_checkpoint_mismatch_is_explained_shortly() -> None:
    """A recomputation that saves other tensors fails in fewer than ten lines."""
    calls = []

    def changing(x: Any) -> Any:
        calls.append(1)
        return x.exp().sin() if len(calls) == 1 else x * 2

    y = torch.utils.checkpoint.checkpoint(changing, torch.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(RuntimeError, match="A different number of tensors was saved") as caught:
        y.sum().backward()
    assert len(str(caught.value).splitlines()) < 10


def test_every_class_offers_its_methods_to_scripts() -> None:
    """The interpreter's guard lets scripts reach every public method, whichever base class holds it."""
    from gradsh.engine.graph.tensor import Tensor
    from gradsh.runtime.guard import Guard

    guard = Guard({})
    for space in ("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data"):
        for name in NAMESPACES[space].names():
            kind = NAMESPACES[space].get(name)
            if not isinstance(kind, type) or issubclass(kind, Tensor):  # which the guard knows by itself
                continue
            blank = object.__new__(kind)
            for base in kind.__mro__[:-1]:
                for attribute in base.__dict__:
                    if not attribute.startswith("_"):
                        assert guard.allows(blank, kind, attribute), f"{name}.{attribute}"
