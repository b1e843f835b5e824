"""Tensors of another engine: what shows them to the probes in the form of this one's, while a lens looks at them.

Every probe reads nodes, saved tensors and tensors through the attributes of the engine's own classes. A lens answers with
objects of subclasses of these, so that each question is written once.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Protocol

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor


class Foreign(Protocol):
    """The world of another engine, as one question sees it."""

    def tensor(self, value: object) -> Tensor | None:
        """Return a tensor of the other engine in this one's form, None for any other value."""

    def is_module(self, value: object) -> bool:
        """Whether a value is a module of the other engine."""

    def given_back(self, nodes: Iterable[Node]) -> dict[int, int]:
        """Return the memories (key -> bytes) that nothing holds but live entries of these nodes."""

    def unaccounted(self, tensor: Tensor) -> int:
        """Return how many references there are to a tensor's memory beside those that the question has met."""


looking: ContextVar[Foreign | None] = ContextVar("gradsh_foreign", default=None)
"""The world that a lens looks at now; None while the engine's own tensors are asked about."""


def tensor_of(value: object) -> Tensor | None:
    """Return the tensor that a value is, None for any other value."""
    if isinstance(value, Tensor):
        return value
    world = looking.get()
    return None if world is None else world.tensor(value)
