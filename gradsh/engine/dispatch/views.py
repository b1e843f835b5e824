"""Views and writing in place: who shares memory with whom, and how a write enters the history of all of them.

A view remembers its base (never the other way round). Writing into a view makes the base's history a `CopySlices`
node; a view whose base was written since gets a fresh `AsStridedBackward0` when it is next asked for its grad_fn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import note
from gradsh.engine.dispatch.inference import is_inference
from gradsh.engine.graph.node import FREED_SENTENCE, Edge, Node, forward_name, offer
from gradsh.engine.graph.saved import FreedVariables
from gradsh.engine.graph.tensor import Tensor, View, _new, autograd_meta, gradient_edge
from gradsh.engine.graph.types import Location
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.overlap import check_distinct
from gradsh.engine.values.storage import offset_in_memory, strided
from gradsh.text.fault import fail


def is_tracked(tensor: Tensor) -> bool:
    """Whether the tensor requires a gradient; a view also does when its base came to require one later."""
    if tensor.needs_grad:
        return True
    meta = tensor.meta
    return meta is not None and meta.view is not None and meta.view.base.needs_grad


def view_of(base: Tensor, array: Array, node: Node | None, output: int, creation: str) -> Tensor:
    """Return a view of `base` with the given geometry; `node` is its history (None: nothing needs a gradient)."""
    fresh = _new(Tensor)
    fresh.array = array
    fresh.descriptor = None
    fresh.own_counter = base.counter
    fresh.grad_fn_ref = (node, output) if output and node is not None else node
    fresh.meta = None
    root = base
    if base.meta is not None and base.meta.view is not None:
        inner = base.meta.view
        root = inner.base
        if inner.creation != "default" and creation == "default":
            creation = inner.creation
    fresh.needs_grad = node is not None
    if is_inference(base):  # of these there are no views, only others over the same memory, which need no gradient
        fresh.grad_fn_ref, fresh.needs_grad = None, False
        return fresh
    made_by = ("", output) if node is None else (node.name(), output)
    location = current().location() if creation in {"no_grad", "inference"} else None if node is None else node.location
    autograd_meta(fresh).view = View(root, base.counter.version, creation, made_by, location)
    return fresh


def detached(tensor: Tensor) -> Tensor:
    """Return a leaf over the same memory and version counter, with no history and no base."""
    fresh = _new(Tensor)
    fresh.array = tensor.array
    fresh.descriptor = None
    fresh.own_counter = tensor.counter
    fresh.grad_fn_ref = None
    fresh.meta = None
    fresh.needs_grad = False
    return fresh


_AMBIGUOUS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_SEVERAL = (
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)
_CUSTOM = (
    " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)


_BASE = "its base or another view of its base has been"


def _sentence(creation: str, edge: Edge | None, modified: str) -> str:
    """Return PyTorch's sentence for a write that reaches a view, made so and with such a history, that cannot follow it."""
    if creation in {"no_grad", "inference"} or edge is None:
        start = "A view was created in"
        if edge is not None:
            start = f"Output {edge[1]} of {forward_name(edge[0])} is a view of a view which was created in"
        modes = ("inference", "in normal mode") if creation == "inference" else ("no_grad", "with grad mode enabled")
        message = f"{start} {modes[0]} mode and {modified} modified inplace {modes[1]}."
    else:
        message = f"Output {edge[1]} of {forward_name(edge[0])} is a view and {modified} modified inplace."
    between = _AMBIGUOUS.replace("no_grad", "inference_mode")
    return message + {"no_grad": _AMBIGUOUS, "inference": between, "multi": _SEVERAL, "custom": _CUSTOM}[creation]


def _refusal(tensor: Tensor, view: View, modified: str) -> Exception:
    """Return the error for a write that reaches a view whose history could not follow it."""
    writes = tensor.counter.writes_since(view.version)
    message = _sentence(view.creation, tensor.edge, modified)
    return fail("view_inplace", message, tensor=tensor, built_where=view.location, writes=writes)


def refused_saved(creation: str, edge: Edge | None, node: Node) -> Exception:
    """Return the error for a view that a node saved, when its memory was written and the view cannot follow."""
    return fail("view_inplace", _sentence(creation, edge, _BASE), node=node, built_where=node.location)


def refreshed_edge(tensor: Tensor) -> Edge | None:
    """Return a view's edge, first making it anew if its memory was written since it was made.

    Raises RuntimeError of kind view_inplace where the view cannot follow a write.
    """
    assert tensor.meta is not None
    view = tensor.meta.view
    assert view is not None
    if tensor.edge is None and not view.base.needs_grad:
        return None
    if tensor.counter.version == view.version:
        return tensor.edge
    if view.creation != "default":
        raise _refusal(tensor, view, _BASE)
    node = AsStrided(gradient_edge(view.base), view.base.array, tensor.array)
    if tensor.edge is not None:
        tensor.counter.moved(*tensor.edge, node)
        if tensor.meta.retains:
            from gradsh.engine.autograd.hooks import retain_at

            retain_at(tensor, (tensor.edge,), (node, 0))
    tensor.edge = (node, 0)
    tensor.needs_grad = True
    view.version = tensor.counter.version
    return tensor.edge


View.refreshed_edge = staticmethod(refreshed_edge)


def check_inplace(tensor: Tensor) -> None:
    """Refuse to write in place where autograd could not follow: leaves that need gradients, some views."""
    meta = tensor.meta
    tracked = is_tracked(tensor)
    if meta is not None and meta.view is not None:
        view = meta.view
        if view.creation != "default":
            raise _refusal(tensor, view, "is being")
        if tracked and view.base.edge is None:
            message = "a view of a leaf Variable that requires grad is being used in an in-place operation."
            raise fail("leaf_inplace", message, tensor=tensor, leaf=view.base)
    if tracked and tensor.edge is None:
        message = "a leaf Variable that requires grad is being used in an in-place operation."
        raise fail("leaf_inplace", message, tensor=tensor, leaf=tensor)


def rebase(tensor: Tensor, node: Node) -> None:
    """Make `node`, whose first edge is the tensor's old history, the history of the written tensor."""
    meta = tensor.meta
    if meta is None or meta.view is None:
        _set_edge(tensor, node)
        return
    base = meta.view.base
    _set_edge(base, CopySlices(gradient_edge(base), base.array, tensor.array, node))
    tensor.needs_grad = True
    meta.view.version = -1
    refreshed_edge(tensor)


def reshaped(tensor: Tensor, node: Node) -> None:
    """Make `node` the history of a tensor whose geometry changed in place; the base of a view is not concerned."""
    _set_edge(tensor, node)
    if tensor.meta is not None and tensor.meta.view is not None:
        tensor.meta.view.version = tensor.counter.version


def _set_edge(tensor: Tensor, node: Node) -> None:
    old, output = tensor.edge or (tensor.array, 0)
    tensor.counter.moved(old, output, node)
    tensor.edge = (node, 0)
    tensor.needs_grad = True
    meta = tensor.meta
    if meta is not None and (meta.retains or meta.hooks):
        from gradsh.engine.autograd.hooks import moved_on

        moved_on(tensor)


class ViewGeometry:
    """Where a view lies in the memory of its base, in bytes: enough to cut the same view out of a gradient."""

    __slots__ = ("base_shape", "base_strides", "itemsize", "offset", "shape", "strides")

    def __init__(self, base: Array, view: Array) -> None:
        self.base_shape = base.shape
        self.base_strides = base.strides
        self.shape = view.shape
        self.strides = view.strides
        self.itemsize = base.itemsize
        self.offset = offset_in_memory(view) - offset_in_memory(base)

    def lay_out(self, grad: Array) -> tuple[Array, Array]:
        """Return a copy of a gradient of the base, laid out in memory as the base is, and the view's part of it."""
        low = min(self.offset, 0)
        ends = [
            start - low + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + self.itemsize
            for start, shape, strides in ((0, self.base_shape, self.base_strides), (self.offset, self.shape, self.strides))
            if 0 not in shape
        ]
        if 0 in self.base_shape or 0 in self.shape:
            return np.array(grad), np.zeros(self.shape, grad.dtype)
        owner = np.array(grad, order="C")
        if not low and max(ends) == owner.nbytes and owner.strides == self.base_strides:
            return owner, strided(owner, self.shape, self.strides, self.offset)
        flat = np.zeros(max(ends) // self.itemsize, grad.dtype)
        whole = strided(flat, self.base_shape, self.base_strides, -low)
        whole[...] = grad
        return whole, strided(flat, self.shape, self.strides, self.offset - low)

    def numbers(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Return size, stride and storage offset counted in elements."""
        return self.shape, tuple(step // self.itemsize for step in self.strides), self.offset // self.itemsize

    def base_stride(self) -> tuple[int, ...]:
        """Return the strides of the base counted in elements."""
        return tuple(step // self.itemsize for step in self.base_strides)


offer(("size", "stride", "storage_offset"))


class AsStrided(Node):
    """The history of a view made anew from its base after a write: AsStridedBackward0."""

    __slots__ = ("geometry",)

    def __init__(self, edge: Edge | None, base: Array, view: Array) -> None:
        super().__init__((edge,), ((view.shape, view.dtype),))
        self.geometry = ViewGeometry(base, view)

    def name(self) -> str:
        """Return PyTorch's name."""
        return "AsStridedBackward0"

    def attributes(self) -> dict[str, object]:
        """Return size, stride and storage_offset."""
        size, stride, offset = self.geometry.numbers()
        return {"size": size, "stride": stride, "storage_offset": offset}

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Put the view's gradient at its place in a gradient of the base."""
        del needs
        geometry = self.geometry
        if grads[0] is None:
            return (None,)
        found = find("as_strided_backward")(grads[0], geometry.base_shape, geometry.base_stride(), *geometry.numbers())
        note(found, 1)
        return (found,)


class CopySlices(Node):
    """The history of a base after a write into a view of it: routes the written part's gradient through the write."""

    __slots__ = ("function", "geometry")
    __module__ = "builtins"
    titled = True

    def __init__(self, old: Edge | None, base: Array, view: Array, function: Node) -> None:
        super().__init__((old, *function.edges[1:]), ((base.shape, base.dtype),))
        self.geometry = ViewGeometry(base, view)
        self.function = function

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::CopySlices"

    def has_saved(self) -> bool:
        """Whether there is anything to free: the write itself counts, though PyTorch shows no saved tensor."""
        return type(self.entries) is not FreedVariables

    def free(self, location: Location) -> None:
        """Free the write's saved tensors."""
        if type(self.entries) is not FreedVariables:
            if self.function.extra is None or not self.function.extra.lent:
                self.function.free(location)
            self.entries = FreedVariables(location, ())

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Return the base's former gradient with the written part replaced, and the gradients of the write's inputs."""
        grad = grads[0]
        if grad is None:  # in PyTorch this comes before it is asked what was freed
            return (None,) * len(self.edges)
        entries = self.entries
        if type(entries) is FreedVariables:
            raise fail("freed", FREED_SENTENCE, node=self, index=0, freed_where=entries.location)
        inner = (self.function.edges[0] is not None, *needs[1:])
        if isinstance(grad, Tensor):
            return self._run_recorded(grad, inner)
        whole, part = self.geometry.lay_out(grad)
        check_distinct(part)
        results = self.function.run([part.copy()], inner)
        part[...] = 0 if results[0] is None else results[0]
        note(whole, 2)
        return (whole, *results[1:])

    def _run_recorded(self, grad: Tensor, inner: tuple[bool, ...]) -> tuple[Tensor, ...]:
        geometry = self.geometry
        whole = find("empty_strided")(geometry.base_shape, geometry.base_stride(), dtype=grad.dtype)
        find("copy_")(whole, grad)
        part = find("as_strided")(whole, *geometry.numbers())
        results = self.function.run([find("clone")(part)], inner)
        if results[0] is None:
            find("zero_")(part)
        else:
            find("copy_")(part, results[0])
        return (whole, *results[1:])
