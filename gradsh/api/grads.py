"""Dropping or zeroing gradients: what zero_grad of modules and of optimizers does."""

from collections.abc import Iterable

from gradsh.engine.graph.tensor import Tensor, written
from gradsh.engine.values.overlap import check_not_zeros


def clear_grads(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Drop the `.grad` of each tensor, or cut it off its history and fill it with zeros in place."""
    for parameter in parameters:
        meta = parameter.meta
        if meta is None or meta.grad is None:
            continue
        if set_to_none:
            meta.grad = None
            continue
        grad = meta.grad
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        check_not_zeros(grad.array)
        grad.array[...] = 0
        written(grad)
