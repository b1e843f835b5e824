"""Dictionaries of a script's class whose items are their attributes: what `self.__dict__ = self` comes to.

The attributes are read and written item by item, by ordinary names: Python and numpy never meet an item of a special name.
"""

from typing import Any

from gradsh.engine.attribute_names import check_ordinary, ordinary

_MARK = ".aliased"


def is_aliased(kind: type) -> bool:
    """Tell whether the items of a class's instances are their attributes."""
    return getattr(kind, _MARK, False)


def alias(kind: type) -> None:
    """Make it so; methods that the class has for its attributes stay."""
    if not is_aliased(kind):
        type.__setattr__(kind, _MARK, True)
        for name, method in {"__getattr__": _read, "__setattr__": _write, "__delattr__": _drop}.items():
            if getattr(kind, name, None) is getattr(dict, name, None):
                type.__setattr__(kind, name, method)


def _missing(owner: object, name: str) -> AttributeError:
    return AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'")


def _read(self: dict[str, Any], name: str) -> Any:
    if name not in self or not ordinary(name):
        raise _missing(self, name)
    return dict.__getitem__(self, name)


def _write(self: dict[str, Any], name: str, value: object) -> None:
    check_ordinary(self, name)
    dict.__setitem__(self, name, value)


def _drop(self: dict[str, Any], name: str) -> None:
    if name not in self:
        raise _missing(self, name)
    dict.__delitem__(self, name)
