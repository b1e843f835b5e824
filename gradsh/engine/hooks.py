"""Hooks on tensors: registration, retain_grad, and running them when a gradient arrives.

The hooks of a non-leaf belong to the output of its grad_fn, as in PyTorch: they stay with the old history when the
tensor is written in place. retain_grad follows the tensor, and runs last.
"""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.node import AccumulateGrad, Handle, Node
from gradsh.engine.tensor import Tensor, current_edge, make, more
from gradsh.text.fault import fail


def register_hook(tensor: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call `hook(grad)` whenever the gradient of `tensor` is computed; what it returns replaces the gradient."""
    if not tensor.requires_grad:
        message = "cannot register a hook on a tensor that doesn't require gradient"
        raise fail("no_grad", message, RuntimeError, tensor=tensor)
    edge = current_edge(tensor) if tensor._base is not None else tensor.edge
    if edge is None:
        return Handle(more(tensor).hooks, hook)
    node, output = edge
    return Handle(node.more().tensor_hooks.setdefault(output, {}), hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call `hook(leaf)` after a backward pass has added to the leaf's `.grad`."""
    if not tensor.requires_grad:
        message = "cannot register a hook on a tensor that doesn't require gradient"
        raise fail("no_grad", message, RuntimeError, tensor=tensor)
    if tensor.grad_fn is not None:
        message = "post accumulate grad hooks cannot be registered on non-leaf tensors"
        raise fail("not_leaf", message, RuntimeError, tensor=tensor)
    return Handle(more(tensor).post_hooks, hook)


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a non-leaf in its `.grad` at each backward."""
    if not tensor.requires_grad:
        message = "can't retain_grad on Tensor that has requires_grad=False"
        raise fail("no_grad", message, RuntimeError, tensor=tensor)
    edge = current_edge(tensor) if tensor._base is not None else tensor.edge
    if edge is None:
        return
    more(tensor).retains = True
    node, output = edge
    node.more().keep_grads[output] = weakref.ref(tensor)


def moved_on(tensor: Tensor) -> None:
    """Let retain_grad follow a tensor whose history a write has just extended."""
    if tensor.meta is not None and tensor.meta.retains and tensor.edge is not None:
        node, output = tensor.edge
        for old in node.edges:
            if old is not None and old[0].extra is not None:
                kept = old[0].extra.keep_grads.get(old[1])
                if kept is not None and kept() is tensor:
                    del old[0].extra.keep_grads[old[1]]
        node.more().keep_grads[output] = weakref.ref(tensor)


def run_tensor_hooks(hooks: dict[int, Callable[..., Any]], grad: Any) -> Any:
    """Run hooks over one gradient (array or Tensor, returned as the same kind)."""
    plain = not isinstance(grad, Tensor)
    value: Tensor = make(np.asarray(grad)) if plain else grad
    for hook in list(hooks.values()):
        found = hook(value)
        if found is None:
            continue
        if not isinstance(found, Tensor):
            message = f"expected Variable, but hook returned '{type(found).__name__}'"
            raise fail("type", message, TypeError)
        if found.array.shape != value.array.shape:
            name = getattr(hook, "__name__", "hook")
            raise fail("grad_shape", f"hook '{name}' has changed the size of value", RuntimeError)
        value = found
    return value.array if plain else value


def run_node_hooks(node: Node, grads: list[Any]) -> list[Any]:
    """Run what is registered on a node for its incoming gradients: pre-hooks, tensor hooks, then retain_grad."""
    extra = node.extra
    assert extra is not None
    for output, hooks in extra.tensor_hooks.items():
        if grads[output] is not None and hooks:
            grads[output] = run_tensor_hooks(hooks, grads[output])
    for prehook in list(extra.prehooks.values()):
        found = prehook(_as_tensors(grads))
        if found is not None:
            grads = _like(found if isinstance(found, tuple) else (found,), grads)
    for output, kept in extra.keep_grads.items():
        tensor = kept()
        if tensor is not None and grads[output] is not None:
            keep_grad(tensor, grads[output])
    return grads


def run_post_hooks(node: Node, results: list[Any], grads: list[Any]) -> list[Any]:
    """Run the post-hooks of a node; a returned tuple replaces the gradients of its inputs."""
    assert node.extra is not None
    for hook in list(node.extra.posthooks.values()):
        found = hook(_as_tensors(results), _as_tensors(grads))
        if found is not None:
            results = _like(found if isinstance(found, tuple) else (found,), results)
    return results


def keep_grad(tensor: Tensor, grad: Any) -> None:
    """Add to the `.grad` of a non-leaf that retains it: PyTorch keeps the sum over passes."""
    meta = more(tensor)
    if meta.grad is None:
        meta.grad = grad if isinstance(grad, Tensor) else make(np.array(grad))
    elif isinstance(grad, Tensor):
        meta.grad = meta.grad + grad  # type: ignore[operator]
    else:
        meta.grad = make(meta.grad.array + grad)


def _as_tensors(grads: Any) -> tuple[Any, ...]:
    return tuple(one if one is None or isinstance(one, Tensor) else make(np.asarray(one)) for one in grads)


def _like(found: tuple[Any, ...], grads: Any) -> list[Any]:
    """Return hook results as the kind of gradients that the pass carries."""
    recorded = any(isinstance(one, Tensor) for one in grads)
    return [one.array if isinstance(one, Tensor) and not recorded else one for one in found]


def accumulate(node: AccumulateGrad, grad: Any, recorded: bool, owned: bool, where: Any) -> bool:
    """Add a gradient to the leaf's `.grad`, after the leaf's hooks; returns whether `.grad` was empty before.

    The first gradient is taken over if the pass owns it, else copied; a later one is added in place (which bumps the
    version of `.grad`) unless the pass is recorded, when a new tensor replaces it.
    """
    leaf = node.variable
    meta = more(leaf)
    if not leaf.tracked:
        return False
    if meta.hooks:
        grad = run_tensor_hooks(meta.hooks, grad)
        owned = False
    if node.extra is not None:
        grad = run_node_hooks(node, [grad])[0]
        owned = False
    first = meta.grad is None
    if meta.grad is None:
        if recorded:
            from gradsh.engine.op import find

            meta.grad = find("clone")(grad)
        else:
            meta.grad = make(grad if owned and grad.flags.c_contiguous else np.array(grad, order="C"))
    elif recorded:
        meta.grad = meta.grad + grad
    else:
        held = meta.grad
        if held.tracked:
            from gradsh.engine.op import find

            held_sum = find("add")(held.detach(), make(grad))
            held.array[...] = held_sum.array
        else:
            np.add(held.array, grad, out=held.array)
        held.counter.bump(where)
    for hook in list(meta.post_hooks.values()):
        hook(leaf)
    if node.extra is not None and node.extra.posthooks:
        run_post_hooks(node, [], [meta.grad])
    return first
