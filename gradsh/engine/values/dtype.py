"""Data types, and how those of several operands become one (PyTorch's promotion rules)."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from gradsh.engine.values.reduced import BFLOAT16
from gradsh.text.fault import fail

NumpyDType: TypeAlias = np.dtype[Any]
Array: TypeAlias = np.ndarray[tuple[Any, ...], NumpyDType]


class DType:
    """A data type with PyTorch's name. `category` orders bool < integer < floating point for promotion."""

    __slots__ = ("category", "is_floating_point", "itemsize", "name", "numpy", "title")
    __script_attributes__ = frozenset({"is_floating_point", "is_complex", "is_signed", "itemsize"})

    def __init__(self, name: str, numpy: Any, category: int, title: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy)
        self.category = category
        self.is_floating_point = category == 2
        self.title = title  # PyTorch's name in error messages: Float, Long, …
        self.itemsize = 2 if self.numpy == BFLOAT16 else int(self.numpy.itemsize)
        """Size of one element in bytes, in PyTorch."""

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name

    @property
    def is_complex(self) -> bool:
        """False: complex numbers are not offered."""
        return False

    @property
    def is_signed(self) -> bool:
        """Whether negative values exist."""
        return self.name not in {"uint8", "bool"}


class ForeignDType(DType):
    """A data type that PyTorch has and gradsh does not: it can be named and compared; to compute in it is refused.

    So `x.dtype == torch.complex64`, or a table of dtypes of which another is chosen, does what it does in PyTorch.
    """

    __slots__ = ()

    def __init__(self, name: str, itemsize: int, category: int, title: str) -> None:
        self.name = name
        self.category = category
        self.is_floating_point = category == 2
        self.title = title
        self.itemsize = itemsize

    @property
    def numpy(self) -> Any:
        """Raises TypeError: whoever wants to compute in a dtype asks for this."""
        raise foreign(self.name)

    @property
    def is_complex(self) -> bool:
        """Whether its numbers are complex."""
        return self.category == 3

    @property
    def is_signed(self) -> bool:
        """Whether negative values exist."""
        return not self.name.startswith("uint")


def foreign(name: object) -> Exception:
    """Return the error for a dtype that gradsh does not compute in."""
    known = ", ".join(each.name for each in DTYPES[:-1])
    way = "compute in float32 (leave the conversion out), or run the program on PyTorch: `gradsh trace FILE`"
    return fail("dtype", f"gradsh computes in {known} and bool, not in {name}", TypeError, way=way)


float32 = DType("float32", np.float32, 2, "Float")
float64 = DType("float64", np.float64, 2, "Double")
float16 = DType("float16", np.float16, 2, "Half")
bfloat16 = DType("bfloat16", BFLOAT16, 2, "BFloat16")
int64 = DType("int64", np.int64, 1, "Long")
int32 = DType("int32", np.int32, 1, "Int")
int16 = DType("int16", np.int16, 1, "Short")
int8 = DType("int8", np.int8, 1, "Char")
uint8 = DType("uint8", np.uint8, 1, "Byte")
bool_ = DType("bool", np.bool_, 0, "Bool")

DTYPES: tuple[DType, ...] = (float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool_)
float8_e4m3fn = ForeignDType("float8_e4m3fn", 1, 2, "Float8_e4m3fn")
float8_e5m2 = ForeignDType("float8_e5m2", 1, 2, "Float8_e5m2")
float8_e4m3fnuz = ForeignDType("float8_e4m3fnuz", 1, 2, "Float8_e4m3fnuz")
float8_e5m2fnuz = ForeignDType("float8_e5m2fnuz", 1, 2, "Float8_e5m2fnuz")
float8_e8m0fnu = ForeignDType("float8_e8m0fnu", 1, 2, "Float8_e8m0fnu")
complex32 = ForeignDType("complex32", 4, 3, "ComplexHalf")
complex64 = ForeignDType("complex64", 8, 3, "ComplexFloat")
complex128 = ForeignDType("complex128", 16, 3, "ComplexDouble")
uint16 = ForeignDType("uint16", 2, 1, "UInt16")
uint32 = ForeignDType("uint32", 4, 1, "UInt32")
uint64 = ForeignDType("uint64", 8, 1, "UInt64")

FOREIGN: tuple[ForeignDType, ...] = (
    float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, complex32, complex64, complex128, uint16, uint32, uint64,
)
ALIASES: dict[str, DType] = {
    "float": float32, "double": float64, "long": int64, "int": int32, "short": int16, "half": float16, "chalf": complex32,
    "cfloat": complex64, "cdouble": complex128,
}
_BY_NUMPY: dict[object, DType] = {each.numpy: each for each in DTYPES}
_OF_PYTHON: dict[object, DType] = {float: float64, int: int64, bool: bool_, complex: complex128}


def as_dtype(value: object) -> DType | None:
    """Return the dtype that an argument names, as a dtype or as a type of Python's numbers; None where it names none."""
    if isinstance(value, DType):
        return value
    return _OF_PYTHON.get(value) if type(value) is type else None


def of_numpy(dtype: NumpyDType) -> DType:
    """Return the DType of a numpy dtype; refuses the ones that gradsh does not offer (complex, uint16, …)."""
    try:
        return _BY_NUMPY[dtype]
    except KeyError:
        raise foreign(dtype) from None


_PROMOTED: dict[tuple[Any, Any], Any] = {}


CPP_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int", "int32": "int",
    "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
}


def cpp_name(dtype: NumpyDType) -> str:
    """Return C++'s name of a dtype, as some of PyTorch's messages have it."""
    return CPP_NAMES[of_numpy(dtype).name]


def type_name(dtype: NumpyDType) -> str:
    """Return the name of the type of a tensor of a dtype, as PyTorch's messages have it."""
    title = of_numpy(dtype).title
    return f"CPU{title}Type" if title in {"Bool", "BFloat16"} else f"torch.{title}Tensor"


def promote_pair(a: NumpyDType, b: NumpyDType) -> NumpyDType:
    """Promote two numpy dtypes of the same standing, as torch.promote_types does."""
    if a == b:
        return a
    key = (a, b)
    found = _PROMOTED.get(key)
    if found is None:
        x, y = of_numpy(a), of_numpy(b)
        if x.category != y.category:
            found = (x if x.category > y.category else y).numpy
        elif x.category == 2:
            found = (float64 if float64 in (x, y) else float32).numpy
        else:
            found = np.promote_types(a, b)
        _PROMOTED[key] = found
    return found


def _combine(higher: NumpyDType | None, lower: NumpyDType | None) -> NumpyDType | None:
    """Let a dtype of lower standing (0-d tensors, then numbers) count only by its category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    kind = of_numpy(higher).category
    if kind == 2:
        return higher
    if kind == 0 or of_numpy(lower).category == 2:
        return promote_pair(higher, lower)
    return higher


def number_dtype(number: float, default: NumpyDType) -> NumpyDType:
    """Return the numpy dtype at which a Python number takes part in promotion."""
    if isinstance(number, bool):
        return np.dtype(np.bool_)
    return np.dtype(np.int64) if isinstance(number, int) else default


def result_type(arrays: Iterable[Array], numbers: Iterable[Any], default: NumpyDType) -> Any:
    """Return the numpy dtype of an operation on these arrays and Python numbers (torch.result_type).

    Tensors with dimensions come before 0-d tensors, and those before numbers: one of lower standing changes
    the result only if its category (bool, integer, floating point) is higher.
    """
    dimensioned = zero_dim = wrapped = None
    for array in arrays:
        if array.ndim:
            dimensioned = array.dtype if dimensioned is None else promote_pair(dimensioned, array.dtype)
        else:
            zero_dim = array.dtype if zero_dim is None else promote_pair(zero_dim, array.dtype)
    for number in numbers:
        one = number_dtype(number, default)
        wrapped = one if wrapped is None else promote_pair(wrapped, one)
    return _combine(dimensioned, _combine(zero_dim, wrapped))
