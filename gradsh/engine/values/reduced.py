"""float16 and bfloat16: how numbers of reduced precision are kept, and how others become such numbers.

PyTorch's kernels on the CPU widen them to float32, compute, and round the result once. So does
`dispatch/widened_kernels.py` with every kernel of this package, none of which knows these dtypes.

numpy has float16 but no bfloat16. An array of bfloat16 holds float32 numbers of the other byte order, all of which bfloat16 has:
to numpy that is a dtype of its own, which promotes as bfloat16 does and which no fast path takes for float32.
"""

from typing import Any

import numpy as np

FLOAT16: np.dtype[Any] = np.dtype(np.float16)
BFLOAT16: np.dtype[Any] = np.dtype(np.float32).newbyteorder()
SINGLE: np.dtype[Any] = np.dtype(np.float32)
REDUCED = frozenset({FLOAT16, BFLOAT16})
_LOW_BITS = 16
"""How many bits of its fraction bfloat16 lacks of float32."""


def is_reduced(array: object) -> bool:
    """Whether this is an array of float16 or bfloat16."""
    return isinstance(array, np.ndarray) and array.dtype in REDUCED


def bytes_of(array: Any) -> int:
    """Return how many bytes the elements of an array take, in PyTorch; of one of its storages, how many it has."""
    return int(array.nbytes) // 2 if isinstance(array, np.ndarray) and array.dtype == BFLOAT16 else int(array.nbytes)


def widened(array: Any) -> Any:
    """Return an array of reduced precision in float32; anything else as it is."""
    return cast_operand(array, SINGLE) if is_reduced(array) else array


def rounded_to_bfloat16(array: Any) -> Any:
    """Return a copy in float32 of which each number is rounded to the nearest of bfloat16, ties to even."""
    wide = np.asarray(array).astype(np.float32)
    bits = wide.view(np.uint32)
    is_nan = np.isnan(wide)
    bits += np.uint32((1 << (_LOW_BITS - 1)) - 1) + ((bits >> np.uint32(_LOW_BITS)) & np.uint32(1))
    bits &= np.uint32(0xFFFF << _LOW_BITS)
    if is_nan.any():
        wide[is_nan] = np.nan
    return wide


def cast(array: Any, dtype: Any) -> Any:
    """Return a copy of an array in another dtype; what becomes float16 or bfloat16 goes through float32, as in PyTorch."""
    if dtype not in REDUCED:
        return array.astype(dtype)
    if dtype == BFLOAT16:
        return (array if array.dtype == BFLOAT16 else rounded_to_bfloat16(array)).astype(BFLOAT16)
    return array.astype(np.float32).astype(FLOAT16)


def cast_operand(array: Any, dtype: Any) -> Any:
    """Return a copy of an operand in another dtype; an expanded one stays so: it does not tell how the result lies in memory."""
    if 0 in array.strides and array.size > 1:
        single = array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]
        return np.broadcast_to(cast(single, dtype), array.shape)
    return cast(array, dtype)


def in_dtype(array: Any, dtype: Any) -> Any:
    """Return an array in a dtype: itself, if it has that."""
    array = np.asarray(array)
    return array if array.dtype == dtype else cast(array, dtype)


def write(target: Any, values: Any) -> None:
    """Write numbers into an array (broadcast), each rounded to its dtype."""
    target[...] = cast(np.asarray(values), target.dtype) if target.dtype in REDUCED else values
