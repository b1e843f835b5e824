"""In which modules a node was made: the paths (`net.layers[0].self_attn`) of the modules whose calls lie around its place."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple
from weakref import ref

from gradsh.engine.graph.types import Location
from gradsh.probe.names import named_modules
from gradsh.probe.places import call_around


class ModuleScope(NamedTuple):
    """A call of a module: how the program calls the module, and what tells this call from others."""

    path: str
    call: int


class ModulePaths:
    """The calls of modules around places, each activation asked for once; paths are read from the variables when first needed."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables
        self._known: dict[int, tuple[ModuleScope, ...]] = {}

    @cached_property
    def _paths(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for path, module in named_modules(self._variables):
            found.setdefault(id(module), path)
        return found

    def read(self) -> Mapping[int, str]:
        """Return module -> path, read from the variables now if they have not been."""
        return self._paths

    def calls(self, where: Location) -> tuple[ModuleScope, ...]:
        """Return the calls of modules around a place, outermost first."""
        return () if where is None else self._around(where[0])

    def of(self, where: object) -> str:
        """Return the path of the innermost module around a place; empty outside of modules."""
        found = self.calls(where)
        return found[-1].path if found else ""

    def _around(self, activation: Any) -> tuple[ModuleScope, ...]:
        activation = call_around(activation)
        known = self._known.get(id(activation))
        if known is not None:
            return known
        new = []
        while activation is not None and id(activation) not in self._known:
            new.append(activation)
            activation = activation[0]
        found = () if activation is None else self._known[id(activation)]
        for one in reversed(new):  # nodes hold their activations, so an id stays its own while they are asked about
            if type(one[3]) is tuple:
                found = (*found, ModuleScope(self._path(*one[3]), id(one)))
            self._known[id(one)] = found
        return found

    def _path(self, held: ref[object], kind: type) -> str:
        """Return how the program calls a module; its class's name where no variable leads to it."""
        module = held()
        return kind.__name__ if module is None else self.name_of(module)

    def name_of(self, module: object) -> str:
        """Return how the program calls a module; its class's name where no variable leads to it."""
        path = self._paths.get(id(module))
        if path is None:
            path = type(module).__name__
            for inner, one in named_modules({path: module}):
                self._paths.setdefault(id(one), inner)
        return path
