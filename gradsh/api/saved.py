"""torch.autograd.graph: hooks on saved tensors, multi-grad hooks, gradient edges."""

import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.inference import is_inference
from gradsh.engine.dispatch.saved_hooks import BEFORE_WRITE, unchanged
from gradsh.engine.graph.gradient_edge import GradientEdge
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.node import Facade, Node, behind
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, accumulator, gradient_edge, node_of, written
from gradsh.text.fault import fail

DISABLED = "saved_tensors_hooks_disabled"
_MUTATION = "allow_mutation_on_saved_tensors"


class _OfNodes(type):
    """Takes what programs see of a node for a node, also where that is a `ctx`."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(behind(value), Node)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, (Node, Facade)) or getattr(kind, "makes_nodes", False) is True


class AnyNode(metaclass=_OfNodes):
    """The class of all nodes, torch.autograd.graph.Node."""

    __script_attributes__ = Node.__script_attributes__


class saved_tensors_hooks:
    """A context in which `pack_hook(tensor)` takes a saved tensor's place, until `unpack_hook` gives the tensor back.

    A pack hook that takes three arguments gets (tensor, node, name): for which node, and under which name, it is saved.
    """

    __script_attributes__ = frozenset({"__enter__", "__exit__", "pack_hook", "unpack_hook"})
    __script_base__ = True

    def __init__(self, pack_hook: Callable[..., object], unpack_hook: Callable[[Any], object]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        ambient = current()
        message = ambient.flags.get(DISABLED)
        if message is not None:
            raise fail("other", message)
        pack = _Telling(self.pack_hook) if _takes_three(self.pack_hook) else self.pack_hook
        ambient.saved_hooks = (*ambient.saved_hooks, (pack, self.unpack_hook))

    def __exit__(self, *_: object) -> None:
        ambient = current()
        ambient.saved_hooks = ambient.saved_hooks[:-1]


class _Telling:
    """A pack hook that is told for which node, and under which name, it packs."""

    __slots__ = ("pack",)
    wants_node = True

    def __init__(self, pack: Callable[..., object]) -> None:
        self.pack = pack

    def __call__(self, tensor: Tensor, node: Node, name: str) -> Any:
        """Pack."""
        return self.pack(tensor, node, name)


def _takes_three(pack: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(pack).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    return len(needed) == 3


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU, where they are: nothing is copied."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        del pin_memory, device_type
        super().__init__(lambda tensor: tensor, lambda tensor: tensor)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Let entering saved_tensors_hooks raise `error_message` within the block."""
    ambient = current()
    if any(pack is not unchanged for pack, _ in ambient.saved_hooks):  # forward mode and autocast have some of their own
        raise fail("other", error_message)
    before = ambient.flags.get(DISABLED)
    ambient.flags[DISABLED] = error_message
    try:
        yield
    finally:
        ambient.flags[DISABLED] = before


class _Handle:
    """Stands in a node for what it saved."""

    __slots__ = ("__weakref__",)


class _Kept:
    """What `allow_mutation_on_saved_tensors` holds: by handle the saved tensors, and copies of those that were written since.

    Nothing of it outlives the nodes that hold the handles.
    """

    __slots__ = ("_cloned", "_handles", "_memories", "_original")
    __script_attributes__ = frozenset({"cloned", "original", "tid_to_weakhandle"})

    def __init__(self) -> None:
        self._cloned: Any = weakref.WeakKeyDictionary()
        self._original: Any = weakref.WeakKeyDictionary()
        self._handles: Any = weakref.WeakValueDictionary()
        self._memories: dict[object, set[object]] = {}

    cloned = property(lambda self: dict(self._cloned), doc="The copies.")
    original = property(lambda self: dict(self._original), doc="What was not written since.")
    tid_to_weakhandle = property(lambda self: dict(self._handles), doc="The handles by memory, geometry and version.")

    def pack(self, tensor: Tensor) -> _Handle:
        """Return the handle of a tensor at its version."""
        key = (*_begins(tensor), tensor.array.shape, tensor.array.strides)
        handle: _Handle | None = self._handles.get(key)
        if handle is None:
            handle = self._handles[key] = _Handle()
            self._original[handle] = tensor.detach()
        self._memories.setdefault(key[:2], set()).add(key)
        return handle

    def copy(self, written: Tensor) -> None:
        """Copy what is saved of the memory that begins where a tensor does, which is about to be written.

        As in PyTorch, a write to a later part of a saved tensor (`h[1] = 0`) is not noticed.
        """
        for key in self._memories.pop(_begins(written), ()):
            handle = self._handles.get(key)
            if handle is not None and handle not in self._cloned:
                self._cloned[handle] = self._original.pop(handle).clone()

    def give(self, handle: _Handle) -> Tensor:
        """Return what a handle stands for."""
        found = self._cloned.get(handle, self._original.get(handle))
        if found is None or current().flags.get(_MUTATION) is not self:
            message = (
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                "originally recorded."
            )
            raise fail("other", message, AssertionError)
        return found


def _begins(tensor: Tensor) -> tuple[int, int]:
    """Return where the memory of a tensor begins, and its version."""
    return tensor.array.__array_interface__["data"][0], tensor.counter.version


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """A context in which saved tensors may be written in place: they are copied first. Backward must run within, too."""

    def __init__(self) -> None:
        self._kept = _Kept()
        super().__init__(self._kept.pack, self._kept.give)

    def __enter__(self) -> Any:
        flags = current().flags
        if flags.get(_MUTATION) is not None:
            raise fail("other", "allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        flags[_MUTATION], flags[BEFORE_WRITE] = self._kept, self._kept.copy
        return self._kept

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        flags = current().flags
        flags[_MUTATION] = flags[BEFORE_WRITE] = None
        self._kept.__init__()  # type: ignore[misc]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return where the gradient of `tensor` goes."""
    edge = gradient_edge(tensor)
    if edge is None:
        message = "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        raise fail("no_grad", message, tensor=tensor)
    return GradientEdge(edge[0].facade(), edge[1])


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a write in place to each tensor that nothing else counts; an inference tensor counts none."""
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not is_inference(one):
            written(one)


class _MultiHandle:
    """What register_multi_grad_hook returns; `remove()` takes all its hooks away."""

    __module__ = "torch.autograd.graph"
    __slots__ = ("handles",)
    __script_attributes__ = frozenset({"remove", "handles"})

    def __init__(self, handles: tuple[Handle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> "_MultiHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., object], *, mode: str = "all") -> _MultiHandle:
    """Call `fn` in a backward pass once the gradients of all `tensors` that take part have been computed.

    It gets a list with None for the others. Mode "any": once, with the first gradient.
    """
    if mode not in {"all", "any"}:
        raise fail("value", f"Expects mode to be one of ('all', 'any') but got {mode}", ValueError)
    if any(not one.requires_grad for one in tensors):
        raise fail("no_grad", "Expected gradient function to be set", AssertionError)
    if mode == "any":
        first = _First(fn)
        return _MultiHandle(tuple(one.register_hook(first.hook) for one in tensors))
    shared = _All(tensors, fn)
    return _MultiHandle(tuple(one.register_hook(shared.hook(place)) for place, one in enumerate(tensors)))


class _First:
    """Calls a function with the first gradient of each pass."""

    __slots__ = ("fn", "seen")

    def __init__(self, fn: Callable[..., object]) -> None:
        self.fn = fn
        self.seen: Any = None

    def hook(self, grad: Tensor) -> None:
        """Take one gradient."""
        running = current().running
        if self.seen is None or self.seen() is not running:
            self.seen = None if running is None else weakref.ref(running)
            self.fn(grad)


class _All:
    """Collects the gradients of several tensors and calls a function when the last of a pass has come."""

    __slots__ = ("buffer", "fn", "left", "places", "running")

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., object]) -> None:
        self.fn = fn
        # weak: a hook stands on a node, and must not keep a graph alive
        self.places = [weakref.ref(node_of(one) or one) for one in tensors]
        self.running: Any = None
        self.left = 0
        self.buffer: list[Tensor | None] = []

    def _taking_part(self, running: Any) -> int:
        count = 0
        for place in self.places:
            found = place()
            node = accumulator(found) if isinstance(found, Tensor) else found
            if isinstance(node, AccumulateGrad):
                running.check_not_captured(node)
            count += node is not None and running.will_run(node)
        return count

    def hook(self, place: int) -> Callable[[Tensor], None]:
        """Return the hook of one tensor."""

        def collect(grad: Tensor) -> None:
            running = current().running
            if running is None:
                raise fail("other", "expected this hook to be called inside a backward call", AssertionError)
            if self.running is None or self.running() is not running:
                self.running = weakref.ref(running)
                self.left = self._taking_part(running)
                self.buffer = [None] * len(self.places)
            self.buffer[place] = grad
            self.left -= 1
            if self.left == 0:
                found, self.buffer, self.running = self.buffer, [], None
                self.fn(found)

        return collect
