"""Clipping gradients by norm or value; parameters as one vector and back."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.registry import find
from gradsh.engine.values.overlap import check_not_zeros
from gradsh.text.fault import fail


def _gradients(parameters: Any) -> list[Tensor]:
    given: Iterable[Tensor] = [parameters] if isinstance(parameters, Tensor) else parameters
    return [one.meta.grad for one in given if one.meta is not None and one.meta.grad is not None]


def get_total_norm(
    tensors: list[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm of all tensors taken as one vector."""
    del foreach
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return make(np.zeros((), current().default_dtype))
    norm = find("linalg_vector_norm")
    with grad_mode(False):
        total = norm(find("stack")([norm(one, float(norm_type)) for one in given]), float(norm_type))
    if error_if_nonfinite and not np.isfinite(total.array):
        message = (
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
        raise fail("value", message)
    return total


def clip_grads_with_norm_(parameters: object, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients so that `total_norm` becomes at most `max_norm`."""
    del foreach
    factor = np.minimum(np.asarray(max_norm, total_norm.array.dtype) / (total_norm.array + total_norm.array.dtype.type(1e-6)), 1)
    for grad in _gradients(parameters):
        check_not_zeros(grad.array)
        grad.array *= factor.astype(grad.array.dtype)
        written(grad)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scale the gradients so that their common norm is at most `max_norm`; return the norm before."""
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_value_(parameters: object, clip_value: float, foreach: bool | None = None) -> None:
    """Cut each element of the gradients off to [-clip_value, clip_value]."""
    del foreach
    gradients = _gradients(parameters)
    if not gradients:  # the words are those of a check within PyTorch
        message = (
            "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
        raise fail("value", message)
    for grad in gradients:
        check_not_zeros(grad.array)
        np.clip(grad.array, -float(clip_value), float(clip_value), out=grad.array)
        written(grad, 2)  # PyTorch clamps from below, then from above


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all parameters as one vector, in the graph."""
    return find("cat")([find("view")(one, (-1,)) for one in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the data of the parameters from slices of a vector (they share its memory)."""
    if not isinstance(vec, Tensor):
        raise fail("type", f"expected torch.Tensor, but got: {type(vec).__name__}", TypeError)
    start = 0
    for one in parameters:
        size = one.numel()
        one.data = make(vec.array[start : start + size].reshape(one.array.shape))
        start += size
