"""Imports numpy without the texts of its documentation, the types of its annotations, and `inspect`: a third of what it takes.

For that time stand-ins take the places of these modules. They are gone afterwards, so that whoever imports one of these
later has the real one; `document` adds the texts and signatures.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

DOCUMENTATION = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
ANNOTATIONS = "numpy._typing"
INSPECT = "inspect"
_left_out: list[str] = []
"""The modules of texts that have not run."""


class _Annotation:
    """Any type in an annotation: `NDArray[Any]`, `ArrayLike | None`."""

    def __class_getitem__(cls, _: object) -> type["_Annotation"]:
        return cls


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
    names = (*DOCUMENTATION, ANNOTATIONS, *({INSPECT} - sys.modules.keys()))
    stand_ins = {name: ModuleType(name) for name in names}
    stand_ins[ANNOTATIONS].__dict__["__getattr__"] = lambda _: _Annotation
    if INSPECT in stand_ins:
        stand_ins[INSPECT].__dict__.update(cleandoc=_clean, signature=_Signature)
    sys.modules.update(stand_ins)
    try:
        import_module("numpy")
    finally:
        for name in stand_ins:
            del sys.modules[name]
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
