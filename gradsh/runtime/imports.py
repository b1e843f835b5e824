"""Imports: namespaces of gradsh's own, lists of Python's library, and names that explain themselves for anything else."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gradsh.api.torch import NAMESPACES
from gradsh.engine.ambient import current
from gradsh.runtime.files import FileModule, Files
from gradsh.runtime.host import RuntimeHost
from gradsh.runtime.library import Library, listed
from gradsh.runtime.missing_modules import Absent, is_held_elsewhere
from gradsh.runtime.modules import MODULES, REFUSED_MODULE, STANDS_IN
from gradsh.text.fault import fail

_IGNORED = frozenset({"__future__"})

class Imports:
    """Answers the import statements of one machine's program."""

    def __init__(self, machine: RuntimeHost) -> None:
        self.machine = machine
        self.files = Files(machine)
        self._libraries: dict[str, Library] = {}

    def find(self, path: str) -> Any:
        """Return the namespace of a dotted path, or an `Absent` for one that gradsh does not have."""
        if path in NAMESPACES:
            return NAMESPACES[path]
        top, *rest = path.split(".")
        if self.files.has(top):
            return self.files.find(path)
        found = self._top(top)
        if top in MODULES and path in MODULES[top].parts:
            return found
        for part in rest:
            if isinstance(found, Absent):
                return Absent(path)
            try:
                found = found.get(part)
            except AttributeError:
                if is_held_elsewhere(*path.rpartition(".")[::2]):
                    return Absent(path)
                if isinstance(self._top(top), Library) or top == "torch":
                    raise self._no_module(path, top) from None
                return Absent(path)
        return found

    def _top(self, name: str) -> Any:
        if name == "torch":
            return NAMESPACES["torch"]
        found = self.library(name)
        if found is not None and MODULES[name].how == STANDS_IN:
            current().stands_in(name, MODULES[name].why)
        return found or Absent(name)

    def library(self, name: str) -> Library | None:
        """Return the namespace of a module of the table, or None for one that is refused or unknown."""
        if name not in self._libraries and name in MODULES and MODULES[name].how != REFUSED_MODULE:
            self._libraries[name] = Library(name, lambda: self._members(name))
        return self._libraries.get(name)

    def _members(self, name: str) -> Mapping[str, Any]:
        if MODULES[name].names:
            return listed(import_module(name), MODULES[name].names)
        file, _, function = MODULES[name].loader.partition(":")
        found: Mapping[str, Any] = getattr(import_module(file), function)(self.machine)
        return found

    @staticmethod
    def _no_module(path: str, top: str) -> Exception:
        return fail("name", f"No module named '{path}'", ModuleNotFoundError, name=path, top=top)

    def module(self, path: str, full: bool, tries: bool = False) -> Any:
        """Return what `import path` binds: the first part, or with `as` (`full`) the last.

        Raises ImportError, also where the program has another way without a module that gradsh does not have (`tries`).
        """
        if path == "__future__":
            return Absent(path)
        found = self.find(path)
        if tries and isinstance(found, Absent):
            raise self._other_way(path)
        top = path.partition(".")[0]
        return found if full else self.files.find(top) if self.files.has(top) else self._top(top)

    def member(self, path: str, name: str, tries: bool = False) -> object:
        """Return what `from path import name` binds. Raises ImportError, as `module` does."""
        if path in _IGNORED:
            return None
        if path[:1] == ".":
            path = self.files.absolute(path)
        found = self._member(path, name)
        if tries and isinstance(found, Absent):
            raise self._other_way(path if isinstance(self.find(path), Absent) else f"{path}.{name}")
        return found

    def _other_way(self, path: str) -> Exception:
        current().warn_once(path, f"gradsh has no module '{path}': the program goes on at its `except`")
        return self._no_module(path, path.partition(".")[0])

    def _member(self, path: str, name: str) -> object:
        namespace = self.find(path)
        if isinstance(namespace, Absent):
            return Absent(f"{path}.{name}", member=True)
        if isinstance(namespace, FileModule) and (found := self.files.below(namespace, name)) is not None:
            return found
        try:
            return namespace.get(name)
        except AttributeError:
            if is_held_elsewhere(path, name):
                return Absent(f"{path}.{name}", member=True)
            text = f"cannot import name '{name}' from '{path}'"
            raise fail("name", text, ImportError, name=name, owner=namespace) from None

    def star(self, path: str) -> None:
        """Bind every public name of a namespace, as `from path import *` does."""
        namespace = self.find(self.files.absolute(path) if path[:1] == "." else path)
        if isinstance(namespace, Absent):
            return
        target = sys._getframe(1).f_globals
        for name in namespace.names():
            if name[0] != "_":
                target[name] = namespace.get(name)

    def known(self) -> list[str]:
        """Return the modules that exist here, for completion and for suggesting the nearest."""
        return ["torch", *(name for name, module in MODULES.items() if module.how != REFUSED_MODULE)]
