"""Memory as programs see it: storages, `set_`, `new`, and saved tensors that are copied when they are written."""

import pytest

from gradsh.api.torch import NAMESPACES

torch = NAMESPACES["torch"]


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_a_storage_tells_of_the_whole_memory():
    x = torch.arange(6.0)
    storage = x[2:].untyped_storage()
    assert (storage.nbytes(), storage.size(), len(storage), storage.data_ptr()) == (24, 24, 24, x.data_ptr())
    assert (len(x[2:].storage()), x.storage().dtype, x[2:].storage()[1]) == (6, torch.float32, 1.0)
    with pytest.raises(IndexError, match="index 6 out of range for storage of size 6"):
        x.storage()[6]


def test_set_gives_other_memory():
    x, y = torch.arange(6.0), torch.zeros(2)
    y.set_(x[2:4])
    y[0] = 9
    assert (x.tolist(), y._version) == ([0, 1, 9, 3, 4, 5], 2)
    assert y.set_(x.untyped_storage(), 1, (2,), (2,)).tolist() == [1, 3]
    assert y.set_().tolist() == []
    with pytest.raises(RuntimeError, match="Could not set tensor of type long int to a tensor of type float"):
        y.set_(torch.ones(1, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        y.set_(x, 5, (2,), (1,))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        torch.ones(2, requires_grad=True).set_(x)


def test_new_makes_tensors_of_the_same_dtype():
    x = torch.ones(2, dtype=torch.float64)
    assert [x.new(2, 3).shape, x.new(torch.Size([4])).shape, x.new().shape] == [(2, 3), (4,), (0,)]
    assert x.new([1, 2]).dtype is torch.float64


def test_what_is_saved_is_copied_once_when_it_is_written():
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        a = torch.ones(3, requires_grad=True).clone()
        squares, cubes = a**2, a**2
        assert len(kept.cloned) == 0
        a.view(3).mul_(5)
        assert len(kept.cloned) == 1
        torch.sin(torch.ones(3), out=torch.zeros(3))
        (grad,) = torch.autograd.grad(squares.sum(), a_leaf(squares))
        assert grad.tolist() == [2, 2, 2]
        del squares, cubes
        assert len(kept.cloned) == 0


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.LBFGS])
def test_what_is_saved_is_copied_before_an_optimizer_writes_it(optimizer):
    layer = torch.nn.Linear(2, 2)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = torch.ones(1, 2, requires_grad=True)
        out = layer(x).sum()
        (before,) = torch.autograd.grad(out, x, retain_graph=True)
        optimizer(layer.parameters(), lr=0.5).step(lambda: layer(torch.ones(1, 2)).pow(2).sum().backward() or torch.ones(()))
        layer(torch.ones(1, 2)).pow(2).sum().backward()
        optimizer(layer.parameters(), lr=0.5).step(lambda: torch.ones(()))
        (after,) = torch.autograd.grad(out, x)
    assert before.tolist() == after.tolist() != layer.weight.sum(0).tolist()


def a_leaf(result):
    """The leaf that a result comes from."""
    node = result.grad_fn
    while node.next_functions:
        node = node.next_functions[0][0]
    return node.variable
