"""Choosing elements by a condition: where, masked_fill."""


import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, cpp_name, of_numpy
from gradsh.engine.values.reduced import cast, is_reduced, widened
from gradsh.engine.values.shape import broadcast_shapes
from gradsh.ops.kernels.common import pick, together
from gradsh.text.fault import fail


def _where(condition: Array, self: Array | float, other: Array | float) -> Array:
    if condition.dtype.kind != "b":
        if condition.dtype != np.uint8:
            title = of_numpy(condition.dtype).title
            raise fail("dtype", f"where expected condition to be a boolean tensor, but got a tensor with dtype {title}")
        condition = condition.astype(np.bool_)
    a, b = together(self, other)
    shape = broadcast_shapes(condition.shape, broadcast_shapes(a.shape, b.shape)) if condition.ndim else None
    chosen = cast(pick(condition, widened(a), widened(b)), a.dtype) if is_reduced(a) else pick(condition, a, b)
    return chosen if shape is None or chosen.shape == shape else np.broadcast_to(chosen, shape).copy()


where: Operation = op(
    "where(condition, input: Operand, other: Operand)", "WhereBackward0",
    "Elements of `input` where the condition holds, of `other` elsewhere.",
    layout="operands", forward=_where, reduced="own",
    grads={
        "input": lambda grad, condition: where(condition, grad, 0.0),
        "other": lambda grad, condition: where(condition, 0.0, grad),
    },
    spaces=("torch",),
    samples=(sample("bool:2,3", (2, 3), (3,)), sample("bool:2,3", (2, 3), 0.0)),
    note="Only the condition is saved. The gradient of the branch not taken is zero, yet 0 * inf further down still makes nan: "
    "mask the input of the dangerous operation, not its output.",
)


def _all_true(condition: object) -> ArrayOrTensor:
    return find("nonzero")(condition, as_tuple=True)


composite(
    "where(condition)", "The indices where the condition holds, one tensor a dimension.", _all_true, spaces=("torch",),
)
composite(
    "Tensor_where(self, condition, other: Operand)", "Elements of the tensor where the condition holds, of `other` elsewhere.",
    lambda self, condition, other: where(condition, self, other), spaces=("Tensor",),
)


def _masked(self: Array, mask: Array, value: Array | float) -> Array:
    if mask.dtype.kind != "b":
        raise fail("dtype", f"masked_fill_ only supports boolean masks, but got mask with dtype {cpp_name(mask.dtype)}")
    value = np.asarray(value)
    if value.ndim:
        message = f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        raise fail("shape", message)
    value = value.astype(self.dtype)
    if mask.shape == self.shape:
        return pick(mask, value, self)
    broadcast_shapes(mask.shape, self.shape)  # refused in this order
    return np.where(mask, value, self)


def _masked_in_place(self: Array, mask: Array, value: Array | float) -> Array:
    """As `_masked`; sizes that do not fit are named in the order of the arguments."""
    if mask.shape != self.shape and mask.dtype.kind == "b":
        broadcast_shapes(self.shape, mask.shape)
    return _masked(self, mask, value)


def _value_gradient(grad: ArrayOrTensor, mask: ArrayOrTensor) -> ArrayOrTensor:
    """Sum the gradient over the masked elements, as PyTorch does by masked_select and sum."""
    if isinstance(grad, Tensor):
        return find("sum")(find("masked_select")(grad, mask))
    return np.add.reduce(grad[np.broadcast_to(mask, grad.shape)])


masked_fill: Operation = op(
    "masked_fill(self, mask, value)", "MaskedFillBackward1", "A copy with the 0-d tensor `value` where the mask is True.",
    layout="contiguous", forward=_masked, inplace={"forward": _masked_in_place},
    grads={"self": lambda grad, mask: masked_fill(grad, mask, 0), "value": _value_gradient},
    samples=(sample((2, 3), "bool:2,3", ()),),
)
op(
    "masked_fill(self, mask, value: number)", "MaskedFillBackward0", "A copy with `value` where the mask is True.",
    layout="contiguous", forward=_masked, inplace={"forward": _masked_in_place},
    grads={"self": lambda grad, mask: masked_fill(grad, mask, 0)},
    samples=(sample((2, 3), "bool:2,3", 2.5), sample((2, 3), "bool:3", -1)),
)
