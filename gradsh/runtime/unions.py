"""`A | B` of what stands for types of Python's: its own unions hold nothing but types."""

from typing import Any


class Alternative:
    """What may stand in a union."""

    __slots__ = ()

    def __or__(self, other: object) -> "Either":
        return Either(self, other)

    def __ror__(self, other: object) -> "Either":
        return Either(other, self)


class Either(Alternative):
    """A union, for annotations and isinstance."""

    __slots__ = ("kinds",)
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, *kinds: Any) -> None:
        self.kinds = kinds

    def __repr__(self) -> str:
        return " | ".join(getattr(kind, "__name__", repr(kind)) for kind in self.kinds)
