"""A tensor's text: what of it goes into PyTorch's `repr`, drawn by `printing`."""

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.tangents import levels, tangent_of
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.engine.printing.format import dtype_shown, format_tensor
from gradsh.text.fault import fault_of


def show(tensor: Tensor) -> str:
    """Return PyTorch's `repr` of a tensor, with the current print options."""
    ambient = current()
    array = tensor.array
    shown = dtype_shown(array.dtype, ambient.default_dtype, array.size == 0)
    name = _grad_fn_name(tensor)
    return format_tensor(
        array, options=ambient.print_options, dtype_suffix=shown, grad_fn=name,
        requires_grad=name is None and tensor.requires_grad, tangent=_tangent(tensor) if ambient.saved_hooks else None,
    )


def _tangent(tensor: Tensor) -> Tensor | None:
    """Return the tangent at the innermost level of forward mode."""
    return tangent_of(tensor, levels()[-1]) if levels() else None


def _grad_fn_name(tensor: Tensor) -> str | None:
    try:
        node = node_of(tensor)
    except RuntimeError as error:
        if fault_of(error) is None:
            raise
        return "Invalid"
    if node is None:
        return None
    name = node.name()
    return name.rpartition("::")[2]
