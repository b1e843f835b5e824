"""Reductions, scans, sorting and softmax against PyTorch itself: kinks, dtypes, dims, graphs of gradients, errors."""

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")
from torch_compare import compare  # noqa: E402  (needs PyTorch)

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
INPUTS = {
    "ties": np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]),
    "nan": np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 0.0]]),
    "infinite": np.array([[np.inf, 1.0, -np.inf], [np.inf, np.inf, 0.0]]),
    "zeros": np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 4.0]]),
    "int64": np.array([[1, 3, 3], [2, 2, 0]]),
    "bool": np.array([[True, False], [True, True]]),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "0-d": np.array(2.5),
    "uint8": np.array([[200, 100], [3, 4]], np.uint8),
    "float32": np.array([[1.0, 2.0], [3.0, 4.0]], np.float32),
    "transposed": np.arange(6.0).reshape(3, 2).T,
}
WHOLE = """
sum() mean() prod() max() min() amax() amin() aminmax() argmax() argmin() any() all() nansum() nanmean() median()
nanmedian() std() var() norm() count_nonzero() logsumexp(0) cumsum(0) cumprod(0) logcumsumexp(0) softmax(0) log_softmax(0) sort(0)
argsort(0) topk(1) kthvalue(1) msort() unique() trace() diff() quantile(0.5) nanquantile(0.5) unique_consecutive()
renorm(2,0,1.0) norm(0) norm(1) norm(3) norm(0.5) norm(float('inf')) norm(-1)
""".split()  # noqa: SIM905
ALONG = """
sum mean prod max min amax amin argmax argmin any all nansum median nanmedian std var cumsum cumprod logcumsumexp softmax
log_softmax sort logsumexp
""".split()  # noqa: SIM905


def same(code, **arguments):
    problems = compare(code, quiet=True, **arguments)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("call", WHOLE)
def test_over_everything(call):
    for array in INPUTS.values():
        same(f"x.{call}", x=array)


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("dim", [1, -1, 0, 2, -3])
def test_along_a_dimension(name, dim):
    for array in INPUTS.values():
        same(f"x.{name}(dim={dim})", x=array)


SINGLE = """torch.max(x, 0, True)|torch.max(x, y)|x.min(y)|x.sum((0, 1), True)|x.sum([0, 0])|x.sum(axis=1)|torch.sum(x, 1, keepdims=True)
x.argmax(dim=0, keepdim=True)|x.argmax(keepdim=True)|x.var(False)|x.var(1, False)|x.var((0, 1), correction=2)|x.var(correction=6)
torch.var_mean(x, 1, False)|torch.std_mean(x)|torch.var_mean(x, False)|torch.logsumexp(x, (0, 1))|torch.special.softmax(x, 0)
x.sort(descending=True)|x.sort(dim=0, descending=True, stable=True)|x.topk(2, largest=False)|x.topk(9)|x.kthvalue(9)|x.kthvalue(2)
x.mode()|x.quantile(torch.tensor([0.1, 0.9], dtype=torch.float64))|x.quantile(1.5)|x.quantile(0.5, interpolation='foo')
torch.quantile(x, 0.5, interpolation='nearest')|x.quantile(0.3, 1, True)|x.nanquantile(0.3, 0)|x.diff(n=2)|x.diff(n=-1)
x.diff(prepend=y)|torch.trapezoid(x, y)|torch.trapezoid(x, dx=2.0)|torch.cumulative_trapezoid(x, dim=0)|torch.cov(x)|torch.corrcoef(x)
x.cummax(1)|x.cummin(0)|out = x.clone(); out.cumsum_(0)|out = x.clone(); out.cumprod_(1)|x.all(dim=(0, 1))|x.any(1, True)
x.norm('nuc')|x.norm(p=2, dim=0, keepdim=True)|torch.norm(x, dim=(0, 1))|torch.unique(x, return_inverse=True, return_counts=True)
torch.unique(x, dim=0)|torch.histc(x, 4, 0, 4)|torch.searchsorted(x, y)|torch.bucketize(y, x[1].sort()[0])|F.softmin(x, 0)
F.log_softmax(x, 0)|torch.dist(x, y, 3)|torch.renorm(x, 1, 1, 0.5)|x.max(5)|x.max(1).values.sum()
x.expand(4, 2, 3).sum((0, 2))|x.t().cumsum(0)|x[:, ::2].max(1)[0]|x.median(1)[0]""".replace("\n", "|").split("|")


@pytest.mark.parametrize("code", SINGLE)
def test_single_calls(code):
    random = np.random.default_rng(3).normal(size=(2, 3))
    same(code, x=random, y=np.sort(random + 0.5))


@pytest.mark.parametrize("code", [
    "x.sum(dtype=torch.float64)", "x.mean(dtype=torch.float32)", "x.prod(dtype=torch.float64)", "x.cumsum(0, dtype=torch.float64)",
    "x.softmax(0, dtype=torch.float64)", "torch.bincount(x.flatten())", "torch.bincount(x.flatten(), minlength=9)", "x.mode(0)",
])
def test_integers_asked_for_another_dtype(code):
    same(code, x=INPUTS["int64"])


def test_products_with_zeros_to_second_order():
    for code in ("x.prod()", "x.prod(1)", "x.prod(0, True)", "x.cumprod(1)", "x.cumprod(0)"):
        same(code, x=INPUTS["zeros"])
        same(code, x=np.zeros((2, 2)))


def test_the_choice_among_ties_of_kthvalue():
    random = np.random.default_rng(8)
    for size in (3, 7, 20):
        row = random.integers(0, 3, (2, size)).astype(float)
        for k in (1, size // 2 + 1, size):
            same(f"x.kthvalue({k})", x=row)
