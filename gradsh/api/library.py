"""PyTorch's names as Python programs import them: attributes of `gradsh`, and its namespaces as modules (`gradsh.nn`)."""

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from os import path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradsh.api.namespace import Namespace


def attribute(name: str) -> Any:
    """Return a name of `torch` and keep it in `gradsh`; raises AttributeError for what is none.

    A file of gradsh's is none: `from gradsh import batch` asks here before it imports the file. Only `gradsh.ops` is both.
    """
    package = sys.modules["gradsh"]
    own = any(path.exists(f"{package.__path__[0]}/{name}{end}") for end in (".py", ""))  # noqa: PTH110
    if name.startswith("__") or (own and name != "ops"):
        raise AttributeError(f"module 'gradsh' has no attribute {name!r}")
    return _kept(package, _namespace("torch"), name)


def names() -> list[str]:
    """Return the names that `gradsh` offers."""
    found: list[str] = _namespace("torch").names()
    return found


def find_spec(name: str) -> ModuleSpec | None:
    """Return how the namespace behind a module's name is loaded; None where there is none."""
    space = _namespace("torch" + name.removeprefix("gradsh"))
    return None if space is None else ModuleSpec(name, _Loader(space), is_package=True)


def _namespace(name: str) -> Any:
    from gradsh.api.torch import namespace

    parent, _, last = name.rpartition(".")
    if namespace(name) is not None or not parent:
        return namespace(name)
    above = _namespace(parent)  # `torch.nn.modules` is another name of `torch.nn`
    found = above.get(last) if above is not None and last in above else None
    return found if isinstance(found, type(namespace("torch"))) else None


def _kept(module: ModuleType, space: "Namespace", name: str) -> object:
    found = space.get(name)
    if isinstance(found, type(space)):
        return import_module(f"{module.__name__}.{name}")  # which keeps it
    if space.lasts(name):
        setattr(module, name, found)
    return found


class _Module(ModuleType):
    """A namespace of PyTorch's as a module."""

    _space: "Namespace"

    def __init__(self, name: str, space: "Namespace") -> None:
        super().__init__(name, f"{space.name}, as gradsh offers it.")
        self.__dict__["_space"] = space

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _kept(self, self._space, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, _Module) or name not in self._space or isinstance(self._space.get(name), type(self._space)):
            super().__setattr__(name, value)  # else a function has the name of its module, and comes first

    def __dir__(self) -> Iterable[str]:
        return self._space.names()


class _Loader(Loader):
    """Makes the module of a namespace."""

    def __init__(self, space: "Namespace") -> None:
        self.space = space

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return _Module(spec.name, self.space)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are found when they are asked for."""
