"""torch.autograd: passes, gradients, and the old Variable."""

from collections.abc import Sequence
from typing import Any

from gradsh.engine import backward as engine
from gradsh.engine.ambient import current
from gradsh.engine.tensor import VOLATILE, Tensor
from gradsh.text.fault import fail


def _sequence(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _outputs(value: Any) -> tuple[Any, ...]:
    """Return what a pass starts from. Raises AssertionError for anything but tensors, as PyTorch does."""
    found = _sequence(value)
    if not all(isinstance(one, Tensor) for one in found):
        raise AssertionError("Expected output to be a torch.Tensor")
    return found


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Run one backward pass from all `tensors`, with one cotangent for each in `grad_tensors`.

    Raises RuntimeError of kind no_grad, scalar, grad_shape, freed or version.
    """
    if grad_variables is not None:
        current().warning("`grad_variables` is deprecated. Use `grad_tensors` instead.")
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    roots = _outputs(tensors)
    cotangents = None if grad_tensors is None else _sequence(grad_tensors)
    engine.backward(roots, cotangents, retain_graph, create_graph, inputs)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | dict[Any, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...] | dict[Any, Tensor | None]:
    """Return the gradients of the sum of `outputs` with respect to `inputs`, one for each, touching no `.grad`."""
    if materialize_grads and allow_unused is False:
        message = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        raise fail("value", message, ValueError)
    if not only_inputs:
        current().warning("only_inputs argument is deprecated and is ignored now (defaults to True).")
    if is_grads_batched:
        raise fail("value", "is_grads_batched needs vmap, which gradsh leaves out: loop over the rows instead", ValueError)
    unused = materialize_grads if allow_unused is None else allow_unused
    cotangents = None if grad_outputs is None else _sequence(grad_outputs)
    roots, targets = _outputs(outputs), _sequence(inputs.values() if isinstance(inputs, dict) else inputs)
    found = engine.grad(roots, targets, cotangents, retain_graph, create_graph, unused, materialize_grads)
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else found


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """The old wrapper: returns a leaf over the tensor's memory. `volatile` has no effect but a warning."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """Return a leaf over the memory of `data`."""
        if volatile:
            current().warning(VOLATILE)
        if data is None:
            from gradsh.engine.op import find

            data = find("empty")(0)
        if not isinstance(data, Tensor):
            raise fail("type", f"Variable data has to be a tensor, but got {type(data).__name__}", TypeError)
        return data.detach().requires_grad_(requires_grad) if requires_grad or data.requires_grad else data.detach()
