"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self

from gradsh.api.nn.module import Module, indented
from gradsh.api.nn.typename import typename
from gradsh.engine.attribute_names import check_ordinary, read, write
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.text.fault import fail


class _Listed(Module):
    """What Sequential and ModuleList share: children under the names 0, 1, …"""

    def _place(self, index: Any) -> int:
        place = operator.index(index)
        size = len(self)
        if not -size <= place < size:
            raise fail("index", f"index {place} is out of range", IndexError)
        return place % size

    def _key(self, index: object) -> str:
        return list(self._modules)[self._place(index)]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __setitem__(self, index: object, module: Module) -> None:
        write(self, self._key(index), module)

    def __delitem__(self, index: object) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            check_ordinary(self, key)
            delattr(self, key)
        self.__dict__["_modules"] = {str(place): module for place, module in enumerate(self._modules.values())}

    def append(self, module: Module) -> Self:
        """Add a module at the end; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; return the container."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Module:
        """Put a module before the one at `index`."""
        held = list(self._modules.values())
        held.insert(index, module)
        self.__dict__["_modules"] = {str(place): one for place, one in enumerate(held)}
        return self

    def pop(self, key: object) -> Any:
        """Take a module out and return it."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found


class Sequential(_Listed):
    """Modules called one after the other; made from modules or one ordered dictionary of them."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __add__(self, other: "Sequential") -> "Sequential":
        if not isinstance(other, Sequential):
            message = f"add operator supports only objects of Sequential class, but {type(other)} is given."
            raise fail("value", message, ValueError)
        return Sequential(*self, *other)

    def forward(self, input: Any) -> Any:
        """Return the last module's output."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Listed):
    """A list of modules whose parameters count as the owner's."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __iadd__(self, modules: Iterable[Module]) -> "ModuleList":
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; return the list."""
        if not isinstance(modules, Iterable):
            message = f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            raise fail("type", message, TypeError)
        return super().extend(modules)

    def __repr__(self) -> str:
        shown = [repr(module) for module in self]
        if not shown:
            return self._get_name() + "()"
        lines = []
        start = 0
        for text, run in groupby(shown):
            count = len(list(run))
            key = f"({start})" if count == 1 else f"({start}-{start + count - 1})"
            lines.append(indented(f"{key}: {text}" if count == 1 else f"{key}: {count} x {text}"))
            start += count
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules whose parameters count as the owner's."""

    def __init__(self, modules: object = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        if key not in self._modules:
            raise fail("key", key, KeyError, key=key)
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """Return the keys."""
        return self._modules.keys()

    def items(self) -> Iterable[Any]:
        """Return the pairs of key and module."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._modules.values()

    def clear(self) -> None:
        """Take out all modules."""
        self._modules.clear()

    pop = _Listed.pop

    def update(self, modules: Any) -> None:
        """Add the pairs of a dictionary or a list."""
        for key, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
            self[key] = module


class ParameterList(Module):
    """A list of parameters that count as the owner's; tensors become parameters."""

    def __init__(self, values: Iterable[object] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _place(self, index: Any) -> str:
        place = operator.index(index)
        if not -self._size <= place < self._size:
            raise fail("index", f"index {place} is out of range", IndexError)
        return str(place % self._size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([getattr(self, str(place)) for place in range(*index.indices(self._size))])
        return getattr(self, self._place(index))

    def __setitem__(self, index: object, value: object) -> None:
        setattr(self, self._place(index), as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(place)) for place in range(self._size)])

    def __iadd__(self, values: Iterable[object]) -> "ParameterList":
        return self.extend(values)

    def append(self, value: object) -> "ParameterList":
        """Add a value at the end; return the list."""
        setattr(self, str(self._size), as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[object]) -> "ParameterList":
        """Add values at the end; return the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            message = f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            raise fail("type", message, TypeError)
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return a line for each value."""
        return _parameter_lines(enumerate(self))


class ParameterDict(Module):
    """A dictionary of parameters that count as the owner's; tensors become parameters."""

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return read(self, key)

    def __setitem__(self, key: str, value: object) -> None:
        write(self, key, as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        check_ordinary(self, key)
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> list[tuple[str, Any]]:
        """Return the pairs of key and value."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> list[Any]:
        """Return the values."""
        return [self[key] for key in self._keys]

    def update(self, parameters: object) -> None:
        """Add the pairs of a dictionary (a plain one in the order of its keys) or a list."""
        if not isinstance(parameters, Iterable):
            text = f"ParametersDict.update should be called with an iterable of key/value pairs, but got {type(parameters).__name__}"
            raise fail("type", text, TypeError)
        pairs = parameters
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        for key, value in pairs:
            self[key] = value

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def get(self, key: str, default: object = None) -> object:
        """Return the value of a key, or `default`."""
        return read(self, key) if key in self else default

    def setdefault(self, key: str, default: object = None) -> object:
        """Return the value of a key, which is `default` from now on if it had none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Tensor:
        """Remove a key and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, object]:
        """Remove the last key; return it and its value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all keys."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> "ParameterDict":
        """Return another one with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def extra_repr(self) -> str:
        """Return a line for each value."""
        return _parameter_lines(self.items(), typename)


def as_parameter(value: object) -> Any:
    """Make a parameter of a tensor that is none."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _parameter_lines(
    pairs: Iterable[tuple[object, object]], kind_of: Callable[[object], object] = operator.attrgetter("dtype")
) -> str:
    lines = []
    for key, value in pairs:
        if isinstance(value, Tensor):
            size = "x".join(str(extent) for extent in value.shape)
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            lines.append(f"  ({key}): {kind} containing: [{kind_of(value)} of size {size}]")
        else:
            lines.append(f"  ({key}): Object of type: {typename(value)}")
    return "\n".join(lines)
