"""torch.autograd: passes, gradients, and the old Variable."""

from collections.abc import Callable, Sequence
from typing import Any

from gradsh.engine.ambient import check_no_transform, current
from gradsh.engine.autograd import backward as engine
from gradsh.engine.graph.gradient_edge import GradientEdge, tensor_at
from gradsh.engine.graph.tensor import VOLATILE, Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


def _sequence(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def _outputs(value: object) -> tuple[Any, ...]:
    """Return what a pass starts from. Raises AssertionError for anything but tensors, as PyTorch does."""
    given = _sequence(value)
    if {*map(type, given)} == {Tensor}:  # at once, where there are thousands
        return given
    found = tuple(map(tensor_at, given))
    if not all(isinstance(one, Tensor) for one in found):
        raise AssertionError("Expected output to be a torch.Tensor")
    return found


def backward(
    tensors: Tensor | Sequence[Tensor], grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, grad_variables: Any = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Run one backward pass from all `tensors`, with one cotangent for each in `grad_tensors`.

    Raises RuntimeError of kind no_grad, scalar, grad_shape, freed or version.
    """
    check_no_transform()
    if grad_variables is not None:
        current().warning("`grad_variables` is deprecated. Use `grad_tensors` instead.")
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    roots = _outputs(tensors)
    cotangents = None if grad_tensors is None else _sequence(grad_tensors)
    engine.backward(roots, cotangents, retain_graph, create_graph, inputs)


def grad(
    outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor] | dict[Any, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Tensor | None, ...] | dict[Any, Tensor | None]:
    """Return the gradients of the sum of `outputs` with respect to `inputs`, one for each, touching no `.grad`."""
    if materialize_grads and allow_unused is False:
        message = "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        raise fail("value", message, ValueError)
    if not only_inputs:
        current().warning("only_inputs argument is deprecated and is ignored now (defaults to True).")
    unused = materialize_grads if allow_unused is None else allow_unused
    cotangents = None if grad_outputs is None else _sequence(grad_outputs)
    roots, targets = _outputs(outputs), _sequence(inputs.values() if isinstance(inputs, dict) else inputs)
    if is_grads_batched:
        found = _batched(roots, targets, cotangents, bool(retain_graph or create_graph), create_graph, unused, materialize_grads)
    else:
        found = engine.grad(roots, targets, cotangents, retain_graph, create_graph, unused, materialize_grads)
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else found


def _batched(
    roots: tuple[Tensor, ...], targets: tuple[Tensor, ...], cotangents: tuple[Any, ...] | None, retain: bool, create: bool,
    unused: bool, zeros: bool,
) -> tuple[Tensor | None, ...]:
    """Return the gradients for each row of batched cotangents, stacked: one pass a row."""
    given = tuple(cotangents or (None,) * len(roots))
    for root, one in zip(roots, given, strict=True):
        if one is None and root.requires_grad:
            # PyTorch asks for it in the words of a scalar's gradient
            raise fail("scalar", "grad can be implicitly created only for scalar outputs", tensor=root)
        if one is not None and tuple(one.shape[1:]) != tuple(root.shape):
            message = (
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[{given.index(one)}] has a shape of {one.shape[2:]} and output[{given.index(one)}] has a shape "
                f"of {root.shape}. If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
            raise fail("grad_shape", message, tensor=root)
    count = len(next(one for one in given if one is not None))

    def of_row(row: int, retained: bool) -> tuple[Tensor | None, ...]:
        picked = tuple(None if one is None else one[row] for one in given)
        return engine.grad(roots, targets, picked, retained, create, unused, zeros)

    rows = []
    for row in range(count):
        try:
            rows.append(of_row(row, retain or row < count - 1))
        except RuntimeError:
            if retain or row:
                raise
            rows.append(of_row(row, False))  # fails again, having freed what PyTorch's only pass frees
    stack = find("stack")
    return tuple(None if None in one else stack(list(one)) for one in zip(*rows, strict=True))


class _EngineBase:
    """What hooks ask of the pass that runs them."""

    __module__ = "torch._C"
    __slots__ = ()
    __script_attributes__ = frozenset({"queue_callback"})

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call a function at the end of the pass."""
        running = current().running
        if running is None:
            raise fail("other", "Final callbacks can only be installed during backward pass.")
        running.callbacks.append(callback)


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """The old wrapper: returns a leaf over the tensor's memory. `volatile` has no effect but a warning."""

    __script_attributes__ = frozenset({"_execution_engine"})
    _execution_engine = _EngineBase()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """Return a leaf over the memory of `data`."""
        if volatile:
            current().warning(VOLATILE)
        if data is None:
            data = find("empty")(0)
        if not isinstance(data, Tensor):
            raise fail("type", f"Variable data has to be a tensor, but got {type(data).__name__}", TypeError)
        return data.detach().requires_grad_(requires_grad) if requires_grad or data.requires_grad else data.detach()
