"""torch.autograd._functions: what PyTorch still has of its functions of old."""

from math import prod
from typing import Any

from gradsh.api.function import Function
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class Resize(Function):
    """Gives a tensor another shape of as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Return the elements row by row in another shape, a view where they lie so. Raises RuntimeError for another count."""
        if tensor.numel() != prod(sizes):
            message = (
                f"requested resize to {'x'.join(map(str, sizes))} ({prod(sizes)} elements in total), but the given tensor has a size of "
                f"{'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's resize can only change the shape of a "
                "given tensor, while preserving the number of elements. "
            )
            raise fail("shape", message, tensor=tensor)
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradient in the tensor's own shape."""
        return grad_outputs[0].contiguous().view(ctx.input_sizes), None
