"""What a class of the engine gives a script that asks the class itself: its methods and properties, each with a check of `self`."""

from typing import Any

from gradsh.engine.attribute_names import COPIED_AS, attributes_of
from gradsh.runtime.allowlist import offer
from gradsh.text.fault import fail


class Member:
    """A method (or property) of a class. As Python's own do, it refuses a `self` that is no instance of the class."""

    __slots__ = ("_entry", "_name", "_owner")
    __script_attributes__ = frozenset({"__name__", "__doc__", "__module__"})

    def __init__(self, owner: type, name: str, entry: Any) -> None:
        self._owner = owner
        self._name = name
        self._entry = entry

    def _check(self, value: object) -> None:
        if self._owner not in type.__getattribute__(type(value), "__mro__"):
            text = f"'{self._name}' for '{self._owner.__name__}' objects doesn't apply to a '{type(value).__name__}' object"
            raise fail("type", text, TypeError)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method with the object first."""
        if not args:
            raise TypeError(f"unbound method {self._owner.__name__}.{self._name}() needs an argument")
        self._check(args[0])
        return self._entry(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        self._check(instance)
        return self._entry.__get__(instance, owner)

    @property
    def __name__(self) -> str:
        return self._name

    @property
    def __wrapped__(self) -> Any:
        """What the class defines, for `help`; no script sees it."""
        return self._entry

    def __repr__(self) -> str:
        return f"<function {self._owner.__name__}.{self._name}>"


class Lookup:
    """`__getattr__`, `__setattr__` and `__delattr__` of a base class: what they read or write is what the guard lets a script."""

    __slots__ = ("_guard", "_name", "_owner")
    __script_attributes__ = frozenset({"__name__"})

    def __init__(self, guard: Any, name: str, owner: Any) -> None:
        self._guard = guard
        self._name = name
        self._owner = owner

    @property
    def __name__(self) -> str:
        return self._name

    def __call__(self, *args: Any) -> Any:
        """Read, write or delete an attribute of the object (the first argument, unless `super()` knows it)."""
        instance, name, *value = args if isinstance(self._owner, type) else (self._owner.__self__, *args)
        if type(name) is not str:
            raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
        reads = self._name == "__getattr__"
        allowed = self._guard.allows(instance, type(instance), name) if reads else self._guard.lets_set(instance, name)
        if not allowed or (self._owner is object and not self._guard.has_no_say(type(instance))):
            raise self._guard.missing(instance, name) if reads else self._guard.unsettable(instance, name)
        try:
            method = getattr(self._owner, self._name)
        except AttributeError:
            raise self._guard.missing(instance, name) from None
        return method(instance, name, *value) if isinstance(self._owner, type) else method(name, *value)


class Attributes(dict[str, Any]):
    """An object's `__dict__`: what it holds now; what is written there is set on the object, under guard."""

    def __init__(self, guard: Any, owner: object) -> None:
        super().__init__(attributes_of(owner))
        self.__set = guard.assign, owner
        self.__delete = guard.delete, owner

    def __setitem__(self, name: str, value: object) -> None:
        assign, owner = self.__set
        assign(owner, name, value)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        delete, owner = self.__delete
        super().__delitem__(name)
        delete(owner, name)

    def update(self, *others: object, **named: object) -> None:
        """Set several attributes."""
        for name, value in dict(*others, **named).items():
            self[name] = value

    def setdefault(self, name: str, default: object = None) -> object:
        """Return the attribute's value, which is set to the default where there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: object) -> Any:
        """Delete an attribute and return its value."""
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value


setattr(Attributes, COPIED_AS, dict)  # a copy is not the object's
Attributes.__name__ = Attributes.__qualname__ = "dict"  # as Python shows it
Attributes.__module__ = "builtins"
offer(Attributes, "copy get items keys pop setdefault update values __setitem__ __len__ __getitem__ __contains__ __iter__")


def _as_function(kind: type) -> None:
    """Let the class go by Python's name for functions, in errors, too."""
    kind.__name__ = kind.__qualname__ = "function"
    kind.__module__ = "builtins"


_as_function(Member)
_as_function(Lookup)


def needs_check(entry: object) -> bool:
    """Tell whether an entry of a class's dictionary takes any `self`: Python's own descriptors check it, static ones have none."""
    if isinstance(entry, (staticmethod, classmethod)) or not hasattr(type(entry), "__get__"):
        return False
    return not hasattr(type(entry), "__script_attributes__") and not hasattr(type(entry), "__objclass__")
