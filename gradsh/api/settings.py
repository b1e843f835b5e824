"""torch's small functions that are no operations: default dtype, print options, seeds, questions about values."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import log10
from typing import NoReturn

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.parallel import set_threads, threads
from gradsh.engine.values.device import CPU, CUDA_WAY, Device, check_device, no_accelerator, no_device
from gradsh.engine.values.dtype import DType, as_dtype, of_numpy, promote_pair, result_type
from gradsh.engine.values.storage_objects import UntypedStorage
from gradsh.process.blas_threads import wanted
from gradsh.text.fault import fail


def set_default_dtype(d: DType) -> None:
    """Make `d` (a floating point dtype) the dtype of floats without one."""
    if not isinstance(d, DType):
        raise fail("type", "invalid dtype object: only floating-point types are supported as the default type", TypeError)
    if not d.is_floating_point:
        raise fail("type", "only floating-point types are supported as the default type", TypeError)
    current().default_dtype = d.numpy


def get_default_dtype() -> DType:
    """Return the dtype of floats without one."""
    return of_numpy(current().default_dtype)


def set_printoptions(**options: object) -> None:
    """Change how tensors print: precision, threshold, edgeitems, linewidth, profile, sci_mode."""
    current().print_options.set_printoptions(**options)


def is_tensor(obj: object) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def check(condition: object, message: object) -> None:
    """Raise AssertionError with the message where the condition does not hold."""
    if not condition:
        raise fail("assert", str(message), AssertionError)


def is_storage(obj: object) -> bool:
    """Return whether `obj` is the memory of a tensor."""
    return isinstance(obj, UntypedStorage)


def typename(obj: object) -> str:
    """Return the name of an object's type, or of a function or class itself, with its module."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in {None, "builtins"} else f"{module}.{named.__qualname__}"


def is_floating_point(input: Tensor) -> bool:
    """Return whether the tensor's dtype is a floating point type."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Return False: complex numbers are not offered."""
    return input.is_complex()


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    return input.numel()


def _dtype_of(value: object) -> DType:
    found = as_dtype(value)
    if found is None:
        raise fail("type", f"a dtype is expected, not {type(value).__name__}", TypeError)
    return found


def promote_types(type1: DType, type2: DType) -> DType:
    """Return the smallest dtype that holds both."""
    return of_numpy(promote_pair(_dtype_of(type1).numpy, _dtype_of(type2).numpy))


def result_type_of(tensor1: object, tensor2: object) -> DType:
    """Return the dtype of an operation on the two (tensors or numbers)."""
    both = (tensor1, tensor2)
    arrays = [one.array for one in both if isinstance(one, Tensor)]
    numbers = [one for one in both if not isinstance(one, Tensor)]
    return of_numpy(result_type(arrays, numbers, current().default_dtype))


def can_cast(from_: DType, to: DType) -> bool:
    """Return whether an in-place operation may write a result of dtype `from_` into `to`."""
    return _dtype_of(from_).category <= _dtype_of(to).category


class _Limits:
    """Numerical limits of a dtype, of one that gradsh does not compute in, too."""

    __slots__ = ("bits", "dtype", "max", "min")
    __script_attributes__ = frozenset(__slots__)
    _shown: tuple[str, ...] = ("min", "max")
    dtype: str

    def __repr__(self) -> str:
        shown = "".join(f"{key}={getattr(self, key):g}, " for key in self._shown)
        return f"{type(self).__name__}({shown}dtype={self.dtype})"


_FLOATS = {
    "float32": (23, -126), "float64": (52, -1022), "float16": (10, -14), "bfloat16": (7, -126),
    "float8_e4m3fn": (3, -6), "float8_e5m2": (2, -14),
}
"""Bits of the fraction, and the least exponent of a normal number."""


class finfo(_Limits):
    """Limits of a floating point dtype: eps, max, min, tiny, resolution, bits."""

    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")
    __script_attributes__ = frozenset(__slots__)
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type: DType | None = None) -> None:
        chosen = get_default_dtype() if type is None else type
        if chosen.name not in _FLOATS:
            raise fail("type", "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'", TypeError)
        digits, least = _FLOATS[chosen.name]
        self.bits = 8 * chosen.itemsize
        self.eps = 2.0**-digits
        self.tiny = self.smallest_normal = 2.0**least
        self.max = 448.0 if chosen.name == "float8_e4m3fn" else (2 - self.eps) * 2.0 ** (1 - least)  # it has no infinity
        self.min = -self.max
        self.resolution = 10.0 ** -int(digits * log10(2))
        self.dtype = chosen.name


class iinfo(_Limits):
    """Limits of an integer dtype: max, min, bits."""

    __slots__ = ()

    def __init__(self, type: DType) -> None:
        if type.category != 1:
            raise fail("type", "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'", TypeError)
        self.bits = 8 * type.itemsize
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -self.max - 1 if type.is_signed else 0
        self.dtype = type.name


class device_index:
    """`with torch.accelerator.device_index(n)`: refuses a number, since there is no accelerator; does nothing for None."""

    def __init__(self, device: int | None) -> None:
        self._device = device

    def __enter__(self) -> None:
        if self._device is not None:
            raise no_accelerator()

    def __exit__(self, *error: object) -> None:
        """Leave the device as it is."""


def set_default_device(device: object) -> None:
    """Make a device the one on which factories make tensors; None: the CPU. One that is not here is refused by the first factory."""
    current().default_devices[0] = None if device is None else Device(device)


def get_default_device() -> Device:
    """Return the device on which factories make tensors that name none; one without an index is asked for its own, so it must be here."""
    device = current().default_devices[-1] or CPU
    if device.index is None:
        check_device(device)
    return device


def set_default_tensor_type(t: object) -> None:
    """Make the dtype of an old tensor type that of floats without one."""
    current().warning("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
                      "torch.set_default_device() as alternatives.")  # fmt: skip
    name = t if isinstance(t, str) else str(getattr(t, "__name__", t))
    check_device("cuda" if ".cuda." in name else None)
    kinds = {"FloatTensor": "float32", "DoubleTensor": "float64"}
    kind = kinds.get(name.rpartition(".")[2])
    if kind is None:
        raise fail("type", "only floating-point types are supported as the default type", TypeError)
    current().default_dtype = np.dtype(kind)


def cuda_is_available() -> bool:
    """Return False: gradsh computes on the CPU."""
    return False


def built_in() -> bool:
    """Return True: PyTorch for the CPU is built with MKL, oneDNN and OpenMP."""
    return True


def device_count() -> int:
    """Return 0."""
    return 0


def none(*_args: object, **_kwargs: object) -> None:
    """Return None: there is no such device, version or worker."""


def no_gpu(*_args: object, **_kwargs: object) -> NoReturn:
    """Refuse: there is no GPU to ask about."""
    raise no_device("cuda")


def set_device(device: object) -> None:
    """Refuse as PyTorch does where it was built without CUDA, unless the session takes the CPU for every device."""
    if current().flags.get("cuda") != "ignore":
        raise fail("value", "module 'torch._C' has no attribute '_cuda_setDevice'", AttributeError, device=device, way=CUDA_WAY)


def no_group(*_args: object, **_kwargs: object) -> NoReturn:
    """Refuse as PyTorch does in a program of one process."""
    message = "Default process group has not been initialized, please make sure to call init_process_group."
    raise fail("value", message, ValueError)


def ignore(*_args: object, **_kwargs: object) -> None:
    """Take any arguments and do nothing (settings that have no meaning here: cuDNN switches)."""


@contextmanager
def fork_rng(devices: object = None, enabled: bool = True, *_names: object, device_type: str = "cuda") -> Iterator[None]:
    """Draw random numbers within a block, and go on after it as if nothing had been drawn."""
    del devices, device_type
    generator = current().generator
    before = generator.get_state()
    try:
        yield
    finally:
        if enabled:
            generator.set_state(before)


@contextmanager
def cudnn_flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False, allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Hold cuDNN's switches at these values within a block: nothing here depends on them."""
    del benchmark_limit, fp32_precision
    values = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    held = {f"torch.backends.cudnn.{name}": value for name, value in values.items()}
    flags = current().flags
    before = {key: flags[key] for key in held if key in flags}
    flags.update(held)
    try:
        yield
    finally:
        for key in held:
            flags.pop(key, None)
        flags.update(before)


def get_num_threads() -> int:
    """Return how many threads work on products and on large arrays; results do not depend on it."""
    return threads()


def get_num_interop_threads() -> int:
    """Return how many there would be if no program had set it."""
    return wanted()


def set_num_threads(*args: object, **options: object) -> None:
    """Let so many threads work on products and on large arrays."""
    if options:
        raise fail("type", "torch.set_num_threads() takes no keyword arguments", TypeError)
    if len(args) != 1:
        raise fail("type", f"torch.set_num_threads() takes exactly one argument ({len(args)} given)", TypeError)
    if type(args[0]) is not int:
        raise fail("type", f"set_num_threads expects an int, but got {type(args[0]).__name__}")
    if args[0] < 1:
        raise fail("value", "set_num_threads expects a positive integer")
    set_threads(args[0])
