"""Guarded attributes: nothing exists on a value that its type does not offer to scripts.

A lookup asks once per (type, name); what was allowed is then looked up by Python itself. Four sorts of owners: values
of Python's types (the lists of `allowlist.py`), objects of the engine (their class's `__script_attributes__`, a frozenset or a
function of the name), instances and classes that a script defines, and namespaces. Anything else offers nothing:
a frame, a traceback or a module that leaked would be inert. Law: names are compared only as exact `str`, since a
subclass could lie about being equal.
"""

import enum
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gradsh.api.namespace import Switches
from gradsh.compiler import runtime_names
from gradsh.compiler.special import CALLABLE_SPECIALS, CLASS_ONLY, LOOKUPS, SPECIAL_METHODS
from gradsh.engine.attribute_names import ScriptBase
from gradsh.engine.graph.array_attributes import Elements, Lent
from gradsh.engine.graph.node import SAVED_PREFIXES, Node
from gradsh.engine.graph.tensor import Tensor
from gradsh.process.lean_numpy import document
from gradsh.runtime.aliased import alias, is_aliased
from gradsh.runtime.allowlist import ATTRIBUTES, public, table_of
from gradsh.runtime.bounded_operators import BoundedList
from gradsh.runtime.files import FileModule
from gradsh.runtime.formatting import Format
from gradsh.runtime.members import Attributes, Lookup, Member, needs_check
from gradsh.runtime.missing_modules import Absent
from gradsh.runtime.numpy_resize import resize_of
from gradsh.runtime.object_arrays import numbers_only
from gradsh.runtime.tensors import ARRAY, DTYPE, tensor_names, tensor_offers
from gradsh.runtime.type_proxies import KindOf
from gradsh.text.fault import fail

_CLASS_NAMES = frozenset({"__name__", "__qualname__", "__doc__", "__module__"})
_FUNCTION_NAMES = frozenset({"__name__", "__qualname__", "__doc__"})
_CALLED = frozenset({"__enter__", "__exit__", "__iter__", "__next__", "__len__"})
"""What `with`, `for` and `len` call, whatever the object: a script may call it, too."""
_NAMED = frozenset({FunctionType, partial})
"""Functions that hold what a script gives them."""
_OBJECT = frozenset({"__init__", "__repr__", "__str__", "__eq__", "__ne__", "__hash__", "__doc__"})
BAGS: set[type] = set()
"""Classes of ours whose instances hold what a script put there and nothing else."""
_FORMATS = frozenset({"format", "format_map"})

Getter = Callable[[Any], Any]


def is_script_class(kind: type) -> bool:
    """Tell whether a script defined this class."""
    return runtime_names.SCRIPT in type.__getattribute__(kind, "__dict__")


def has_attributes(kind: type) -> bool:
    """Tell whether the values of a class have no other attributes than a script gives them, so that it may read them all."""
    bases = type.__getattribute__(kind, "__mro__")
    return kind is not ScriptBase and all(
        is_script_class(base) or base in {object, ScriptBase} or base in BAGS
        or "__script_bag__" in type.__getattribute__(base, "__dict__") for base in bases
    )


def offer_of(kind: type) -> tuple[object, ...]:
    """Return what the engine's classes among a class's bases declare (or are declared) to offer, nearest first."""
    found = []
    for base in type.__getattribute__(kind, "__mro__"):
        if "__script_attributes__" in type.__getattribute__(base, "__dict__"):
            found.append(base.__script_attributes__)
        if base in OFFERS:
            found.append(OFFERS[base])
        if isinstance(base, enum.EnumType) and base.__members__:
            found.append(frozenset(base.__members__) | {"name", "value"})
    return tuple(found)


OFFERS: dict[type, object] = {
    Tensor: tensor_offers, Elements: tensor_offers, Lent: tensor_offers,
    np.ndarray: ARRAY, np.generic: ARRAY, np.dtype: DTYPE, np.ufunc: frozenset({"__name__", "__doc__"}),
}
"""Classes of the engine and of numpy -> what they offer: a frozenset, or a function of the name."""
_PYTORCHS = frozenset({
    "_apply", "_backward_cls", "_backward_hooks", "_check_input_dim", "_extended_shape", "_forward_hooks",
    "_forward_pre_hooks", "_get_closed_form_lr", "_get_name", "_is_better", "_output_padding", "_raw_saved_tensors",
    "_reset", "_reset_parameters", "_sequence_nr", "_set_sequence_nr", "_update_lr", "_validate_args", "_validate_sample",
})
"""Names with an underscore that PyTorch's classes have, too. All others in a class of the engine are its own affair."""


def offered(offers: tuple[Any, ...], name: str) -> bool:
    """Tell whether any of the declarations names the attribute."""
    return any(name in offer if isinstance(offer, frozenset) else offer(name) for offer in offers)


def _text(name: object) -> str:
    """Return an attribute's name. Raises TypeError for what is no text."""
    if type(name) is not str:
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    return name


class Guard:
    """Decides which attributes a script reaches; `builtins` tells a script's functions, in whatever file."""

    def __init__(self, builtins: dict[str, Any]) -> None:
        self.builtins = builtins
        self.kinds = KindOf()
        self.namespaces: tuple[type[Any], ...] = ()
        self._members: dict[tuple[type, str], Member] = {}
        self._getters: dict[str, Getter] = {}

    def getter(self, name: str) -> Getter:
        """Return the function that reads attribute `name` of its argument, made once per name."""
        found = self._getters.get(name)
        if found is None:
            found = self._getters[name] = self._make(name)
        return found

    def _make(self, name: str) -> Getter:
        known: set[type] = set()

        def slowly(owner: object) -> object:
            return self.read(owner, name, known)

        if name == "__class__" or not name.isidentifier():
            return slowly
        scope: dict[str, Any] = {"known": known, "slowly": slowly}
        text = f"def get(owner):\n if type(owner) in known: return owner.{name}\n return slowly(owner)"
        exec(compile(text, "<attribute>", "exec"), scope)
        getter: Getter = FunctionType(
            scope["get"].__code__, {"known": known, "slowly": slowly, "__builtins__": {"type": type, "__import__": __import__}}, "get"
        )
        return getter

    def read(self, owner: Any, name: str, known: set[type] | None = None) -> Any:
        """Return attribute `name` of `owner`; `known` takes the type if all its values may be asked directly.

        Raises AttributeError, with Python's text, for what the owner does not offer.
        """
        kind = type(owner)
        if name == "__class__":
            return self.kinds.of(owner)
        replacement = self._replacement(owner, kind, name)
        if replacement is not None:
            return replacement
        if isinstance(owner, self.namespaces):
            return self._from_namespace(owner, kind, name, known)
        allowed = self.allows(owner, kind, name)
        if not allowed:
            if kind is Absent:
                owner.explain()
            raise self.missing(owner, name)
        if name == "__doc__":
            document()
        value = owner.ask(name) if name.startswith(SAVED_PREFIXES) and isinstance(owner, Node) else getattr(owner, name)
        if kind is np.ndarray and callable(value):
            return numbers_only(value)
        if isinstance(owner, type) or kind is super:
            return self._member(owner, name, value)
        if known is not None and self._by_type(kind, name):
            known.add(kind)
        return value

    def _by_type(self, kind: type, name: str) -> bool:
        """Tell whether what was allowed for one value of this type is allowed for all."""
        if kind in _NAMED:
            return False
        return tensor_offers(name) if issubclass(kind, Tensor) else not self.keeps(kind, name)

    def _member(self, owner: object, name: str, value: object) -> object:
        """Return what a class (or `super`) gave; what would take any object as its `self` gets a check of that."""
        base = self._home(owner, name)
        if base is None or is_script_class(base) or not offer_of(base):
            return value
        if isinstance(value, type):
            return self.kinds.seen(value)
        entry = type.__getattribute__(base, "__dict__")[name]
        if value is not entry or not needs_check(entry):
            return value
        key = base, name
        return self._members.get(key) or self._members.setdefault(key, Member(base, name, entry))

    @staticmethod
    def _home(owner: Any, name: str) -> type | None:
        """Return the class that answers for an attribute of a class or a `super`."""
        if isinstance(owner, type):
            bases = type.__getattribute__(owner, "__mro__")
        else:
            mro = type.__getattribute__(owner.__self_class__, "__mro__")
            bases = mro[mro.index(owner.__thisclass__) + 1:]
        return next((base for base in bases if name in type.__getattribute__(base, "__dict__")), None)

    def _replacement(self, owner: Any, kind: type, name: str) -> object:
        if name in _FORMATS and isinstance(owner, str):
            return Format(self, name, str.__str__(owner))
        if name in _FORMATS and issubclass(owner.__self_class__ if kind is super else owner if isinstance(owner, type) else kind, str):
            return Format(self, name, None)
        if name in LOOKUPS and (kind is super or owner is object):
            return Lookup(self, name, owner)
        if name in LOOKUPS and is_script_class(kind) and hasattr(kind, name):
            return self._lookup(owner, name)
        if kind is super and owner.__self_class__ is None:
            return self._of_unbound(name)
        if name == "__new__" and (kind is super or owner is object):
            return _new
        if name == "__dict__" and (has_attributes(kind) or is_aliased(kind)):
            return owner if is_aliased(kind) else Attributes(self, owner)
        if name == "resize" and kind is np.ndarray:
            return resize_of(owner)
        return None

    @staticmethod
    def _of_unbound(name: str) -> Callable[[], None]:
        """Return what `super(C)` has, which is bound to no object: its own `__init__`, which makes it anew."""
        if name == "__init__":
            return lambda: None
        raise fail("attribute", f"'super' object has no attribute '{name}'", AttributeError, name=name)

    def _lookup(self, owner: object, method: str) -> object:
        """Return `owner.__getattr__`, `__setattr__` or `__delattr__`: what they do under guard, by the script's own method if any."""
        def get(name: object, /) -> Any:
            return self.read(owner, _text(name))

        def put(name: object, value: object, /) -> None:
            self.assign(owner, _text(name), value)

        def drop(name: object, /) -> None:
            self.delete(owner, _text(name))

        found: Any = {"__getattr__": get, "__setattr__": put, "__delattr__": drop}[method]
        found.__name__ = found.__qualname__ = method
        return found

    def _from_namespace(self, owner: ModuleType, kind: type, name: str, known: set[type] | None) -> object:
        if name in _CLASS_NAMES or (not public(name) and name != "__version__"):
            if name == "__name__":
                return owner.name
            raise self.missing(owner, name)
        value = owner.get(name)
        if known is not None and not hasattr(kind, name):
            known.add(kind)
        return value

    def allows(self, owner: Any, kind: type, name: str) -> bool:
        """Tell whether `owner`, of exactly type `kind`, offers attribute `name`."""
        if name in _CALLED and not isinstance(owner, type) and kind is not super and not is_script_class(kind):
            return hasattr(kind, name)
        table = table_of(kind) if not is_script_class(kind) else None
        if table is not None:
            return name in table or (kind in _NAMED and self._own(owner, name))
        if isinstance(owner, type):
            base = self._home(owner, name)
            return name in _CLASS_NAMES or (base is not None and self._entry_allows(base, name))
        if kind is super:
            base = self._home(owner, name)
            if name == "__init_subclass__":
                return True
            if name == "__setstate__" and base is not None and issubclass(base, ScriptBase):
                return True
            return public(name) if base is None else self._entry_allows(base, name)  # not there: Python's own error says so
        if is_script_class(kind) or issubclass(kind, ScriptBase):
            base = self._home(kind, name)
            return _nameable(name) if base is None else self._entry_allows(base, name) or self._holds(owner, name)
        return offered(offer_of(kind), name) or (isinstance(owner, Tensor) and self._holds(owner, name))

    @staticmethod
    def _holds(owner: object, name: str) -> bool:
        """Tell whether a script has put the attribute on the object."""
        return _nameable(name) and name in getattr(owner, "__dict__", ())

    def _own(self, function: FunctionType | partial[Any], name: str) -> bool:
        """Tell whether a script's function carries the attribute that the script gave it."""
        return self._lets_name(function, name) and name in function.__dict__

    def _lets_name(self, function: object, name: str) -> bool:
        """Tell whether a script may give the attribute to a function: to one of its own, or to a `partial`."""
        own = type(function) is partial or getattr(function, "__builtins__", None) is self.builtins
        return own and (public(name) or name in _FUNCTION_NAMES)

    def _entry_allows(self, base: type, name: str) -> bool:
        """Tell whether an attribute that stands in the dictionary of class `base` is offered."""
        if is_script_class(base):
            return public(name) or name in CALLABLE_SPECIALS or name in _CLASS_NAMES or (
                name in CLASS_ONLY and isinstance(type.__getattribute__(base, "__dict__")[name], FunctionType)
            )
        if base is object:
            return name in _OBJECT
        table = table_of(base)
        if table is not None:
            return name in table
        if name in CALLABLE_SPECIALS and getattr(base, "__script_base__", False):
            return True
        if not offered(offer_of(base), name):
            return False
        return name[0] != "_" or not issubclass(base, ScriptBase) or name in _PYTORCHS

    def keeps(self, kind: type, name: str) -> bool:
        """Tell whether a class of the engine among the bases of `kind` has the attribute for itself."""
        for base in type.__getattribute__(kind, "__mro__"):
            if name in type.__getattribute__(base, "__dict__") and not is_script_class(base):
                return not self._entry_allows(base, name)
        return False

    def assign(self, owner: object, name: str, value: object) -> None:
        """Set attribute `name` of `owner`, if its type lets scripts do that."""
        if type(owner) is Switches:
            owner.switch(name, value)
            return
        if name == "__dict__" and value is owner and isinstance(owner, dict) and is_script_class(type(owner)):
            alias(type(owner))
            return
        if type(owner) is FileModule and public(name):
            owner.set(name, value)
            return
        if not self.lets_set(owner, name):
            raise self.unsettable(owner, name)
        if isinstance(owner, Tensor) and getattr(getattr(type(owner), name, None), "fset", setattr) is None:
            text = f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"
            raise fail("attribute", text, AttributeError, owner=owner, name=name)
        setattr(owner, name, value)

    def delete(self, owner: object, name: str) -> None:
        """Delete attribute `name` of `owner`, if its type lets scripts do that."""
        if not self.lets_set(owner, name):
            raise self.unsettable(owner, name)
        delattr(owner, name)

    def lets_set(self, owner: object, name: str) -> bool:
        """Tell whether a script may set the attribute."""
        kind = type(owner)
        if hasattr(str, name) and issubclass(owner if isinstance(owner, type) else kind, str):
            return False
        if isinstance(owner, type):
            if issubclass(owner, BoundedList) and name in BoundedList.FIXED:
                return False
            return is_script_class(owner) and (name in SPECIAL_METHODS or (public(name) and not self.reserved(owner, name)))
        if is_script_class(kind) or issubclass(kind, (ScriptBase, Tensor)):
            return _nameable(name) and not self.reserved(kind, name)
        if kind in _NAMED:
            return self._lets_name(owner, name)
        if kind is np.ndarray:
            return name == "shape"
        return name == "default_factory" and name in (table_of(kind) or ())

    def reserved(self, kind: type, name: str) -> bool:
        """Tell whether the engine would take an attribute of a script's for its own. (A `ScriptBase` looks out for itself.)"""
        return not issubclass(kind, ScriptBase) and self.keeps(kind, name)

    @staticmethod
    def has_no_say(kind: type) -> bool:
        """Tell whether no class of the engine looks out for the attributes of such an object itself."""
        return not offer_of(kind) or has_attributes(kind)

    def unsettable(self, owner: object, name: str) -> Exception:
        """Return the error for an attribute that cannot be set; the caller raises it."""
        if isinstance(owner, type):
            text = f"cannot set '{name}' attribute of immutable type '{owner.__name__}'"
            return fail("type", text, TypeError)
        if self.kinds.readable(owner, name):
            text = f"'{type(owner).__name__}' object attribute '{name}' is read-only"
            return fail("attribute", text, AttributeError, owner=owner, name=name)
        if self.allows(owner, type(owner), name):
            text = f"attribute '{name}' of '{self.kinds.name(owner)}' objects is not writable"
            return fail("attribute", text, AttributeError, owner=owner, name=name)
        return self.missing(owner, name)

    def missing(self, owner: object, name: str) -> Exception:
        """Return Python's AttributeError for a name that is not there; the caller raises it."""
        if isinstance(owner, type):
            text = f"type object '{owner.__name__}' has no attribute '{name}'"
        elif isinstance(owner, self.namespaces):
            text = f"module '{owner.name}' has no attribute '{name}'"
        else:
            text = f"'{self.kinds.name(owner)}' object has no attribute '{name}'"
        return fail("attribute", text, AttributeError, owner=owner, name=name)

    def space(self, owner: object) -> str:
        """Return the dotted name under which PyTorch has what `owner` offers: a namespace's, `torch.Tensor`, or ""."""
        if isinstance(owner, self.namespaces):
            return str(owner.name)
        kind = owner if isinstance(owner, type) else type(owner)
        return "torch.Tensor" if issubclass(kind, Tensor) else ""

    def names(self, owner: Any) -> list[str]:
        """Return the public names that `owner` offers, for completion and for suggesting the nearest."""
        return [name for name in self.all_names(owner) if not name.startswith("_")]

    def all_names(self, owner: Any) -> list[str]:
        """Return the names that `owner` offers, those with an underscore too: what `dir` lists."""
        kind = type(owner)
        if isinstance(owner, self.namespaces):
            return [name for name in owner.names() if public(name)]
        candidates = set(ATTRIBUTES.get(kind, ()))
        if issubclass(owner if isinstance(owner, type) else kind, Tensor):
            candidates.update(tensor_names())
        for table in ("_parameters", "_buffers", "_modules"):  # a module's own
            candidates.update(getattr(owner, "__dict__", {}).get(table, ()))
        for offer in offer_of(owner if isinstance(owner, type) else kind):
            if isinstance(offer, frozenset):
                candidates |= offer
        for base in (owner if isinstance(owner, type) else kind).__mro__:
            candidates.update(base.__dict__)
        candidates.update(getattr(owner, "__dict__", ()))
        if isinstance(owner, Node):
            candidates = {name for name in candidates if not name.startswith(SAVED_PREFIXES)} | owner.saved_attributes()
        return sorted(name for name in candidates if public(name) and self.allows(owner, kind, name))


def _nameable(name: object) -> bool:
    """Tell whether an object may have an attribute of that name: an ordinary one, `__name__`, or the number of a module in a container."""
    return public(name) or (type(name) is str and (name.isdecimal() or name == "__name__"))


def _new(cls: object, *_: object, **__: object) -> object:
    """Make an object of a script's class without its `__init__`: what `super().__new__(cls)` comes to."""
    if not isinstance(cls, type) or not is_script_class(cls) or not has_attributes(cls):
        raise fail("type", "object.__new__(X): X must be a class of yours without a base of PyTorch's", TypeError)
    return object.__new__(cls)


class Store:
    """What generated code indexes with (owner, name) to read, write or delete an attribute, in Python's own order."""

    __slots__ = ("_guard",)

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __getitem__(self, key: tuple[object, str]) -> Any:
        return self._guard.read(key[0], key[1])

    def __setitem__(self, key: tuple[object, str], value: object) -> None:
        self._guard.assign(key[0], key[1], value)

    def __delitem__(self, key: tuple[object, str]) -> None:
        self._guard.delete(key[0], key[1])
