"""Adding rows at indices is what numpy's `add.at` does, whatever the rows' width and however often an index comes."""

import numpy as np
import pytest

import gradsh
from gradsh.ops.kernels.row_scatter import add_rows, sum_rows

RANDOM = np.random.default_rng(9)


@pytest.mark.parametrize("often", [1, 3, 500])
@pytest.mark.parametrize("rest", [(), (1,), (5,), (200,), (20, 30)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_as_add_at(rest, often, dtype):
    height = 1000 // often
    index = RANDOM.integers(-height, height, (20, 50))
    rows = (RANDOM.standard_normal((20, 50, *rest)) * 100).astype(dtype)
    start = (RANDOM.standard_normal((height, *rest)) * 100).astype(dtype)
    found, wanted = start.copy(), start.copy()
    add_rows(found, index, rows)
    np.add.at(wanted, index, rows)
    np.testing.assert_array_equal(found, wanted)
    turned = np.asarray(start, order="F").copy(order="F")
    add_rows(turned, index, np.asarray(rows, order="F"))
    np.testing.assert_array_equal(turned, wanted)


def test_what_does_not_fit_is_left_to_numpy():
    out = np.zeros((3, 2))
    add_rows(out, np.array([0, 2, 0]), np.ones(2))
    assert out.tolist() == [[2, 2], [0, 0], [1, 1]]
    with pytest.raises(IndexError):
        add_rows(out, np.array([0, 3]), np.ones((2, 2)))
    with pytest.raises(IndexError):
        add_rows(out, np.array([0, -4]), np.ones((2, 2)))
    add_rows(out, np.array([], np.int64), np.ones((0, 2)))
    assert out.tolist() == [[2, 2], [0, 0], [1, 1]]
    same = np.arange(6.0).reshape(3, 2)
    wanted = same.copy()
    np.add.at(wanted, [1, 0, 1], same.copy())
    add_rows(same, np.array([1, 0, 1]), same)
    np.testing.assert_array_equal(same, wanted)


@pytest.mark.parametrize("width", [3, 300])
@pytest.mark.parametrize("height", [2, 900])
def test_sums_of_rows(height, width):
    rows, index = RANDOM.standard_normal((1000, width)), RANDOM.integers(0, height, 1000)
    wanted = np.zeros((height, width))
    np.add.at(wanted, index, rows)
    np.testing.assert_allclose(sum_rows(rows, index, height), wanted, atol=1e-10)
    assert sum_rows(rows[:0], index[:0], height).tolist() == np.zeros((height, width)).tolist()


@pytest.mark.parametrize("width", [3, 300])
@pytest.mark.parametrize("code", [
    lambda x, i: x[i], lambda x, i: x[i - x.shape[0]], lambda x, i: x.index_select(0, i), lambda x, i: x.t().index_select(1, i).t(),
    lambda x, i: gradsh.nn.functional.embedding(i, x), lambda x, i: x[i.view(4, -1)].view(-1, x.shape[1]),
])
def test_gradients_of_rows_that_were_read_several_times(code, width):
    x = gradsh.randn(7, width, requires_grad=True)
    index = gradsh.tensor(RANDOM.integers(0, 7, 200))
    grad = gradsh.randn(200, width)
    code(x, index).backward(grad)
    wanted = np.zeros((7, width), np.float32)
    np.add.at(wanted, index.numpy(), grad.numpy())
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_index_add_along_any_dim(dim):
    x, source = gradsh.randn(4, 5, 6), gradsh.randn(*[9 if place == dim else n for place, n in enumerate((4, 5, 6))])
    index = gradsh.tensor(RANDOM.integers(0, 4, 9))
    wanted = x.numpy().copy()
    np.add.at(wanted, (slice(None),) * dim + (index.numpy(),), source.numpy())
    np.testing.assert_array_equal(x.index_add(dim, index, source).numpy(), wanted)
