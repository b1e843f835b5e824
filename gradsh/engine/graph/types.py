"""The words of the graph's types, which know nothing of the rest of the engine."""

from collections.abc import Callable
from typing import Any, TypeAlias

from gradsh.engine.values.dtype import Array

Location: TypeAlias = Any
"""Where the program stands, as `Ambient.locate` tells it: opaque to the engine, kept by nodes, writes and frees."""
LineOf: TypeAlias = Callable[[Location], int | None]
"""What tells the line of a location."""


class TensorBase:
    """The base of Tensor: what files below the tensor know of one."""

    __slots__ = ()

    array: Array
    needs_grad: bool
