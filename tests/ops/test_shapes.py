"""Shape, joining, indexing, creation, conversion and random numbers against PyTorch itself."""

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")
from torch_compare import compare  # noqa: E402  (needs PyTorch)

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
INDEX = np.array([1, 0, 1])
MASK = np.array([True, False])


def same(code, **arguments):
    problems = compare(code, quiet=True, **arguments)
    assert not problems, "\n".join(problems)


VIEWS = """x.view(3, 2)|x.view(-1)|x.view(torch.int64)|x.t().reshape(-1)|x[:, :2].reshape(1, 4)
x.reshape(2, 1, 3)|x.expand(4, 2, 3)
x.unsqueeze(0).squeeze(0)|x.unsqueeze(-1)|x.transpose(0, -1)|x.permute(1, 0)|x.permute((-1, 0))|x.T|x.mT|x.H|x.t()
x.select(1, -1)|x.narrow(1, 1, 2)|x.narrow(1, -2, 2)|x.diagonal(1)|x.unfold(1, 2, 1)|x.as_strided((2, 2), (1, 2), 1)
x.swapaxes(0, 1)|x.movedim(0, 1)|torch.moveaxis(x, (0, 1), (1, 0))|x.flatten()|x.unflatten(1, (3, 1))|x.ravel()
x.view_as(x.t())
torch.atleast_3d(x)|torch.broadcast_to(x, (2, 2, 3))|x.expand_as(torch.ones(4, 2, 3))|x.split(2, dim=1)
x.split([1, 2], 1)
x.chunk(2, 1)|x.unbind(1)|x.tensor_split(2, 1)|x.tensor_split((1, 2), dim=1)|torch.hsplit(x, 3)|torch.vsplit(x, (1,))
torch.meshgrid(x[0], x[1], indexing='xy')|tuple(x)|x.sum_to_size(1, 3)""".replace("\n", "|").split("|")
COPIES = """torch.cat([x, x], -1)|torch.stack([x, x], 1)|torch.hstack((x, x))|torch.vstack((x, x[0]))
torch.dstack([x, x])
torch.column_stack([x[0], x[1]])|torch.flip(x, (0, 1))|x.flip(0)|x.fliplr()|torch.roll(x, (1, 2), (0, 1))
torch.roll(x, 2)
torch.rot90(x)|torch.rot90(x, 3)|x.repeat(2, 1)|x.repeat(2, 2, 1)|torch.tile(x, (2,))|x.repeat_interleave(2)
x.repeat_interleave(2, 1)
x.tril()|x.triu(1)|torch.diag(x)|torch.diag(x[0], 1)|torch.diag_embed(x)|torch.diagflat(x)|torch.block_diag(x, x[0])
torch.cartesian_prod(x[0], x[1])|torch.combinations(x[0])|x.clone()|x.contiguous()|x.t().contiguous()|x.float()
x.to(torch.float32)
x.long()|x.type_as(torch.ones(1))|x.type('torch.FloatTensor')|x.to(torch.ones(1))|x.to('cpu')|x.detach()
x.fill_diagonal_(1.)
torch.where(x > 0)|x.nonzero()|torch.argwhere(x > 0)|x.nonzero(as_tuple=True)""".replace("\n", "|").split("|")
INDEXED = """x[0]|x[-1, 1]|x[..., 0]|x[None]|x[:, None, 1:]|x[::2]|x[i]|x[:, [0, 2]]|x[[0, 1], [1, 2]]|x[i, i]
x[m]|x[x > 0]|x[i, None]|x[:, i % 2, None]
x[None, i]|x[0, i]|x[torch.tensor(1)]|x[True]|x[False]|x[...]|x[:]|x[()]|x[range(2)]|x[[]]|x[i, 1:]
torch.gather(x, 1, i.view(1, 3))
torch.index_select(x, 0, i)|torch.take(x, i)|torch.take_along_dim(x, i.view(1, 3), 1)|torch.masked_select(x, x > 0)
torch.scatter(x, 1, i.view(1, 3), 2.)|torch.scatter_add(x, 0, i.view(1, 3), x)
torch.index_add(x, 0, i, torch.ones(3, 3).double(), alpha=2)
torch.index_copy(x, 0, i[:2], x)|torch.index_fill(x, 1, i, 3.)|torch.put(x, i, x[0])|torch.masked_scatter(x, x > 0, x)
torch.scatter_reduce(x, 0, i.view(1, 3), x, 'prod')|torch.index_reduce(x, 0, i, torch.ones(3, 3).double(), 'mean')
x.index_put((i, i), x[0], accumulate=True)""".replace("\n", "|").split("|")
WRITES = """x[0] = 2.|x[0] = y|x[:, 1:] = y[1:]|x[i] = y|x[m] = 0.|x[x > 0] = 1.|x[0, i] = y|x[...] = y
x[None] = y|x[:, None] = y|x[True] = 1.
x[1, 2] = y[0]|x.t()[0] = 1.|x.copy_(y)|x.index_add_(0, i, torch.ones(3, 3).double())
x.scatter_(1, i.view(1, 3), 1.)|x.index_put_((i,), y)
x.tril_()|x.masked_scatter_(x > 0, x.clone())|x.unsqueeze_(0)|x.squeeze_()|x.transpose_(0, 1)
x.as_strided_((2,), (1,))|x.view(-1).zero_()
x[0].copy_(y); x[1].mul_(y)|v = x[0]; x.mul_(2); v.add_(1)|x.swapaxes_(0, 1)
x.flatten()[1:].fill_(y.sum())""".replace("\n", "|").split("|")
MADE = """torch.zeros(2, 3)|torch.ones((2, 3), dtype=torch.int64)|torch.full((2,), 3)|torch.full((2,), 2.5)
torch.full((2,), True)|torch.eye(2, 3)
torch.arange(5)|torch.arange(1, 2, 0.3)|torch.arange(5, 0, -2)|torch.linspace(0, 1, 7)|torch.linspace(3, -2, 1)
torch.logspace(0, 2, 5)
torch.tensor([[1, 2], [3, 4]])|torch.tensor(1.5)|torch.tensor([True, 2])|torch.tensor([])
torch.tensor([[1.5, 2], [3, 4]], dtype=torch.int32)
torch.tensor([torch.tensor(1.), 2])|torch.tensor(np.ones(3))|torch.as_tensor(x)|torch.from_numpy(np.arange(3))
torch.zeros_like(x, dtype=torch.int64)
x.new_full((2,), 7)|x.new_tensor([1, 2])|x.new_zeros(2, 3)|torch.full_like(x, 2)|torch.ones_like(x.t())
torch.tril_indices(3, 3)|torch.triu_indices(2, 3, 1)
torch.scalar_tensor(3)|torch.tensor(2., requires_grad=True)|torch.Tensor([1, 2])|torch.empty(0, 3)
torch.tensor(3).item()|x.tolist()""".replace("\n", "|").split("|")
DRAWN = """torch.rand(3, 5)|torch.randn(4, 5)|torch.randn(3, dtype=torch.float64)|torch.randint(3, 9, (4,))
torch.randint(5, (2, 2))|torch.randperm(7)
torch.normal(1., 2., (3,))|torch.normal(x, 2.)|torch.normal(x, x.abs())|torch.normal(0.5, x.abs())
torch.rand_like(x)|torch.randn_like(x.t())
torch.randint_like(x, 9)|torch.bernoulli(torch.sigmoid(x))|torch.bernoulli(x, 0.3)|x.clone().uniform_(2, 5)
x.t().clone().normal_()
x.clone().exponential_(2.)|x.clone().bernoulli_(0.4)|x.clone().random_()|x.clone().random_(3, 9)
x.clone().geometric_(0.3)|x.clone().cauchy_()
x.clone().log_normal_()|torch.multinomial(x.abs(), 2)|torch.multinomial(x.abs(), 4, replacement=True)
F.dropout(x)|F.dropout(x, 0.2, False)
F.dropout(x, 1.0)|F.dropout2d(x.view(1, 2, 3))|F.alpha_dropout(x, 0.3, True)|torch.dropout(x, 0.4, True)
x.clone().bernoulli_(torch.sigmoid(x))""".replace("\n", "|").split("|")
WRONG = """x.view(4)|x.view(-1, -1)|x.t().view(6)|x.reshape(4, -1)|x.expand(4, 3)|x.expand(3)|x.squeeze(5)
x.permute(0)|x.permute(0, 0)|x[5]|x[0, 0, 0]
x[::-1]|x[1.5]|x.select(0, 5)|x.narrow(0, 1, 5)|x.split([1, 2])|x.chunk(0)|torch.cat([])|torch.cat([x, x[0]])
torch.cat([x, torch.ones(2, 4)])
torch.stack([x, x[0]])|torch.diag(x.unsqueeze(0))|torch.tril(x[0])|x.unfold(0, 5, 1)|torch.flip(x, (0, 0))
x.repeat(2)|x.copy_(torch.ones(4))
torch.zeros(2, 3.)|torch.zeros([2, 3.])|x.view(-1, 6/2)|x.reshape(2, None)|x.permute(0, 1.)|torch.randint(0, 5, (2, 3.))|x.sum((0, 1.))
torch.nn.Linear(2, 3.)|torch.nn.Linear(1.5, 2)|torch.nn.Conv2d(3, 8/2, 3)|torch.nn.Embedding(3, '2')
torch.zeros(-1)|torch.ones(-1)|torch.arange(0, 5, -1)|torch.tensor([[1, 2], [3]])|torch.tensor('abc')
torch.tensor([None])|torch.tensor([1], requires_grad=True)
torch.rand(2, dtype=torch.int64)|torch.randint(5, 2, (2,))|torch.normal(0., -1., (2,))
torch.multinomial(x.abs(), 5)|F.dropout(x, 2.)|x.uniform_(1, 0)
x.to('cuda')|torch.gather(x, 0, x)|torch.gather(x, 0, torch.full((1, 3), 7))
torch.index_select(x, 0, torch.tensor([7]))|x[torch.tensor([7])]
x[torch.tensor([True, False, True])]|torch.masked_select(x, x)|x.index_put((torch.tensor([0]),), torch.ones(2))
x.add_(torch.ones(3, 2, 3))""".replace("\n", "|").split("|")


@pytest.mark.parametrize("code", VIEWS + COPIES)
def test_shapes(code):
    same(code, x=(2, 3))


@pytest.mark.parametrize("code", INDEXED)
def test_indexing(code):
    same(code, x=(2, 3), i=INDEX, m=MASK)


@pytest.mark.parametrize("code", WRITES)
def test_writing(code):
    same(f"x = x.clone(); {code}; out = x", x=(2, 3), y=(3,), i=INDEX % 2, m=MASK)


@pytest.mark.parametrize("code", MADE)
def test_making(code):
    same(code, x=(2, 3))


@pytest.mark.parametrize("code", DRAWN)
def test_drawing(code):
    same(code, x=(2, 3), seed=3)


@pytest.mark.parametrize("code", WRONG)
def test_errors(code):
    same(code, x=(2, 3), needs=[[]])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize(
    "code",
    ["x.t()", "x[0]", "torch.cat([x, x])", "x.float()", "x.bool()", "x.int()", "x.flip(0)", "x[x > 0]", "x.repeat(2, 1)"],
)
def test_dtypes(code, dtype):
    same(code, x=f"{dtype}:2,3")


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)])
@pytest.mark.parametrize(
    "code",
    ["x.reshape(-1) if x.numel() else x", "x.squeeze()", "x.unsqueeze(0)", "x.clone()", "x.flatten()", "torch.stack([x, x])",
     "x.expand(2, *x.shape)", "x[...]", "x[None]", "x.T", "torch.zeros_like(x)"],
)
def test_empty_and_0d(code, shape):
    same(code, x=shape)
