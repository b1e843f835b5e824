"""`copy` and `deepcopy` for scripts and for the library itself: what an object is decides, nothing that it answers.

Python's own asks each object for `__deepcopy__` and `__reduce_ex__`, hands out its memo and the object's dictionary, and calls
what it was given. Here protocols are looked up on types, and the memo stays inside.
"""

import functools
from collections import defaultdict, deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from gradsh.engine.attribute_names import COPIED_AS, ScriptBase
from gradsh.engine.dispatch.attributes import copied_within
from gradsh.engine.graph.tensor import Parameter, Tensor, make
from gradsh.text.fault import fail

_ATOMS = (
    type(None), bool, int, float, complex, str, bytes, range, slice, type, FunctionType, BuiltinFunctionType, property,
    type(Ellipsis), type(NotImplemented), type(functools.lru_cache(abs)), np.dtype, np.ufunc,
)
Memo = dict[int, Any]
Part = Callable[[Any], Any]


class Saving(dict[int, Any]):
    """The memo of a copy that stands for a file: tensors become what PyTorch reads from one."""


def copy(x: object) -> Any:
    """Return a copy of an object that holds the same things."""
    return _copied(x, lambda part: part, None)


def deepcopy(x: object, memo: None = None) -> Any:
    """Return a copy of an object and of all that it holds."""
    if memo is not None:
        raise fail("type", "deepcopy(x, memo) is not part of gradsh: put both objects into one tuple and copy that", TypeError)
    return _deep(x, {})


def saved_copy(x: object) -> Any:
    """Return what is left of an object in a file: tensors are leaves without gradients, over a copy of the memory that they share."""
    return _deep(x, Saving())


def _deep(x: object, memo: Memo) -> object:
    found = memo.get(id(x), memo)
    if found is memo:
        found = _copied(x, lambda part: _deep(part, memo), memo)
        memo[id(x)] = found
        memo.setdefault(id(memo), []).append(x)  # nothing else may get its id while the memo lives
    return found


def _copied(x: object, part: Part, memo: Memo | None) -> object:
    """Return the copy of `x`: `part` copies what it holds, `memo` (of a deep copy) knows what is being copied."""
    kind = type(x)
    if isinstance(x, _ATOMS):
        return x
    if isinstance(x, Tensor) and (memo is None or isinstance(memo, Saving)):
        return _filled(x, _rebuilt(x, kind, memo), part)
    own = _special(kind, "__copy__" if memo is None else "__deepcopy__")
    if own is _special(Tensor, "__deepcopy__") and not isinstance(x, Parameter):  # whose own protocol drops them
        return _filled(x, own(x, memo), part)
    if own is not None:
        return own(x) if memo is None else own(x, memo)
    for base, how in _HOW.items():
        if isinstance(x, base):
            return how(x, kind, part, memo)
    refuse = _special(kind, "__reduce_ex__")
    if refuse is not None:
        refuse(x, 4)
    if hasattr(kind, "__script_attributes__") and not issubclass(kind, ScriptBase):
        return x  # of the engine, and no script changes it
    return _filled(x, _begun(x, _empty(kind), memo), part)


def _special(kind: type, name: str) -> Any:
    """Return a special method that a class defines, other than `object`'s."""
    for base in kind.__mro__[:-1]:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _empty(kind: type) -> object:
    """Return an instance that nothing has initialised. Python refuses that where an instance is more than names and values."""
    try:
        return object.__new__(kind)
    except TypeError:
        raise fail("type", f"cannot pickle '{kind.__name__}' object", TypeError) from None


def _begun(x: object, made: object, memo: Memo | None) -> Any:
    if memo is not None:
        memo[id(x)] = made
    return made


def _rebuilt(x: Tensor, kind: type, memo: Memo | None) -> Tensor:
    """Return a leaf over the same memory, or over its copy in `memo`: what PyTorch makes of a tensor that was pickled."""
    plain = make(x.array if memo is None else copied_within(x.array, memo))
    plain.counter.version = int(kind is Tensor)  # PyTorch sets a plain tensor's memory in place
    made: Tensor = object.__new__(kind)
    for name in ("array", "descriptor", "own_counter", "grad_fn_ref", "meta", "needs_grad"):
        object.__setattr__(made, name, getattr(plain, name))
    _begun(x, made, memo)
    return made.requires_grad_(x.requires_grad)


def _filled(x: object, made: object, part: Part) -> Any:
    """Give a copy what the dictionary and the slots of an instance hold."""
    for base in type(x).__mro__:
        if base is Tensor:
            break
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in {"__dict__", "__weakref__"} and hasattr(x, name):
                object.__setattr__(made, name, part(getattr(x, name)))
    for name, value in getattr(x, "__dict__", {}).items():
        if name != "fault":  # what an exception tells gradsh
            made.__dict__[name] = part(value)
    return made


def _list(x: Any, kind: Any, part: Part, memo: Memo | None) -> object:
    made = _begun(x, kind.__new__(kind), memo)
    made.extend([part(one) for one in x])
    return made


def _deque(x: Any, kind: object, part: Part, memo: Memo | None) -> object:
    made = _begun(x, deque(maxlen=x.maxlen), memo)
    made.extend([part(one) for one in x])
    return made


def _dict(x: Any, kind: Any, part: Part, memo: Memo | None) -> object:
    kind = kind.__dict__.get(COPIED_AS, kind)
    made = _begun(x, kind(x.default_factory) if isinstance(x, defaultdict) else kind(), memo)
    for key, value in list(x.items()):
        kind.__setitem__(made, part(key), part(value))
    return made


def _tuple(x: Any, kind: type, part: Part, memo: Memo | None) -> object:
    held = [part(one) for one in x]
    if memo is not None and id(x) in memo:  # it holds itself, by a list
        return memo[id(x)]
    if all(one is other for one, other in zip(held, x, strict=True)):
        return x
    return tuple.__new__(kind, held)


def _set(x: Any, kind: Any, part: Part, memo: Memo | None) -> object:
    return kind([part(one) for one in x])


def _method(x: Any, kind: Any, part: Part, memo: Memo | None) -> object:
    return kind(x.__func__, part(x.__self__))


def _partial(x: Any, kind: Any, part: Part, memo: Memo | None) -> object:
    return kind(part(x.func), *part(x.args), **part(x.keywords))


def _exception(x: Any, kind: Any, part: Part, memo: Memo | None) -> object:
    made = _begun(x, kind.__new__(kind), memo)
    made.args = part(x.args)
    return _filled(x, made, part)


_HOW: dict[Any, Callable[[Any, Any, Part, Memo | None], Any]] = {
    list: _list, tuple: _tuple, dict: _dict, set: _set, frozenset: _set, deque: _deque, MethodType: _method,
    functools.partial: _partial, BaseException: _exception,
}
"""How values of Python's types are copied."""
