"""Views and writing in place: who shares memory with whom, and how a write enters the history of all of them.

A view remembers its base (never the other way round). Writing into a view makes the base's history a `CopySlices`
node; a view whose base was written since gets a fresh `AsStridedBackward0` when it is next asked for its grad_fn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradsh.engine.ambient import current
from gradsh.engine.dtype import Array
from gradsh.engine.node import FREED_SENTENCE, Edge, Freed, Node
from gradsh.engine.tensor import Tensor, _new, gradient_edge, more
from gradsh.text.fault import fail


class View:
    """What a view remembers: its base, its base's version when its history was last made, how it came about.

    `creation` is "default", "no_grad" (made in no_grad mode), "multi" (one of several outputs) or "custom" (output of
    a custom function). `made_by` is the node name and output number for messages, `where` the place that made it.
    """

    __slots__ = ("base", "creation", "made_by", "version", "where")

    def __init__(self, base: Tensor, version: int, creation: str, made_by: tuple[str, int], where: Any) -> None:
        self.base = base
        self.version = version
        self.creation = creation
        self.made_by = made_by
        self.where = where


def is_tracked(tensor: Tensor) -> bool:
    """Whether a gradient flows through the tensor; a view also counts when its base came to need one later."""
    if tensor.tracked:
        return True
    meta = tensor.meta
    if meta is not None and meta.view is not None and meta.view.base.tracked:
        tensor.tracked = True
        return True
    return False


def view_of(base: Tensor, array: Array, node: Node | None, output: int, creation: str) -> Tensor:
    """Return a view of `base` with the given geometry; `node` is its history (None: nothing needs a gradient)."""
    fresh = _new(Tensor)
    fresh.array = array
    fresh.counter = base.counter
    fresh.edge = None if node is None else (node, output)
    fresh.meta = None
    root = base
    if base.meta is not None and base.meta.view is not None:
        inner = base.meta.view
        root = inner.base
        if inner.creation != "default" and creation == "default":
            creation = inner.creation
    fresh.tracked = node is not None or root.tracked
    made_by = ("", output) if node is None else (node.name(), output)
    where = current().place() if creation == "no_grad" else None if node is None else node.where
    more(fresh).view = View(root, base.counter.version, creation, made_by, where)
    return fresh


def detached(tensor: Tensor) -> Tensor:
    """Return a leaf over the same memory and version counter, with no history and no base."""
    fresh = _new(Tensor)
    fresh.array = tensor.array
    fresh.counter = tensor.counter
    fresh.edge = None
    fresh.meta = None
    fresh.tracked = False
    return fresh


def _refusal(tensor: Tensor, view: View, modified: str) -> Exception:
    rest = (
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
        "both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
        "tracked) or both outside (if you want the inplace to be tracked)."
    )
    if view.creation == "no_grad":
        mode = " with grad mode enabled."
        message = f"A view was created in no_grad mode and {modified} modified inplace{mode}{rest}"
    else:
        name, output = view.made_by
        name = name.rstrip("0123456789").removesuffix("Backward")
        message = f"Output {output} of {name} is a view and {modified} modified inplace. "
        if view.creation == "multi":
            message += (
                "This view is the output of a function that returns multiple views. Such functions do not allow the "
                "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
            )
        else:
            message += (
                "This view was created inside a custom Function (or because an input was returned as-is) and the "
                "autograd logic to handle view+inplace would override the custom backward associated with the custom "
                "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
                "output of the custom Function."
            )
    return fail("view_inplace", message, RuntimeError, tensor=tensor, built_where=view.where)


def refreshed_edge(tensor: Tensor) -> Edge | None:
    """Return a view's edge, first making it anew if its base's history changed by a write."""
    assert tensor.meta is not None
    view = tensor.meta.view
    assert view is not None
    base = view.base
    if not base.tracked and tensor.edge is None:
        return None
    if tensor.counter.version == view.version:
        return tensor.edge
    if view.creation != "default":
        raise _refusal(tensor, view, "its base or another view of its base has been")
    edge = gradient_edge(base)
    if edge is None:
        return tensor.edge
    if base.edge is None and tensor.edge is None:  # a leaf written under no_grad: the view stays a leaf of its own
        view.version = tensor.counter.version
        return None
    tensor.edge = (AsStrided(edge, base.array, tensor.array), 0)
    tensor.tracked = True
    view.version = tensor.counter.version
    return tensor.edge


def check_inplace(tensor: Tensor) -> None:
    """Refuse to write in place where autograd could not follow: leaves that need gradients, some views."""
    meta = tensor.meta
    if meta is not None and meta.view is not None:
        view = meta.view
        if view.creation != "default":
            raise _refusal(tensor, view, "is being")
        if tensor.tracked and view.base.edge is None and view.base.tracked:
            message = "a view of a leaf Variable that requires grad is being used in an in-place operation."
            raise fail("leaf_inplace", message, RuntimeError, tensor=tensor, leaf=view.base)
    if tensor.tracked and tensor.grad_fn is None:
        message = "a leaf Variable that requires grad is being used in an in-place operation."
        raise fail("leaf_inplace", message, RuntimeError, tensor=tensor, leaf=tensor)


def rebase(tensor: Tensor, node: Node) -> None:
    """Make `node`, whose first edge is the tensor's old history, the history of the written tensor."""
    meta = tensor.meta
    if meta is None or meta.view is None:
        tensor.edge = (node, 0)
        tensor.tracked = True
        if meta is not None and (meta.retains or meta.hooks):
            from gradsh.engine.hooks import moved_on

            moved_on(tensor)
        return
    base = meta.view.base
    old = gradient_edge(base)
    base.edge = (CopySlices(old, base.array, tensor.array, node), 0)
    base.tracked = True
    tensor.edge = None
    tensor.tracked = True
    meta.view.version = -1
    refreshed_edge(tensor)


class Geometry:
    """A view's geometry within the memory of its base, in bytes: enough to cut the same view out of a gradient."""

    __slots__ = ("base_shape", "base_strides", "offset", "shape", "strides")

    def __init__(self, base: Array, view: Array) -> None:
        self.base_shape = base.shape
        self.base_strides = base.strides
        self.shape = view.shape
        self.strides = view.strides
        self.offset = int(view.__array_interface__["data"][0] - base.__array_interface__["data"][0])

    def like_base(self, grad: Array) -> Array:
        """Return a copy of a gradient of the base, laid out in memory as the base is."""
        itemsize = grad.itemsize
        extent = sum((n - 1) * s for n, s in zip(self.base_shape, self.base_strides, strict=True)) // itemsize + 1
        flat = np.zeros(max(extent, 1), grad.dtype)
        whole = as_strided(flat, self.base_shape, self.base_strides)
        whole[...] = grad
        return whole

    def cut(self, whole: Array) -> Array:
        """Return the view of `whole` (laid out as the base) at the view's place."""
        if not whole.size:
            return whole.reshape(self.shape)
        memory = whole
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        flat = memory.reshape(-1).view(np.uint8)[self.offset :].view()
        size = (flat.size // whole.itemsize) * whole.itemsize
        typed = flat[:size].view(whole.dtype)
        return as_strided(typed, self.shape, self.strides)

    def numbers(self, itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Return size, stride and storage offset counted in elements."""
        return self.shape, tuple(s // itemsize for s in self.strides), self.offset // itemsize


class AsStrided(Node):
    """The history of a view made anew from its base after a write: AsStridedBackward0."""

    __slots__ = ("geometry", "itemsize")

    def __init__(self, edge: Edge, base: Array, view: Array) -> None:
        super().__init__((edge,), ((view.shape, view.dtype),))
        self.geometry = Geometry(base, view)
        self.itemsize = view.itemsize

    def name(self) -> str:
        """Return PyTorch's name."""
        return "AsStridedBackward0"

    def attributes(self) -> dict[str, Any]:
        """Return size, stride and storage_offset."""
        size, stride, offset = self.geometry.numbers(self.itemsize)
        return {"size": size, "stride": stride, "storage_offset": offset}

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Put the view's gradient at its place in a gradient of the base."""
        del needs
        grad = grads[0]
        if grad is None:
            return (None,)
        geometry = self.geometry
        if isinstance(grad, Tensor):
            from gradsh.engine.op import find

            size, stride, offset = geometry.numbers(self.itemsize)
            base_stride = tuple(s // self.itemsize for s in geometry.base_strides)
            return (find("as_strided_backward")(grad, geometry.base_shape, base_stride, size, stride, offset),)
        whole = geometry.like_base(np.zeros(geometry.base_shape, grad.dtype))
        scatter_add(geometry.cut(whole), grad)
        return (whole,)


def scatter_add(place: Array, grad: Array) -> None:
    """Add `grad` into a view; elements that share one memory (stride 0) receive the sum."""
    repeated = tuple(
        dim for dim, (n, s) in enumerate(zip(place.shape, place.strides, strict=True)) if s == 0 and n > 1
    )
    if repeated:
        grad = np.add.reduce(grad, axis=repeated, keepdims=True)
        place = place[tuple(slice(0, 1) if dim in repeated else slice(None) for dim in range(place.ndim))]
    place += grad


class CopySlices(Node):
    """The history of a base after a write into a view of it: routes the written part's gradient through the write."""

    __slots__ = ("function", "geometry", "itemsize")

    def __init__(self, old: Edge | None, base: Array, view: Array, function: Node) -> None:
        super().__init__((old, *function.edges[1:]), ((base.shape, base.dtype),))
        self.geometry = Geometry(base, view)
        self.itemsize = base.itemsize
        self.function = function

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::CopySlices"

    def has_saved(self) -> bool:
        """Whether there is anything to free: the write itself counts, though PyTorch shows no saved tensor."""
        return type(self.entries) is not Freed

    def free(self, where: Any) -> None:
        """Free the write's saved tensors."""
        if type(self.entries) is not Freed:
            self.function.free(where)
            self.entries = Freed(where, ())

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Return the base's former gradient with the written part replaced, and the gradients of the write's inputs."""
        entries = self.entries
        if type(entries) is Freed:
            raise fail("freed", FREED_SENTENCE, node=self, index=0, freed_where=entries.where)
        grad = grads[0]
        if grad is None:
            return (None,) * len(self.edges)
        inner = (self.function.edges[0] is not None, *needs[1:])
        if isinstance(grad, Tensor):
            return self._run_recorded(grad, inner)
        whole = self.geometry.like_base(grad)
        part = self.geometry.cut(whole)
        results = self.function.run([part.copy()], inner)
        if results[0] is None:
            part[...] = 0
        else:
            part[...] = results[0]
        return (whole, *results[1:])

    def _run_recorded(self, grad: Tensor, inner: tuple[bool, ...]) -> Sequence[Any]:
        from gradsh.engine.op import find

        size, stride, offset = self.geometry.numbers(self.itemsize)
        whole = find("clone")(grad)
        part = find("as_strided")(whole, size, stride, offset)
        results = self.function.run([find("clone")(part)], inner)
        if results[0] is None:
            find("zero_")(part)
        else:
            find("copy_")(part, results[0])
        return (whole, *results[1:])
