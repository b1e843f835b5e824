"""Imports numpy without the texts of its documentation and the types of its annotations: a quarter of what it takes, and no script's.

For that time stand-ins take the places of three of its modules. They are gone afterwards, so that whoever imports one of these
later has the real one; `document` adds the texts.
"""

import sys
from importlib import import_module
from types import ModuleType

DOCUMENTATION = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
ANNOTATIONS = "numpy._typing"
_left_out: list[str] = []
"""The modules of texts that have not run."""


class _Annotation:
    """Any type in an annotation: `NDArray[Any]`, `ArrayLike | None`."""

    def __class_getitem__(cls, _: object) -> type["_Annotation"]:
        return cls


def import_numpy() -> None:
    """Import numpy, unless it is there."""
    if "numpy" in sys.modules:
        return
    stand_ins = {name: ModuleType(name) for name in (*DOCUMENTATION, ANNOTATIONS)}
    stand_ins[ANNOTATIONS].__dict__["__getattr__"] = lambda _: _Annotation
    sys.modules.update(stand_ins)
    try:
        import_module("numpy")
    finally:
        for name in stand_ins:
            del sys.modules[name]
    _left_out.extend(DOCUMENTATION)


def document() -> None:
    """Give numpy's classes and functions their texts, if they have none yet."""
    while _left_out:
        import_module(_left_out.pop(0))
