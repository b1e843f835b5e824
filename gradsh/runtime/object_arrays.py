"""Arrays of Python objects, which nothing here makes: they nest without bound, and crash when dropped."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gradsh.compiler import runtime_names
from gradsh.engine.graph.tensor import Tensor
from gradsh.runtime.modules import OR_TRACE
from gradsh.text.fault import fail


def numbers_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numpy's that gives no array of Python objects: those nest without bound, and crash when dropped."""

    def checked(*args: object, **kwargs: object) -> object:
        found = function(*args, **kwargs)
        for one in found if type(found) in {tuple, list} else (found,):
            if isinstance(one, np.ndarray) and one.dtype.hasobject:
                raise _no_objects()
        return found

    checked.__name__ = checked.__qualname__ = getattr(function, "__name__", "function")
    return checked


def _no_objects() -> Exception:
    return fail("type", "arrays of Python objects are not part of gradsh", TypeError, way=f"use a list or a dictionary, {OR_TRACE}")


def _no_array(owner: object) -> NoReturn:
    raise AttributeError("__array_interface__") if isinstance(owner, Tensor) else _no_objects()


NO_ARRAY = property(_no_array)
"""The `__array_interface__` of a script's classes: numpy would make an array of Python objects, as `numbers_only` says."""
SCRIPT_MARKS: dict[str, object] = {runtime_names.SCRIPT: NO_ARRAY, "__array_ufunc__": None, "__array_interface__": NO_ARRAY}
"""What the body of a script's class holds beside what the script writes: the mark that it is one, and that numpy lets it alone."""
