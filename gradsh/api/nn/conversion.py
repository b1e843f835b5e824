"""Reading the arguments of `module.to(...)`, and of `device=` and `dtype=` in constructors."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Parameter, Tensor, make
from gradsh.engine.values.device import DEVICES, Device, check_device, check_factory_device, type_of
from gradsh.engine.values.dtype import as_dtype
from gradsh.text.fault import fail


def parse_to(args: tuple[object, ...], kwargs: dict[str, object], moves: bool) -> Any:
    """Return the numpy dtype that `to(...)` asks for, None if it names a device only, which is refused where a tensor `moves`."""
    dtype = as_dtype(kwargs.get("dtype"))
    for value in (*args, kwargs.get("device")):
        named = as_dtype(value)
        if named is not None:
            dtype = named
        elif isinstance(value, Tensor):
            dtype = value.dtype
        elif type(value) is int or (isinstance(value, (str, Device)) and (moves or type_of(value) not in DEVICES)):
            check_device(value)
    if dtype is None:
        return None
    if not (dtype.is_floating_point or dtype.is_complex):
        message = f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
        raise fail("type", message, TypeError)
    return dtype.numpy


def factory(device: object, dtype: object) -> Any:
    """Return the numpy dtype for a constructor's `dtype=` (the default one if None), after checking `device=`."""
    check_factory_device(device)
    if dtype is None:
        return current().default_dtype
    found = as_dtype(dtype)
    if found is None:
        raise fail("type", f"empty(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}", TypeError)
    return found.numpy


def _repeated(count: int) -> object:
    """Return the function that makes a tuple of so many numbers of one, and leaves what is a sequence."""

    def parse(x: object) -> tuple[object, ...]:  # PyTorch's name, which Python's errors say
        return tuple(x) if isinstance(x, (list, tuple)) else (x,) * count

    parse.__qualname__ = "parse"
    return parse


_single, _pair, _triple, _quadruple = map(_repeated, (1, 2, 3, 4))


def blank(shape: tuple[int, ...], dtype: Any) -> Parameter:
    """Return a parameter of the shape, to be filled by an initialiser."""
    for place, extent in enumerate(shape):
        if not hasattr(type(extent), "__index__"):  # PyTorch looks at the first one before it reads them all
            kind = type(extent).__name__
            found = (
                f'failed to unpack the object at pos {place + 1} with error "type must be tuple of ints,but got {kind}"' if place else
                f"(position 1) must be tuple of ints, but found element of type {kind} at pos 0"
            )
            raise fail("type", f"empty(): argument 'size' {found}", TypeError)
    if any(extent < 0 for extent in shape):
        extent = next(extent for extent in shape if extent < 0)
        raise fail("shape", f"Trying to create tensor with negative dimension {extent}: {list(shape)}")
    return Parameter(make(np.zeros(shape, dtype)))


def constant(shape: tuple[int, ...], value: float, dtype: Any) -> Tensor:
    """Return a tensor filled with one number, of version 0."""
    return make(np.full(shape, value, dtype))
