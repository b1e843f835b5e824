"""What a report refers to by number: the sources of a program, the places and scopes in them, and the storages of tensors."""

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from gradsh.engine.graph.types import Location
from gradsh.engine.values.reduced import bytes_of
from gradsh.text.span import Source


class Places:
    """The places of a session's program, each told once."""

    def __init__(
        self, line_of: Callable[[Any], int | None], place_of: Callable[[Any], Any], scopes_of: Callable[[Any], tuple[Any, ...]]
    ) -> None:
        self.line_of, self._place_of, self._scopes_of = line_of, place_of, scopes_of
        self._sources: dict[str, Source] = {}
        self._places: dict[tuple[int, int], dict[str, Any]] = {}
        self._scopes: dict[Any, int] = {}
        self._chains: dict[tuple[int, int], tuple[Any, int | None]] = {}
        self.scopes: list[dict[str, Any]] = []

    def source(self, source: Source) -> int:
        """Return the number of a source."""
        self._sources.setdefault(source.name, source)
        return list(self._sources).index(source.name)

    def sources(self) -> list[dict[str, Any]]:
        """Return the sources."""
        return [{"name": name, "text": one.text, "first_line": one.first_line} for name, one in self._sources.items()]

    def of(self, where: Location) -> dict[str, Any]:
        """Return what is told of a place: the line of its statement, its span, its source where that is not the first, its scope."""
        if where is None:
            return {}
        activation, code, offset = where
        found = self._places.get((id(code), offset))
        if found is None:
            place = self._place_of(where)
            found = {} if place is None else {"line": self.line_of(where), "span": tuple(place.span)}
            if place is not None and (number := self.source(place.source)):
                found["source"] = number
            self._places[(id(code), offset)] = found
        scope = self._scope(activation, code, where)
        return found if scope is None else {**found, "scope": scope}

    def _scope(self, activation: Any, code: CodeType, where: object) -> int | None:
        """Return the number of the innermost call or loop pass around a place. What it is known by is kept, so that no other has its id."""
        key = id(activation), id(code)
        if key in self._chains:
            return self._chains[key][1]
        number: int | None = None
        for scope in self._scopes_of(where):
            kind, label = "call", scope.label
            if label == "loop":
                number = self._numbered((number, scope.series), {"kind": "loop", "label": "loop", "parent": number})
                kind, label = "iteration", f"iteration {scope.instance[1]}"
            number = self._numbered((number, scope.instance), {"kind": kind, "label": label, "parent": number})
        self._chains[key] = where, number
        return number

    def _numbered(self, key: Any, record: dict[str, Any]) -> int:
        if key not in self._scopes:
            self._scopes[key] = len(self.scopes)
            self.scopes.append(record)
        return self._scopes[key]


class Storages:
    """Numbers for the storages of tensors; a memory at the address of one that is gone has another number."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}

    def number(self, owner: Any) -> int:
        """Return the number of the storage that an array owns."""
        known = self._known.get(id(owner))
        if known is None or known[0]() is not owner:
            known = self._known[id(owner)] = weakref.ref(owner), len(self.sizes)
            self.sizes.append(bytes_of(owner))
        return known[1]
