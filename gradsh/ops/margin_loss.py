"""Losses with a margin, of similarities and of distributions: each made of operations, as in PyTorch's graph."""

import math
from typing import Any

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.dispatch.declare import composite, sample
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.shape import at_dim
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.loss import LEGACY, F
from gradsh.ops.reduction import chosen, named, number, reduced
from gradsh.ops.scalars import minus, plus, times
from gradsh.ops.similarity import pairwise
from gradsh.text.fault import fail

_EPSILON = 1e-12


def _kl_div(input: Tensor, target: Tensor, size_average: Any, reduce: object, reduction: str, log_target: bool) -> Tensor:
    if size_average is None and reduce is None and reduction == "mean":
        current().warning(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release."
        )
    if any(array_of(one).dtype.kind != "f" for one in (input, target)):
        raise fail("dtype", "kl_div: Integral inputs not supported.")
    reduction = named(size_average, reduce, reduction)
    if log_target:  # the right operand first, as the compiled PyTorch does: its graphs of gradients show the order
        terms = target - input
        terms = find("exp")(target) * terms
    else:
        terms = target * input
        terms = find("xlogy")(target, target) - terms
    loss = reduced(terms, number("sum" if reduction == "batchmean" else reduction))
    return loss / input.shape[0] if reduction == "batchmean" and input.shape else loss


kl_div = composite(
    f"kl_div(input, target, {LEGACY}, log_target: bool = False)",
    "Kullback-Leibler divergence: target (log target - input), input being logarithms.", _kl_div, F,
    samples=(sample((2, 3), (2, 3), reduction="batchmean", log_target=True),),
    note="'mean' divides by all elements; the divergence itself is 'batchmean'.",
)


def _poisson(
    input: Tensor, target: Tensor, log_input: bool, full: bool, size_average: object, eps: float, reduce: object,
    reduction: str,
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    log = find("log")
    product = target * (input if log_input else log(plus(input, eps)))
    loss = (find("exp")(input) if log_input else input) - product
    if full:
        half = times(log(times(target, 2 * math.pi)), 0.5)
        stirling = target * log(target) - target + half
        loss = loss + find("masked_fill")(stirling, find("le")(target, 1), 0)
        loss.counter.version = 1  # PyTorch adds in place
    return reduced(loss, code)


poisson_nll_loss = composite(
    "poisson_nll_loss(input, target, log_input: bool = True, full: bool = False, size_average: any? = None, "
    "eps: float = 1e-08, reduce: any? = None, reduction: str = 'mean')",
    "Negative log likelihood of Poisson counts.", _poisson, F, samples=(sample((2, 3), (2, 3)),),
)


def _gaussian(input: Tensor, target: Tensor, var: Tensor, full: bool, eps: float, reduction: str) -> Tensor:
    if isinstance(var, (int, float)):
        if var < 0:
            raise fail("value", "var has negative entry/entries", ValueError)
        var = var * find("ones_like")(input)
    elif (array_of(var) < 0).any():
        raise fail("value", "var has negative entry/entries", ValueError)
    shape, given = tuple(input.shape), tuple(var.shape)
    if given != shape:
        if shape[:-1] == given:
            var = find("unsqueeze")(var, -1)
        elif len(shape) != len(given) or sum(y for x, y in zip(shape, given, strict=True) if x != y) != 1:
            raise fail("shape", "var is of incorrect size", ValueError)
    if reduction not in ("none", "mean", "sum"):
        raise fail("value", f"{reduction} is not valid", ValueError)
    var = find("clone")(var)
    with grad_mode(False):
        find("clamp_")(var, min=eps)
    loss = 0.5 * (find("log")(var) + (input - target) ** 2 / var)
    if full:
        loss = find("add_")(loss, 0.5 * math.log(2 * math.pi))
    return reduced(loss, number(reduction))


gaussian_nll_loss = composite(
    "gaussian_nll_loss(input, target, var: Operand, full: bool = False, eps: float = 1e-06, reduction: str = 'mean')",
    "Negative log likelihood of normal values of given variance.", _gaussian, F,
    note="Variances below eps count as eps, without the gradient knowing.",
)


def _hinge(input: Tensor, target: Tensor, margin: float, size_average: object, reduce: object, reduction: str) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    where, ne = find("where"), find("ne")
    zeros = find("zeros_like")(input)
    clamped = find("clamp_min_")(find("sub")(margin, input), 0)
    return reduced(where(ne(target, 1), clamped, zeros) + where(ne(target, -1), input, zeros), code)


hinge_embedding_loss = composite(
    f"hinge_embedding_loss(input, target, margin: number = 1.0, {LEGACY})",
    "The input where target is 1, what it lacks to the margin where target is -1.", _hinge, F,
)


def _ranking(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, size_average: object, reduce: object, reduction: str
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        message = (
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
        raise fail("shape", message)
    return reduced(find("clamp_min_")(plus(-target * (input1 - input2), margin), 0), code)


margin_ranking_loss = composite(
    f"margin_ranking_loss(input1, input2, target, margin: number = 0, {LEGACY})",
    "max(0, -target (input1 - input2) + margin), averaged.", _ranking, F,
)


def _same_dims(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    a, p, n = (len(one.shape) for one in (anchor, positive, negative))
    if not a == p == n:
        message = (
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {a}D, positive {p}D, and negative {n}D inputs"
        )
        raise fail("shape", message)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise fail("value", f"margin must be greater than 0, got {margin}", ValueError)


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool,
    size_average: object, reduce: object, reduction: str,
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    _check_margin(margin)
    _same_dims(anchor, positive, negative)
    near, far = pairwise(anchor, positive, p, eps, False), pairwise(anchor, negative, p, eps, False)
    if swap:
        far = find("minimum")(far, pairwise(positive, negative, p, eps, False))
    return reduced(find("clamp_min")(plus(near, margin) - far, 0), code)


triplet_margin_loss = composite(
    "triplet_margin_loss(anchor, positive, negative, margin: number = 1.0, p: float = 2.0, eps: float = 1e-06, "
    f"swap: bool = False, {LEGACY})",
    "How much nearer than margin the negative is than the positive.", _triplet, F,
    samples=(sample((2, 3), (2, 3), (2, 3)),),
)


def _triplet_with(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance_function: Any, margin: float, swap: bool, reduction: str
) -> Tensor:
    code = number(reduction)
    _check_margin(margin)
    _same_dims(anchor, positive, negative)
    distance = find("pairwise_distance") if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = find("minimum")(far, distance(positive, negative))
    return reduced(find("clamp_min")(margin + near - far, 0), code)


triplet_margin_with_distance_loss = composite(
    "triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function: any? = None, "
    "margin: number = 1.0, swap: bool = False, reduction: str = 'mean')",
    "The triplet loss with a distance of one's own.", _triplet_with, F,
)


def _cosine_embedding(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, size_average: object, reduce: object, reduction: str
) -> Tensor:
    code = chosen(size_average, reduce, reduction)
    ndim = len(target.shape)
    if ndim not in (0, 1):
        raise fail("shape", "0D or 1D target tensor expected, multi-target not supported")
    for one, name in ((input1, "input1"), (input2, "input2")):
        if len(one.shape) != ndim + 1:
            what = f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with sizes "
            raise fail("shape", f"{what}{list(input1.shape)} and {list(input2.shape)}.", name=name)
    sum_, where, eq = find("sum"), find("where"), find("eq")
    dim = (ndim,)
    product = sum_(input1 * input2, dim)
    length1, length2 = (plus(sum_(one * one, dim), _EPSILON) for one in (input1, input2))
    cosine = product / find("sqrt_")(length1 * length2)
    zeros = find("zeros_like")(cosine)
    near = find("sub")(1, cosine)
    far = find("clamp_min_")(minus(cosine, margin), 0)
    return reduced(where(eq(target, 1), near, zeros) + where(eq(target, -1), far, zeros), code)


cosine_embedding_loss = composite(
    f"cosine_embedding_loss(input1, input2, target, margin: number = 0, {LEGACY})",
    "1 - cosine where target is 1, the cosine above margin where target is -1.", _cosine_embedding, F,
)


def _multilabel_soft(
    input: Tensor, target: Tensor, weight: object, size_average: Any, reduce: object, reduction: str
) -> Tensor:
    reduction = named(size_average, reduce, reduction)
    log_sigmoid = find("log_sigmoid_forward")
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    if reduction not in ("none", "mean", "sum"):
        raise fail("value", f"{reduction} is not valid", ValueError)
    classes = len(input.shape) - 1
    return reduced(find("sum")(loss, classes) / at_dim(tuple(input.shape), classes), number(reduction))


multilabel_soft_margin_loss = composite(
    f"multilabel_soft_margin_loss(input, target, weight: Tensor? = None, {LEGACY})",
    "Binary cross entropy of sigmoid(input) for several labels at once, averaged over the classes.",
    _multilabel_soft, F,
)
