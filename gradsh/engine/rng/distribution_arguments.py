"""Which arguments the distributions accept, and PyTorch's sentences for the others."""

import math

import numpy as np

from gradsh.engine.values.dtype import Array, NumpyDType, cpp_name, of_numpy
from gradsh.engine.values.reduced import BFLOAT16, FLOAT16, cast
from gradsh.text.fault import fail

_DIGITS = {np.dtype(np.float32): 24, np.dtype(np.float64): 53, FLOAT16: 11, BFLOAT16: 8}


def element_count(shape: tuple[int, ...]) -> int:
    """Return how many elements a shape has. Raises RuntimeError for a negative length."""
    for length in shape:
        if length < 0:
            text = ", ".join(map(str, shape))
            raise fail("shape", f"Trying to create tensor with negative dimension {length}: [{text}]")
    return math.prod(shape)


def check_floating(dtype: NumpyDType, kernel: str) -> None:
    """Raise NotImplementedError, naming the kernel, unless the dtype is a float one."""
    if dtype.kind != "f":
        raise fail("dtype", f"\"{kernel}\" not implemented for '{of_numpy(dtype).title}'", NotImplementedError)


def largest(dtype: NumpyDType) -> int:
    """Return the largest whole number of a dtype up to which it has all of them."""
    if dtype == np.bool_:
        return 1
    if dtype.kind == "f":
        return 1 << _DIGITS[dtype]
    return int(np.iinfo(dtype).max)


def integer_range(low: int, high: int | None, dtype: NumpyDType) -> tuple[int, int]:
    """Return the range that is drawn from: its bounds checked, and in float dtypes moved inwards where not exact."""
    for bound in (low, high):
        if bound is not None and not -(1 << 63) <= bound < 1 << 63:
            raise fail("value", "Overflow when unpacking long long", ValueError)
    stop = largest(dtype) + 1 if high is None else high
    if low >= stop:
        raise fail("value", f"random_ expects 'from' to be less than 'to', but got from={low} >= to={stop}")
    if high is not None and dtype.kind == "f":
        low, stop = _representable(low, stop, dtype)
    if dtype.kind != "f":
        smallest = 0 if dtype == np.bool_ else int(np.iinfo(dtype).min)
        for name, bound in (("from", low), ("to - 1", stop - 1)):
            if not smallest <= bound <= largest(dtype):
                raise fail("value", f"{name} is out of bounds for {cpp_name(dtype)}")
    return low, stop


def _representable(low: int, stop: int, dtype: NumpyDType) -> tuple[int, int]:
    """Return bounds that do not round outwards in a float dtype."""
    digits = _DIGITS[dtype]
    above, below = (int(cast(np.asarray(bound), dtype)) for bound in (low + 1, stop - 1))
    if above < low:
        low = above + (1 << (abs(low + 1).bit_length() - digits))
    if below >= stop:
        stop = below - (1 << (abs(stop - 1).bit_length() - digits))
    if low >= stop:
        expected = "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype"
        raise fail("value", f"{expected}, but got from={low} >= to={stop}")
    return low, stop


def check_uniform(low: float, high: float, dtype: NumpyDType) -> None:
    """Raise RuntimeError unless low <= high and both, and their distance, fit the dtype."""
    most = float(np.finfo(dtype).max)
    for name, bound in (("from", low), ("to", high)):
        if not -most <= bound <= most:
            raise fail("value", f"{name} is out of bounds for {cpp_name(dtype)}")
    if low > high:
        raise fail("value", f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise fail(
            "value",
            "uniform_ expects to-from <= std::numeric_limits<"
            f"{of_numpy(dtype).title}>::max(), but found to={high:g} and from={low:g} "
            "which result in to-from to exceed the limit",
        )


def check_continuous(name: str, dtype: NumpyDType, in_c: bool = False) -> None:
    """Raise RuntimeError unless the dtype is a float one; `in_c` picks the words for the others."""
    if dtype.kind != "f":
        raise fail(
            "dtype",
            f"{name} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {cpp_name(dtype) if in_c else of_numpy(dtype).title}",
        )


def check_multinomial(weights: Array, n: int, replacement: bool) -> None:
    """Raise RuntimeError for weights or a number of samples that multinomial does not take."""
    if weights.dtype.kind != "f":
        raise fail("dtype", f"multinomial only supports floating-point dtypes for input, got: {of_numpy(weights.dtype).title}")
    if weights.ndim not in (1, 2):
        raise fail("shape", "prob_dist must be 1 or 2 dim")
    if n <= 0:
        raise fail("value", "cannot sample n_sample <= 0 samples")
    if not replacement and n > weights.shape[-1]:
        raise fail("value", "cannot sample n_sample > prob_dist.size(-1) samples without replacement")


def check_row(row: Array) -> None:
    """Raise RuntimeError for weights that are negative or not finite."""
    if (row < 0).any():
        raise fail("value", "invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(row).all():
        raise fail("value", "invalid multinomial distribution (encountering probability entry = infinity or NaN)")
