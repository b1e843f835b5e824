"""torch._C: what programs ask below PyTorch's public names, of the pass that runs, of versions, and of whether a tensor still lives."""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from gradsh.api.modes import multithreading
from gradsh.api.saved import DISABLED
from gradsh.engine.ambient import current
from gradsh.engine.graph.delayed_error import behind_node, delayed_error
from gradsh.engine.graph.node import Node, behind
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, gradient_edge
from gradsh.text.fault import fail

_DURING = "should only be called during the backward pass"


class _WeakTensorRef:
    """A weak reference to a tensor."""

    __module__ = "torch._C"
    __slots__ = ("_reference",)
    __script_attributes__ = frozenset({"expired"})

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Return whether the tensor is gone."""
        return self._reference() is None


class UndefinedGradBackward(Node):
    """Hands no gradient on, whatever arrives."""

    __slots__ = ()

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::UndefinedGradBackward"

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> list[Any]:
        """Hand nothing on."""
        del grads, needs
        return [None] * len(self.edges)


class UndefinedGrad:
    """Returns tensors anew, behind which no gradient goes further."""

    __module__ = "builtins"
    __slots__ = ()
    makes_nodes = True

    def __call__(self, *tensors: Tensor) -> Any:
        """Put the node behind the tensors."""
        node = UndefinedGradBackward(tuple(map(gradient_edge, tensors)), tuple((one.array.shape, one.array.dtype) for one in tensors))
        found = tuple(behind_node(node, place, one) for place, one in enumerate(tensors))
        return found[0] if len(found) == 1 else found


class DelayedError:
    """Returns tensors anew, whose backward fails with a message."""

    __module__ = "builtins"
    __slots__ = ("_message",)
    makes_nodes = True

    def __init__(self, message: str, num_inputs: int) -> None:
        del num_inputs
        self._message = message

    def __call__(self, *tensors: object) -> Any:
        """Put the error behind the tensors."""
        found = delayed_error(self._message, tensors)
        return found[0] if len(found) == 1 else tuple(found)


_passes: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()
_numbers = count()


def _current_graph_task_id() -> int:
    """Return a number that the running pass has to itself, -1 outside of any."""
    running = current().running
    if running is None:
        return -1
    if running not in _passes:
        _passes[running] = next(_numbers)
    return _passes[running]


def _current_autograd_node() -> Node | None:
    """Return the node that the running pass is at; None outside of any."""
    running = current().running
    return None if running is None else running.order[running.position].facade()


def _get_current_graph_task_keep_graph() -> bool:
    """Return whether the running pass keeps the graph; True outside of any."""
    running = current().running
    return True if running is None else running.retain


def _will_engine_execute_node(node: object) -> bool:
    """Return whether the running pass reaches a node."""
    running, node = current().running, behind(node)
    if not isinstance(node, Node):
        raise fail("type", f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if running is None:
        raise fail("other", f"_get_should_execute_nodes {_DURING}")
    if isinstance(node, AccumulateGrad):
        running.check_not_captured(node)
    return running.will_run(node)


def _current_graph_task_execution_order() -> list[object]:
    """Return the nodes of the running pass in the order in which they run."""
    running = current().running
    if running is None:
        raise fail("other", f"_current_graph_task_execution_order {_DURING}")
    if multithreading():
        message = (
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading disabled, e.g. by "
            "running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n"
        )
        raise fail("other", message)
    return [node.facade() for node in running.in_order()]


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set how often tensors count as written in place."""
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise fail("value", f"Cannot set a version_counter to a value below 0: {version}")
        tensor.counter.advance(version - tensor.counter.version)


@contextmanager
def _unsafe_preserve_version_counter(tensor: Tensor | Sequence[Tensor]) -> Iterator[None]:
    """Let what is written in the block not count."""
    tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    versions = tuple(one.counter.version for one in tensors)
    try:
        yield
    finally:
        _unsafe_set_version_counter(tensors, versions)


def _saved_tensors_hooks_is_enabled() -> bool:
    """Return whether hooks on saved tensors may be entered."""
    return current().flags.get(DISABLED) is None
