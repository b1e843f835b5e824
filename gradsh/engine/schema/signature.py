"""Signatures of operations, written as text: parsed on first use, then binding calls to parameters.

    signature = NAME "(" [param ("," param)*] ")"
    param     = "*" | ["*"] NAME [":" TYPE ["?"]] ["=" DEFAULT]

Without a type a parameter is a Tensor. Types: Tensor, Operand (Tensor or number), Tensors (a sequence), Indices (a sequence
of Tensors and None), data (a Tensor, array or nested sequence), int, ints (one or several), tuple (of ints, no single one), sizes (as
ints, a single one staying an int), float, number, bool, str, dtype, any. `?` admits None. A bare `*` starts the keyword-only parameters;
`*NAME: ints` also takes its numbers one by one, as `view(2, 3)` does.
"""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.graph.types import TensorBase
from gradsh.engine.values.dtype import as_dtype

REQUIRED = object()
MISMATCH: Any = object()
SPELLINGS = {
    "self": ("input", "x", "a", "x1"), "input": ("input", "x", "a", "x1"), "dim": ("dim", "axis"), "keepdim": ("keepdim", "keepdims"),
    "other": ("other", "x2"),
}
"""How calls may spell a parameter's name: as PyTorch does (whose functions call the first one `input`), or as numpy does."""
_RAW = (np.ndarray, np.generic)


class ArrayAmongTensors(Exception):
    """A call that has both tensors and arrays: signatures admit arrays alone (within derivatives), or tensors."""


_HEAP_TYPE = 1 << 9
"""`Py_TPFLAGS_HEAPTYPE`: the class was made by a class statement. The name of one made in C has its module."""


def class_name(value: object) -> str:
    """Return the name of an argument's class as C code has it."""
    kind = type(value)
    of_pytorch = kind.__module__ in {"torch", "torch._C"} and kind.__name__ != "Tensor"  # written in C there
    if (kind.__flags__ & _HEAP_TYPE and not of_pytorch) or kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"


class Param:
    """One parameter: name, type word, whether None is admitted, default, keyword-only, variadic."""

    __slots__ = ("accept", "default", "keyword_only", "name", "optional", "type", "variadic")

    def __init__(self, name: str, type: str, optional: bool, default: object, keyword_only: bool, variadic: bool) -> None:
        self.name = name
        self.type = "ints" if type == "tuple" else type
        self.optional = optional
        self.default = default
        self.keyword_only = keyword_only
        self.variadic = variadic
        self.accept = ACCEPT[type]

    def convert(self, value: object) -> Any:
        """Return the value as the kernel wants it, or MISMATCH."""
        if value is None:
            return None if self.optional else MISMATCH
        return self.accept(value)

    def refuses(self, value: object) -> bool:
        """Whether a call by a program may not have this argument."""
        return self.refuses_arrays(value) or self.convert(value) is MISMATCH

    def refuses_arrays(self, value: object) -> bool:
        """Whether numpy's arrays, or its numbers, stand where a program has to give tensors; derivatives may give them."""
        if self.type == "Tensor" and isinstance(value, np.generic):
            return True
        several = value if self.type in ("Tensors", "Indices") and isinstance(value, (list, tuple)) else (value,)
        return self.type in ("Tensor", "Operand", "Tensors", "Indices") and any(isinstance(one, np.ndarray) for one in several)

    def __str__(self) -> str:
        word = {
            "Operand": "Tensor", "Tensors": "tuple of Tensors", "Indices": "tuple of Tensors", "ints": "tuple of ints",
            "number": "Number", "dtype": "torch.dtype", "generator": "torch.Generator", "layout": "torch.layout", "device": "torch.device",
        }
        key = self.name if self.type == "any" else self.type
        text = f"{word.get(key, self.type)} {self.name}"
        if self.default is not REQUIRED:
            text += f" = {self.default!r}"
        return text


def _tensor(value: object) -> Any:
    return value if isinstance(value, (TensorBase, *_RAW)) else MISMATCH


def _operand(value: object) -> object:
    return value if isinstance(value, (TensorBase, float, int, *_RAW)) else MISMATCH


def _tensors(value: object) -> object:
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, (TensorBase, *_RAW)) for one in value):
        return MISMATCH
    return list(value)


def _indices(value: object) -> object:
    if not isinstance(value, (list, tuple)) or not all(one is None or isinstance(one, (TensorBase, *_RAW)) for one in value):
        return MISMATCH
    return list(value)


def _data(value: object) -> object:
    """Anything but an extent: what is no sequence is refused later, in words of its own."""
    return MISMATCH if type(value) is int or isinstance(value, np.integer) else value


def _int(value: object) -> object:
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return MISMATCH
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, TensorBase) and value.array.ndim == 0 and value.array.dtype.kind in "iu":
        return int(value.array)
    return MISMATCH


def _ints(value: object) -> object:
    if isinstance(value, (list, tuple)):
        found = tuple(_int(one) for one in value)
        return MISMATCH if MISMATCH in found else found
    one = _int(value)
    return MISMATCH if one is MISMATCH else (one,)


def _tuple(value: object) -> object:
    return _ints(value) if isinstance(value, (list, tuple)) else MISMATCH


def _sizes(value: object) -> object:
    one = _int(value)
    return _ints(value) if one is MISMATCH else one


def _number(value: object) -> Any:
    if isinstance(value, (float, int)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, TensorBase) and value.array.ndim == 0 and not value.needs_grad:
        return value.array.item()
    return MISMATCH


def _float(value: object) -> float:
    found = _number(value)
    return found if found is MISMATCH else float(found)


def _bool(value: object) -> object:
    return value if isinstance(value, (bool, np.bool_)) else MISMATCH


def _str(value: object) -> str:
    return value if isinstance(value, str) else MISMATCH


def _dtype(value: object) -> object:
    found = as_dtype(value)
    if found is not None:
        return found.numpy
    return value if isinstance(value, np.dtype) else MISMATCH


def _any(value: object) -> object:
    return value


ACCEPT: dict[str, Callable[[object], object]] = {
    "Tensor": _tensor, "Operand": _operand, "Tensors": _tensors, "int": _int, "ints": _ints,
    "sizes": _sizes, "tuple": _tuple, "float": _float,
    "number": _number, "Indices": _indices, "data": _data, "bool": _bool, "str": _str, "dtype": _dtype, "any": _any,
}


class Signature:
    """A parsed signature. `bind` fits a call to it."""

    __slots__ = ("defaults", "index", "keywords", "name", "params", "positional", "variadic")

    def __init__(self, text: str, python: bool = False) -> None:
        self.name, _, rest = text.partition("(")
        self.params = tuple(_params(rest.rstrip().removesuffix(")")))
        self.index = {param.name: place for place, param in enumerate(self.params)}
        self.keywords = self._spelt(python)
        """Which parameter a keyword means. A function that PyTorch writes in Python has one spelling of each."""
        self.positional = sum(not param.keyword_only for param in self.params)
        self.variadic = any(param.variadic for param in self.params)
        self.defaults = [
            () if param.default is REQUIRED and param.variadic and param.type == "any" else param.default for param in self.params
        ]

    def _spelt(self, python: bool) -> dict[str, int]:
        found: dict[str, int] = {}
        for place, param in enumerate(self.params):
            spellings = SPELLINGS.get(param.name, (param.name,)) if param.type != "number" else (param.name,)
            for spelling in spellings[:1] if python else spellings:
                if spelling == param.name or spelling not in self.index:
                    found[spelling] = place
        return found

    def bind(self, args: tuple[object, ...], kwargs: dict[str, object]) -> list[object] | None:
        """Return the converted value of every parameter in order, or None where the call does not fit."""
        params = self.params
        given = len(args)
        if self.variadic and given and given >= self.positional and self._spread(args):
            last = self.positional - 1
            args = (*args[:last], args[last:])
            given = len(args)
        if given > self.positional:
            return None
        values: list[Any] = []
        for param, value in zip(params, args):  # noqa: B905  (the rest has defaults)
            converted = param.accept(value) if value is not None else None if param.optional else MISMATCH
            if converted is MISMATCH:
                return None
            values.append(converted)
        defaults = self.defaults[given:]
        if kwargs:
            values += [REQUIRED] * len(defaults)
            if not self._keywords(kwargs, values):
                return None
            for place, default in enumerate(defaults, given):
                if values[place] is REQUIRED:
                    values[place] = default
        else:
            values += defaults
        return None if REQUIRED in defaults and any(value is REQUIRED for value in values) else values

    def _spread(self, args: tuple[object, ...]) -> bool:
        """Whether the last positional parameter takes the remaining arguments one by one."""
        if not self.positional:
            return False
        last = self.params[self.positional - 1]
        return last.variadic and (len(args) > self.positional or not isinstance(args[self.positional - 1], (list, tuple)))

    def _keywords(self, kwargs: dict[str, object], values: list[object]) -> bool:
        for name, value in kwargs.items():
            place = self.keywords.get(name)
            if place is None or values[place] is not REQUIRED:
                return False
            converted = self.params[place].convert(value)
            if converted is MISMATCH:
                return False
            values[place] = converted
        return True

    def __str__(self) -> str:
        shown: list[str] = []
        for place, param in enumerate(self.params):
            if param.keyword_only and (place == 0 or not self.params[place - 1].keyword_only):
                shown.append("*")
            shown.append(str(param))
        return f"({', '.join(shown)})"


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _params(text: str) -> list[Param]:
    found: list[Param] = []
    keyword_only = False
    for part in _split(text):
        if part == "*":
            keyword_only = True
            continue
        left, equals, default = part.partition("=")
        name, _, type_word = left.partition(":")
        type_word = type_word.strip() or "Tensor"
        optional = type_word.endswith("?")
        value = ast.literal_eval(default.strip()) if equals else REQUIRED
        variadic = name.startswith("*")
        name = name.strip().removeprefix("*")
        found.append(Param(name, type_word.removesuffix("?"), optional, value, keyword_only, variadic))
    return found
