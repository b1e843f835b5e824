"""Imports: namespaces of gradsh's own, lists of Python's library, and names that explain themselves for anything else."""

from typing import TYPE_CHECKING, Any

from gradsh.api.torch import NAMESPACES
from gradsh.runtime.library import libraries
from gradsh.runtime.missing_modules import Absent, way_without
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

_IGNORED = frozenset({"__future__"})

class Imports:
    """Answers the import statements of one machine's program."""

    def __init__(self, machine: "Machine") -> None:
        self.machine = machine
        self._libraries = libraries(machine)

    def find(self, path: str) -> Any:
        """Return the namespace of a dotted path, or an `Absent` for one that gradsh does not have."""
        if path in NAMESPACES:
            return NAMESPACES[path]
        top, *rest = path.split(".")
        found = self._top(top)
        for part in rest:
            if isinstance(found, Absent):
                return Absent(path)
            try:
                found = found.get(part)
            except AttributeError:
                if way_without(path):
                    return Absent(path)
                if top in self._libraries or top == "torch":
                    raise self._no_module(path, top) from None
                return Absent(path)
        return found

    def _top(self, name: str) -> Any:
        if name == "torch":
            return NAMESPACES["torch"]
        return self._libraries.get(name) or Absent(name)

    @staticmethod
    def _no_module(path: str, top: str) -> Exception:
        return fail("name", f"No module named '{path}'", ModuleNotFoundError, name=path, top=top)

    def module(self, path: str, full: bool) -> Any:
        """Return what `import path` binds: the first part, or with `as` (`full`) the last."""
        if path == "__future__":
            return Absent(path)
        found = self.find(path)
        return found if full else self._top(path.partition(".")[0])

    def member(self, path: str, name: str) -> Any:
        """Return what `from path import name` binds. Raises ImportError."""
        if path in _IGNORED:
            return None
        namespace = self.find(path)
        if isinstance(namespace, Absent):
            return Absent(f"{path}.{name}")
        try:
            return namespace.get(name)
        except AttributeError:
            if way_without(f"{path}.{name}"):
                return Absent(f"{path}.{name}")
            text = f"cannot import name '{name}' from '{path}'"
            raise fail("name", text, ImportError, name=name, owner=namespace) from None

    def star(self, path: str) -> None:
        """Bind every public name of a namespace, as `from path import *` does."""
        namespace = self.find(path)
        if isinstance(namespace, Absent):
            return
        for name in namespace.names():
            if name[0] != "_":
                self.machine.program[name] = namespace.get(name)

    def known(self) -> list[str]:
        """Return the modules that exist here, for completion and for suggesting the nearest."""
        return ["torch", *self._libraries]
