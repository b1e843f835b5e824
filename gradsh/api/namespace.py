"""A namespace as scripts see it (`torch`, `torch.nn`, …): an explicit table of names, each found on first use.

An entry is a value, or a `Lazy` that imports it when it is first asked for: nothing is built at import.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from gradsh.api.homes import settle
from gradsh.engine.ambient import current
from gradsh.engine.registry import lookup, operations
from gradsh.text.fault import fail


class Lazy:
    """An entry that is made when it is first asked for."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


class Live:
    """An entry whose value is asked for each time: it changes while a program runs. One that is not `listed` is no name for `dir`."""

    __slots__ = ("ask", "listed")

    def __init__(self, ask: Callable[[], object], listed: bool = True) -> None:
        self.ask = ask
        self.listed = listed


def deprecated(name: str, replacement: str, answer: object) -> Live:
    """Return an entry of PyTorch's whose reading tells what to call instead."""

    def ask() -> object:
        current().warning(f"'{name}' is deprecated, please use '{replacement}()'")
        return answer

    return Live(ask, listed=False)


def lazy(module: str, name: str) -> Lazy:
    """Return an entry that imports `name` from `module` on first use."""

    def make() -> Any:
        import importlib

        found = getattr(importlib.import_module(module), name)
        if isinstance(found, type):
            settle(found)
        return found

    return Lazy(make)


def lazily(module: str, names: str) -> dict[str, object]:
    """Return entries for several names (separated by blanks) of one module; `public=private` renames."""
    table: dict[str, object] = {}
    for word in names.split():
        public, _, private = word.partition("=")
        table[public] = lazy(module, private or public)
    return table


class Namespace:
    """A table of names. `space` adds the operations that declare that space."""

    __slots__ = ("_space", "_table", "name")

    def __init__(self, name: str, table: dict[str, object], space: str = "") -> None:
        self.name = name
        self._table = table
        self._space = space

    def get(self, name: str) -> Any:
        """Return what `name` stands for; raises AttributeError with PyTorch's sentence."""
        try:
            found = self._table[name]
        except KeyError:
            found = self._operation(name)
        if type(found) is Lazy:
            found = self._table[name] = found.make()
        return found.ask() if type(found) is Live else found

    def part(self, name: str, names: str) -> "Namespace":
        """Return a namespace of some of the names (separated by blanks), which this one then offers, too, where it lies below."""
        made = Namespace(name, {one: self._table[one] for one in names.split()})
        home, _, own = name.rpartition(".")
        if home == self.name:
            self._table.setdefault(own, made)
        return made

    def lasts(self, name: str) -> bool:
        """Return whether a name stands for the same value as long as the process lives."""
        return type(self._table.get(name)) is not Live

    def _operation(self, name: str) -> Any:
        if self._space:
            found = lookup(name, self._space, thorough=True)
            if found is not None:
                self._table[name] = found
                return found
        message = f"module '{self.name}' has no attribute '{name}'"
        raise fail("attribute", message, AttributeError, namespace=self, name=name)

    def names(self) -> list[str]:
        """Return all names offered, sorted."""
        held = (name for name, entry in self._table.items() if type(entry) is not Live or entry.listed)
        return sorted({*held, *self._operations()})

    def _operations(self) -> Iterator[str]:
        if self._space:
            for each in operations():
                name = each.removeprefix(self._space + "_")
                if lookup(name, self._space) is not None and not name.startswith("_"):
                    yield name

    def __contains__(self, name: object) -> bool:
        if name in self._table:
            return True
        if not self._space or not isinstance(name, str):
            return False
        return lookup(name, self._space) is not None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in self._table:
            raise AttributeError(name)
        return self.get(name)

    def __dir__(self) -> Iterable[str]:
        return self.names()

    def __repr__(self) -> str:
        return f"<module '{self.name}'>"


class Switches(Namespace):
    """A namespace whose names are switches: a session sets its own, and nothing here depends on them."""

    __slots__ = ()

    def lasts(self, name: str) -> bool:
        """Return False: a session may set it."""
        del name
        return False

    def get(self, name: str) -> Any:
        """Return what the session has set, else the default."""
        default = super().get(name)
        return current().flags.get(f"{self.name}.{name}", default)

    def switch(self, name: str, value: object) -> None:
        """Set a switch for the session. Raises AttributeError for a name that is none."""
        super().get(name)
        current().flags[f"{self.name}.{name}"] = value


def _no_copy(self: object, _: object) -> NoReturn:
    raise fail("type", "cannot pickle 'module' object", TypeError, namespace=self)


def as_module(kind: type) -> None:
    """Let a class of namespaces go by the name that Python has for the type of modules, in its errors, too."""
    kind.__module__ = "builtins"
    kind.__name__ = kind.__qualname__ = "module"
    kind.__reduce_ex__ = _no_copy  # type: ignore[assignment]


as_module(Namespace)
