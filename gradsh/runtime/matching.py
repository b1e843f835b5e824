"""What the patterns of `match` fit: values, sequences, mappings, and attributes, which are read through the guard."""

from collections.abc import Mapping, Sequence
from typing import Any

from gradsh.runtime.dataclass import FIELDS, fields_of
from gradsh.runtime.host import RuntimeHost

_THEMSELVES = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Types whose one place in a pattern stands for the value itself."""
_MISSING = object()


class Matcher:
    """Compares a value with a pattern, as `compiler/patterns.py` writes it."""

    def __init__(self, machine: RuntimeHost) -> None:
        self._machine = machine

    def __call__(self, subject: Any, pattern: tuple[Any, ...]) -> dict[str, Any] | None:
        """Return what the pattern binds, or None where the value does not fit."""
        bound: dict[str, Any] = {}
        return bound if self._fits(subject, pattern, bound) else None

    def _fits(self, value: object, pattern: tuple[object, ...], bound: dict[str, Any]) -> bool:
        sort, *parts = pattern
        return bool(getattr(self, f"_{sort}")(value, bound, *parts))

    def _any(self, _: object, __: object) -> bool:
        return True

    def _name(self, value: object, bound: dict[str, object], name: str) -> bool:
        bound[name] = value
        return True

    def _is(self, value: object, _: object, constant: object) -> bool:
        return value is constant

    def _value(self, value: object, _: object, other: object) -> bool:
        return value == other

    def _as(self, value: object, bound: dict[str, object], pattern: Any, name: str) -> bool:
        return self._fits(value, pattern, bound) and self._name(value, bound, name)

    def _or(self, value: object, bound: dict[str, object], *patterns: Any) -> bool:
        return any(self._fits(value, pattern, bound) for pattern in patterns)

    def _sequence(self, value: Any, bound: dict[str, Any], patterns: Any, star: int) -> bool:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            return False
        parts, count = list(value), len(patterns)
        if len(parts) != count if star < 0 else len(parts) < count - 1:
            return False
        if star >= 0:
            end = len(parts) - (count - 1 - star)
            parts[star:end] = [parts[star:end]]
        return all(self._fits(part, pattern, bound) for part, pattern in zip(parts, patterns, strict=True))

    def _mapping(self, value: object, bound: dict[str, object], pairs: Any, rest: str | None) -> bool:
        if not isinstance(value, Mapping):
            return False
        found = [(value.get(key, _MISSING), pattern) for key, pattern in pairs]
        if any(part is _MISSING for part, _ in found) or not all(self._fits(part, pattern, bound) for part, pattern in found):
            return False
        if rest is not None:
            taken = [key for key, _ in pairs]
            bound[rest] = {key: one for key, one in value.items() if key not in taken}
        return True

    def _class(self, value: Any, bound: dict[str, object], kind: Any, places: Any, named: Any) -> bool:
        if not self._machine.builtins["isinstance"](value, kind):
            return False
        if len(places) == 1 and isinstance(value, _THEMSELVES) and not hasattr(type(value), "_fields"):
            return self._fits(value, places[0], bound)
        names = self._places(kind, len(places))
        for name, pattern in (*zip(names, places, strict=False), *named):
            try:
                part = self._machine.guard.read(value, name)
            except AttributeError:
                return False
            if not self._fits(part, pattern, bound):
                return False
        return True

    @staticmethod
    def _places(kind: Any, count: int) -> tuple[str, ...]:
        """Return the attributes that the places of a class pattern stand for."""
        own = type.__getattribute__(kind, "__dict__") if isinstance(kind, type) else {}
        names = tuple(fields_of(kind)) if FIELDS in own else tuple(own.get("_fields") or own.get(".__match_args__") or ())
        if len(names) < count:
            raise TypeError(f"{kind.__name__}() accepts {len(names)} positional sub-patterns ({count} given)")
        return names
