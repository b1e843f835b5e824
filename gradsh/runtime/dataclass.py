"""`dataclasses` for classes that a script defines: methods made as closures, since Python's own are made by `exec`."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.engine.attribute_names import ordinary
from gradsh.runtime.guard import is_script_class
from gradsh.runtime.hints import TypeHint
from gradsh.runtime.host import RuntimeHost
from gradsh.runtime.library import listed
from gradsh.runtime.modules import OR_TRACE
from gradsh.text.fault import fail

FIELDS = f"{runtime_names.RESERVED}fields"
"""The attribute of a data class that holds its fields: no name that a script can write, as what it names is read unguarded."""


class Missing:
    """Stands for a default that was not given."""

    def __repr__(self) -> str:
        return "<MISSING>"


MISSING = Missing()
_CLASSES = {one.__name__: one for one in (bool, int, float, str, list, tuple, dict, set)}


class Field:
    """A field: its name, the default or the function that makes one, and which methods take note of it."""

    __slots__ = ("compare", "default", "default_factory", "hint", "init", "init_only", "kw_only", "name", "repr")
    __script_attributes__ = frozenset({"name", "type", "default", "default_factory", "init", "repr", "compare"})

    def __init__(
        self, default: Any = MISSING, default_factory: Any = MISSING, *, init: bool = True, repr: bool = True,
        compare: bool = True, kw_only: bool = False,
    ) -> None:
        if default is not MISSING and default_factory is not MISSING:
            raise ValueError("cannot specify both default and default_factory")
        self.name = self.hint = ""
        self.init_only = False
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.kw_only = kw_only

    @property
    def type(self) -> Any:
        """The class that the annotation names. Raises AttributeError for one that names anything else: it is not evaluated."""
        if self.hint in _CLASSES:
            return _CLASSES[self.hint]
        text = f"the annotation of the field `{self.name}`, {self.hint}, is a text that nothing evaluates here"
        raise fail("attribute", text, AttributeError, way=f"write the class where it is needed, {OR_TRACE}")

    @property
    def is_optional(self) -> bool:
        """Whether `__init__` can do without a value."""
        return self.default is not MISSING or self.default_factory is not MISSING

    def value(self) -> Any:
        """Return the default, made anew where a function makes it."""
        return self.default_factory() if self.default_factory is not MISSING else self.default


def field(**options: Any) -> Field:
    """Return a field with these options."""
    options.pop("hash", None)
    options.pop("metadata", None)
    return Field(**options)


def fields_of(kind: type) -> dict[str, Field]:
    """Return the fields of a data class by name. Raises TypeError for another class."""
    found = kind.__dict__.get(FIELDS) if isinstance(kind, type) else None
    if found is None:
        bases = (getattr(base, FIELDS, None) for base in getattr(kind, "__mro__", ()))
        found = next((each for each in bases if each is not None), None)
    if found is None:
        raise TypeError("must be called with a dataclass type or instance")
    return kept(found)


def kept(fields: dict[str, Field]) -> dict[str, Field]:
    """Return the fields without those that are given to `__post_init__` alone (`InitVar`)."""
    return {name: one for name, one in fields.items() if not one.init_only}


def _collect(kind: type, kw_only: bool, guard: Any) -> dict[str, Field]:
    """Return the fields that the class's annotations declare, behind those of its bases. Raises for a name of the engine's own."""
    found: dict[str, Field] = {}
    for base in reversed(kind.__mro__[1:]):
        found |= base.__dict__.get(FIELDS, {})
    for name, annotation in inspect.get_annotations(kind).items():
        hint = str(annotation).removeprefix("typing.").removeprefix("dataclasses.")
        kw_only = kw_only or hint == "KW_ONLY"
        if not ordinary(name) or hint == "KW_ONLY" or hint.startswith("ClassVar"):
            continue
        if guard.reserved(kind, name):
            raise fail("name", f"a data class cannot have the field `{name}` here: gradsh's own class uses the name", TypeError)
        default = kind.__dict__.get(name, MISSING)
        one = default if isinstance(default, Field) else Field(default)
        if isinstance(one.default, (list, dict, set)):
            sort = type(one.default)
            raise fail("value", f"mutable default {sort} for field {name} is not allowed: use default_factory", ValueError)
        one.name, one.hint = name, hint
        one.kw_only = one.kw_only or kw_only
        one.init_only = hint.startswith("InitVar")
        found[name] = one
        if isinstance(default, Field):
            if one.default is MISSING:
                delattr(kind, name)
            else:
                setattr(kind, name, one.default)
    return found


def _init(kind: type, fields: dict[str, Field], frozen: bool) -> Callable[..., None]:
    positional = [one for one in fields.values() if one.init and not one.kw_only]
    known = {one.name for one in fields.values() if one.init}
    optional = next((one for one in positional if one.is_optional), None)
    late = next((one for one in positional[positional.index(optional):] if not one.is_optional), None) if optional else None
    if late is not None:
        raise TypeError(f"non-default argument {late.name!r} follows default argument")

    def init(self: object, *args: object, **kwargs: object) -> None:
        if len(args) > len(positional):
            most, least = len(positional) + 1, sum(not one.is_optional for one in positional) + 1
            count = f"{most}" if least == most else f"from {least} to {most}"
            text = f"{kind.__name__}.__init__() takes {count} positional arguments but {len(args) + 1} were given"
            raise TypeError(text)
        given = dict(zip((one.name for one in positional), args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"{kind.__name__}.__init__() got multiple values for argument '{name}'")
            if name not in known:
                raise TypeError(f"{kind.__name__}.__init__() got an unexpected keyword argument '{name}'")
            given[name] = value
        missing = [one.name for one in fields.values() if one.init and one.name not in given and not one.is_optional]
        if missing:
            names = " and ".join(f"'{name}'" for name in missing)
            count = "argument" if len(missing) == 1 else "arguments"
            raise TypeError(f"{kind.__name__}.__init__() missing {len(missing)} required positional {count}: {names}")
        put = object.__setattr__ if frozen else setattr
        given |= {name: one.value() for name, one in fields.items() if name not in given and one.is_optional}
        for name in kept(fields):
            if name in given:
                put(self, name, given[name])
        after = getattr(type(self), "__post_init__", None)
        if after is not None:
            after(self, *(given[name] for name, one in fields.items() if one.init_only))

    return init


def _values(instance: object, fields: dict[str, Field]) -> tuple[Any, ...]:
    return tuple(getattr(instance, name) for name, one in fields.items() if one.compare)


def _methods(kind: type, options: Mapping[str, Any], fields: dict[str, Field]) -> dict[str, Callable[..., Any]]:
    def show(self: object) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in fields.items() if one.repr)
        return f"{type(self).__qualname__}({inside})"

    def equal(self: object, other: object) -> object:
        return _values(self, fields) == _values(other, fields) if type(other) is type(self) else NotImplemented

    def less(self: object, other: object) -> object:
        return _values(self, fields) < _values(other, fields) if type(other) is type(self) else NotImplemented

    def hashed(self: object) -> int:
        return hash(_values(self, fields))

    def refuse(self: object, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    made: dict[str, Any] = {"__init__": _init(kind, fields, options["frozen"])} if options["init"] else {}
    fields = kept(fields)
    made |= {"__repr__": show} if options["repr"] else {}
    made |= {"__eq__": equal, "__hash__": hashed if options["frozen"] else None} if options["eq"] else {}
    made |= {"__lt__": less} if options["order"] else {}
    return made | ({"__setattr__": refuse} if options["frozen"] else {})


def load_dataclasses(machine: RuntimeHost) -> Mapping[str, object]:
    """Return what `dataclasses` offers."""
    import dataclasses

    def dataclass(
        cls: object = None, /, *, init: bool = True, repr: bool = True, eq: bool = True, order: bool = False,
        frozen: bool = False, kw_only: bool = False, slots: bool = False, unsafe_hash: bool = False,
    ) -> object:
        """Give a class the methods that its annotations ask for."""
        del slots, unsafe_hash
        options = {"init": init, "repr": repr, "eq": eq, "order": order, "frozen": frozen}

        def decorate(kind: object) -> object:
            if not isinstance(kind, type) or not is_script_class(kind):
                raise TypeError("dataclass() takes a class that the program defines")
            fields = _collect(kind, kw_only, machine.guard)
            type.__setattr__(kind, FIELDS, fields)
            for name, method in _methods(kind, options, fields).items():
                if name not in kind.__dict__ or (name == "__hash__" and kind.__dict__[name] is None):
                    type.__setattr__(kind, name, method)
            return kind

        return decorate if cls is None else decorate(cls)

    def kind_of(value: object) -> Any:
        return value if isinstance(value, type) else type(value)

    def fields(class_or_instance: object) -> tuple[Field, ...]:
        """Return the fields of a data class or its instance."""
        return tuple(fields_of(kind_of(class_or_instance)).values())

    def asdict(obj: object) -> dict[str, Any]:
        """Return the fields' values by name; data classes, lists, tuples and dictionaries within are taken apart, too."""
        return {name: plain(getattr(obj, name)) for name in fields_of(type(obj))}

    def plain(value: Any) -> Any:
        machine.check()
        if hasattr(type(value), FIELDS):
            return asdict(value)
        if type(value) in {list, tuple}:
            return type(value)(plain(one) for one in value)
        return {key: plain(one) for key, one in value.items()} if type(value) is dict else value

    def replace(obj: object, /, **changes: object) -> object:
        """Return a copy with other values for some fields."""
        old = {name: getattr(obj, name) for name, one in fields_of(type(obj)).items() if one.init}
        return type(obj)(**(old | changes))

    def is_dataclass(obj: object) -> bool:
        """Return whether a class or an instance is one of a data class."""
        return hasattr(kind_of(obj), FIELDS)

    def astuple(obj: object) -> tuple[Any, ...]:
        """Return the fields' values in their order."""
        return tuple(plain(getattr(obj, name)) for name in fields_of(type(obj)))

    own = {"dataclass": dataclass, "field": field, "fields": fields, "asdict": asdict, "astuple": astuple,
           "replace": replace, "is_dataclass": is_dataclass}  # fmt: skip
    hints = {name: TypeHint(name) for name in ("InitVar", "KW_ONLY")}
    return own | hints | listed(dataclasses, "FrozenInstanceError") | {"MISSING": MISSING}
