"""Attribute names that come from data (a key, an argument, a saved state), and the base of classes that take any name.

Law: a name that data gives is an ordinary one. Python and numpy ask instances for special names (`__array_interface__`,
`__deepcopy__`), and what an instance answers decides what their C code does with memory.
"""

from collections.abc import Mapping
from typing import Any

from gradsh.text.fault import fail

COPIED_AS = ".copied_as"
"""Under which a class of dictionaries holds the class of its copies: no program can name it."""


class ScriptBase:
    """Base of classes whose instances offer and take every ordinary name. Scripts may derive from them."""

    __slots__ = ()
    __script_base__ = True
    """Whether a script may derive from the class (also on some classes whose instances take no names)."""

    @staticmethod
    def __script_attributes__(name: str) -> bool:
        """Offer every ordinary name."""
        return not name.startswith("__")


def ordinary(name: object) -> bool:
    """Tell whether a name has no meaning to Python itself where an instance has it; `__name__` has one on classes and functions."""
    return isinstance(name, str) and (name == "__name__" or not (name[:2] == "__" == name[-2:]))


def read(owner: object, name: str, *default: object) -> Any:
    """Return the attribute that data names. Raises AttributeError, also for a special name."""
    if ordinary(name):
        return getattr(owner, name, *default)
    if default:
        return default[0]
    text = f"'{type(owner).__name__}' object has no attribute '{name}'"
    raise fail("attribute", text, AttributeError, owner=owner, name=name)


def write(owner: object, name: str, value: object) -> None:
    """Set the attribute that data names. Raises AttributeError for a special name."""
    check_ordinary(owner, name)
    setattr(owner, name, value)


def check_ordinary(owner: object, name: object) -> None:
    """Raise AttributeError for a special name."""
    if not ordinary(name):
        text = f"'{type(owner).__name__}' object takes no attribute '{name}': Python gives the name a meaning of its own"
        raise fail("attribute", text, AttributeError, owner=owner, name=name)


def attributes_of(owner: object) -> dict[str, object]:
    """Return an instance's own attributes of ordinary names; a class has none to give."""
    own = {} if isinstance(owner, type) else getattr(owner, "__dict__", {})
    return {name: value for name, value in own.items() if ordinary(name)}


def take_over(owner: object, state: Mapping[str, object]) -> None:
    """Set the attributes that `owner` has to a saved state's values, which must be of the types that they replace."""
    held = attributes_of(owner)
    for name, value in state.items():
        if name in held:
            if not _may_replace(held[name], value):
                message = f"load_state_dict: {name} is of type {type(held[name]).__name__}, not {type(value).__name__}"
                raise fail("type", message, TypeError)
            setattr(owner, name, value)


def _may_replace(held: object, value: object) -> bool:
    """Tell whether data may take the place of other data. Numbers are of one type; None stands for any data."""
    if value is None or type(value) is type(held):
        return True
    sorts = (_is_number, _is_list, _is_dictionary, _is_text)
    return any(of_sort(value) and (held is None or of_sort(held)) for of_sort in sorts)


def _is_number(value: object) -> bool:
    return hasattr(type(value), "__float__")


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _is_dictionary(value: object) -> bool:
    return isinstance(value, dict)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
