"""PyTorch's random numbers: a `Generator` of numpy arrays, bit for bit those of PyTorch's CPU generator.

The words come from MT19937 (`twister`), the long normals from `normals`. Every method fills an array of the given
shape in memory order; a tensor that is not contiguous is filled in the order of its memory by whoever holds it, with
`contiguous=False` where the rule differs. dtypes are numpy's.
"""

import math
import os
import struct

import numpy as np

from gradsh.engine.rng import normals
from gradsh.engine.rng.binomial import binomial
from gradsh.engine.rng.distribution_arguments import (
    check_continuous,
    check_floating,
    check_multinomial,
    check_row,
    check_uniform,
    element_count,
    integer_range,
    largest,
)
from gradsh.engine.rng.mt19937 import BLOCK, Twister, Words
from gradsh.engine.values.dtype import Array, NumpyDType
from gradsh.engine.values.reduced import REDUCED, cast
from gradsh.process.lapack import routine
from gradsh.text.fault import fail

Shape = tuple[int, ...]

UNSEEDED = 67280421310721
"""The seed that a generator has before it is given one."""

STATE_BYTES = 5056
"""The size of a state as bytes."""

_STATE = struct.Struct(f"<QiiQ{BLOCK}Qdddi4xfB3x")
_FLOAT32, _FLOAT64, _INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
_LONG = 16  # from this size on, contiguous normals are made in blocks
_MANY = 1 << 10  # from so many on, LAPACK swaps faster than a loop
_WIDE = 1 << 28  # ranges of integers from here on take 64-bit draws
_PART = 1 << 20  # draws at a time where each takes much memory
_MASK64 = (1 << 64) - 1


def _cast(values: Array, dtype: NumpyDType, shape: Shape) -> Array:
    """Return values as another dtype and shape; what does not fit becomes what the processor makes of it."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return cast(values, dtype).reshape(shape)  # type: ignore[no-any-return]


def _swapped(targets: Array) -> Array:
    """Return 0 … n-1 after swapping places i and targets[i] for i = 0 … n-2 in turn; i <= targets[i] < n."""
    n = len(targets) + 1
    swap_rows = routine("slaswp") if _MANY < n < 1 << 31 else None
    if swap_rows is not None:
        rows = np.arange(n, dtype=np.int32)  # of the width of float32: the routine moves bits
        swap_rows(1, rows, n, 1, n - 1, targets + 1, 1)
        return rows.astype(np.int64)
    order = list(range(n))
    for i, j in enumerate(targets.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


class Generator:
    """A stream of random numbers: the engine, the seed it was given, and the normal left over from a pair."""

    __slots__ = ("_engine", "_seed", "_spare")

    def __init__(self, seed: int = UNSEEDED) -> None:
        self.manual_seed(seed)

    # Seeds and states

    def manual_seed(self, seed: int) -> "Generator":
        """Start the stream of a seed in -2**63 … 2**64-1 (its low 32 bits count) and return the generator.

        Raises RuntimeError where the seed is no integer, ValueError where it is out of that range.
        """
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise fail("type", f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(1 << 63) <= seed <= _MASK64:
            raise fail("value", "Overflow when unpacking long long", ValueError)
        self._seed = seed & _MASK64
        self._engine = Twister.seeded(self._seed)
        self._spare: float | None = None
        return self

    def seed(self) -> int:
        """Start the stream of a seed taken from the operating system, and return that seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed of this stream, as an unsigned 64-bit number."""
        return self._seed

    def get_state(self) -> Array:
        """Return the state as 5056 bytes (a uint8 array), laid out as PyTorch's."""
        engine, spare = self._engine, self._spare
        words = engine.block.tolist()
        head = (self._seed, engine.left, 1, engine.next)
        packed = _STATE.pack(*head, *words, 0.0, spare or 0.0, 0.0, spare is not None, 0.0, 0)
        return np.frombuffer(packed, np.uint8).copy()

    def set_state(self, state: Array) -> "Generator":
        """Go on from a state that `get_state` (or PyTorch) made, and return the generator.

        Raises TypeError where it is no array of bytes, RuntimeError where the size or the content is wrong.
        """
        if state.dtype != np.uint8:
            raise fail("type", "RNG state must be a torch.ByteTensor", TypeError)
        if state.size != STATE_BYTES:
            expected = f"Expected a CPUGeneratorImplState of size {STATE_BYTES}"
            raise fail("value", f"{expected} but found the input RNG state size to be {state.size}")
        seed, left, seeded, position, *words = _STATE.unpack(state.tobytes())
        words, (_, normal, _, valid, _, _) = words[:BLOCK], words[BLOCK:]
        if not (seeded and 0 < left <= BLOCK and position <= BLOCK):
            raise fail("value", "Invalid mt19937 state")
        self._seed = seed
        self._engine = Twister(np.array(words, np.uint64).astype(np.uint32), left, position)
        self._spare = normal if valid else None
        return self

    def clone(self) -> "Generator":
        """Return a generator of its own that goes on with the same numbers."""
        twin = object.__new__(Generator)
        twin._seed, twin._engine, twin._spare = self._seed, self._engine.copy(), self._spare
        return twin

    # Raw draws

    def _words(self, count: int) -> Words:
        return self._engine.words(count)

    def _wide(self, count: int) -> Array:
        """Return 64-bit draws as uint64; the first word of each pair is the high one."""
        words = self._engine.words(2 * count).astype(np.uint64)
        return (words[0::2] << np.uint64(32)) | words[1::2]

    def _doubles(self, count: int) -> Array:
        """Return float64 uniforms in [0, 1): the low 53 bits of 64-bit draws."""
        return (self._wide(count) & np.uint64((1 << 53) - 1)).astype(np.int64) * 2.0**-53

    def _uniforms(self, count: int, dtype: NumpyDType) -> Array:
        """Return uniforms in [0, 1) of a float dtype; float32 takes the low 24 bits of one word each."""
        if dtype == _FLOAT64:
            return self._doubles(count)
        return (self._words(count) & np.uint32((1 << 24) - 1)).astype(np.float32) * np.float32(2.0**-24)

    # Continuous distributions

    def uniform(self, shape: Shape, low: float = 0.0, high: float = 1.0, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return numbers uniform in [low, high): u·(high−low) + low, rounded once.

        Raises RuntimeError for bad bounds.
        """
        size = element_count(shape)
        dtype = np.dtype(dtype)
        check_floating(dtype, "check_uniform_bounds")
        check_uniform(low, high, dtype)
        values = self._uniforms(size, dtype)
        if low != 0.0 or high != 1.0:
            width = float(dtype.type(high) - dtype.type(low))
            values = normals.scale(values, width, low)
            values[values == dtype.type(high)] = low  # rounded up to the bound that the range leaves out
        return values.reshape(shape)

    def normal(
        self, shape: Shape, mean: float = 0.0, std: float = 1.0, dtype: NumpyDType = _FLOAT32, contiguous: bool = True,
    ) -> Array:
        """Return normal numbers: in blocks of 16 where contiguous and that many, else one by one in float64.

        Raises RuntimeError for a negative `std`.
        """
        if not std >= 0.0:
            raise fail("value", f"normal expects std >= 0.0, but found std {std:g}")
        size = element_count(shape)
        dtype = np.dtype(dtype)
        check_floating(dtype, "normal_kernel_cpu")
        if size < _LONG or not contiguous:
            return _cast(normals.scale(self._serial(size), std, mean), dtype, shape)
        whole = size - size % _LONG
        draw, values = (self._doubles, np.empty(size)) if dtype == _FLOAT64 else (self._words, np.empty(size, _FLOAT32))
        drawn = draw(whole if dtype in REDUCED else size)  # what the last block writes anew is not drawn for reduced ones
        normals.transform(drawn[:whole], mean, std, values[:whole])
        if whole < size:
            normals.transform(draw(_LONG), mean, std, values[-_LONG:])
        return _cast(values, dtype, shape) if dtype in REDUCED else values.reshape(shape)

    def _serial(self, size: int) -> Array:
        """Return standard normals in float64 by the short rule, starting with the one left over."""
        out = np.empty(size, np.float64)
        if not size:
            return out
        first = self._spare is not None
        if first:
            out[0] = self._spare
            self._spare = None
        missing = size - first
        pairs = self._doubles(missing + missing % 2)
        even, odd = normals.box_muller(pairs[0::2], pairs[1::2])
        out[first::2] = even
        out[first + 1 :: 2] = odd[: missing // 2]
        if missing % 2:
            self._spare = float(odd[-1])
        return out

    def exponential(self, shape: Shape, lambd: float = 1.0, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return exponential numbers −log(1−u)/λ. Raises RuntimeError unless λ > 0."""
        dtype = np.dtype(dtype)
        check_continuous("Exponential", dtype)
        if not lambd > 0.0:
            raise fail("value", f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        size = element_count(shape)
        if dtype != _FLOAT32:
            return _cast(-1.0 / lambd * normals.log1p(-self._doubles(size)), dtype, shape)
        out = np.empty(size, dtype)
        for start in range(0, size, _PART):
            u = self._doubles(min(_PART, size - start))
            out[start : start + u.size] = normals.scaled_log1p(np.negative(u, out=u), -1.0 / lambd)
        return out.reshape(shape)

    def log_normal(self, shape: Shape, mean: float = 1.0, std: float = 2.0, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return exponentials of normal numbers of the short rule. Raises RuntimeError unless std > 0."""
        dtype = np.dtype(dtype)
        if not std > 0.0:
            raise fail("value", f"log_normal_ expects std > 0.0, but found std={std:g}")
        check_floating(dtype, "log_normal_cpu")
        values = normals.exp(normals.scale(self._serial(element_count(shape)), std, mean))
        return _cast(values, dtype, shape)

    def cauchy(self, shape: Shape, median: float = 0.0, sigma: float = 1.0, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return Cauchy numbers median + σ·tan(π(u−½)). Raises RuntimeError unless σ > 0."""
        dtype = np.dtype(dtype)
        check_continuous("Cauchy", dtype, in_c=True)
        if not sigma > 0.0:
            raise fail("value", f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        values = normals.tan(math.pi * (self._doubles(element_count(shape)) - 0.5))
        return _cast(normals.scale(values, sigma, median), dtype, shape)

    def gamma(self, concentration: Array) -> Array:
        """Return a float64 gamma number for each concentration (Marsaglia and Tsang, 2000)."""
        drawn = [self._gamma(float(one)) for one in concentration.ravel()]
        return np.array(drawn, np.float64).reshape(concentration.shape)

    def _gamma(self, concentration: float) -> float:
        scale = 1.0
        if concentration < 1.0:
            if concentration == 0.0:
                return 0.0
            scale = (1.0 - float(self._doubles(1)[0])) ** (1.0 / concentration)
            concentration += 1.0
        d = concentration - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            y = 0.0
            while y <= 0.0:
                x = float(self._serial(1)[0])
                y = 1.0 + c * x
            v = y * y * y
            u = 1.0 - float(self._doubles(1)[0])
            if u < 1.0 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return scale * d * v

    # Discrete distributions

    def poisson(self, rates: Array) -> Array:
        """Return a Poisson number for each rate, in its dtype. Raises RuntimeError for a negative rate."""
        check_floating(rates.dtype, "poisson_cpu")
        if not (rates >= 0).all():
            raise fail("value", "invalid Poisson rate, expected rate to be non-negative")
        return np.array([self._poisson(float(one)) for one in rates.ravel()], rates.dtype).reshape(rates.shape)

    def _poisson(self, rate: float) -> float:
        """Return one number: by products of uniforms, from 10 on by transformed rejection (Hörmann, 1993)."""
        if rate < 10.0:
            end, product, found = math.exp(-rate), 1.0, 0
            while rate and (product := product * float(self._doubles(1)[0])) > end:
                found += 1
            return found
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse = 1.1239 + 1.1328 / (b - 3.4)
        while True:
            u, v = float(self._doubles(1)[0]) - 0.5, float(self._doubles(1)[0])
            us = 0.5 - abs(u)
            k = math.floor((2.0 * a / us + b) * u + rate + 0.43)
            if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2.0):
                return k
            if k < 0 or (us < 0.013 and v > us):
                continue
            if math.log(v * inverse / (a / (us * us) + b)) <= -rate + k * math.log(rate) - math.lgamma(k + 1.0):
                return k

    def binomial(self, counts: Array, probs: Array) -> Array:
        """Return for each count how many trials succeed with each probability, in their dtype."""
        pairs = zip(counts.ravel(), probs.ravel(), strict=True)
        drawn = [binomial(float(count), float(prob), lambda: float(self._doubles(1)[0])) for count, prob in pairs]
        return np.array(drawn, counts.dtype).reshape(counts.shape)

    def geometric(self, shape: Shape, p: float, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return the numbers of trials up to the first success, as `dtype`. Raises RuntimeError unless 0 < p < 1."""
        if not 0.0 < p < 1.0:
            raise fail("value", f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        values = np.ceil(normals.log(self._doubles(element_count(shape))) / math.log1p(-p))
        return _cast(values, np.dtype(dtype), shape)

    def randint(self, low: int, high: int | None, shape: Shape, dtype: NumpyDType = _INT64) -> Array:
        """Return whole numbers uniform in low … high−1, as `dtype`; without `high`, up to the largest of the dtype.

        "The largest" of a float dtype is the end of its unbroken whole numbers. Raises RuntimeError for an empty
        range and for one that an integer dtype does not hold.
        """
        dtype = np.dtype(dtype)
        low, stop = integer_range(low, high, dtype)
        size = element_count(shape)
        if stop - low >= _WIDE:
            values = self._wide(size)
            if stop - low <= _MASK64:  # else the draw itself, whatever `low`
                values = values % np.uint64(stop - low) + np.uint64(low & _MASK64)
            return _cast(values.view(np.int64), dtype, shape)
        small = (self._words(size) % np.uint32(stop - low)).astype(np.int64)
        return _cast(small + low, dtype, shape)

    def random_full(self, shape: Shape, dtype: NumpyDType = _INT64) -> Array:
        """Return whole numbers from 0 to the largest that the dtype holds (2^24 for float32, 2^53 for float64)."""
        dtype = np.dtype(dtype)
        size = element_count(shape)
        limit = largest(dtype) + 1
        if dtype in (_INT64, _FLOAT64):
            return _cast(self._wide(size) % np.uint64(limit), dtype, shape)
        return _cast(self._words(size) % np.uint32(limit), dtype, shape)

    def randperm(self, n: int) -> Array:
        """Return a random order of 0 … n−1, as int64."""
        element_count((n,))
        if n < 2:
            return np.arange(n)
        targets = self._words(n - 1) % np.arange(n, 1, -1, dtype=np.uint32) + np.arange(n - 1, dtype=np.int64)
        return _swapped(targets)

    def bernoulli(self, p: float, shape: Shape, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return ones with probability p, else zeros, as `dtype`. Raises RuntimeError unless 0 <= p <= 1."""
        if not 0.0 <= p <= 1.0:
            raise fail("value", f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        return (self._doubles(element_count(shape)) < p).astype(np.dtype(dtype)).reshape(shape)

    def bernoulli_of(self, p: Array, dtype: NumpyDType | None = None) -> Array:
        """Return ones with the probabilities of a float array, as its dtype or `dtype`; p is read in memory order.

        Raises RuntimeError for a probability outside 0 … 1.
        """
        check_floating(p.dtype, "bernoulli_tensor_cpu_p_")
        if not ((p >= 0) & (p <= 1)).all():
            raise fail(
                "value",
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  "
                "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
            )
        drawn = self._uniforms(p.size, p.dtype).reshape(p.shape)
        return (drawn < p).astype(dtype or p.dtype)

    def dropout_mask(self, shape: Shape, p: float, dtype: NumpyDType = _FLOAT32) -> Array:
        """Return what dropout multiplies with: 1/(1−p) where an element stays, else 0. Draws nothing for p = 0 or 1.

        Raises ValueError unless 0 <= p <= 1.
        """
        if not 0.0 <= p <= 1.0:
            raise fail("value", f"dropout probability has to be between 0 and 1, but got {p}", ValueError)
        dtype = np.dtype(dtype)
        if dtype in REDUCED:
            return cast(self.dropout_mask(shape, p), dtype)  # type: ignore[no-any-return]
        if p in (0.0, 1.0):
            return np.full(shape, 1.0 - p, dtype)
        mask = self.bernoulli(1.0 - p, shape, dtype)
        mask /= dtype.type(1.0 - p)
        return mask

    def multinomial(self, weights: Array, n: int, replacement: bool = False) -> Array:
        """Return indices drawn by weight, as int64 of shape (n,) or (rows, n) for weights of shape (k,) or (rows, k).

        Samples whose drawn ranks tie (a few in a million, and all of weight 0) come in the order of their index; in
        PyTorch their order is that of its sorting.
        Raises RuntimeError for weights that are no distribution and for more samples than there are.
        """
        check_multinomial(weights, n, replacement)
        if replacement and n > 1:
            return self._with_replacement(weights, n)
        return self._without_replacement(weights, n)

    def _without_replacement(self, weights: Array, n: int) -> Array:
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise fail("value", "probability tensor contains either `inf`, `nan` or element < 0")
        if (weights.sum(-1) == 0).any():
            raise fail("value", "invalid multinomial distribution (sum of probabilities <= 0)")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ranks = weights / self.exponential(weights.shape, 1.0, weights.dtype)
        return np.argsort(-ranks, axis=-1, kind="stable")[..., :n].astype(np.int64)

    def _with_replacement(self, weights: Array, n: int) -> Array:
        rows = np.atleast_2d(weights)
        out = np.empty((len(rows), n), np.int64)
        for row, indices in zip(rows, out, strict=True):
            check_row(row)
            cumulated = np.add.accumulate(row)
            if not cumulated[-1] > 0:
                raise fail("value", "invalid multinomial distribution (sum of probabilities <= 0)")
            cumulated /= cumulated[-1]
            cumulated[-1] = 1
            indices[:] = np.searchsorted(cumulated.astype(np.float64), self._doubles(n))
        return out.reshape((*weights.shape[:-1], n))
