"""The files of a program beside its script: each is run once, when it is first imported, and is a namespace of its own."""

import sys
from typing import Any

from gradsh.compiler.expressions import identifier
from gradsh.compiler.scopes import bound_names
from gradsh.runtime.host import RuntimeHost
from gradsh.runtime.library import Library
from gradsh.runtime.modules import MODULES
from gradsh.text.fault import fail
from gradsh.text.span import Source

_UNKNOWN = object()
PACKAGE = identifier("__package__")


class FileModule(Library):
    """A file's names, as far as they are bound; a folder's are the files in it."""

    __slots__ = ("package",)

    def __init__(self, name: str, package: str) -> None:
        super().__init__(name, dict)
        self.package = package
        self._members = {"__name__": name, PACKAGE: package}

    def names(self) -> list[str]:
        """Return the names that it binds."""
        return [name for name in self.members() if name[0] != "." and name[:2] != "__"]

    def set(self, name: str, value: object) -> None:
        """Bind a name of the file anew."""
        self.members()[name] = value  # type: ignore[index]


class Files:
    """Finds and runs the files that a program imports."""

    def __init__(self, machine: RuntimeHost) -> None:
        self._machine = machine
        self._modules: dict[str, FileModule] = {}

    def has(self, top: str) -> bool:
        """Tell whether a file or a folder of that name stands beside the script."""
        source = self._source(top) if top != "torch" else None
        return source is not None and (top not in MODULES or not source.name.endswith("/"))

    def find(self, path: str) -> FileModule:
        """Return the module of a dotted path, which is run where it has not been. Raises ModuleNotFoundError."""
        found: FileModule | None = None
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            inner = self._modules.get(name) or self._run(name)
            if found is not None:
                found.set(parts[count - 1], inner)
            found = inner
        assert found is not None
        return found

    def below(self, module: FileModule, name: str) -> FileModule | None:
        """Return a file of a package that `from package import name` means, unless the package itself binds the name."""
        path = f"{module.name}.{name}"
        if name in module.members() or module.package != module.name or self._source(path) is None:
            return None
        return self.find(path)

    def absolute(self, path: str) -> str:
        """Return the path that one with leading dots means in the file that is running. Raises ImportError."""
        rest = path.lstrip(".")
        package = sys._getframe(2).f_globals.get(PACKAGE) or ""  # a script has none
        parts = package.split(".") if package else []
        up = len(path) - len(rest) - 1
        if up >= len(parts):
            raise fail("name", "attempted relative import with no known parent package", ImportError, name=rest, owner=None)
        return ".".join([*parts[: len(parts) - up], *([rest] if rest else [])])

    def _source(self, path: str) -> Source | None:
        """Return the source of a module; a folder without `__init__.py` has an empty one."""
        read, place = self._machine.read_module, path.replace(".", "/")
        return None if read is None else read(place)

    def _run(self, name: str) -> FileModule:
        source = self._source(name)
        if source is None:
            raise fail("name", f"No module named '{name}'", ModuleNotFoundError, name=name, top=name.partition(".")[0])
        folder = source.name.endswith(("/__init__.py", "/"))
        module = self._modules[name] = FileModule(name, name if folder else name.rpartition(".")[0])
        names: Any = module.members()
        names[identifier("__file__")] = source.name
        try:
            from gradsh.language.parser import parse

            body = parse(source, self._machine.grammars).body
            if self._machine.only_checks:
                names.update(dict.fromkeys((name for name, _ in bound_names(body)), _UNKNOWN))
            else:
                self._machine.run_module(body, source, names)
        except BaseException:
            del self._modules[name]
            raise
        return module
