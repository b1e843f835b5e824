"""What operations of networks ask of their arguments: arrays behind them, numbers for each dim, PyTorch's refusals."""

from collections.abc import Callable

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import Formula, parameter_names
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.layout import stepped_as
from gradsh.engine.values.reduced import is_reduced
from gradsh.engine.values.storage import immutable_zeros
from gradsh.ops.kernels.geometry import array_of, beside
from gradsh.text.fault import fail


def count(value: ArrayOrTensor) -> int:
    """Return the number of elements of a Tensor or an array."""
    return int(array_of(value).size)


def check_same_float(input: Array, other: Array) -> None:
    """Refuse an operand of another dtype than the input's."""
    if input.dtype != other.dtype:
        raise fail("dtype", f"Found dtype {of_numpy(other.dtype).title} but expected {of_numpy(input.dtype).title}")


def no_gradient(value: Tensor | None, argument: str, function: str) -> None:
    """Refuse a tensor that needs a gradient where PyTorch has no derivative."""
    if isinstance(value, Tensor) and value.requires_grad and current().grad_enabled:
        message = (
            f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input "
            "cannot have requires_grad True."
        )
        raise fail("other", message, tensor=value)


def applied(name: str, reads: str) -> Formula:
    """Return a formula that the operation called `name` computes of what the words of `reads` stand for."""

    def formula(*values: object) -> object:
        return find(name)(*values)

    formula.reads = tuple(reads.split())  # type: ignore[attr-defined]
    formula.applies = name  # type: ignore[attr-defined]
    return formula


def words(parameters: str) -> str:
    """Return the names in the text of parameters."""
    return " ".join(one.partition(":")[0] for one in parameters.split(", "))


def with_gradient(
    text: str, gradient: str, node: str, doc: str, *, forward: Formula, backward: Formula, reads: str, second: Formula,
    layout: str = "channels", reduced: str = "",
) -> Operation:
    """Declare an operation and its gradient, an operation of its own, which PyTorch's graphs of gradients show.

    `gradient` is its signature, `reads` what it gets besides the gradient, `second` its derivative; of `self` it has one of zeros.
    """
    name, _, given = gradient.rstrip(")").partition("(")
    settings = {one.partition(":")[0] for one in given.split(", ") if ":" in one}
    op(
        gradient, f"{node}BackwardBackward0", f"Gradient of {name.removesuffix('_backward')}.", forward=backward, unguarded=True, spaces=(),
        attributes=tuple(one for one in parameter_names(second) if one in settings),
        grads={"grad_output": second, "self": lambda grad, self_sizes: zeros_of_shape(grad, self_sizes)},
    )
    return op(
        text, f"{node}Backward0", doc, layout=layout, forward=forward, spaces=(), reduced=reduced,
        grads={"self": applied(name, f"grad {reads}")},
    )


def in_single(tensor: Tensor) -> Tensor:
    """Return a tensor of reduced precision in float32, by a conversion that the graph records; any other as it is."""
    return find("float")(tensor) if is_reduced(array_of(tensor)) else tensor


def underivable(what: str) -> Callable[[object], object]:
    """Return a formula that refuses, where PyTorch has a node but no derivative."""

    def formula(grad: object) -> object:
        del grad
        raise fail("other", f"the derivative for '{what}' is not implemented.", NotImplementedError)

    return formula


def zeros(grad: ArrayOrTensor) -> ArrayOrTensor:
    """Return a gradient of zeros: of a step function, which PyTorch does not leave out of the graph."""
    return stepped_as(np.zeros_like(grad), grad) if isinstance(grad, np.ndarray) else find("zeros_like")(grad)


def zeros_only(grad: ArrayOrTensor) -> ArrayOrTensor:
    """Return a gradient of zeros that nothing is added to in place, as PyTorch's tensors that stand for zeros."""
    return beside(grad, immutable_zeros(tuple(grad.shape), array_of(grad).dtype))


def zeros_of_shape(grad: ArrayOrTensor, shape: tuple[int, ...]) -> ArrayOrTensor:
    """Return zeros of a shape, of the dtype of a gradient and of its kind: an array or a Tensor."""
    return beside(grad, np.zeros(tuple(shape), array_of(grad).dtype))
