"""What a machine offers to its program: builtins, bare names of PyTorch, imports, and what a class may derive from."""

from abc import ABC, ABCMeta
from types import new_class
from typing import Any

from gradsh.api.namespace import Namespace
from gradsh.api.torch import BARE, NAMESPACES
from gradsh.compiler import runtime_names
from gradsh.compiler.special import SPECIAL_METHODS
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.runtime.allowlist import public
from gradsh.runtime.bounded_operators import BoundedList
from gradsh.runtime.builtins import make_builtins
from gradsh.runtime.guard import is_script_class
from gradsh.runtime.host import RuntimeHost
from gradsh.runtime.imports import Imports
from gradsh.runtime.library import Library
from gradsh.runtime.missing_modules import Absent
from gradsh.runtime.object_arrays import SCRIPT_MARKS
from gradsh.runtime.type_proxies import TypeProxy
from gradsh.text.fault import fail

STANDING = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim", "np": "numpy",
            "math": "math", "sys": "sys"}  # fmt: skip
"""Modules that are there without an import, under the names that everybody gives them."""

_TOLD = frozenset({"__module__", "__qualname__"})
"""Special names whose texts tell where a class stands."""
_PLAIN_RESULTS = "operations give plain tensors here where PyTorch gives the class derived from `torch.Tensor` (`gradsh trace FILE`)"


class Offer:
    """Everything that exists for a program without its doing."""

    def __init__(self, machine: RuntimeHost) -> None:
        self.machine = machine
        self.imports = Imports(machine)
        self.namespaces = tuple(NAMESPACES[path] for path in BARE)
        """Where a name that neither the program nor Python has is looked up, in this order."""
        machine.guard.namespaces = (Library, Namespace)

    def builtins(self) -> dict[str, Any]:
        """Return Python's builtins as the language has them."""
        return make_builtins(self.machine, self.make_class)

    def bring(self, name: str, builtins: dict[str, object]) -> bool:
        """Add the bare name to `builtins` if a namespace offers it; tell whether one does."""
        if name[0] == runtime_names.RESERVED or name[:1] == "_":
            return False
        try:
            builtins[name] = self.bare(name)
        except KeyError:
            return False
        return True

    def bare(self, name: str) -> object:
        """Return what a name without a prefix stands for, where the program has not bound it. Raises KeyError."""
        if name in STANDING:
            return self.imports.find(STANDING[name])
        for namespace in self.namespaces:
            if name in namespace and not _is_file(namespace, name):
                return namespace.get(name)
        raise KeyError(name)

    def bare_names(self) -> list[str]:
        """Return every name that works without a prefix, for completion and for suggesting the nearest."""
        found = {name for name in self.machine.builtins if name[0] not in "._"} | set(STANDING)
        for namespace in self.namespaces:
            found.update(name for name in namespace.names() if name[0] != "_" and not _is_file(namespace, name))
        return sorted(found)

    def base(self, base: object, names: tuple[str, ...]) -> Any:
        """Return the base class of a class statement, if a script may derive from it a class with these names."""
        if isinstance(base, Absent):
            base.explain()
        if isinstance(base, TypeProxy) and base.stands_for(ABCMeta):  # of `class A(metaclass=ABCMeta)`
            return ABC
        if isinstance(base, type):
            if issubclass(base, str):
                from gradsh.runtime.enumerations import TextBase, check_text

                check_text(names)
                base = TextBase if base is str else base
                if base is TextBase:
                    return base
            if is_script_class(base) or base is object or (issubclass(base, Exception) and not base.__dict__.get("fault")):
                return base
            if base in {ABC, dict} or type(base).__name__ == "EnumType":  # of enumerations.py: Python's own is not within reach
                return base
            if base is list:
                return BoundedList
            if getattr(base, "__script_base__", False):
                self._check_names(base, names)
                if issubclass(base, Tensor) and not issubclass(base, Parameter):
                    current().warn_once("a class of tensors", _PLAIN_RESULTS)
                return base
        name = getattr(base, "__name__", type(base).__name__)
        raise fail(
            "type",
            f"a class cannot derive from `{name}` here: its base is nn.Module, torch.autograd.Function, an exception, "
            "Enum, ABC, dict, list, a class of yours, or none",
            TypeError,
        )

    def make_class(self, name: Any, bases: Any, namespace: Any, /, **keywords: Any) -> type:
        """Return the class that `type(name, bases, namespace)` makes: what stands in the dictionary could stand in a class's body."""
        for place, (value, kind) in enumerate(((name, str), (bases, tuple), (namespace, dict)), 1):
            if not isinstance(value, kind):
                text = f"type.__new__() argument {place} must be {kind.__name__}, not {type(value).__name__}"
                raise TypeError(text)
        body = dict(namespace)  # a plain one: a class of dictionaries could show other keys than it gives
        for key, value in body.items():
            told = type(key) is str and (key in SPECIAL_METHODS or (key in _TOLD and isinstance(value, str)))
            if not (told or public(key)):  # another key could have a name's hash, and equal it only later
                way = f"write `class {name}:` and define it there"
                raise fail("type", f"type() takes no {key!r} in its dictionary here", TypeError, name=key, way=way)
        if "metaclass" in keywords:
            raise TypeError(f"{name}.__init_subclass__() takes no keyword arguments")
        found = tuple(self.base(base, tuple(body)) for base in bases)
        return new_class(name, found, keywords, lambda space: space.update({"__module__": "__main__"} | body | SCRIPT_MARKS))

    def _check_names(self, base: type, names: tuple[str, ...]) -> None:
        for name in names:
            if public(name) and self.machine.guard.reserved(base, name):
                text = f"a class derived from `{base.__name__}` cannot define `{name}`: gradsh's own class uses the name"
                raise fail("name", text, TypeError, name=name)


def _is_file(namespace: Namespace, name: str) -> bool:
    """Tell whether a name is that of a file: `optimizer` is a name that programs give, not the module torch.optim.optimizer."""
    return namespace.name == "torch.optim" and f"torch.optim.{name}" in NAMESPACES
