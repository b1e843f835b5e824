"""What setting and reading a tensor's autograd attributes refuses and warns of, in PyTorch's words; and copying a leaf."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.inference import inferring, is_inference
from gradsh.engine.graph.tensor import Parameter, Tensor, autograd_meta
from gradsh.engine.schema.signature import class_name
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.storage import VersionCounter, owner_of
from gradsh.text.fault import fail


def set_requires_grad(tensor: Tensor, value: bool) -> None:
    """Set the flag of a leaf, with PyTorch's refusals for integer tensors and non-leaves."""
    if not isinstance(value, (bool, int)):
        raise TypeError("requires_grad must be a bool")
    if value and tensor.array.dtype.kind != "f":
        raise fail("dtype", "only Tensors of floating point and complex dtype can require gradients", tensor=tensor)
    if value and is_inference(tensor) and not inferring():
        message = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        raise fail("other", message, tensor=tensor)
    if not value and tensor.edge is not None:  # not looked at anew, as in PyTorch: a view may not follow a write
        message = (
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )
        raise fail("not_leaf", message, tensor=tensor)
    tensor.needs_grad = bool(value) or tensor.edge is not None


def assign_requires_grad(tensor: Tensor, value: bool) -> None:
    """Set `tensor.requires_grad = value`: unlike the method it refuses a non-leaf that requires grad already."""
    if not isinstance(value, bool):
        raise fail("type", "requires_grad must be a bool", tensor=tensor)
    if value is True and tensor.edge is not None:
        raise fail("not_leaf", "you can only change requires_grad flags of leaf variables.", tensor=tensor)
    set_requires_grad(tensor, value)


def check_assigned_data(tensor: Tensor, value: object) -> None:
    """Refuse `.data` of another type than a tensor, or of a dtype that cannot require gradients where the tensor does."""
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {class_name(value)}")
    if tensor.requires_grad and value.array.dtype.kind != "f":
        message = "data set to a tensor that requires gradients must be floating point or complex dtype"
        raise fail("dtype", message, tensor=tensor)


def check_assigned_grad(tensor: Tensor, value: object) -> None:
    """Refuse a `.grad` of another type, dtype or shape than the tensor's."""
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {class_name(value)}")
    if value is tensor:
        raise fail("other", "can't assign Variable as its own grad", tensor=tensor)
    if value.array.dtype != tensor.array.dtype:
        message = (
            f"attempting to assign a gradient with dtype '{value.dtype.title.lower()}' to a tensor with grad_dtype "
            f"'{tensor.dtype.title}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
            "You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems "
            "that assume they match."
        )
        raise fail("dtype", message, tensor=tensor)
    if value.array.shape != tensor.array.shape:
        message = (
            f"attempting to assign a gradient of size '{_sizes(value)}' to a tensor of size '{_sizes(tensor)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
        raise fail("grad_shape", message, tensor=tensor)


def _sizes(tensor: Tensor) -> str:
    return str(list(tensor.array.shape))


def deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """Copy a leaf with its data and its grad; a non-leaf is refused, as in PyTorch."""
    if id(tensor) in memo:
        return memo[id(tensor)]  # type: ignore[no-any-return]
    if tensor.edge is not None:
        message = (
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
        raise fail("not_leaf", message, tensor=tensor)
    fresh = object.__new__(type(tensor))
    array, alone = tensor.array, isinstance(tensor, Parameter)  # which shares its copy with nobody
    fresh.array = array.copy("K") if alone and array.flags.forc else copied_within(array, {} if alone else memo)
    fresh.descriptor = None
    fresh.own_counter = VersionCounter()
    fresh.own_counter.version = int(type(tensor) is Tensor)  # PyTorch sets a plain copy's memory in place
    fresh.grad_fn_ref = None
    fresh.meta = None
    fresh.needs_grad = tensor.requires_grad  # that of a leaf's view in inference mode is its base's
    plain = type(tensor) is Tensor  # the copy of a Parameter has no gradient, as in PyTorch
    if plain and tensor.meta is not None and tensor.meta.grad is not None:
        autograd_meta(fresh).grad = deep_copy(tensor.meta.grad, memo)
    memo[id(tensor)] = fresh
    return fresh


def copied_within(array: Array, memo: dict[Any, Any]) -> Array:
    """Return the same stretch of a copy of all the memory that an array stands in: a memory is copied once for a memo, as in PyTorch."""
    owner = owner_of(array)
    key = "memory", id(owner)
    if key not in memo:
        memo[key] = owner.copy("K")
        memo.setdefault(id(memo), []).append(owner)
    if array is owner:
        return memo[key]  # type: ignore[no-any-return]
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, memo[key].ravel("K"), start, array.strides)


def warn_non_leaf_grad() -> None:
    """Warn that a non-leaf's `.grad` stays empty unless it is retained."""
    current().warning(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
        "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
        "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations."
    )
