"""Products of matrices, contractions, decompositions and distances against PyTorch itself."""

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")
from torch_compare import compare  # noqa: E402  (needs PyTorch)

from gradsh.ops.matmul import batched  # noqa: E402

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
SHAPES = ((2, 3), (3, 4), (3,), (4,), (2, 2, 3), (2, 3, 2), (), (0, 3), (3, 0))


def same(code, **arguments):
    problems = compare(code, quiet=True, **arguments)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", ["mm", "matmul", "bmm", "mv", "dot", "vdot", "inner", "outer", "kron"])
@pytest.mark.parametrize("first", SHAPES)
def test_products_of_all_shapes(name, first):
    for second in SHAPES:
        same(f"torch.{name}(x, y)", x=first, y=second)


MATMULS = (
    ("x.t() @ y.t()", (3, 2), (4, 3)), ("x.mT @ y", (2, 3, 2), (2, 3, 4)), ("x[None] @ y", (2, 3), (3, 4)),
    ("x.expand(4, 2, 3) @ y", (2, 3), (3, 2)), ("x.expand(4, 2, 3) @ y", (2, 3), (4, 3, 2)), ("x @ y", (1, 2, 3), (5, 3, 2)),
    ("x @ y", (5, 2, 3), (1, 3, 2)), ("x @ y", (5, 1, 2, 3), (4, 3, 2)), ("x @ y", (2, 3), (5, 3)), ("x @ y", (3,), (5, 3, 2)),
    ("x @ y", (5, 2, 3), (3,)), ("x @ 2", (2, 3), (1,)), ("x.sum() * 0 + x @ y", (2, 3), (3, 2)), ("x @= y; out = x", (2, 2), (2, 2)),
)


@pytest.mark.parametrize(("code", "x", "y"), MATMULS)
def test_matmul_chooses_as_pytorch_does(code, x, y):
    same(code, x=x, y=y)


@pytest.mark.parametrize("bias", [(2, 4), (4,), (2, 1), (1,), (), (5,), (2, 2, 4), (3, 4)])
def test_addmm_broadcasts_its_summand(bias):
    for code in ("torch.addmm(b, x, y)", "torch.addmm(b, x, y, beta=0)", "b.addmm(x, y, alpha=2)", "out = b.clone(); out.addmm_(x, y)"):
        if bias == (2, 4) or "addmm_" not in code:
            same(code, x=(2, 3), y=(3, 4), b=bias)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), (0, 3), (2, 4)])
def test_linear(shape):
    for weight in ((4, 3), (3,)):
        same("F.linear(x, w)", x=shape, w=weight)
        for bias in ((4,), (1,), (), (2, 4)):
            if (shape, bias) != ((2, 2, 3), (2, 4)):
                same("F.linear(x, w, b)", x=shape, w=weight, b=bias)
    same("F.linear(x.t(), w, b)", x=(3, 2), w=(4, 3), b=(4,))


EINSUMS = (
    ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ik", (2, 3), (4, 4)), ("ij,j", (2, 3), (3,)), ("...ij,...jk->...ik", (2, 2, 3), (3, 4)),
    ("ii->i", (3, 3)), ("ii", (2, 3)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("b i d, b j d -> b i j", (2, 3, 4), (2, 5, 4)),
    ("ij", (2, 3), (2, 3)), ("ijk", (2, 3)), ("i.j", (2, 3)), ("ij->ik", (2, 3)), ("ij->ii", (2, 3)), ("i1", (2, 3)),
    ("ij,ij->", (2, 3), (1, 3)), ("i,i,i->i", (3,), (3,), (3,)), ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)), ("i->", (0,)),
    ("i...->...", (2, 3)), ("iij->j", (2, 2, 3)), ("ij,kl->ijkl", (2, 3), (2, 2)),
)


@pytest.mark.parametrize("case", EINSUMS)
def test_einsum(case):
    equation, *shapes = case
    names = dict(zip("xyz", shapes, strict=False))
    same(f"torch.einsum('{equation}', {', '.join(names)})", **names)


OTHERS = """torch.einsum(x, [0, 1], y, [1, 2], [0, 2])|torch.tensordot(x, y, 1)|torch.tensordot(x, y, dims=([1], [0]))
torch.tensordot(x, x)|torch.tensordot(x, x.t(), ([0, 1], [1, 0]))|torch.chain_matmul(x, y, z)|torch.linalg.multi_dot([x, y, z])
torch.linalg.multi_dot([x[0], y, z])|torch.linalg.multi_dot([x, z])|torch.linalg.multi_dot([x])
torch.addmv(z[0], x, y[:, 0])|torch.addr(y, y[:, 0], z[:, 0], alpha=3)
torch.baddbmm(z, x[None], y[None])|torch.addbmm(x @ y, x[None], y[None], beta=2)|torch.linalg.vecdot(x, x)|torch.linalg.cross(x, x + 1)
torch.cross(x, x + 1, dim=1)|torch.trace(x)|torch.trace(y @ z)|torch.cdist(x, x)|torch.cdist(x, x + 1, p=1)|torch.cdist(x, z)
torch.cdist(x, x + 1, p=3.0)|F.pdist(x)|F.pdist(x, 1)|torch.linalg.matrix_norm(x, 1)|torch.linalg.matrix_norm(x, 2)
torch.linalg.matrix_norm(x, 7)|torch.linalg.norm(x, 'nuc')|torch.linalg.norm(x, 2)|torch.linalg.norm(x[None], 2)
torch.linalg.vector_norm(x, float('inf'), 1)|torch.linalg.inv(x)|torch.det(x)|torch.linalg.qr(x, 'foo')""".replace("\n", "|").split("|")


@pytest.mark.parametrize("code", OTHERS)
def test_other_products_and_norms(code):
    same(code, x=(2, 3), y=(3, 4), z=(4, 2))


SQUARE = """torch.det(x)|torch.linalg.det(x[0, :1, :1])|torch.slogdet(x)|torch.logdet(x)|torch.inverse(x)|torch.linalg.inv(x)
torch.linalg.pinv(x[0, :, :2])|torch.linalg.solve(x, y)|torch.linalg.solve(x[0], y[0, :, 0])
torch.linalg.solve(x, y.mT, left=False)|torch.linalg.cholesky(x)
torch.linalg.cholesky(x, upper=True)|torch.cholesky(x)|torch.cholesky_solve(y, x)|torch.cholesky_inverse(x)|torch.linalg.qr(x)
torch.linalg.qr(x[:, :2])|torch.linalg.svdvals(x)|torch.linalg.eigvalsh(x)|torch.linalg.matrix_power(x, 3)|torch.matrix_exp(x)
torch.linalg.matrix_power(x, -2)|torch.linalg.matrix_power(x, 0)|torch.linalg.solve_triangular(x, y, upper=True)|torch.linalg.cond(x)
torch.triangular_solve(y, x, upper=False)[0]|torch.linalg.lstsq(x[0], y[0]).solution|torch.linalg.matrix_rank(x)|torch.linalg.diagonal(x)
torch.linalg.tensorinv(x[0], ind=1)|torch.linalg.vander(y[:, 0])""".replace("\n", "|").split("|")


@pytest.mark.parametrize("code", SQUARE)
def test_decompositions_and_systems(code):
    random = np.random.default_rng(4)
    factor = random.normal(size=(2, 3, 3))
    same(code, x=factor @ factor.swapaxes(1, 2) + np.eye(3), y=random.normal(size=(2, 3, 2)))


@pytest.mark.parametrize("code", ["torch.linalg.inv(x)", "torch.linalg.solve(x, x)", "torch.linalg.cholesky(x)"])
def test_singular_matrices_are_refused(code):
    """With the same sentences, and a class of their own: `torch.linalg.LinAlgError`."""
    same(code, x=np.zeros((2, 2)))


def test_reconstructions_where_signs_are_free():
    random = np.random.default_rng(6)
    for shape in ((4, 3), (3, 5), (2, 3, 3)):
        same("torch.linalg.svd(x, full_matrices=False)[1]", x=random.normal(size=shape))
        same("(lambda p: (p.U * p.S.unsqueeze(-2)) @ p.Vh)(torch.linalg.svd(x, False)).detach()", x=random.normal(size=shape))
    same("(lambda p: (p[1] ** 2) @ p[0].unsqueeze(-1))(torch.linalg.eigh(x + x.T))", x=random.normal(size=(3, 3)))


@pytest.mark.parametrize(("first", "second"), [((5, 3, 4), (4, 2)), ((3, 4), (5, 4, 2)), ((0, 4), (5, 4, 2)), ((5, 3, 0), (0, 2))])
def test_a_factor_that_the_batch_repeats_gives_what_its_copies_give(first, second):
    rng = np.random.default_rng(0)
    a, b = (np.broadcast_to(rng.standard_normal(shape), (5, *shape[-2:])) for shape in (first, second))
    found, copies = batched(a, b), np.matmul(a.copy(), b.copy())
    np.testing.assert_allclose(found, copies)
    assert found.flags.c_contiguous
