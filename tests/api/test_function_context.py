"""What a program sets on `ctx` is its own under every name, and what PyTorch offers there is offered."""

import math
from typing import Any

import pytest

import gradsh as torch
from gradsh.api.function import FunctionNode
from gradsh.contracts.events import Failure, Print
from gradsh.engine.graph.node import Node
from gradsh.session.session import Session

OFFERED = frozenset({
    "save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable", "mark_shared_storage", "set_materialize_grads",
    "saved_tensors", "needs_input_grad", "to_save", "dirty_tensors", "non_differentiable", "next_functions", "metadata", "requires_grad",
    "name", "register_hook", "register_prehook", "_materialize_non_diff_grads", "_sequence_nr", "_set_sequence_nr", "saved",
    "_raw_saved_tensors", "saved_variables",
})
FIXED = frozenset({"saved_tensors", "needs_input_grad", "to_save", "dirty_tensors", "non_differentiable", "next_functions", "metadata",
                   "requires_grad", "saved_variables"})
"""Properties of PyTorch's: they keep their meaning."""
SLOTS = {name for kind in FunctionNode.__mro__ for name in getattr(kind, "__slots__", ())}
NAMES = sorted(name for name in SLOTS | set(dir(FunctionNode)) | {"x", "mask", "shape", "_x"} if name[:2] != "__" and name not in FIXED)
"""Every name that the engine's node has, and some that it has not."""
PROGRAM = """
class F2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        setattr(ctx, NAME, y if WHOLE else VALUE)
        return y
    @staticmethod
    def backward(ctx, g):
        kept = getattr(ctx, NAME)
        return g * (kept if WHOLE else float(kept))
x = torch.ones(2, requires_grad=True)
y = F2.apply(x)
y.sum().backward()
print(x.grad.tolist(), y.grad_fn.next_functions[0][0].variable is x, hasattr(y.grad_fn, NAME))
"""


@pytest.mark.parametrize("value", [None, 2])
def test_every_name_is_the_programs_own(value: Any) -> None:
    """A tensor or a number under any name comes back in backward, in a script and in Python."""
    assert len(NAMES) > 50
    expected = [math.e] * 2 if value is None else [2.0] * 2
    session = Session()
    for name in NAMES:
        printed: list[Any] = []
        text = PROGRAM.replace("NAME", repr(name)).replace("VALUE", repr(value)).replace("WHOLE", repr(value is None))
        exec(text, {"torch": torch, "print": lambda *told: printed.append(told)})
        events: list[Any] = []
        session.run("import torch\n" + text, events.append)
        assert not [event.problem.message for event in events if isinstance(event, Failure)], name
        assert printed[0][0] == pytest.approx(expected), name
        assert printed[0][1:] == (True, True)
        assert [event.text for event in events if isinstance(event, Print)] == [" ".join(map(str, printed[0]))]


def make(seen: list[Any]) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(ctx)
            ctx.save_for_backward(x)
            ctx.times = 2
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx)
            return grad * ctx.times

    return Double.apply(torch.ones(2, requires_grad=True))


def test_ctx_is_grad_fn_and_is_no_node() -> None:
    seen: list[Any] = []
    y = make(seen)
    assert y.grad_fn is seen[0]
    assert y.grad_fn.times == 2
    assert (y * 1).grad_fn.next_functions[0][0] is seen[0]
    assert torch.autograd.graph.get_gradient_edge(y).node is seen[0]
    assert not isinstance(seen[0], Node)
    assert isinstance(seen[0], torch.autograd.graph.Node)
    y.sum().backward()
    assert seen[1] is seen[0]


def test_what_is_set_lives_as_long_as_the_graph() -> None:
    """Nobody holds the ctx between forward and backward; the attribute is there all the same, and goes with the graph."""
    import gc
    import weakref

    seen: list[Any] = []
    y = make(seen)
    held = torch.ones(3)
    y.grad_fn.mine = held
    gone = weakref.ref(held)
    del held
    seen.clear()
    assert y.grad_fn.mine is gone()
    y.sum().backward()
    gc.disable()
    try:
        del y
        seen.clear()
        assert gone() is None
    finally:
        gc.enable()


def test_what_pytorch_offers_is_offered_and_nothing_else() -> None:
    seen: list[Any] = []
    make(seen)
    names = {name for name in dir(seen[0]) if name[:2] != "__"} - {"times"}
    assert names == OFFERED
