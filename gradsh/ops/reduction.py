"""What losses share: `reduction` by name and by number, reducing, broadcasting of input and target."""

from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import broadcast_shapes
from gradsh.ops.kernels.accurate_sum import sum_all
from gradsh.text.fault import fail

NONE, MEAN, SUM = 0, 1, 2
_NUMBERS = {"none": NONE, "mean": MEAN, "elementwise_mean": MEAN, "sum": SUM}


def number(reduction: str) -> int:
    """Return PyTorch's number of a reduction; raises ValueError for an unknown name."""
    found = _NUMBERS.get(reduction)
    if found is None:
        raise fail("value", f"{reduction} is not a valid value for reduction", ValueError)
    if reduction == "elementwise_mean":
        current().warning("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
    return found


def chosen(size_average: Any, reduce: object, reduction: str) -> int:
    """Return the number of a reduction, which the old flags `size_average` and `reduce` overrule."""
    return number(named(size_average, reduce, reduction))


def named(size_average: bool | None, reduce: object, reduction: str) -> str:
    """Return the name of a reduction, which the old flags `size_average` and `reduce` overrule."""
    if size_average is None and reduce is None:
        return reduction
    average = size_average is None or bool(size_average)
    name = ("mean" if average else "sum") if reduce is None or reduce else "none"
    current().warning(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead."
    )
    return name


def reduced(loss: Tensor, reduction: int) -> Tensor:
    """Reduce a loss by recorded operations."""
    if reduction == MEAN:
        return find("mean")(loss)
    return find("sum")(loss) if reduction == SUM else loss


def reduce_array(loss: Array, reduction: int) -> Array:
    """Reduce an array within a kernel."""
    if reduction == NONE:
        return loss
    total = sum_all(loss)
    return total / loss.dtype.type(loss.size) if reduction == MEAN else total


def scale(reduction: int, count: int) -> float:
    """Return the factor that the mean brings into a derivative."""
    return 1.0 / count if reduction == MEAN and count else 1.0


def broadcast_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Expand two operands to their common shape; one that already has it stays itself."""
    shape = broadcast_shapes(tuple(a.shape), tuple(b.shape))
    return tuple(one if tuple(one.shape) == shape else find("expand")(one, shape) for one in (a, b))


def warn_sizes(input: Tensor, target: Tensor) -> None:
    """Warn, as PyTorch does, of a target whose size is not the input's."""
    if tuple(input.shape) != tuple(target.shape):
        current().warning(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )
