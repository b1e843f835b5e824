"""The random numbers: stored ones of PyTorch, PyTorch itself where it is installed, and the roundings by fractions.

`python tests/engine/test_random.py` records the stored numbers anew (needs torch).
"""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gradsh.engine.rng.generator import STATE_BYTES, Generator
from gradsh.engine.rng.normals import scale
from gradsh.text.fault import fault_of

VECTORS = Path(__file__).parents[1] / "oracle" / "rng_vectors.json"
SEEDS = [0, 42, 2**32 + 5, -1]
F32, F64, I64 = np.float32, np.float64, np.int64
WEIGHTS = [0.1, 3.0, 0.5, 1.4, 2.2]

# name -> (draw of ours, draw of PyTorch); drawn one after the other from one generator, so that words line up too.
CASES = {
    "rand": (lambda g: g.uniform((3,)), lambda t, g: t.rand(3, generator=g)),
    "rand float64": (lambda g: g.uniform((3,), dtype=F64), lambda t, g: t.rand(3, dtype=t.float64, generator=g)),
    "uniform_(2, 5)": (lambda g: g.uniform((5,), 2, 5), lambda t, g: t.empty(5).uniform_(2, 5, generator=g)),
    "uniform_ rounding to its end": (
        lambda g: g.uniform((20,), 1, 1.000001),
        lambda t, g: t.empty(20).uniform_(1, 1.000001, generator=g),
    ),
    "uniform_(-0.3, 0.7) float64": (
        lambda g: g.uniform((5,), -0.3, 0.7, F64),
        lambda t, g: t.empty(5, dtype=t.float64).uniform_(-0.3, 0.7, generator=g),
    ),
    "randn(3), one left over": (lambda g: g.normal((3,)), lambda t, g: t.randn(3, generator=g)),
    "randn(2) float64 takes it": (
        lambda g: g.normal((2,), dtype=F64),
        lambda t, g: t.randn(2, dtype=t.float64, generator=g),
    ),
    "randn(4, 4)": (lambda g: g.normal((4, 4)), lambda t, g: t.randn(4, 4, generator=g)),
    "randn(19), a tail": (lambda g: g.normal((19,)), lambda t, g: t.randn(19, generator=g)),
    "randn(19) float64": (
        lambda g: g.normal((19,), dtype=F64),
        lambda t, g: t.randn(19, dtype=t.float64, generator=g),
    ),
    "normal_(-0.7, 3.3)": (
        lambda g: g.normal((32,), -0.7, 3.3),
        lambda t, g: t.empty(32).normal_(-0.7, 3.3, generator=g),
    ),
    "normal_(-0.7, 3.3) float64": (
        lambda g: g.normal((16,), -0.7, 3.3, F64),
        lambda t, g: t.empty(16, dtype=t.float64).normal_(-0.7, 3.3, generator=g),
    ),
    "normal_ of a transposed tensor": (
        lambda g: g.normal((5, 4), 1, 2, contiguous=False),
        lambda t, g: t.empty(5, 4).t().normal_(1, 2, generator=g).t(),
    ),
    "randint(-5, 17)": (lambda g: g.randint(-5, 17, (8,)), lambda t, g: t.randint(-5, 17, (8,), generator=g)),
    "randint, two words": (
        lambda g: g.randint(-7, 2**28 - 7, (4,)),
        lambda t, g: t.randint(-7, 2**28 - 7, (4,), generator=g),
    ),
    "randint, one word": (
        lambda g: g.randint(0, 2**28 - 1, (4,), F64),
        lambda t, g: t.randint(0, 2**28 - 1, (4,), generator=g, dtype=t.float64),
    ),
    "random_(-2**63, None)": (
        lambda g: g.randint(-(2**63), None, (3,)),
        lambda t, g: t.empty(3, dtype=t.int64).random_(-(2**63), None, generator=g),
    ),
    "random_() int64": (lambda g: g.random_full((3,)), lambda t, g: t.empty(3, dtype=t.int64).random_(generator=g)),
    "random_() float32": (lambda g: g.random_full((3,), F32), lambda t, g: t.empty(3).random_(generator=g)),
    "random_() uint8": (
        lambda g: g.random_full((3,), np.uint8),
        lambda t, g: t.empty(3, dtype=t.uint8).random_(generator=g),
    ),
    "randperm": (lambda g: g.randperm(9), lambda t, g: t.randperm(9, generator=g)),
    "bernoulli_(0.3)": (lambda g: g.bernoulli(0.3, (12,)), lambda t, g: t.empty(12).bernoulli_(0.3, generator=g)),
    "bernoulli(p)": (
        lambda g: g.bernoulli_of(np.linspace(0, 1, 9, dtype=F32)),
        lambda t, g: t.bernoulli(t.from_numpy(np.linspace(0, 1, 9, dtype=F32)), generator=g),
    ),
    "exponential_(2.5)": (
        lambda g: g.exponential((6,), 2.5),
        lambda t, g: t.empty(6).exponential_(2.5, generator=g),
    ),
    "multinomial": (
        lambda g: g.multinomial(np.array(WEIGHTS, F32), 3),
        lambda t, g: t.multinomial(t.tensor(WEIGHTS), 3, generator=g),
    ),
    "multinomial with replacement": (
        lambda g: g.multinomial(np.array([WEIGHTS, WEIGHTS[::-1]], F32), 6, True),
        lambda t, g: t.multinomial(t.tensor([WEIGHTS, WEIGHTS[::-1]]), 6, True, generator=g),
    ),
    "log_normal_": (lambda g: g.log_normal((17,)), lambda t, g: t.empty(17).log_normal_(generator=g)),
    "cauchy_": (
        lambda g: g.cauchy((5,), 1, 2, F64),
        lambda t, g: t.empty(5, dtype=t.float64).cauchy_(1, 2, generator=g),
    ),
    "geometric_": (
        lambda g: g.geometric((7,), 0.3, I64),
        lambda t, g: t.zeros(7, dtype=t.int64).geometric_(0.3, generator=g),
    ),
    "randn(700)[::70]": (lambda g: g.normal((700,))[::70], lambda t, g: t.randn(700, generator=g)[::70]),
}


def _same(ours, theirs):
    return ours.shape == theirs.shape and ours.dtype == theirs.dtype and np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_are_the_recorded_ones(seed):
    recorded = json.loads(VECTORS.read_text())[str(seed)]
    generator = Generator().manual_seed(seed)
    assert set(recorded) == set(CASES)
    for name, (draw, _) in CASES.items():
        dtype, values = recorded[name]
        assert _same(draw(generator), np.array(values, dtype)), name


@pytest.mark.parity
@pytest.mark.parametrize("seed", [*SEEDS, 1, 2**31 - 1, 2**63 - 1])
def test_numbers_and_states_are_those_of_pytorch(seed):
    torch = pytest.importorskip("torch")
    ours, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    assert ours.initial_seed() == theirs.initial_seed()
    for name, (draw, reference) in [*CASES.items(), *reversed(CASES.items())]:
        assert _same(draw(ours), reference(torch, theirs).numpy()), name
        assert np.array_equal(ours.get_state(), theirs.get_state().numpy()), name


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("mean", "std"), [(0, 1), (2, 3), (-0.3, 1e-3), (1e-40, 1e-42), (1e10, 2.5e6), (3, 0), (-1, 1e300)]
)
def test_many_sizes_and_scales_are_those_of_pytorch(dtype, mean, std):
    torch = pytest.importorskip("torch")
    ours, theirs = Generator().manual_seed(7), torch.Generator().manual_seed(7)
    like = getattr(torch, dtype)
    std = min(std, 1e30) if dtype == "float32" else std
    for size in (0, 1, 15, 16, 17, 100, 624, 20011):
        expected = torch.empty(size, dtype=like).normal_(mean, std, generator=theirs).numpy()
        assert _same(ours.normal((size,), mean, std, np.dtype(dtype)), expected), size
        expected = torch.empty(size, dtype=like).uniform_(mean, mean + std, generator=theirs).numpy()
        assert _same(ours.uniform((size,), mean, mean + std, np.dtype(dtype)), expected), size


@pytest.mark.parity
@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_dropout_multiplies_by_the_mask_of_pytorch(p):
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "float64"):
        torch.manual_seed(3)
        expected = torch.nn.functional.dropout(torch.ones(2000, dtype=getattr(torch, dtype)), p).numpy()
        assert _same(Generator(3).dropout_mask((2000,), p, np.dtype(dtype)), expected)


def test_dropout_of_nothing_or_everything_draws_no_word():
    generator = Generator(3)
    before = generator.get_state()
    assert generator.dropout_mask((2,), 0.0).tolist() == [1, 1]
    assert generator.dropout_mask((2,), 1.0).tolist() == [0, 0]
    assert np.array_equal(generator.get_state(), before)


def _once(a, b, c, dtype):
    """a·b+c of numpy scalars, rounded once: the nearest of the neighbours of the float64 value, ties to even."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    guess = dtype(float(exact))
    near = {guess, np.nextafter(guess, dtype(np.inf)), np.nextafter(guess, dtype(-np.inf))}
    bits = {F32: np.int32, F64: np.int64}[dtype]
    return min(near, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(bits)) & 1))


@pytest.mark.parametrize("dtype", [F32, F64])
def test_products_and_sums_are_rounded_once(dtype):
    draw = Generator(11)
    scales = [1.0, 3.7, 1e-3, 1e-38] if dtype is F32 else [1.0, 3.7, 1e-3, 1e-305]
    for size in scales:
        for b, c in [(1.1, 0.3), (-0.7, 5.0), (3.0, 1e-38), (1e-3, -1.0), (1 + 2**-23, 2**-25)]:
            a = (draw.normal((60,), dtype=dtype) * dtype(size)).astype(dtype)
            expected = [_once(x, dtype(b), dtype(c), dtype) for x in a]
            assert np.array_equal(scale(a, b, c), np.array(expected, dtype)), (size, b, c)


def test_the_double_rounding_of_float32_is_caught():
    a, b, odd = F32(1 - 2**-20), (1 + 2**-20) * 2.0**-24, 1 + 2.0**-23
    assert float(a) * b + odd == odd + 2.0**-24  # in float64 the sum (less 2^-64) falls on a half-way point
    assert scale(np.array([a]), b, odd).tolist() == [odd]
    assert scale(np.array([-a]), b, -odd).tolist() == [-odd]


def test_a_state_restores_the_stream_and_a_clone_lives_apart():
    generator = Generator(5)
    generator.normal((3,))
    generator.uniform((700,))
    state, twin = generator.get_state(), generator.clone()
    assert state.dtype == np.uint8
    assert state.shape == (STATE_BYTES,)
    first = [generator.normal((1,)), generator.uniform((2000,)), generator.randperm(50)]
    for other in (twin, Generator(9).set_state(state)):
        again = [other.normal((1,)), other.uniform((2000,)), other.randperm(50)]
        assert all(map(np.array_equal, first, again))
        assert other.initial_seed() == 5


def test_seeds():
    assert np.array_equal(Generator(2**32 + 5).uniform((4,)), Generator(5).uniform((4,)))
    assert Generator(-1).initial_seed() == 2**64 - 1
    assert Generator().initial_seed() == 67280421310721
    generator = Generator(1)
    generator.normal((1,))
    assert generator.manual_seed(1) is generator
    assert np.array_equal(generator.normal((3,)), Generator(1).normal((3,)))
    assert generator.seed() == generator.initial_seed()
    assert len({generator.seed() for _ in range(4)}) == 4


W = np.array
FAILURES = [
    (lambda g: g.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
    (lambda g: g.manual_seed(-(2**63) - 1), ValueError, "Overflow when unpacking long long"),
    (lambda g: g.manual_seed(1.5), RuntimeError, "manual_seed expected a long, but got float"),
    (lambda g: g.manual_seed(True), RuntimeError, "manual_seed expected a long, but got bool"),
    (lambda g: g.set_state(np.zeros(5056, F32)), TypeError, "RNG state must be a torch.ByteTensor"),
    (
        lambda g: g.set_state(np.zeros(3, np.uint8)),
        RuntimeError,
        "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 3",
    ),
    (lambda g: g.set_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
    (lambda g: g.uniform((2, -1)), RuntimeError, "Trying to create tensor with negative dimension -1: [2, -1]"),
    (lambda g: g.randperm(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    (
        lambda g: g.uniform((3,), 2, 1),
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
    ),
    (lambda g: g.uniform((3,), 0, 1e39), RuntimeError, "to is out of bounds for float"),
    (
        lambda g: g.uniform((3,), -3e38, 3e38),
        RuntimeError,
        (
            "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found to=3e+38 and from=-3e+38 which "
            "result in to-from to exceed the limit"
        ),
    ),
    (lambda g: g.uniform((3,), dtype=I64), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
    (lambda g: g.normal((3,), 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda g: g.normal((3,), dtype=I64), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
    (lambda g: g.exponential((3,), 0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (
        lambda g: g.exponential((3,), dtype=I64),
        RuntimeError,
        (
            "Exponential distribution is a continuous probability distribution. "
            "dtype must be a floating point but you specified Long"
        ),
    ),
    (
        lambda g: g.cauchy((3,), dtype=I64),
        RuntimeError,
        (
            "Cauchy distribution is a continuous probability distribution. "
            "dtype must be a floating point but you specified long int"
        ),
    ),
    (lambda g: g.cauchy((3,), 0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (lambda g: g.log_normal((3,), 0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    (lambda g: g.log_normal((3,), dtype=I64), NotImplementedError, "\"log_normal_cpu\" not implemented for 'Long'"),
    (lambda g: g.geometric((3,), 1), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
    (lambda g: g.bernoulli(1.5, (3,)), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    (
        lambda g: g.bernoulli_of(W([1.5], F32)),
        RuntimeError,
        (
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  "
            "If so, please report an enhancement request to PyTorch.)"
        ),
    ),
    (
        lambda g: g.bernoulli_of(W([1, 0])),
        NotImplementedError,
        "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'",
    ),
    (
        lambda g: g.dropout_mask((2,), 1.5),
        ValueError,
        "dropout probability has to be between 0 and 1, but got 1.5",
    ),
    (
        lambda g: g.randint(5, 5, (3,)),
        RuntimeError,
        "random_ expects 'from' to be less than 'to', but got from=5 >= to=5",
    ),
    (lambda g: g.randint(0, 300, (3,), np.uint8), RuntimeError, "to - 1 is out of bounds for unsigned char"),
    (lambda g: g.randint(-1, 3, (3,), np.uint8), RuntimeError, "from is out of bounds for unsigned char"),
    (lambda g: g.randint(0, 3, (3,), np.bool_), RuntimeError, "to - 1 is out of bounds for bool"),
    (lambda g: g.randint(0, 2**64, (3,)), ValueError, "Overflow when unpacking long long"),
    (
        lambda g: g.multinomial(W([0.0, 0.0]), 1),
        RuntimeError,
        "invalid multinomial distribution (sum of probabilities <= 0)",
    ),
    (
        lambda g: g.multinomial(W([0.0, 0.0]), 4, True),
        RuntimeError,
        "invalid multinomial distribution (sum of probabilities <= 0)",
    ),
    (
        lambda g: g.multinomial(W([-1.0, 1.0]), 1),
        RuntimeError,
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    (
        lambda g: g.multinomial(W([-1.0, 1.0]), 4, True),
        RuntimeError,
        "invalid multinomial distribution (encountering probability entry < 0)",
    ),
    (
        lambda g: g.multinomial(W([np.inf, 1.0]), 4, True),
        RuntimeError,
        "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
    ),
    (
        lambda g: g.multinomial(W([1.0, 1.0]), 3),
        RuntimeError,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    ),
    (lambda g: g.multinomial(W([1.0, 1.0]), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
    (
        lambda g: g.multinomial(W([1, 1]), 1),
        RuntimeError,
        "multinomial only supports floating-point dtypes for input, got: Long",
    ),
    (lambda g: g.multinomial(np.ones((2, 2, 2)), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
]


@pytest.mark.parametrize(("draw", "error", "message"), FAILURES)
def test_bad_arguments_are_told_in_the_words_of_pytorch(draw, error, message):
    with pytest.raises(error) as caught:
        draw(Generator(0))
    assert type(caught.value) is error
    assert str(caught.value) == message
    assert fault_of(caught.value) is not None


def test_numpy_random_is_not_loaded():
    code = (
        "import sys; from gradsh.engine.rng.generator import Generator; Generator(0).normal((20,)); "
        "sys.exit('numpy.random' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def record():
    """Write the stored numbers from PyTorch."""
    import torch

    recorded = {}
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        drawn = {name: reference(torch, generator).numpy() for name, (_, reference) in CASES.items()}
        recorded[seed] = {name: [str(values.dtype), values.tolist()] for name, values in drawn.items()}
    lines = [json.dumps(str(seed)) + ": " + json.dumps(cases) for seed, cases in recorded.items()]
    VECTORS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record()
