"""Hooks on tensors: registration, retain_grad, and running them when a gradient arrives.

The hooks of a non-leaf belong to the output of its grad_fn, as in PyTorch: they stay with the old history when the
tensor is written in place. retain_grad follows the tensor, and runs last.
"""

import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradsh.engine.autograd.donation import base_if_unshared
from gradsh.engine.autograd.gradient_versions import known_counter, note, noted, shared_counter
from gradsh.engine.autograd.sums import add_into, summed
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.node import Edge, Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, autograd_meta, current_edge, make
from gradsh.engine.graph.types import Location
from gradsh.engine.registry import find, method
from gradsh.engine.values.dtype import Array, type_name
from gradsh.engine.values.layout import copy_into
from gradsh.engine.values.overlap import check_distinct, dense
from gradsh.engine.values.shape import broadcast_shapes, check_written_shape
from gradsh.text.fault import fail


def register_hook(tensor: Tensor, hook: Callable[[Tensor], object]) -> Handle:
    """Call `hook(grad)` whenever the gradient of `tensor` is computed; what it returns replaces the gradient."""
    if not tensor.requires_grad:
        raise fail("no_grad", "cannot register a hook on a tensor that doesn't require gradient", tensor=tensor)
    edge = current_edge(tensor) if tensor._base is not None else tensor.edge
    if edge is None:
        return Handle(autograd_meta(tensor).hooks, hook)
    node, output = edge
    return Handle(node.more().tensor_hooks.setdefault(output, {}), hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable[[Tensor], object]) -> Handle:
    """Call `hook(leaf)` after a backward pass has added to the leaf's `.grad`."""
    if not tensor.requires_grad:
        raise fail("no_grad", "cannot register a hook on a tensor that doesn't require gradient", tensor=tensor)
    if tensor.grad_fn is not None:
        raise fail("not_leaf", "post accumulate grad hooks cannot be registered on non-leaf tensors", tensor=tensor)
    return Handle(autograd_meta(tensor).post_hooks, hook)


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a non-leaf in its `.grad` at each backward."""
    if not tensor.requires_grad:
        raise fail("no_grad", "can't retain_grad on Tensor that has requires_grad=False", tensor=tensor)
    edge = current_edge(tensor) if tensor._base is not None else tensor.edge
    if edge is None:
        return
    autograd_meta(tensor).retains = True
    node, output = edge
    node.more().keep_grads[output] = weakref.ref(tensor)


def moved_on(tensor: Tensor) -> None:
    """Let retain_grad follow a tensor whose history a write has just extended."""
    if tensor.meta is not None and tensor.meta.retains and tensor.edge is not None:
        retain_at(tensor, tensor.edge[0].edges, tensor.edge)


def retain_at(tensor: Tensor, former: Iterable[Edge | None], new: Edge) -> None:
    """Retain the gradient of a tensor at its new place in the graph, no longer at a former one."""
    for old in former:
        if old is not None and old[0].extra is not None:
            kept = old[0].extra.keep_grads.get(old[1])
            if kept is not None and kept() is tensor:
                del old[0].extra.keep_grads[old[1]]
    new[0].more().keep_grads[new[1]] = weakref.ref(tensor)


def run_tensor_hooks(hooks: dict[int, Callable[..., object]], grad: object) -> Any:
    """Run hooks over one gradient (array or Tensor, returned as the same kind; None if none arrived)."""
    plain = not isinstance(grad, Tensor)
    value: Tensor | None = None if grad is None else as_tensor(grad)
    for hook in list(hooks.values()):
        found = hook(value)
        if found is None:
            continue
        if not isinstance(found, Tensor):
            raise fail("type", f"expected Variable, but hook returned '{type(found).__name__}'", TypeError)
        _check_same(hook, value, found)
        value = found
    return value.array if plain and value is not None else value


def run_post_accumulate_hooks(leaf: Tensor) -> None:
    """Run the hooks that wait for a leaf's `.grad`; what they return has no place to go."""
    hooks = autograd_meta(leaf).post_hooks
    if hooks and run_tensor_hooks(hooks, leaf) is not leaf:
        raise fail("other", "Tensor post accumulate grad hooks should return None.", tensor=leaf)


def _check_same(hook: Callable[..., object], before: Tensor | None, after: Tensor) -> None:
    """Refuse what a hook returned if it changed dtype or shape."""
    name = getattr(hook, "__name__", "hook")
    if before is None:
        raise fail("grad_shape", f"hook '{name}' has replaced a None with a value", hook=hook)
    if after.array.dtype != before.array.dtype:
        was, got = (type_name(one.array.dtype) for one in (before, after))
        raise fail("dtype", f"hook '{name}' has changed the type of value (was {was} got {got})", hook=hook)
    if after.array.shape != before.array.shape:
        raise fail("grad_shape", f"hook '{name}' has changed the size of value", hook=hook, shape=before.array.shape)


def run_node_hooks(node: Node, grads: list[Any]) -> list[Any]:
    """Run the hooks of the tensors that are a node's outputs, then fill the `.grad` of those that retain it."""
    extra = node.extra
    assert extra is not None
    for output, hooks in extra.tensor_hooks.items():
        if hooks:
            grads[output] = run_tensor_hooks(hooks, grads[output])
    for output, kept in extra.keep_grads.items():
        tensor = kept()
        if tensor is not None and grads[output] is not None:
            keep_grad(tensor, grads[output])
    return grads


def run_prehooks(node: Node, grads: list[object]) -> list[object]:
    """Run the pre-hooks of a node; a returned tuple replaces the gradients of its outputs."""
    assert node.extra is not None
    count = _shown_outputs(node)
    for hook in list(node.extra.prehooks.values()):
        shown = grads[:count]
        grads = [*_replaced(hook, hook(_as_tensors(shown)), shown), *grads[count:]]
    return grads


def _shown_outputs(node: Node) -> int:
    """Return how many outputs of a node have gradients, as hooks see them: not indices, not what is only saved."""
    outputs = node.outputs
    record = getattr(node, "record", None)
    count = len(outputs) if record is None or record.returns is None else min(record.returns, len(outputs))
    while count > 1 and outputs[count - 1][1].kind != "f":
        count -= 1
    return count


def run_post_hooks(node: Node, results: list[Any], grads: list[object]) -> list[Any]:
    """Run the post-hooks of a node; a returned tuple replaces the gradients of its inputs."""
    assert node.extra is not None
    for hook in list(node.extra.posthooks.values()):
        results = _replaced(hook, hook(_as_tensors(results), _as_tensors(grads[: _shown_outputs(node)])), results)
    return results


def _replaced(hook: Callable[..., object], found: object, before: list[Any]) -> list[Any]:
    """Return the gradients after a node's hook has answered."""
    if found is None:
        return before
    given = found if isinstance(found, (tuple, list)) else (found,)
    if len(given) != len(before):
        name = getattr(hook, "__name__", "hook")
        message = f"hook '{name}' has returned an incorrect number of values (got {len(given)}, but expected {len(before)})"
        raise fail("value", message)
    for old, new in zip(before, given, strict=True):
        if isinstance(new, Tensor) and old is not None:
            _check_same(hook, old if isinstance(old, Tensor) else make(np.asarray(old)), new)
    return _like(tuple(given), before)


def keep_grad(tensor: Tensor, grad: object) -> None:
    """Add to the `.grad` of a non-leaf that retains it: PyTorch keeps the sum over passes."""
    meta = autograd_meta(tensor)
    if meta.grad is None:
        if isinstance(grad, Tensor):
            meta.grad = find("clone")(grad)
        else:
            meta.grad = make(np.array(grad, order="C"))
    elif isinstance(grad, Tensor):
        meta.grad = meta.grad + grad
    else:
        meta.grad = make(summed(meta.grad.array, grad))


def _as_tensors(grads: Any) -> tuple[object, ...]:
    return tuple(one if one is None else as_tensor(one) for one in grads)


def _like(found: tuple[Any, ...], grads: list[Any]) -> list[Any]:
    """Return hook results as the kind of gradients that the pass carries."""
    recorded = any(isinstance(one, Tensor) for one in grads)
    return [one.array if isinstance(one, Tensor) and not recorded else one for one in found]


def accumulate(
    node: AccumulateGrad, grad: Any, recorded: bool, sole: bool, location: Location, written: int = 0
) -> bool:
    """Add a gradient to the leaf's `.grad`, after the leaf's hooks; returns whether `.grad` was empty before.

    A later gradient is added in place (which bumps the version of `.grad`) unless the pass is recorded, when a new tensor
    replaces it. `sole`: nobody else refers to the gradient; `written`: how often it was added to in place on its way.
    """
    leaf = node.variable
    meta = autograd_meta(leaf)
    if meta.hooks or node.extra is not None:
        before, held = id(grad), sys.getrefcount(grad)
        grad, written = _hooked(node, grad, written)
        if grad is None:
            return False
        sole = not recorded and (sys.getrefcount(grad) <= 2 if id(grad) != before else sole and sys.getrefcount(grad) <= held)
    first = meta.grad is None
    if not leaf.requires_grad:  # any more; its hooks are told all the same
        first = False
    elif meta.grad is None:
        meta.grad = _recorded(grad, leaf) if recorded else _taken(grad, leaf, sole, written)
    elif recorded:
        meta.grad = meta.grad + grad
    else:
        _add_in_place(meta.grad, grad)
        meta.grad.counter.bump(location)
    run_post_accumulate_hooks(leaf)
    if node.extra is not None and node.extra.posthooks:
        run_post_hooks(node, [], [grad])
    return first


def _hooked(node: AccumulateGrad, grad: Any, written: int) -> tuple[Array, int]:
    """Return what the hooks of a leaf and of its node make of a gradient, and how often it has been added to by then."""
    hooks = autograd_meta(node.variable).hooks
    if hooks:
        found = run_tensor_hooks(hooks, as_tensor(grad, written))
        if isinstance(grad, Tensor) or found is None:
            grad = found
        else:
            grad = found.array
            written = found.counter.version - noted(grad)
    if node.extra is not None:
        grad = run_prehooks(node, run_node_hooks(node, [grad]))[0]
    return grad, written


def as_tensor(grad: Any, written: int = 0) -> Tensor:
    """Return a gradient as a tensor, whose version tells how often it was written; one that a program passed counts as that does."""
    if isinstance(grad, Tensor):
        return grad
    fresh = make(np.asarray(grad))
    if (counter := known_counter(fresh.array)) is not None:
        fresh.own_counter = counter
    else:
        fresh.counter.version = noted(grad) + written
    return fresh


def as_array(grad: Any) -> object:
    """Return the array of a gradient; how often it was written is kept beside it."""
    if grad is None:
        return None
    if grad._version != noted(grad.array):
        note(grad.array, grad._version)
    return grad.array


def owns_memory(array: Array) -> bool:
    """Whether `array` (to which its caller alone refers) is no view: PyTorch adds to no view in place."""
    base: object = array.base
    return base is None or type(base) is bytearray


def _taken(grad: Array, leaf: Tensor, sole: bool, written: int) -> Tensor:
    """Return a first gradient as the `.grad` it becomes: the array itself where nobody else refers to it and it lies in memory
    as the leaf does, else a copy that does. A copy into fresh memory is a write, so its version is 1.
    """
    fresh = make(grad)
    if grad.shape != leaf.array.shape:
        return _of_another_shape(fresh, leaf)
    strides = _wanted_strides(leaf.array)
    if sole and (grad.flags.c_contiguous if strides is None else _lies(grad, strides, leaf.array.itemsize)):
        if not owns_memory(grad):
            whole = base_if_unshared(grad)
            if whole is None:  # it may share memory, say with the gradient that was passed, as in PyTorch
                fresh.own_counter = shared_counter(grad, noted(grad) + written)
                return fresh
            fresh.array = whole
        fresh.counter.version = noted(grad) + written
        return fresh
    if strides is None:
        fresh.array = np.array(grad, order="C")
        return fresh
    fresh.array = laid = np.empty_like(leaf.array, grad.dtype)
    copy_into(laid, grad)
    fresh.counter.version = 1
    return fresh


def _of_another_shape(grad: Tensor, leaf: Tensor) -> Tensor:
    """Return a first gradient of a leaf that got other extents in place since: one that differs in extents of 1 fits, as in PyTorch."""
    have, want = ([extent for extent in one.array.shape if extent != 1] for one in (grad, leaf))
    if have == want:
        return make(np.array(grad.array))
    return find("copy_")(make(np.empty(leaf.array.shape, grad.array.dtype)), grad)  # type: ignore[no-any-return]


def _recorded(grad: Tensor, leaf: Tensor) -> Tensor:
    """Return a copy of a first gradient that is part of a graph."""
    if _wanted_strides(leaf.array) is None:
        return method("clone")(grad)  # type: ignore[misc,no-any-return]
    return method("copy_")(make(np.empty_like(leaf.array, grad.array.dtype)), grad)  # type: ignore[misc,no-any-return]


def _wanted_strides(array: Array) -> tuple[int, ...] | None:
    """Return the strides that a leaf's gradient must have: the leaf's own, None (row-major) where it has gaps or overlaps."""
    return array.strides if dense(array) else None


def _lies(grad: Array, strides: tuple[int, ...], item: int) -> bool:
    """Whether a gradient has these strides (of elements of so many bytes), where they mean anything."""
    if grad.size < 2 and 0 in grad.strides:  # it was expanded; numpy gives such steps to whatever has no elements
        return not grad.size and (grad.base is None or (type(grad.base) is np.ndarray and not grad.base.size))
    if not grad.size or (grad.strides == strides and grad.itemsize == item):
        return True
    return all(
        have if extent == 1 else have * item == want * grad.itemsize
        for extent, have, want in zip(grad.shape, grad.strides, strides, strict=True)
    )


def _add_in_place(held: Tensor, grad: Array) -> None:
    if held.needs_grad:
        held.array[...] = find("add")(held.detach(), make(grad)).array
    else:
        check_distinct(held.array)
        if grad.shape != held.array.shape:  # the leaf got other extents in place since
            check_written_shape(held.array.shape, broadcast_shapes(held.array.shape, grad.shape))
        add_into(held.array, grad)
