"""torch.distributions: against PyTorch where it is installed, and against values stored from it."""

from typing import Any

import pytest

from gradsh.api.torch import NAMESPACES

torch = NAMESPACES["torch"]

PARAMETERS = "a = torch.tensor([[0.2, -1.0, 0.5], [1.5, 0.3, -0.7]], requires_grad=True)\nb = torch.rand(2, 3, requires_grad=True)\n"
MAKERS = {
    "normal": "D.Normal(a, b.exp())",
    "normal with a number": "D.Normal(a, 2)",
    "normal of numbers": "D.Normal(0, 1.5)",
    "normal broadcast": "D.Normal(a, b[0].exp())",
    "normal in double": "D.Normal(a.double(), 0.5)",
    "uniform": "D.Uniform(a, a.exp() + 2)",
    "uniform of numbers": "D.Uniform(-1, 3)",
    "exponential": "D.Exponential(a.exp())",
    "exponential of a number": "D.Exponential(2.5)",
    "categorical of logits": "D.Categorical(logits=a)",
    "categorical of probs": "D.Categorical(a.exp())",
    "categorical of one row": "D.Categorical(logits=a[0])",
    "bernoulli of probs": "D.Bernoulli(b)",
    "bernoulli of logits": "D.Bernoulli(logits=a)",
    "bernoulli of a number": "D.Bernoulli(0.3)",
    "one-hot of logits": "D.OneHotCategorical(logits=a)",
    "one-hot of probs": "D.OneHotCategorical(b)",
    "independent normal": "D.Independent(D.Normal(a, b.exp()), 1)",
    "independent bernoulli": "D.Independent(D.Bernoulli(logits=a), 2)",
}
HEAD = """
D = torch.distributions
def saved(root):
    seen, todo, found = [], [root], []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.append(node)
        for name in ("self", "other", "result", "exponent", "mask", "index", "target", "min", "max"):
            try:
                value = getattr(node, "_saved_" + name)
            except Exception:
                continue
            found.append((node.name(), name, value.detach() if hasattr(value, "grad_fn") else str(value)))
        todo.extend(below for below, _ in node.next_functions)
    return found
def noted(value):
    note(value)
    if value.grad_fn is not None:
        note(saved(value.grad_fn))
        gone = torch.autograd.grad(value.sum(), [a, b], retain_graph=True, allow_unused=True)
        note([None if one is None else one for one in gone])
"""


def compare(code: str) -> None:
    """Run code against PyTorch and gradsh; skips without PyTorch."""
    pytest.importorskip("torch")
    from tests.api.twin import twin

    twin(HEAD + PARAMETERS + code)


@pytest.mark.parity
@pytest.mark.parametrize("maker", MAKERS.values(), ids=list(MAKERS))
def test_distribution(maker: str) -> None:
    """Shapes, text, moments, seeded samples, densities, entropy: values, graphs, saved tensors and gradients."""
    compare(f"""
for seed in (0, 1, 7, 1234):
    torch.manual_seed(seed)
    d = {maker}
    note(d.batch_shape, d.event_shape, d.has_rsample, d.has_enumerate_support, repr(d), str(type(d)))
    x = d.sample()
    note(x)
    for shape in ((), (4,), (2, 3), torch.Size([20])):
        note(d.sample(shape))
    noted(d.log_prob(x))
    noted(d.log_prob(d.sample((5,))))
    if d.has_rsample:
        noted(d.rsample())
        noted(d.rsample((3,)))
    noted(d.entropy())
    noted(d.perplexity())
    note(torch.rand(2))
for name in ("mean", "variance", "stddev", "mode"):
    noted(getattr(d, name))
fails(lambda: d.enumerate_support())
fails(lambda: d.enumerate_support(expand=False))
fails(lambda: d.cdf(x))
fails(lambda: d.icdf(torch.full_like(x, 0.3)))
fails(lambda: d.rsample())
fails(lambda: repr(d.support))
fails(lambda: repr(d.arg_constraints))
e = d.expand((4, *d.batch_shape))
note(repr(e), e.batch_shape, e.event_shape, e.sample())
noted(e.log_prob(e.sample()))
noted(e.entropy())
""")


@pytest.mark.parity
@pytest.mark.parametrize(
    "pair",
    [
        "D.Normal(a, b.exp()), D.Normal(0.0, 1.0)",
        "D.Normal(a, 1.0), D.Normal(b, b + 1)",
        "D.Categorical(logits=a), D.Categorical(b)",
        "D.Categorical(torch.tensor([0.0, 0.4, 0.6])), D.Categorical(torch.tensor([0.5, 0.5, 0.0]))",
        "D.Bernoulli(b), D.Bernoulli(logits=a)",
        "D.Bernoulli(torch.tensor([0.0, 1.0, 0.5, 0.5])), D.Bernoulli(torch.tensor([0.5, 0.5, 0.0, 1.0]))",
        "D.Uniform(a, a + 1), D.Uniform(a - 1, a + b + 1)",
        "D.Uniform(a, a + 3), D.Uniform(b, b + 2)",
        "D.Exponential(b + 1), D.Exponential(a.exp())",
        "D.Independent(D.Normal(a, b.exp()), 1), D.Independent(D.Normal(b, 1.0), 1)",
    ],
)
def test_divergence(pair: str) -> None:
    """Values, graphs, saved tensors and gradients of kl_divergence."""
    compare(f"noted(D.kl_divergence({pair}))\nnoted(D.kl.kl_divergence({pair}))")


FAULTS = [
    "D.Normal(0.0, -1.0)",
    "D.Normal(torch.zeros(2), torch.tensor([1.0, 0.0]))",
    "D.Normal(torch.tensor([float('nan'), 0.0]), 1.0)",
    "D.Normal(a, -b)",
    "D.Normal(torch.zeros(2), torch.ones(3))",
    "D.Normal([0.0], 1.0)",
    "D.Normal(0.0, -1.0, validate_args=False).log_prob(torch.tensor(1.0))",
    "D.Uniform(2.0, 1.0)",
    "D.Uniform(0.0, 1.0).log_prob(torch.tensor(1.5))",
    "D.Exponential(0.0)",
    "D.Exponential(1.0).log_prob(torch.tensor([-1.0, 2.0]))",
    "D.Categorical()",
    "D.Categorical(torch.ones(2), torch.ones(2))",
    "D.Categorical(torch.tensor(1.0))",
    "D.Categorical(logits=torch.tensor(1.0))",
    "D.Categorical(torch.tensor([0.5, -0.5, 1.0]))",
    "D.Categorical(logits=torch.tensor([0.5, float('nan')]))",
    "D.Categorical(torch.ones(3)).log_prob(torch.tensor(3))",
    "D.Categorical(torch.ones(3)).log_prob(torch.tensor(0.5))",
    "D.Categorical(torch.ones(3)).log_prob(1)",
    "D.Categorical(torch.ones(2, 3)).log_prob(torch.tensor([0, 1, 2]))",
    "D.Categorical(torch.ones(3)).rsample()",
    "D.Categorical(torch.ones(3)).cdf(torch.tensor(1))",
    "D.Bernoulli(1.5)",
    "D.Bernoulli()",
    "D.Bernoulli(0.5).log_prob(torch.tensor(0.5))",
    "D.Bernoulli(torch.tensor([0.5])).rsample()",
    "D.Independent(D.Normal(a, 1.0), 3)",
    "D.Independent(D.Normal(a, 1.0), 1).log_prob(torch.zeros(2))",
    "D.Independent(D.Uniform(torch.zeros(2), torch.ones(2)), 1).log_prob(torch.tensor([0.5, 7.0]))",
    "D.Independent(D.Bernoulli(b), 1).enumerate_support()",
    "D.kl_divergence(D.Independent(D.Normal(a, 1.0), 1), D.Normal(a, 1.0))",
    "D.kl_divergence(D.Independent(D.Normal(a, 1.0), 1), D.Independent(D.Normal(a, 1.0), 2))",
    "D.Distribution().sample()",
    "D.Normal(0.0, 1.0).enumerate_support()",
    "D.Normal(0.0, 1.0).sample(3)",
    "D.Categorical(torch.ones(2)).sample(3)",
    "D.Bernoulli(0.5).sample(3)",
    "D.Categorical(torch.ones(2)).expand(3)",
    "D.Independent(D.Normal(a, 1.0), 1).expand(3)",
    "D.Categorical([0.5, 0.5])",
    "D.Normal(0.0, 1.0).log_prob(0.5)",
    "D.Normal(0.0, 1.0, validate_args=False).log_prob(0.5)",
    "D.Categorical(torch.ones(3), validate_args=False).log_prob(torch.tensor(3))",
    "D.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3))",
    "D.Normal(torch.zeros(2), 1.0).expand((3,))",
    "D.Categorical(torch.zeros(3))",
    "D.Categorical(torch.tensor([float('inf'), 1.0]))",
    "repr(D.Normal(torch.zeros(2, dtype=torch.long), 1))",
    "D.Categorical(torch.ones(2, 3)).sample((2,)).dtype == torch.int64",
    "D.constraints.positive.check(torch.tensor([1.0, -1.0])).tolist()",
    "repr(D.constraints.simplex)",
]


@pytest.mark.parity
@pytest.mark.parametrize("code", FAULTS)
def test_mistakes(code: str) -> None:
    """Wrong parameters and values: PyTorch's error and its text."""
    compare(f"fails(lambda: {code})")


@pytest.mark.parity
def test_no_grad_and_reuse() -> None:
    """A parameter computed on first use is recorded even when that is within no_grad."""
    compare("""
d = D.Categorical(logits=a)
with torch.no_grad():
    note(d.sample(), d.probs)
noted(d.entropy())
log_probs = []
for _ in range(5):
    x = d.sample()
    log_probs.append(d.log_prob(x))
noted((torch.stack(log_probs) * torch.arange(5.0).view(5, 1, 1)[..., 0]).sum())
""")


@pytest.mark.parity
def test_derived() -> None:
    """A class of the program's own that derives from one of these, or from the base."""
    compare("""
class Shifted(D.Normal):
    def log_prob(self, value):
        return super().log_prob(value - 1)
class Plain(D.Distribution):
    arg_constraints = {}
    def rsample(self, sample_shape=torch.Size()):
        return torch.ones(self._extended_shape(sample_shape))
noted(Shifted(a, b + 1).log_prob(torch.zeros(2, 3)))
note(repr(Shifted(0.0, 1.0)), repr(Shifted(0.0, 1.0).expand((2,))), D.kl_divergence(Shifted(0.0, 1.0), D.Normal(1.0, 2.0)))
note(repr(Plain()), Plain(torch.Size([2])).sample((3,)))
fails(lambda: Plain().entropy())
fails(lambda: Plain().expand((2,)))
""")


STORED: list[tuple[str, Any]] = [
    ("D.Normal(1.0, 2.0).sample((3,)).tolist()", [4.081992149353027, 0.41314220428466797, -3.357578754425049]),
    ("D.Normal(1.0, 2.0).rsample((2,)).tolist()", [4.081992149353027, 0.41314220428466797]),
    ("D.Categorical(logits=torch.tensor([0.1, 0.5, -1.0])).sample((6,)).tolist()", [2, 1, 1, 2, 1, 1]),
    ("D.Bernoulli(0.3).sample((6,)).tolist()", [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
    ("D.Uniform(-1, 3).sample((3,)).tolist()", [0.9850263595581055, 2.0728871822357178, -0.6460902690887451]),
    ("D.Exponential(2.5).sample((3,)).tolist()", [1.4033305644989014, 0.4921538829803467, 0.24601764976978302]),
    ("D.Normal(1.0, 2.0).log_prob(torch.tensor(0.5)).item()", -1.6433357000350952),
    ("D.Categorical(torch.tensor([1.0, 2.0, 5.0])).entropy().item()", 0.9002560377120972),
    ("D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)).item()", 0.4431471824645996),
]


@pytest.mark.parametrize(("code", "expected"), STORED)
def test_stored(code: str, expected: Any) -> None:
    """Samples and densities that PyTorch gives, with seed 0."""
    torch.manual_seed(0)
    found = eval(code, {"D": torch.distributions, "torch": torch})
    assert found == pytest.approx(expected, rel=1e-5)


def test_stored_texts() -> None:
    """What is printed, and a mistake's text."""
    base = torch.distributions.Normal(torch.zeros(3), 1.0)
    expected = "Independent(Normal(loc: torch.Size([3]), scale: torch.Size([3])), 1)"
    assert repr(torch.distributions.Independent(base, 1)) == expected
    with pytest.raises(ValueError, match=r"distribution Normal\(loc: 0.0, scale: -1.0\) to satisfy the constraint GreaterThan"):
        torch.distributions.Normal(0.0, -1.0)


def test_gamma_and_beta_numbers_move_with_their_parameters() -> None:
    """Moving a parameter and the number with it leaves the cumulative probability as it was, in the first order."""
    torch.manual_seed(0)
    a = torch.tensor([0.3, 1.0, 2.5, 9.0, 40.0], dtype=torch.float64).requires_grad_()
    x = torch._standard_gamma(a)
    slope = torch.autograd.grad(x.sum(), a)[0]
    with torch.no_grad():
        before, after = torch.igamma(a, x), torch.igamma(a + 1e-5, x + 1e-5 * slope)
    assert torch.allclose(before, after, rtol=0, atol=1e-8)
    k = torch.tensor([1.0], dtype=torch.float64).requires_grad_()  # of Beta(k, 1), whose cumulative probability is x**k
    y = torch.distributions.Beta(k, torch.ones_like(k)).rsample()
    moved = torch.autograd.grad(y.sum(), k)[0]
    assert torch.allclose((y + 1e-5 * moved) ** (k + 1e-5), y**k, rtol=0, atol=1e-8)
