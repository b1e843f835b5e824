"""Operands of several dtypes: what they become before a kernel gets them, or PyTorch's sentence that refuses them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import Array, cpp_name, of_numpy, result_type
from gradsh.engine.values.reduced import REDUCED, SINGLE, cast, cast_operand
from gradsh.text.fault import fail

_EXACT_NUMBERS = frozenset({"mul", "div", "floor_divide"})
"""Operations in which PyTorch does not round a number (or single element) to the reduced precision of the tensor beside it."""


def unify(record: Overload, arrays: list[Any], policy: str) -> None:
    """Bring the operands among a kernel's arguments to the dtype that the policy of the record asks for, in place."""
    places = record.tensors or ()
    operands: list[Array] = []
    numbers: list[Any] = []
    for place in places:
        each = arrays[place]
        for one in each if type(each) is list else (each,):
            if isinstance(one, np.ndarray):
                operands.append(one)
            elif one is not None:
                numbers.append(one)
    first: Any = operands[0].dtype if operands else None
    if policy == "same":
        _check_same(record, operands)
        return
    default = current().default_dtype
    common = result_type(operands, numbers, default) if numbers or any(one.dtype != first for one in operands) else first
    if policy == "float" and common.kind != "f":
        common = default
    exact = common in REDUCED and record.name.rstrip("_") in _EXACT_NUMBERS and any(_is_operand(one, common) for one in operands)
    for place in places:
        each = arrays[place]
        if type(each) is list:
            arrays[place] = [_cast(one, common) for one in each]
        elif each is not None:
            arrays[place] = _cast(each, common if not exact or _is_operand(each, common) else SINGLE)


def _is_operand(value: Any, dtype: Any) -> bool:
    """Whether an operand decides the dtype of a result beside numbers and single elements of other dtypes."""
    return isinstance(value, np.ndarray) and bool(value.ndim or value.dtype == dtype)


def _cast(value: Array | float, dtype: Any) -> Array:
    if not isinstance(value, np.ndarray):
        return cast(np.asarray(value), dtype)  # type: ignore[no-any-return]
    return value if value.dtype == dtype else cast_operand(value, dtype)


def _check_same(record: Overload, operands: Sequence[Array]) -> None:
    names = [of_numpy(one.dtype).title for one in operands]
    for index, name in enumerate(names):
        if name != names[0]:
            message = _different(record.name, index, names, [cpp_name(one.dtype) for one in operands])
            raise fail("dtype", message, operation=record.name)


def _different(operation: str, index: int, names: list[str], in_cpp: list[str]) -> str:
    """Return PyTorch's sentence for operands of different dtypes, of which the one at `index` is the first."""
    a, b = names[0], names[index]
    match operation:
        case "mm":
            return f"expected m1 and m2 to have the same dtype, but got: {in_cpp[0]} != {in_cpp[index]}"
        case "baddbmm":
            return "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*in_cpp)
        case "addmm" if names[1] != names[2]:
            return f"mat1 and mat2 must have the same dtype, but got {names[1]} and {names[2]}"
        case "addmm":
            return f"self and mat2 must have the same dtype, but got {a} and {names[2]}"
        case "mv":
            return f"addmv input tensors must have the same dtype, but got {b}, {a}, and {b}"
        case "addmv":
            return f"addmv input tensors must have the same dtype, but got {', '.join(names[:2])}, and {names[2]}"
        case "dot":
            return f"dot : expected both vectors to have same dtype, but found {a} and {b}"
    return f"expected scalar type {a} but found {b}"
