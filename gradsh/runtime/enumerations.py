"""`enum` for scripts: Python's own classes, whose functional form (`Enum("Color", "RED GREEN")`) takes ordinary names only.

Its names become attributes of a class. A special one (`__array_interface__`) would decide what numpy's C code does with memory.
"""

import enum
from collections.abc import Iterator, Mapping
from typing import Any

from gradsh.runtime.object_arrays import SCRIPT_MARKS
from gradsh.text.fault import fail


class EnumType(enum.EnumType):
    """The type of the enumerations that a script makes."""

    def _create_(cls, class_name: str, names: object, *, type: object = None, **options: object) -> object:
        if type is not None:
            raise fail("type", "Enum() takes no `type` here: write `class Name(Enum):`, or use IntEnum", TypeError)
        members = list(_members(names))
        made: Any = super()._create_(  # type: ignore[misc]  # below `Enum(…)`, whose checks and defaults it has
            class_name, members, **options | {"module": "__main__"}
        )
        for name, value in SCRIPT_MARKS.items():
            enum.EnumType.__setattr__(made, name, value)
        return made


def _members(names: Any) -> Iterator[Any]:
    """Yield the names, or the pairs of names and values, as Python's own objects. Raises ValueError for a special name."""
    given = names.replace(",", " ").split() if isinstance(names, str) else names.items() if isinstance(names, Mapping) else names
    for one in given:
        name, *value = (one,) if isinstance(one, str) else one
        if type(name) is not str or name[:1] == "_" or not name.isidentifier():
            raise fail("value", f"Enum() takes names of members, not {name!r}", ValueError)
        yield (name, *value) if value else name


KINDS: dict[str, object] = {
    kind.__name__: EnumType(kind.__name__, (kind,), EnumType.__prepare__(kind.__name__, (kind,)))
    for kind in (enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag)
}
"""The classes that a script derives from, by name."""
for _kind in KINDS.values():
    _kind.__module__ = "enum"


class TextBase(str):  # noqa: SLOT000 - members of an enumeration have attributes
    """What `str` is as a base beside Enum: the members are texts, whose own methods a script cannot replace."""

    __module__ = "builtins"

    def __new__(cls, value: object = "") -> Any:
        """Return a text that knows the plain one as its value."""
        made = super().__new__(cls, value)
        made._value_ = str(value)  # type: ignore[attr-defined]
        return made

    def __init_subclass__(cls, **options: object) -> None:
        if not issubclass(cls, enum.Enum):
            raise fail("type", "a class can derive from `str` only beside Enum: `class Name(str, Enum):`", TypeError)
        super().__init_subclass__(**options)


TextBase.__name__ = TextBase.__qualname__ = "str"
_OWN = frozenset({"__doc__", "__repr__", "__str__"})


def check_text(names: tuple[str, ...]) -> None:
    """Raise TypeError where the members of an enumeration of texts would not be what their text says."""
    for name in names:
        if name in dir(str) and name not in _OWN:
            raise fail("name", f"an enumeration of texts cannot define `{name}`: give it another name", TypeError, name=name)
