"""What kernels share: refusing dtypes in PyTorch's words, bringing operands to one dtype, working in blocks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine import parallel
from gradsh.engine.ambient import current
from gradsh.engine.parallel import Block, shared
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy, result_type
from gradsh.engine.values.layout import copy_into
from gradsh.engine.values.reduced import in_dtype
from gradsh.text.fault import fail

ONE = {np.dtype(kind): np.ones((), kind) for kind in (np.float32, np.float64)}
"""The number 1 by dtype: ufuncs are faster with 0-d arrays than with Python's numbers."""
BLOCK = 2 * parallel.BLOCK
"""Elements at a time in chains whose temporaries are few: a block costs as much as some 5,000."""


def unsupported(kernel: str, array: object) -> Exception:
    """Return PyTorch's error for a kernel that does not exist for a dtype."""
    title = of_numpy(np.asarray(array).dtype).title
    return fail("dtype", f"\"{kernel}\" not implemented for '{title}'", NotImplementedError)


def refusing(kinds: str, kernel: str) -> Callable[[Callable[..., object]], Callable[..., Any]]:
    """Let a kernel refuse arrays of these kinds of dtypes ("b": bool, "iu": integers, "f": floats) as PyTorch's `kernel` does."""

    def decorate(function: Callable[..., Any]) -> Callable[..., object]:
        def checked(self: Array, *others: Any) -> Array | tuple[Array, ...] | bool:
            if self.dtype.kind in kinds:
                raise unsupported(kernel, self)
            return function(self, *others)

        return checked

    return decorate


def not_bool(kernel: str, function: Callable[..., object]) -> Callable[..., Any]:
    """Return a kernel that refuses bool tensors."""
    return refusing("b", kernel)(function)


def floats_only(kernel: str, function: Callable[..., object]) -> Callable[..., Any]:
    """Return a kernel that refuses integers and bool."""
    return refusing("biu", kernel)(function)


def common_dtype(*operands: object) -> NumpyDType:
    """Return the numpy dtype of an operation on arrays and Python numbers."""
    arrays = [one for one in operands if isinstance(one, np.ndarray)]
    numbers = [one for one in operands if one is not None and not isinstance(one, np.ndarray)]
    return result_type(arrays, numbers, current().default_dtype)


def together(*operands: object) -> list[Any]:
    """Return the operands as arrays of their common dtype; None stays None."""
    dtype = common_dtype(*operands)
    return [None if one is None else in_dtype(one, dtype) for one in operands]


def in_blocks(function: Callable[..., Any], *arrays: Any, into: bool = False) -> Array:
    """Run an elementwise chain of ufuncs on arrays of one dtype, in blocks where they are large: rows, if one is repeated along others.

    `into`: the function takes `out=`, into which it writes what it returns.
    """
    first = arrays[0]
    if any(one.dtype != first.dtype or not one.flags.c_contiguous for one in arrays):
        return function(*arrays)
    alike = all(one.shape == first.shape for one in arrays)
    shape = first.shape if alike else np.broadcast_shapes(*(one.shape for one in arrays))
    size = math.prod(shape)
    if size <= BLOCK:
        return function(*arrays)
    result = np.empty(shape, first.dtype)
    if alike:
        target, sources = result.reshape(-1), [one.reshape(-1) for one in arrays]
    else:
        target, sources = result, [one.reshape((1,) * (len(shape) - one.ndim) + one.shape) for one in arrays]
    entry = size // len(target)
    step = max(1, (BLOCK if alike else parallel.BLOCK) // entry)
    if not alike:  # arrays of one shape are faster than rows by one row
        rows = min(step, len(target))
        sources = [
            np.array(np.broadcast_to(one, (rows, *shape[1:])), order="C") if len(one) == 1 < one.size else one for one in sources
        ]

    def block(start: int, stop: int) -> None:
        part = slice(start // entry, stop // entry)
        given = [one[part] if len(one) == len(target) else one[: len(target[part])] for one in sources]
        if into:
            function(*given, out=target[part])
        else:
            target[part] = function(*given)

    shared(size, lambda: block, step * entry)
    return result


def blocked(function: Callable[[Array], Array]) -> Callable[[Any], Any]:
    """Return a kernel of one input that runs in blocks."""
    return lambda self: in_blocks(function, np.asarray(self))


def chained(function: Callable[..., object], *arrays: Any, into: Array | None = None) -> Array:
    """Return what a chain of ufuncs writes, `function(out, work, *arrays)`: the last one into `out`, those before into `work`.

    Large arrays are worked off in blocks, and nothing but the result is allocated. The arrays are of one shape and dtype,
    or are brought to them. `into`: one of them, that nobody needs any more: the result takes its memory where it can.
    """
    last = arrays[-1]
    plain = True
    for one in arrays:
        if one.shape != last.shape or one.dtype != last.dtype:
            dtype = np.result_type(*arrays)
            return chained(function, *(each.astype(dtype) for each in np.broadcast_arrays(*arrays)))
        plain = plain and one.flags.c_contiguous
    if plain and last.size <= BLOCK:
        result = np.empty(last.shape, last.dtype)
        function(result, result, *arrays)
        return result
    sources = [_flattened(one) for one in arrays]
    if not plain and (last.size <= BLOCK or any(one is None for one in sources)):
        result = np.nditer((*arrays, None)).operands[-1]  # as a ufunc would lay it
        function(result, result, *arrays)
        return result
    result = np.empty(last.shape, last.dtype) if into is None or not plain else into
    target = result.reshape(-1)

    def make() -> Block:
        work = np.empty(BLOCK, target.dtype)

        def block(start: int, stop: int) -> None:
            function(target[start:stop], work[: stop - start], *[one[start:stop] if one.ndim else one for one in sources])

        return block

    shared(target.size, make, BLOCK)
    return result


def apart(out: Array, work: Array) -> Array:
    """Return work space that is not the result's, for a function that `chained` calls; small arrays come with none."""
    return np.empty_like(out) if work is out else work


def _flattened(array: Array) -> Any:
    """Return an array as one row, as a single number where it is one repeated, or None where it is neither."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    return None if any(array.strides) else array[(0,) * array.ndim + (...,)]


def row_major(array: Array, dtype: NumpyDType) -> Array:
    """Return a copy in row-major order."""
    found = np.empty(array.shape, dtype)
    copy_into(found, array)
    return found


def in_parts(function: Callable[..., Any], *arrays: Any) -> Array:
    """Run a kernel that takes each entry of dim 0 for itself, on some of them at a time where the arrays are large: into `out` then.

    The arrays are of one shape, as is the result.
    """
    first = arrays[0]
    if first.size <= 2 * BLOCK or first.ndim < 2 or any(
        one.shape != first.shape or one.dtype != first.dtype or not one.flags.c_contiguous for one in arrays
    ):
        return function(*arrays)
    result = np.empty(first.shape, first.dtype)
    entry = first.size // first.shape[0]

    def block(start: int, stop: int) -> None:
        part = slice(start // entry, stop // entry)
        function(*[one[part] for one in arrays], out=result[part])

    shared(first.size, lambda: block, max(1, BLOCK // entry) * entry)
    return result


def zero_division(self: Array, other: Array) -> None:
    """Refuse an integer division by zero, where there is anything to divide."""
    if self.size and other.dtype.kind != "f" and not np.all(other):
        raise fail("arithmetic", "ZeroDivisionError", RuntimeError)


_INTS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
_SIGN = {integer: np.array(np.iinfo(integer).min, integer) for integer in _INTS.values()}
LAST = {integer: np.array(8 * integer.itemsize - 1, integer) for integer in _INTS.values()}
"""By how much the sign lies left."""
_FEW, _SOME = 512, 1 << 14


def pick(mask: Array, a: Any, b: Any) -> Array:
    """Return `a` where the mask holds, `b` elsewhere; either may be a number or a 0-d array of the dtype of the other.

    For large arrays of one shape the bits are mixed: `np.where` on an irregular mask takes ten times as long.
    """
    integer = _INTS.get(getattr(a if getattr(a, "ndim", 0) else b, "dtype", None))
    if mask.size <= _FEW or integer is None or not mask.flags.c_contiguous:
        return np.where(mask, a, b)
    left, right = _bits(a, mask, integer), _bits(b, mask, integer)
    if left is None or right is None:
        return np.where(mask, a, b)
    result = np.empty(mask.shape, _FLOATS[integer])
    target, chosen = result.reshape(-1).view(integer), mask.reshape(-1).view(np.int8)
    if mask.size <= BLOCK:
        mix(target, chosen, left, right)
        return result

    def block(start: int, stop: int) -> None:
        part = slice(start, stop)
        mix(target[part], chosen[part], *[one[part] if one.ndim else one for one in (left, right)])

    shared(mask.size, lambda: block, BLOCK)
    return result


def keep(out: Array, mask: Array, values: Array) -> None:
    """Write floats where the mask holds, 0 elsewhere, also where they are inf or nan."""
    found, bits = as_integers(out, values)
    np.copyto(found, mask.view(np.int8))
    np.multiply(found, bits, out=found)  # faster than into a third array


def as_integers(*arrays: Array) -> list[Array]:
    """Return the bits of float arrays of one dtype as integers."""
    return [one.view(_INTS[one.dtype]) for one in arrays]


def mix(out: Array, mask: Array, a: Array, b: Array) -> None:
    """Write the bits `a` where the mask, of int8, is 1, and `b` where it is 0, as b + mask (a - b)."""
    np.subtract(a, b, out=out)
    np.multiply(out, mask, out=out)
    np.add(out, b, out=out)


def with_sign(sizes: Array, signed: Array, work: Array | None = None) -> Array:
    """Give numbers the signs of others of their dtype and shape, in place, where their own is none: by bits, as `copysign` is slow."""
    integer = _INTS[sizes.dtype]
    bits, given = sizes.view(integer), signed.view(integer)
    if given.size < _SOME or any(np.minimum.reduce(one, None) < 0 for one in (given[..., :_FEW], given)):  # few tell mostly
        np.bitwise_or(bits, np.bitwise_and(given, _SIGN[integer], out=None if work is None else work.view(integer)), out=bits)
    return sizes


def bounded(self: Any, low: Any, high: Any) -> Array:
    """Return an array kept within bounds of its dtype, arrays or numbers, the upper one last; None is no bound.

    A zero at a bound of zero keeps its sign: of equals `maximum` takes the second.
    """
    if self.size > _FEW and self.dtype.kind == "f" and np.ndim(low) == np.ndim(high) == 0:  # of numbers at once, and faster
        return np.clip(self, -np.inf if low is None else low, np.inf if high is None else high)
    if low is not None:
        self = np.maximum(low, self)
    return self if high is None else np.minimum(high, self)


_FLOATS = {integer: floating for floating, integer in _INTS.items()}


def _bits(value: Array, mask: Array, integer: NumpyDType) -> Array | None:
    """Return the bits of an operand, flat, or None where it does not lie as the mask does."""
    floating = _FLOATS[integer]
    if getattr(value, "ndim", 0) == 0:
        return np.asarray(value, floating).view(integer)
    if value.shape != mask.shape or value.dtype != floating or not value.flags.c_contiguous:
        return None
    return value.reshape(-1).view(integer)


def gated(grad: Array, mask: Array, into: Array | None = None) -> Array:
    """Return `grad` where the mask holds, 0 elsewhere, also where grad is inf or nan; in the memory `into`, if that is given."""
    integer = _INTS.get(grad.dtype)
    plain = mask.size > _FEW and mask.shape == grad.shape and mask.flags.c_contiguous and grad.flags.c_contiguous
    if integer is None or not plain:
        return np.where(mask, grad, np.zeros((), grad.dtype))
    result = np.empty(mask.shape, grad.dtype) if into is None else into
    source, target, chosen = grad.reshape(-1), result.reshape(-1), mask.reshape(-1)

    def block(start: int, stop: int) -> None:
        if into is None:
            keep(target[start:stop], chosen[start:stop], source[start:stop])
        else:
            bits = source[start:stop].view(integer)
            np.multiply(bits, chosen[start:stop].view(np.int8), out=target[start:stop].view(integer))

    shared(mask.size, lambda: block, BLOCK)
    return result


def reusing(kernel: Callable[..., object]) -> Callable[[Any], Any]:
    """Return what gives a formula its kernel for a large gradient that it reads for the last time.

    `kernel(into, *arguments)` may write into `into`, that gradient, or None where somebody else refers to it.
    """

    def decorate(formula: Any) -> Any:
        formula.reusing = kernel
        return formula

    return decorate
