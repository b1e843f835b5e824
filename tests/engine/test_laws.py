"""The laws of the engine (docs/architecture.md): what dies when, what is freed when, and nothing that recurses."""

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import gradsh
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.storage import owner_of


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    """Whatever dies here dies by its last reference."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values: float) -> Tensor:
    return make(np.array(values, np.float32), True)


def memory_of(tensor: Tensor) -> "weakref.ref[object]":
    return weakref.ref(owner_of(tensor.array))


def test_a_dropped_graph_is_gone_at_once() -> None:
    """Law 1: saved results, inputs and in-between tensors all go with the last reference to the output."""
    x = leaf(1.0, 2.0)
    middle = x.exp()
    seen = [memory_of(middle), weakref.ref(middle.grad_fn)]
    out = (middle * middle.tanh()).sum()
    seen += [weakref.ref(out.grad_fn)]
    del middle
    assert seen[0]() is not None, "the graph still holds what it saved"
    del out
    assert [one() for one in seen] == [None, None, None]


@pytest.mark.parametrize("write", ["exp_", "mul_", "view", "setitem"])
def test_writing_in_place_makes_no_cycle(write: str) -> None:
    """Law 1, with the operations that put a new node behind a tensor that older nodes know."""
    x = leaf(1.0, 2.0)
    y = x * 1
    if write == "exp_":
        y.exp_()
    elif write == "mul_":
        y.mul_(x.tanh())
    elif write == "view":
        y[:1].mul_(3)
    else:
        y[0] = x[1]
    nodes = [weakref.ref(y.grad_fn), memory_of(y)]
    del y
    assert [one() for one in nodes] == [None, None]


def test_backward_gives_memory_back_node_by_node() -> None:
    """Law 2: a node's saved tensors are freed right after it ran; the nodes themselves stay."""
    x = leaf(1.0, 2.0)
    a = x.exp()
    b = a.sin()
    alive: list[bool] = []
    saved_by_sin = memory_of(a)
    a.register_hook(lambda grad: alive.append(saved_by_sin() is not None))
    loss = b.sum()
    node = b.grad_fn
    del a, b
    loss.backward()
    assert alive == [True], "exp has yet to run and holds its result, which is what sin had saved"
    assert saved_by_sin() is None
    assert node.freed
    assert [(one.name, one.shape, one.freed) for one in node.saved] == [("self", (2,), True)]


def test_a_freed_buffer_remembers_who_freed_it() -> None:
    """Law 2: the place of the pass stays with the entry."""
    from gradsh.engine.ambient import Ambient, enter

    ambient = Ambient()
    places = iter(range(1000))
    ambient.locate = lambda: next(places)
    with enter(ambient):
        x = leaf(3.0, 4.0)
        y = x * x
        loss = y.sum()
        loss.backward()
    (first, second) = y.grad_fn.saved
    assert first.freed_where == second.freed_where == 2, "births took places 0 and 1"


def test_views_and_detached_twins_share_one_counter() -> None:
    """Law 4: base, views and detach() share a version; `.data` has its own."""
    x = make(np.zeros(4, np.float32))
    view, twin, data = x[1:], x.detach(), x.data
    view.add_(1)
    twin.add_(1)
    assert (x._version, view._version, twin._version, data._version) == (2, 2, 2, 0)
    data.add_(1)
    assert x._version == 2
    assert x.tolist() == [2, 3, 3, 3]


def test_a_chain_of_a_million_nodes() -> None:
    """Law 5: built, backpropagated and dropped without recursion."""
    x = leaf(1.0, 2.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1]
    last = weakref.ref(y.grad_fn)
    del y
    assert last() is None


def test_a_number_is_kept_apart_from_the_constant_it_computes_with() -> None:
    """Law 8: 2.5 times a float32 tensor is computed in float32 and saved as a 0-d float64 entry."""
    y = leaf(1.0, 2.0) * 2.5
    (entry,) = y.grad_fn.saved
    assert (entry.name, entry.shape, entry.dtype.name, entry.nbytes) == ("other", (), "float64", 8)
    assert y.dtype is gradsh.float32
    assert (leaf(1.0) * 3).grad_fn.saved[0].dtype.name == "int64"


def test_the_short_way_does_what_the_long_way_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """An elementwise operation's generated function builds the same node as `apply`."""
    from gradsh.engine.dispatch import declare as op
    from gradsh.engine.schema.overload import SPECIALIZE_AFTER, fall_back

    def facts() -> list[object]:
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
        frozen = make(np.array([5.0, 6.0], np.float32))
        results = [gradsh.mul(x, y), gradsh.mul(x, frozen), gradsh.div(frozen, y), gradsh.add(x, 2), gradsh.mul(x, 2.0), gradsh.exp(x)]
        told: list[object] = []
        for result in results:
            node = result.grad_fn
            told.append((
                node.name(), [edge is not None for edge in node.edges], node.outputs, result.tolist(),
                [(one.name, one.shape, one.dtype.name, one.version) for one in node.saved],
            ))
            result.sum().backward()
            told.append([one.grad.tolist() if one.grad is not None else None for one in (x, y)])
        return told

    for _ in range(SPECIALIZE_AFTER + 1):
        short = facts()
    assert all(op.REGISTRY[name].records[0].compact_step.__name__ == "step" for name in ("mul", "div", "add", "exp"))
    for name in ("mul", "div", "add", "exp"):
        monkeypatch.setattr(op.REGISTRY[name], "fast_elementwise", None)
        for record in op.REGISTRY[name].records:
            monkeypatch.setattr(record, "step", fall_back)
            monkeypatch.setattr(record, "compact_step", fall_back)
    assert facts() == short
