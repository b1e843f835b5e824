"""Second derivatives of the norms. With h(v) = σ⁻¹ (v - mean v - x̂ mean(v x̂)), which is its own adjoint,

the gradient by the input is h(γ g), so all second derivatives are h again, sums, and the derivative of h by the input.
"""

import math
from typing import Any

from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.scalars import over, plus, times


def _sum(value: Any, dims: tuple[int, ...], keepdim: bool = True) -> ArrayOrTensor:
    return find("sum")(value, dims, keepdim) if dims else value


class _Normal:
    """One normalisation: x - mean, the inverse deviation, over which dims, of how many elements."""

    def __init__(self, centred: Array, inverse: Array, dims: tuple[int, ...]) -> None:
        self.centred = centred
        self.inverse = inverse
        self.dims = dims
        self.size = math.prod(centred.shape[dim] for dim in dims)

    def back(self, value: Array) -> Any:
        """Return h(value)."""
        dotted = _sum(value * self.centred, self.dims)
        rest = self.centred * (self.inverse * self.inverse) * dotted
        inner = times(value, self.size) - _sum(value, self.dims) - rest
        return over(self.inverse * inner, self.size)

    def by_input(self, first: object, second: Array) -> Any:
        """Return the derivative by the input of the sum of first * h(second)."""
        inverse, dims, size = self.inverse, self.dims, self.size
        cube = inverse * inverse * inverse
        first_sum, second_sum = _sum(first, dims), _sum(second, dims)
        first_dot, second_dot = _sum(first * self.centred, dims), _sum(second * self.centred, dims)
        inner = over(first_sum * second_sum, size) - _sum(first * second, dims)
        inner = inner + times(inverse * inverse * second_dot * first_dot, 3.0 / size)
        total = over(self.centred * cube * inner, size)
        total = total + over(first_dot * cube, size) * (over(second_sum, size) - second)
        return total + over(second_dot * cube, size) * (over(first_sum, size) - first)


def batch_norm_double(
    grads: list[Any], grad_out: Any, input: Any, weight: object, running_mean: Any, running_var: Any, save_mean: object,
    save_invstd: object, train: bool, eps: float,
) -> Gradients:
    """Return the gradients by (input, weight, grad_out) of batch norm's gradient."""
    by_input, by_weight, by_bias = grads
    view = find("view")
    shape = tuple(input.shape)
    dims = (0, *range(2, len(shape)))
    row = (1, shape[1], *(1,) * (len(shape) - 2))

    def along(value: object) -> Any:
        return None if value is None else view(value, row)

    if train:
        normal = _Normal(input - along(save_mean), along(save_invstd), dims)
    else:
        inverse = along(find("rsqrt")(plus(running_var, eps)))
        normal = _Normal(input - along(running_mean), inverse, dims)
    gamma, slope, shift = along(weight), along(by_weight), along(by_bias)
    grad_input = grad_weight = None
    terms = []
    if by_input is not None and train:
        found = normal.by_input(by_input, grad_out)
        grad_input = found if gamma is None else gamma * found
        terms.append(normal.back(by_input if gamma is None else by_input * gamma))
    elif by_input is not None:
        terms.append(by_input * normal.inverse if gamma is None else by_input * normal.inverse * gamma)
    if by_input is not None and gamma is not None:
        share = by_input * (normal.back(grad_out) if train else grad_out * normal.inverse)
        grad_weight = _sum(share, dims, False)
    if slope is not None:
        found = normal.back(grad_out * slope) if train else slope * normal.inverse * grad_out
        grad_input = found if grad_input is None else grad_input + found
        terms.append(slope * normal.centred * normal.inverse)
    if shift is not None:
        terms.append(find("expand")(shift, shape))
    return grad_input, grad_weight, _total(terms)


def _total(terms: list[Array]) -> Any:
    found = None
    for term in terms:
        found = term if found is None else found + term
    return found


def layer_norm_double(
    grads: Any, grad_out: Any, input: Any, normalized_shape: tuple[int, ...], mean: object, rstd: Any, weight: object
) -> Gradients:
    """Return the gradients by (input, weight, grad_out) of layer norm's gradient."""
    by_input, by_weight, by_bias = grads
    ndim = len(input.shape)
    lead = tuple(range(ndim - len(normalized_shape)))
    normal = _Normal(input - mean, rstd, tuple(range(len(lead), ndim)))
    grad_input = grad_weight = None
    terms = []
    if by_input is not None:
        inner = grad_out if weight is None else grad_out * weight
        grad_input = normal.by_input(by_input, inner)
        back = normal.back(by_input)
        terms.append(back if weight is None else back * weight)
        if weight is not None:
            grad_weight = _sum(grad_out * back, lead, False)
    if by_weight is not None:
        found = normal.back(grad_out * by_weight)
        grad_input = found if grad_input is None else grad_input + found
        terms.append(by_weight * normal.centred * normal.inverse)
    if by_bias is not None:
        terms.append(find("expand")(by_bias, tuple(input.shape)))
    return grad_input, grad_weight, _total(terms)


def group_norm_formula(
    grads: list[ArrayOrTensor | None] | list[ArrayOrTensor | None], input: ArrayOrTensor, mean: ArrayOrTensor,
    rstd: ArrayOrTensor, weight: Any, extents: tuple[int, int, int, int], needs: tuple[bool, ...],
) -> Gradients:
    """Return the gradients by (input, weight, bias) as operations, for passes that are recorded themselves.

    `grads` also has those by the mean and the inverse deviation, which the same formula reads.
    """
    batch, channels, area, group = extents
    reshape = find("reshape")
    shape = (batch, group, channels // group, area)
    x = reshape(input, shape)
    centre, inverse = (reshape(one, (batch, group, 1, 1)) for one in (mean, rstd))
    grad, by_mean, by_inverse = grads
    rows = dotted = total = None
    if grad is not None:
        rows = reshape(grad, shape)
        dotted = _row(rows * x, (3,), -1)
        total = _row(rows, (3,), -1)
    grad_input = None
    if needs[0]:
        cube = inverse * inverse * inverse
        if rows is not None:
            grad_input = _group_input(x, rows, dotted, total, centre, inverse, cube, weight)
        if by_mean is not None and by_inverse is not None:
            by_variance = times(cube, -0.5) * find("view")(by_inverse, (batch, group, 1, 1))
            size = channels // group * area
            share = times(by_variance, 2.0 / size) * (x - centre)
            share = share + over(find("view")(by_mean, (batch, group, 1, 1)), size)
            grad_input = share if grad_input is None else grad_input + share
        if grad_input is not None:
            grad_input = reshape(grad_input, tuple(input.shape))
    grad_weight = grad_bias = None
    if needs[1] and rows is not None:
        grad_weight = reshape(_sum((dotted - total * centre) * inverse, (0,), False), tuple(weight.shape))
    if needs[2] and rows is not None:
        grad_bias = reshape(_sum(total, (0,), False), (channels,))
    return grad_input, grad_weight, grad_bias


def _row(value: Tensor, dims: tuple[int, ...], place: int) -> Tensor:
    found = _sum(value, dims, False)
    return find("unsqueeze_" if isinstance(found, Tensor) else "unsqueeze")(found, place)


def _group_input(
    x: Any, rows: Any, dotted: Any, total: Any, centre: object, inverse: object, cube: object, weight: Tensor
) -> Tensor:
    """Return the gradient by the input of groups."""
    _, group, width, area = x.shape
    scale = 1.0 / (width * area)
    gamma = None if weight is None else find("reshape")(weight, (1, group, width, 1))
    a = inverse if gamma is None else inverse * gamma
    b = _row(dotted if gamma is None else dotted * gamma, (2,), -2)
    c = _row(total if gamma is None else total * gamma, (2,), -2)
    b = times((c * centre - b) * cube, scale)
    c = -b * centre - times(c * inverse, scale)
    return a * rows + b * x + c
