"""Cross entropy of a linear map's results, as one function."""

import math

from gradsh.engine.dispatch.declare import composite
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


def _check(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Refuse shapes that do not fit together."""
    message = ""
    if not 1 <= input.dim() <= 2:
        message = f"expected input with dimensionality 1 or 2, got {input.dim()}"
    elif weight.dim() < 2:
        message = f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
    elif input.shape[-1] != weight.shape[-1]:
        message = (
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    elif bias is not None and bias.shape != weight.shape[:-1]:
        message = f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}"
    elif weight.dim() > 2 and input.dim() == 1:
        message = (
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, (N, {input.shape[-1]}), "
            f"got unbatched input with shape {tuple(input.shape)}"
        )
    if message:
        raise fail("shape", message)


def _linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None, reduction: str,
    ignore_index: int | None, label_smoothing: float, options: object,
) -> Tensor:
    if options is not None:
        way = "leave `options` out: the loss and its gradients are the same, in one piece"
        raise fail("value", "gradsh does not compute linear_cross_entropy in chunks", NotImplementedError, way=way)
    _check(input, linear_weight, linear_bias)
    shape = (*input.shape[:-1], *linear_weight.shape[:-1])
    if target.shape == shape and ignore_index is not None:
        raise fail("value", "ignore_index cannot be specified when target contains probabilities")
    if linear_weight.dim() > 2:
        rows = math.prod(linear_weight.shape[:-1])
        linear_weight = linear_weight.reshape((rows, linear_weight.shape[-1]))
        linear_bias = None if linear_bias is None else linear_bias.reshape(rows)
    logits = find("linear")(input, linear_weight, linear_bias).reshape(shape)
    return find("cross_entropy")(
        logits, target, weight, None, -100 if ignore_index is None else ignore_index, None, reduction, label_smoothing
    )


composite(
    "linear_cross_entropy(input, linear_weight, target, *, linear_bias: Tensor? = None, weight: Tensor? = None, reduction: str = 'mean', "
    "ignore_index: int? = None, label_smoothing: float = 0.0, options: any? = None)",
    "Cross entropy of the softmax of a linear map's results against classes or probabilities.", _linear_cross_entropy, ("F",),
    note="Has no node of its own: those of `linear` and `cross_entropy`.",
)
