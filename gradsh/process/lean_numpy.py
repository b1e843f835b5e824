"""Imports numpy without the texts of its documentation, the types of its annotations, and modules of Python's that only its functions use.

These take two fifths of the import.

For that time stand-ins take the places of these modules. They are gone afterwards, so that whoever imports one of these
later has the real one; `document` adds the texts and signatures.
"""

import sys
import typing
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from gradsh.text.tuples import NamedTuple

DOCUMENTATION = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
ANNOTATIONS = "numpy._typing"
INSPECT, DATES = "inspect", "datetime"
WHEN_USED = (INSPECT, DATES, "ast", "pickle", "platform", "textwrap")
"""Modules that are imported when numpy asks them for something."""
_left_out: list[str] = []
"""The modules of texts that have not run."""


class _Annotation:
    """Any type in an annotation: `NDArray[Any]`, `ArrayLike | None`."""

    def __class_getitem__(cls, _: object) -> type["_Annotation"]:
        return cls


class _Later(ModuleType):
    """Stands in for a module until somebody asks it for something."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _Signature:
    """Stands in for the signature of a function of numpy's that C code implements, until `document` finds it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function


def _clean(text: str) -> str:
    """Return a docstring without the indentation that all its lines but the first share: `inspect.cleandoc`."""
    first, *rest = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in rest)]).strip("\n")


def import_numpy() -> None:
    """Import numpy, unless it is there."""
    if "numpy" in sys.modules:
        return
    stand_ins = {name: ModuleType(name) for name in (*DOCUMENTATION, ANNOTATIONS)}
    stand_ins |= {name: _Later(name) for name in WHEN_USED if name not in sys.modules}
    stand_ins["typing"] = ModuleType("typing")
    stand_ins["typing"].__dict__.update(vars(typing), NamedTuple=NamedTuple)
    stand_ins[ANNOTATIONS].__dict__["__getattr__"] = lambda _: _Annotation
    if INSPECT in stand_ins:
        stand_ins[INSPECT].__dict__.update(cleandoc=_clean, signature=_Signature)
    if DATES in stand_ins:
        stand_ins[DATES].__dict__["datetime_CAPI"] = import_module("_datetime").datetime_CAPI
    sys.modules.update(stand_ins)
    try:
        import_module("numpy")
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]
        sys.modules["typing"] = typing
    _left_out.extend(DOCUMENTATION)


def document() -> None:
    """Give numpy's classes and functions their texts and signatures, if they have none yet."""
    import inspect

    while _left_out:
        import_module(_left_out.pop(0))
    for function in import_module("numpy._core.overrides").ARRAY_FUNCTIONS:
        signature = getattr(function, "__signature__", None)
        if isinstance(signature, _Signature):
            function.__signature__ = inspect.signature(signature.function)
