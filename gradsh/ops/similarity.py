"""Distances and similarities between rows: pairwise distance, cosine similarity, normalize, bilinear forms."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import grad_mode
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, cpp_name, of_numpy, promote_pair
from gradsh.engine.values.shape import broadcast_shapes, wrap_dims
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.scalars import plus
from gradsh.ops.vector_norms import norm_array, norm_backward
from gradsh.text.fault import fail

BOTH = ("torch", "F")

norm_over = op(
    "_norm_over(self, p: number, dim: ints, keepdim: bool = False)", "NormBackward1", "Norm over dims.",
    layout="contiguous",
    forward=lambda self, p, dim, keepdim: norm_array(self, float(p), wrap_dims(dim, self.ndim), keepdim), spaces=(),
    grads={"self": lambda grad, self, p, result, dim, keepdim: norm_backward(grad, self, float(p), result, dim, keepdim)},
)

norm_whole = op(
    "_norm_whole(self, p: number)", "NormBackward0", "Norm over everything, as weight_norm takes it.",
    layout="contiguous", forward=lambda self, p: norm_array(self, float(p), tuple(range(self.ndim)), False), spaces=(),
    grads={"self": lambda grad, self, p, result: norm_backward(grad, self, float(p), result, tuple(range(self.ndim)), False)},
)


def pairwise(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    """Return the norm of the difference over the last dim; eps keeps it from 0."""
    last = max(len(x1.shape), len(x2.shape)) - 1
    return norm_over(plus(x1 - x2, eps), p, (last,), keepdim)


pairwise_distance = composite(
    "pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False)",
    "Norm of x1 - x2 + eps over the last dim.", pairwise, BOTH,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (3,), 1.0)),
)


def _cosine(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    a, b = array_of(x1).dtype, array_of(x2).dtype
    common = promote_pair(a, b)
    if common.kind != "f":
        raise fail("dtype", "expected common dtype to be floating point, yet common dtype is Long")
    if a.kind != "f" or b.kind != "f":
        x1, x2 = (one if kind.kind == "f" else find("to")(one, of_numpy(common)) for one, kind in ((x1, a), (x2, b)))
    if tuple(x1.shape) != tuple(x2.shape):
        shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
        x1, x2 = find("expand")(x1, shape), find("expand")(x2, shape)
    norm, clone = find("linalg_vector_norm"), find("clone")
    lengths = [clone(norm(one, 2, (dim,), True)) for one in (x1, x2)]
    with grad_mode(False):
        for length in lengths:
            find("clamp_min_")(length, eps)
    second = x2 / lengths[1]  # PyTorch's compiler takes the right factor first
    return find("sum")((x1 / lengths[0]) * second, (dim,))


cosine_similarity = composite(
    "cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-08)",
    "Cosine of the angle between x1 and x2 along a dim.", _cosine, BOTH,
    samples=(sample((2, 3), (2, 3)),),
    note="Lengths below eps count as eps, without the gradient knowing.",
)


def _normalize(input: Tensor, p: float, dim: tuple[int, ...] | int, eps: float) -> Tensor:
    length = find("norm")(input, p, dim, True)
    return input / find("expand")(find("clamp_min")(length, eps), tuple(input.shape))


normalize = composite(
    "normalize(input, p: float = 2.0, dim: ints = 1, eps: float = 1e-12)",
    "Divide by the norm along a dim.", _normalize, ("F",), samples=(sample((2, 3)),),
    note="Has no node of its own: Div, Expand, ClampMin and LinalgVectorNorm.",
)

# --- bilinear ---------------------------------------------------------------------------------------------------


def _trilinear_kernel(
    i1: Array, i2: Array, i3: Array, expand1: tuple[int, ...], expand2: tuple[int, ...], expand3: tuple[int, ...],
    sumdim: tuple[int, ...], unroll_dim: int,
) -> Array:
    """Sum the products of three tensors, each repeated along its expanded dims."""
    total = i1.ndim + len(expand1)
    terms: list[Any] = []
    for one, expanded in ((i1, expand1), (i2, expand2), (i3, expand3)):
        terms += [one, [dim for dim in range(total) if dim not in expanded]]
    kept = [dim for dim in range(total) if dim not in sumdim]
    found: Array = np.einsum(*terms, kept, optimize=True)
    return np.ascontiguousarray(found)


def _gradients(
    grad: ArrayOrTensor, i1: ArrayOrTensor | None, i2: ArrayOrTensor | None, i3: ArrayOrTensor | None,
    expand1: tuple[int, ...], expand2: tuple[int, ...], expand3: tuple[int, ...], sumdim: tuple[int, ...],
    needs: tuple[bool, ...],
) -> Gradients:
    return (
        trilinear(grad, i2, i3, sumdim, expand2, expand3, expand1) if needs[0] else None,
        trilinear(i1, grad, i3, expand1, sumdim, expand3, expand2) if needs[1] else None,
        trilinear(i1, i2, grad, expand1, expand2, sumdim, expand3) if needs[2] else None,
    )


trilinear: Operation = op(
    "_trilinear(i1, i2, i3, expand1: ints, expand2: ints, expand3: ints, sumdim: ints, unroll_dim: int = 1)",
    "TrilinearBackward0", "Sum of products of three tensors.", forward=_trilinear_kernel, spaces=(),
    grads={("i1", "i2", "i3"): _gradients},
    guards={"i1": ("i2", "i3"), "i2": ("i1", "i3"), "i3": ("i1", "i2")},
)


def _bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    dtypes = [array_of(one).dtype for one in (input1, input2, weight)]
    if any(one != dtypes[0] for one in dtypes):
        words = "All tensors must have the same dtype, got input1: {}, input2: {}, weight: {}"
        raise fail("dtype", words.format(*map(cpp_name, dtypes)))
    shape1, shape2, shape = tuple(input1.shape), tuple(input2.shape), tuple(weight.shape)
    if len(shape1) != len(shape2):
        raise fail("shape", f"bilinear(): input dimensions do not match: got {len(shape1)} and {len(shape2)}")
    for dim, (a, b) in enumerate(zip(shape1[:-1], shape2[:-1], strict=True)):
        if a != b:
            raise fail("shape", f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}")
    for name, place, given, wanted in (("input1", 1, shape1, shape), ("input2", 2, shape2, shape)):
        if given[-1] != wanted[place]:
            message = f"bilinear(): {name} size does not match weight size: got {given[-1]} but expected {wanted[place]}"
            raise fail("shape", message)
    if bias is not None and bias.shape[0] != shape[0]:
        message = f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {shape[0]}"
        raise fail("shape", message)
    reshape = find("reshape")
    rows1, rows2 = reshape(input1, (-1, shape1[-1])), reshape(input2, (-1, shape2[-1]))
    result = trilinear(rows1, weight, rows2, (1, 3), (0,), (1, 2), (2, 3))
    result = reshape(result, (*shape1[:-1], shape[0]))
    return result if bias is None else result + bias


bilinear = composite(
    "bilinear(input1, input2, weight, bias: Tensor? = None)", "input1ᵀ weight input2 + bias for each output.",
    _bilinear, BOTH, samples=(sample((2, 3), (2, 4), (5, 3, 4), (5,)),),
    note="Has no node of its own.",
)
