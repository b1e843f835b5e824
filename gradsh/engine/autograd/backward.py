"""Starting a backward pass: `backward` adds to leaves, `grad` hands the gradients out; what each refuses.

The pass itself is in `execution.py`, the choice and order of its nodes in `reach.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.backward_pass import BackwardPass, Observer
from gradsh.engine.autograd.gradient_versions import noted, share
from gradsh.engine.dispatch.op_node import sum_tensor_to
from gradsh.engine.dispatch.tangents import levels, untracked
from gradsh.engine.dispatch.views import view_of
from gradsh.engine.graph.gradient_edge import GradientEdge, tensor_at
from gradsh.engine.graph.node import Edge, Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, gradient_edge, make
from gradsh.engine.values.overlap import dense
from gradsh.engine.values.reduced import cast
from gradsh.engine.values.shape import expandable, sum_to
from gradsh.engine.values.size import Size
from gradsh.engine.values.storage import stands_for_zeros
from gradsh.text.fault import fail


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    observer: Observer | None = None,
) -> None:
    """Run one pass from all `tensors`, adding to the `.grad` of the leaves (or of `inputs` only).

    `gradients` gives one cotangent for each tensor, of its shape; None stands for one of ones, for tensors of one
    element. Saved tensors are freed unless `retain_graph` (default: as `create_graph`).
    Raises RuntimeError of kind no_grad, scalar, grad_shape, freed or version.
    """
    retain = create_graph if retain_graph is None else bool(retain_graph)
    recorded = create_graph or bool(levels())  # gradients have tangents, too
    roots = make_roots(tensors, gradients, recorded)
    targets = None
    if inputs is not None:
        targets = _input_targets(inputs)
    if create_graph:
        current().warning(_CREATE_GRAPH_WARNING)
    task = BackwardPass(roots, retain, recorded, observer, targets)
    task.run()
    if recorded and not create_graph:
        for leaf in task.wrote:
            if leaf.grad is not None and leaf.grad.requires_grad:
                leaf.grad = leaf.grad.detach()


_CREATE_GRAPH_WARNING = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)


def _input_targets(inputs: list[Any]) -> dict[Node, set[int] | None]:
    chosen = (inputs,) if isinstance(inputs, (Tensor, GradientEdge)) else tuple(inputs)
    if not chosen:
        raise fail("value", "`inputs` argument to `backward()` cannot be empty.")
    targets: dict[Node, set[int] | None] = {}
    for one in chosen:
        tensor = check_input(one)
        if tensor is one:
            tensor.retain_grad()
        edge = gradient_edge(tensor)
        if edge is not None:
            targets[edge[0]] = None
    return targets


def check_input(value: object) -> Tensor:
    """Return the tensor that a pass differentiates with respect to; refuse what is neither that nor an edge."""
    tensor = tensor_at(value)
    if not isinstance(tensor, Tensor):
        message = f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}"
        raise fail("type", message)
    return tensor


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, touching no `.grad`.

    Raises RuntimeError of kind unused where an input is not in the graph, unless `allow_unused`.
    """
    retain = create_graph if retain_graph is None else bool(retain_graph)
    recorded = create_graph or bool(levels())  # gradients have tangents, too
    if not inputs:
        raise fail("value", "`inputs` argument to `grad()` cannot be empty.")
    roots = make_roots(outputs, grad_outputs, recorded)
    edges: list[Edge] = []
    given, inputs = inputs, [check_input(one) for one in inputs]
    for place, tensor in enumerate(inputs):
        edge = gradient_edge(tensor)
        if edge is None and not tensor.requires_grad:
            message = "One of the differentiated Tensors does not require grad"
            raise fail("no_grad", message, tensor=tensor, index=place)
        edges.append(edge or (Node((), ()), 0))  # a view made under no_grad is reached by no pass
    targets: dict[Node, set[int] | None] = {}
    for node, output in edges:
        wanted = targets.setdefault(node, set())
        assert wanted is not None
        wanted.add(output)
    task = BackwardPass(roots, retain, recorded, None, targets)
    task.run()
    found: list[Tensor | None] = []
    made: dict[Edge, Tensor] = {}
    for place, (node, output) in enumerate(edges):
        value = made.get((node, output), task.captured.get((node, output)))
        if value is None and materialize_grads:
            if inputs[place] is not given[place]:
                message = "materialize_grads cannot be used when the given input is a GradientEdge"
                raise fail("value", message)
            value = make(np.zeros_like(inputs[place].array)).requires_grad_(create_graph)
        if value is None and not allow_unused:
            message = (
                f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
            raise fail("unused", message, tensor=inputs[place], index=place)
        if value is not None and not isinstance(value, Tensor):
            written = noted(value) + (task.sums.get((node, output), 0) if type(node) is AccumulateGrad else 0)
            value = made[(node, output)] = _handed_out(value)
            value.counter.version = written
        elif value is not None and recorded and not create_graph:
            value = made[(node, output)] = untracked(value)
        found.append(value)
    return tuple(found)


def _handed_out(value: Any) -> Tensor:
    """Return a captured gradient as a tensor: an expanded one stays a view, made without history, as PyTorch's is."""
    if value.size and any(extent > 1 and step == 0 for extent, step in zip(value.shape, value.strides, strict=True)):
        return view_of(make(np.array(value[(0,) * value.ndim])), value, None, 0, "no_grad")
    kept = stands_for_zeros(value) or (value.flags.writeable and (value.base is None or not dense(value)))
    return make(value if kept else np.array(value))


def make_roots(
    tensors: Sequence[Tensor], gradients: Sequence[Tensor | None] | None, create_graph: bool
) -> list[tuple[Edge, object]]:
    """Return the edges where a pass starts and the gradient each starts with, after PyTorch's checks."""
    given: Sequence[Tensor | None] = gradients if gradients is not None else (None,) * len(tensors)
    if len(given) < len(tensors):  # more of them are not looked at
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    cotangents = [
        None if one is None and tensor.array.size == 1 else _cotangent(place, tensor, one)
        for place, (tensor, one) in enumerate(zip(tensors, given, strict=False))
    ]
    roots: list[tuple[Edge, Any]] = []
    shared: Tensor | None = None
    for place, (tensor, cotangent) in enumerate(zip(tensors, cotangents, strict=True)):
        origin = tensor.grad_fn_ref
        edge = (origin, 0) if tensor.meta is None and isinstance(origin, Node) else gradient_edge(tensor)
        if edge is None:
            message = f"element {place} of tensors does not require grad and does not have a grad_fn"
            raise fail("no_grad", message, tensor=tensor, index=place)
        if cotangent is None:
            array = tensor.array
            ones = np.ones(array.shape, array.dtype) if array.ndim else np.array(1, array.dtype)
            start: Any = make(ones) if create_graph else ones
        elif create_graph:
            start = cotangent
        else:
            if cotangent is not shared:  # one gradient may be passed for thousands of roots
                share(cotangent)
                shared = cotangent
            start = cotangent.array
        if start.shape != edge[0].outputs[edge[1]][0]:
            start = _fitting(place, edge, start)
        roots.append((edge, start))
    return roots


def _fitting(place: int, edge: Edge, start: Any) -> Any:
    """Bring the gradient of a tensor that was given another shape without a record to the shape that its node gave it."""
    shape = edge[0].outputs[edge[1]][0]
    if not expandable(shape, tuple(start.shape)):
        message = f"invalid gradient at index {place} - got {list(start.shape)} but expected shape compatible with {list(shape)}"
        raise fail("grad_shape", message, node=edge[0])
    return sum_tensor_to(start, shape) if isinstance(start, Tensor) else sum_to(start, shape)


def _cotangent(place: int, tensor: Tensor, gradient: Tensor | None) -> Tensor | None:
    if gradient is None:
        if tensor.requires_grad and tensor.array.size != 1:
            message = "grad can be implicitly created only for scalar outputs"
            raise fail("scalar", message, tensor=tensor, index=place)
        return None
    if not isinstance(gradient, Tensor):
        raise fail("type", f"gradients can be either Tensors or None, but got {type(gradient).__name__}", TypeError)
    have, want = gradient.array, tensor.array
    if have.shape != want.shape:
        message = (
            f"Mismatch in shape: grad_output[{place}] has a shape of {Size(gradient.array.shape)} and "
            f"output[{place}] has a shape of {Size(tensor.array.shape)}."
        )
        raise fail("grad_shape", message, tensor=tensor, index=place)
    if have.dtype is not want.dtype and have.dtype != want.dtype:
        return make(cast(have, want.dtype))
    return gradient
