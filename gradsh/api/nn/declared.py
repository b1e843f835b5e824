"""A module that is declared by its settings and the function that it calls with them."""

from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from gradsh.api.nn.module import Module
from gradsh.engine.attribute_names import read, write
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import lookup
from gradsh.text.fault import fail

REQUIRED = object()
"""The default of a setting that must be given."""


def takes(**defaults: object) -> Mapping[str, Any]:
    """Return the settings that a class takes, in order, with their defaults."""
    return MappingProxyType(defaults)


def functional(name: str) -> Any:
    """Return the function that torch.nn.functional has under `name`."""
    found = lookup(name, "F") or lookup(name)
    if found is None:
        raise fail("attribute", f"module 'torch.nn.functional' has no attribute '{name}'", AttributeError, name=name)
    return found


def own(cls: type, name: str) -> None:
    """Give a class a function of its own for a method that it inherits: Python's words for a wrong call then name the class."""
    inherited = getattr(cls, name)
    copied = FunctionType(inherited.__code__, inherited.__globals__, name, inherited.__defaults__, inherited.__closure__)
    copied.__kwdefaults__ = inherited.__kwdefaults__
    copied.__doc__ = inherited.__doc__
    copied.__qualname__ = f"{cls.__name__}.{name}"
    setattr(cls, name, copied)


class Declared(Module):
    """Calls operation `function` with the input and its settings.

    `settings` maps each constructor argument, in order, to its default; each becomes an attribute and is passed by name
    unless `_unpassed` lists it. `_shown` names those that the repr shows (all); `inplace` shows only when True.
    """

    _function = ""
    _settings: Mapping[str, object] = takes()
    _shown: tuple[str, ...] | None = None
    _unpassed: tuple[str, ...] = ()

    def __init_subclass__(cls, function: str = "", settings: Mapping[str, object] | None = None) -> None:
        super().__init_subclass__()
        if function:
            cls._function = function
        if settings is not None:
            cls._settings = settings

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()
        for name, value in self._bind(args, kwargs).items():
            write(self, name, value)

    @classmethod
    def _bind(cls, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, Any]:
        names = list(cls._settings)
        call = f"{cls.__name__}.__init__()"
        if len(args) > len(names):
            least = 1 + sum(value is REQUIRED for value in cls._settings.values())
            most = len(names) + 1
            span = f"{most}" if least == most else f"from {least} to {most}"
            raise fail("type", f"{call} takes {span} positional argument{'s' * (most > 1)} but {len(args) + 1} were given", TypeError)
        values = dict(cls._settings)
        values.update(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in values:
                raise fail("type", f"{call} got an unexpected keyword argument '{name}'", TypeError)
            if name in names[: len(args)]:
                raise fail("type", f"{call} got multiple values for argument '{name}'", TypeError)
            values[name] = value
        missing = [f"'{name}'" for name, value in values.items() if value is REQUIRED]
        if missing:
            listed = missing[0] if len(missing) == 1 else ", ".join(missing[:-1]) + " and " + missing[-1]
            many = "s" * (len(missing) > 1)
            raise fail("type", f"{call} missing {len(missing)} required positional argument{many}: {listed}", TypeError)
        return values

    def passed(self) -> dict[str, object]:
        """Return the settings as keyword arguments of the operation."""
        return {name: read(self, name) for name in self._settings if name not in self._unpassed}

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Call the operation."""
        return functional(self._function)(input, **self.passed())

    def extra_repr(self) -> str:
        """Return the shown settings."""
        names = self._settings if self._shown is None else self._shown
        return ", ".join(
            f"{name}={read(self, name)}" for name in names if name != "inplace" or read(self, name)
        )
