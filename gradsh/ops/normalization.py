"""Normalisation layers: batch, layer, group, instance and root-mean-square norm, local response."""

import math
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.reduced import SINGLE, cast, is_reduced, widened, write
from gradsh.ops.arguments import count, in_single, no_gradient, underivable
from gradsh.ops.kernels import norm as kernels
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.norm_double import batch_norm_double, group_norm_formula, layer_norm_double
from gradsh.ops.scalars import plus
from gradsh.text.fault import fail


def _check_parameters(input: Array, others: tuple[Any, ...]) -> None:
    """Refuse parameters of another dtype than the input's; with inputs of reduced precision they may be of float32."""
    if input.dtype.kind != "f":
        title = of_numpy(input.dtype).title
        raise fail("dtype", f"\"batch_norm\" not implemented for '{title}'", NotImplementedError)
    dtypes = [other.dtype for other in others if other is not None]
    if dtypes and dtypes[0] != input.dtype:
        if any(one != SINGLE for one in dtypes):
            raise fail("dtype", "mixed dtype (CPU): expect parameter to have scalar type of Float")
        if not is_reduced(input):
            raise fail("dtype", "mixed dtype (CPU): all inputs must share same datatype.")


def _check_weight(input: Array, weight: Array | None) -> None:
    """Refuse a weight that was given another dtype since the forward (`module.double()`)."""
    if weight is not None and weight.dtype != input.dtype:
        titles = of_numpy(input.dtype).title, of_numpy(weight.dtype).title
        raise fail("dtype", "expected scalar type {} but found {}".format(*titles))


# --- batch_norm -------------------------------------------------------------------------------------------------

native_batch_norm_backward: Operation = op(
    "native_batch_norm_backward(grad_out, input, weight: Tensor?, running_mean: Tensor?, running_var: Tensor?, "
    "save_mean: Tensor?, save_invstd: Tensor?, train: bool, eps: float, output_mask: any)",
    "NativeBatchNormBackwardBackward0", "Gradients of batch norm.", forward=kernels.batch_norm_backward, spaces=(),
    unguarded=True, reduced="mixed",
    grads={
        ("input", "weight", "grad_out"): batch_norm_double,
        "save_mean": underivable("native_batch_norm_backward save_mean"),
        "save_invstd": underivable("native_batch_norm_backward save_invstd"),
    },
)


def _check_batch_norm(input: Array, weight: Array | None, bias: Array | None, *statistics: Array | None) -> None:
    """Refuse parameters, then running statistics of another dtype than the input's, or than the parameters'."""
    given = [one for one in (weight, bias, *statistics) if one is not None]
    _check_parameters(input, tuple(given))
    wanted = given[0].dtype if given else input.dtype
    for one in given:
        if one.dtype != wanted:
            raise fail("dtype", f"expected scalar type {of_numpy(wanted).title} but found {of_numpy(one.dtype).title}")


def _native_batch_norm(
    input: Array, weight: Array | None, bias: Array | None, running_mean: Array | None, running_var: Array | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Array, ...]:
    if is_reduced(input):
        given = (input, weight, bias, running_mean, running_var)
        _check_batch_norm(*given)
        x, scale, shift, mean, variance = map(widened, given)
        result, *rest = _native_batch_norm(x, scale, shift, mean, variance, training, momentum, eps)
        for held, new in ((running_mean, mean), (running_var, variance)):
            if training and is_reduced(held):
                write(held, new)
        mixed = any(one is not None and one.dtype == SINGLE for one in given)
        return cast(result, input.dtype), *(one if mixed else cast(one, input.dtype) for one in rest)
    _check_batch_norm(input, weight, bias, running_mean, running_var)
    return kernels.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


native_batch_norm = op(
    "native_batch_norm(input, weight: Tensor?, bias: Tensor?, running_mean: Tensor?, running_var: Tensor?, "
    "training: bool, momentum: float, eps: float)",
    "NativeBatchNormBackward0", "Batch norm, with the batch's mean and inverse deviation.",
    layout="channels", forward=_native_batch_norm, returns=1, spaces=(), reduced="own",
    grads={
        ("input", "weight", "bias"):
            lambda grad, input, weight, running_mean, running_var, result1, result2, training, eps, needs:
                native_batch_norm_backward(
                    grad, input, weight, running_mean, running_var, result1, result2, training, eps, needs),
    },
)


def _check_batch(size: tuple[int, ...], shown: str) -> None:
    if math.prod(size) == size[1]:
        raise fail("value", f"Expected more than 1 value per channel when training, got input size {shown}", ValueError)


def batch_norm_of(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> Tensor:
    """Normalise by channels after PyTorch's checks."""
    channels = input.shape[1] if len(input.shape) > 1 else 0
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value is None and not training:
            raise fail("value", f"{name} must be defined in evaluation mode")
        _check_channels(name, value, channels)
    for name, value in (("weight", weight), ("bias", bias)):
        _check_channels(name, value, channels)
    if count(input) == 0:
        result = find("clone")(input)
        if weight is not None:
            result = result * weight[0]
        return result if bias is None else result + bias[0]
    if (running_mean is None) != (running_var is None):
        raise fail("value", "running_mean and running_var must either both be None or neither be None", ValueError)
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        no_gradient(value, name, "native_batch_norm")
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _check_channels(name: str, value: Tensor | None, channels: int) -> None:
    if value is not None and count(value) != channels:
        raise fail("shape", f"{name} should contain {channels} elements not {count(value)}")


def _batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> Tensor:
    if training and len(input.shape) > 1:
        _check_batch(tuple(input.shape), str(input.shape))
    return batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps)


composite(
    "F_batch_norm(input, running_mean: Tensor? = None, running_var: Tensor? = None, weight: Tensor? = None, "
    "bias: Tensor? = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05)",
    "Normalise each channel over the batch; in training the running moments are updated in place.", _batch_norm, ("F",),
    note="In training it saves the running moments, which its gradient does not use, beside those of the batch.",
)

# --- layer_norm -------------------------------------------------------------------------------------------------


def check_normalized(
    input: ArrayOrTensor, normalized_shape: tuple[int, ...], given: tuple[tuple[str, Any], ...], star: str
) -> None:
    """Refuse a normalised shape that is not the end of the input's, and parameters of another shape."""
    if not normalized_shape:
        message = (
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
        raise fail("shape", message)
    for name, value in given:
        if value is not None and tuple(value.shape) != normalized_shape:
            message = (
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(value.shape)} and normalized_shape = {list(normalized_shape)}"
            )
            raise fail("shape", message)
    shape = tuple(input.shape)
    if len(shape) < len(normalized_shape) or shape[len(shape) - len(normalized_shape) :] != normalized_shape:
        wanted = ", ".join(str(n) for n in normalized_shape)
        message = (
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [{star}{wanted}], but got input "
            f"of size{list(shape)}"
        )
        raise fail("shape", message)


def _check_layer_norm(
    input: Array, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float
) -> None:
    del eps
    check_normalized(input, tuple(normalized_shape), (("weight", weight), ("bias", bias)), "*, ")
    _check_parameters(input, (weight, bias))


def _native_layer_norm_backward(
    grad_out: Array, input: Array, normalized_shape: tuple[int, ...], mean: Array, rstd: Array, weight: Array | None,
    bias: Array | None, output_mask: tuple[bool, ...],
) -> Gradients:
    del bias
    _check_weight(input, weight)
    return kernels.layer_norm_backward(grad_out, input, mean, rstd, weight, len(normalized_shape), output_mask)


native_layer_norm_backward: Operation = op(
    "native_layer_norm_backward(grad_out, input, normalized_shape: ints, mean, rstd, weight: Tensor?, bias: Tensor?, "
    "output_mask: any)",
    "NativeLayerNormBackwardBackward0", "Gradients of layer norm.", spaces=(), unguarded=True,
    layout="contiguous", forward=_native_layer_norm_backward, reduced="all",
    grads={
        ("input", "weight", "grad_out"): layer_norm_double,
        "bias": lambda grad: None,
        "mean": underivable("native_layer_norm_backward mean"),
        "rstd": underivable("native_layer_norm_backward rstd"),
    },
)
native_layer_norm = op(
    "native_layer_norm(input, normalized_shape: ints, weight: Tensor?, bias: Tensor?, eps: float)",
    "NativeLayerNormBackward0", "Layer norm, with mean and inverse deviation.",
    layout="contiguous", returns=1, reduced="mixed", check=_check_layer_norm,
    forward=lambda input, normalized_shape, weight, bias, eps: kernels.layer_norm(input, weight, bias, len(normalized_shape), eps),
    spaces=(),
    grads={
        ("input", "weight", "bias"): lambda grad, input, normalized_shape, result1, result2, weight, bias, needs:
            native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, needs),
    },
)
layer_norm = composite(
    "layer_norm(input, normalized_shape: any, weight: Tensor? = None, bias: Tensor? = None, eps: float = 1e-05)",
    "Normalise each sample over its last dims.",
    lambda input, normalized_shape, weight, bias, eps:
        native_layer_norm(input, _shape(normalized_shape, "layer_norm"), weight, bias, eps),
    ("torch", "F"),
    samples=(sample((2, 3, 4), (4,), (4,), (4,)),),
    note="Saves the bias too, so writing into it makes backward fail.",
)


def _shape(value: tuple[int, ...], name: str) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(value)
    message = f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(value).__name__}"
    raise fail("type", message, TypeError)


# --- rms_norm ---------------------------------------------------------------------------------------------------


def _rms_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float | None) -> Tensor:
    shape = _shape(normalized_shape, "rms_norm")
    check_normalized(input, shape, (("weight", weight),), "*")
    dims = tuple(range(len(input.shape) - 1, len(input.shape) - len(shape) - 1, -1))
    wide = in_single(input)
    if eps is None:
        eps = float(np.finfo(array_of(wide).dtype).eps)
    squares = find("mean")(find("pow")(wide, 2), dims, True)
    result = wide * find("rsqrt")(plus(squares, eps))
    return find("type_as")(result if weight is None else result * weight, input)


rms_norm = composite(
    "rms_norm(input, normalized_shape: any, weight: Tensor? = None, eps: float? = None)",
    "Divide each sample by the root of its mean square over the last dims.", _rms_norm, ("torch", "F"),
    note="Has no node of its own: Pow, Mean, Add, Rsqrt and Mul.",
)

# --- group_norm and instance_norm -------------------------------------------------------------------------------

native_group_norm_backward = op(
    "native_group_norm_backward(grad_out, input, mean, rstd, weight: Tensor?, N: int, C: int, HxW: int, group: int, "
    "output_mask: any)",
    "", "Gradients of group norm.", forward=kernels.group_norm_backward, spaces=(), reduced="mixed",
)


def _group_gradients(
    grads: list[ArrayOrTensor | None] | list[ArrayOrTensor | None], input: ArrayOrTensor, result1: ArrayOrTensor,
    result2: ArrayOrTensor, weight: ArrayOrTensor | None, N: int, C: int, HxW: int, group: int, eps: float,
    needs: tuple[bool, ...],
) -> object:
    """Take the kernel where the pass is not recorded and no gradient of the moments arrives."""
    plain = all(isinstance(one, np.ndarray) or one is None for one in grads)
    if (plain or not current().grad_enabled) and grads[1] is None and grads[2] is None:
        if grads[0] is None:
            return None, None, None
        if plain:
            _check_weight(array_of(input), weight)  # type: ignore[arg-type]
        return native_group_norm_backward(grads[0], input, result1, result2, weight, N, C, HxW, group, needs)
    return group_norm_formula(grads, input, result1, result2, weight, (N, C, HxW, group), needs)


native_group_norm = op(
    "native_group_norm(input, weight: Tensor?, bias: Tensor?, N: int, C: int, HxW: int, group: int, eps: float)",
    "NativeGroupNormBackward0", "Group norm, with the groups' means and inverse deviations.", layout="channels", spaces=(), reduced="mixed",
    forward=lambda input, weight, bias, N, C, HxW, group, eps:
        kernels.group_norm(input, weight, bias, N, C, HxW, group, eps),
    grads={("input", "weight", "bias"): _group_gradients},
)


def _group_norm(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    shape = tuple(input.shape)
    if len(shape) < 2:
        raise fail("shape", f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0:
        raise fail("value", f"Expected num groups to be greater than 0, got {num_groups}")
    size = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
    _check_batch(tuple(size), str(size))
    if shape[1] % num_groups:
        message = (
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
        raise fail("shape", message)
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != (shape[1],):
            message = (
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(value.shape)} and input of shape {list(shape)}"
            )
            raise fail("shape", message)
    _check_parameters(array_of(input), tuple(None if one is None else array_of(one) for one in (weight, bias)))
    area = math.prod(shape[2:])
    input = find("contiguous")(input)
    return native_group_norm(input, weight, bias, shape[0], shape[1], area, num_groups, eps)[0]


group_norm = composite(
    "group_norm(input, num_groups: int, weight: Tensor? = None, bias: Tensor? = None, eps: float = 1e-05)",
    "Normalise groups of channels of each sample.", _group_norm, ("torch", "F"),
    samples=(sample((2, 4, 3), 2, (4,), (4,)),),
)


def _instance_norm(
    input: Tensor, running_mean: object, running_var: object, weight: object, bias: object, use_input_stats: bool, momentum: float,
    eps: float,
) -> Tensor:
    shape = tuple(input.shape)
    if use_input_stats and math.prod(shape[2:]) == 1:
        message = f"Expected more than 1 spatial element when training, got input size {input.shape}"
        raise fail("value", message, ValueError)
    if not use_input_stats and (running_mean is None or running_var is None):
        raise fail("value", "Expected running_mean and running_var to be defined when use_input_stats is false")
    batch, channels = shape[:2]
    repeat, view = find("repeat"), find("view")
    parts = [None if one is None else repeat(one, batch) for one in (running_mean, running_var, weight, bias)]
    mean, variance, factor, shift = parts
    rows = view(find("contiguous")(input), (1, batch * channels, *shape[2:]))
    result = batch_norm_of(rows, mean, variance, factor, shift, use_input_stats, momentum, eps)
    with grad_mode(False):
        for kept, repeated in zip((running_mean, running_var), parts, strict=False):
            if kept is not None:
                find("copy_")(kept, find("mean")(view(repeated, (batch, channels)), 0, False))
    return view(result, shape)


instance_norm = composite(
    "instance_norm(input, running_mean: Tensor? = None, running_var: Tensor? = None, weight: Tensor? = None, "
    "bias: Tensor? = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05)",
    "Normalise each channel of each sample.", _instance_norm, ("F",),
    note="Is a batch norm over batch times channels, between two views.",
)

# --- local_response_norm ----------------------------------------------------------------------------------------


def _local_response_norm(input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    shape = tuple(input.shape)
    if len(shape) < 3:
        gap = " " * 25  # PyTorch's sentence goes on after its indentation
        message = f"Expected 3D or higher dimensionality {gap}input (got {len(shape)} dimensions)"
        raise fail("shape", message, ValueError)
    if count(input) == 0:
        return input
    squeeze, pad = find("squeeze"), find("pad")
    squares = find("mul")(input, input)
    before, after = size // 2, (size - 1) // 2
    if len(shape) == 3:
        rows = pad(find("unsqueeze")(squares, 1), (0, 0, before, after))
        mean = squeeze(find("avg_pool2d")(rows, (size, 1), 1), 1)
    else:
        rows = find("view")(squares, (shape[0], 1, shape[1], shape[2], -1))
        rows = pad(rows, (0, 0, 0, 0, before, after))
        mean = squeeze(find("avg_pool3d")(rows, (size, 1, 1), 1), 1)
        mean = find("view")(mean, shape)
    return input / find("pow")(find("add")(find("mul")(mean, alpha), k), beta)


local_response_norm = composite(
    "local_response_norm(input, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0)",
    "Divide each channel by a power of the mean square of its neighbours.", _local_response_norm, ("F",),
)
