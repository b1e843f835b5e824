"""Scaled dot-product attention: in one node for batches of heads, spelled out for everything else, as PyTorch does."""

import math
from collections.abc import Iterator

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.parallel import BLOCK
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, cpp_name
from gradsh.engine.values.reduced import cast, is_reduced, widened
from gradsh.ops.arguments import in_single
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.scalars import times
from gradsh.text.fault import fail

_AT_ONCE = 4 * BLOCK
"""Scores at a time: they stay in the cache until the heads to which they belong are done."""

def _parts(query: Array, key: Array) -> Iterator[tuple[slice, slice]]:
    """Yield which heads of which batches are worked off together."""
    batch, heads, rows = query.shape[:3]
    count = max(1, _AT_ONCE // (rows * key.shape[2]))
    batches, some = max(1, count // heads), min(count, heads)
    for first in range(0, batch, batches):
        for head in range(0, heads, some):
            yield slice(first, first + batches), slice(head, head + some)


def _scores(part: tuple[slice, slice], query: Array, key: Array, is_causal: bool, attn_mask: Array | None, factor: float) -> Array:
    found: Array = np.matmul(query[part], key[part].swapaxes(-2, -1))
    found *= factor
    if attn_mask is not None:
        found += np.broadcast_to(attn_mask, (*query.shape[:3], key.shape[2]))[part]
    if is_causal:
        rows, columns = found.shape[-2:]
        np.copyto(found, -np.inf, where=np.arange(columns) > np.arange(rows)[:, None])
    return found


def _factor(query: Array, scale: float | None) -> float:
    factor: float = query.dtype.type(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    return factor


def _flash(
    query: Array, key: Array, value: Array, dropout_p: float, is_causal: bool, attn_mask: Array | None,
    scale: float | None,
) -> tuple[Array, Array]:
    """Return the attention and the logarithm of each row's sum of exponentials, which is of float32 where they are of less."""
    if is_reduced(query):
        q, k, v, mask = map(widened, (query, key, value, attn_mask))
        output, logsumexp = _flash(q, k, v, dropout_p, is_causal, mask, scale)
        return cast(output, query.dtype), logsumexp
    batch, heads, rows = query.shape[:3]
    output = np.empty_like(query, shape=(*query.shape[:-1], value.shape[-1]))  # laid out in memory as the query is
    logsumexp = np.empty((batch, rows, heads), query.dtype).swapaxes(1, 2)
    zero, one, factor = query.dtype.type(0), query.dtype.type(1), _factor(query, scale)
    for part in _parts(query, key):
        weights = _scores(part, query, key, is_causal, attn_mask, factor)
        top = np.maximum.reduce(weights, axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isinf(top), zero, top)
        weights -= top
        np.exp(weights, out=weights)
        total = np.add.reduce(weights, axis=-1, keepdims=True)
        logsumexp[part] = (np.log(total) + top)[..., 0]
        weights /= np.where(total == 0, one, total)
        np.matmul(weights, value[part], out=output[part])
    return output, logsumexp


def _flash_backward(
    grad: Array, query: Array, key: Array, value: Array, output: Array, logsumexp: Array, dropout_p: float,
    is_causal: bool, attn_mask: Array | None, scale: float | None,
) -> tuple[Array, Array, Array]:
    factor = _factor(query, scale)
    delta = np.add.reduce(grad * output, axis=-1, keepdims=True)
    by_query, by_key, by_value = (np.empty(one.shape, one.dtype) for one in (query, key, value))
    for part in _parts(query, key):
        weights = _scores(part, query, key, is_causal, attn_mask, factor)
        rows = logsumexp[part][..., None]
        weights -= rows
        np.exp(weights, out=weights)
        np.copyto(weights, 0, where=np.isinf(rows))
        np.matmul(weights.swapaxes(-2, -1), grad[part], out=by_value[part])
        by_scores = np.matmul(grad[part], value[part].swapaxes(-2, -1))
        by_scores -= delta[part]
        by_scores *= weights
        by_scores *= factor
        np.matmul(by_scores, key[part], out=by_query[part])
        np.matmul(by_scores.swapaxes(-2, -1), query[part], out=by_key[part])
    return by_query, by_key, by_value


flash_backward = op(
    "_scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, logsumexp, "
    "dropout_p: float, is_causal: bool, attn_mask: Tensor?, scale: float?)",
    "", "Gradients of attention. They have no derivative of their own.", forward=_flash_backward, spaces=(),
    grads={"grad_out": None, "query": None, "key": None, "value": None, "out": None},
)
flash = op(
    "_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p: float = 0.0, is_causal: bool = False, *, "
    "attn_mask: Tensor? = None, scale: float? = None)",
    "ScaledDotProductFlashAttentionForCpuBackward0", "Attention in one node.", forward=_flash, spaces=(), returns=1,
    outputs=("output", "logsumexp"), forward_mode="refused", reduced="own",
    grads={
        ("query", "key", "value"):
            lambda grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale:
                flash_backward(grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale),
    },
)


def _safe_softmax(self: Array, dim: int) -> Array:
    top = np.maximum.reduce(self, axis=dim, keepdims=True, initial=-np.inf)
    weights = np.exp(self - np.where(np.isinf(top), self.dtype.type(0), top))
    total = np.add.reduce(weights, axis=dim, keepdims=True)
    found: Array = np.where(np.isneginf(top), self.dtype.type(0), weights / total)
    return found


safe_softmax = op(
    "_safe_softmax(self, dim: int)", "SafeSoftmaxBackward0", "Softmax with rows of zeros for rows of -inf.",
    forward=_safe_softmax, spaces=(),
    grads={"self": lambda grad, result, dim: find("_softmax_backward_data")(grad, result, dim)},
)


ALLOWED = "attention"
"""The flag of the ambient value that holds the names of the ways of computing attention that are allowed (None: all)."""


def _additive(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Turn a mask of bools into what is added to the scores: 0 where true, -inf elsewhere."""
    if mask is None or array_of(mask).dtype != np.bool_:
        return mask
    return make(cast(np.where(array_of(mask), 0, -np.inf), array_of(query).dtype))


def _check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    if is_causal and attn_mask is not None:
        raise fail("value", "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    dtypes = {array_of(one).dtype for one in (query, key, value)}
    if len(dtypes) > 1:
        a, b, c = (cpp_name(array_of(one).dtype) for one in (query, key, value))
        message = (
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {a} key.dtype: {b} and "
            f"value.dtype: {c} instead."
        )
        raise fail("dtype", message)
    if any(len(one.shape) < 2 for one in (query, key, value)):
        x, y, z = (len(one.shape) for one in (query, key, value))
        message = (
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim(): "
            f"{x}, key.dim(): {y} and value.dim(): {z} instead."
        )
        raise fail("shape", message)
    if attn_mask is not None:
        kind = array_of(attn_mask).dtype
        if kind != np.bool_ and kind != array_of(query).dtype:
            message = (
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{attn_mask.dtype} and  query.dtype: {query.dtype} instead."
            )
            raise fail("dtype", message)


def _fits_flash(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float) -> bool:
    """Whether PyTorch takes the fused kernel on the CPU."""
    shapes = [tuple(one.shape) for one in (query, key, value)]
    if dropout_p > 0 or any(len(shape) != 4 or 0 in shape for shape in shapes):
        return False
    if isinstance(attn_mask, Tensor) and attn_mask.requires_grad:
        return False
    if not shapes[0][:2] == shapes[1][:2] == shapes[2][:2] or len({shape[3] for shape in shapes}) > 1:
        return False
    if attn_mask is not None and not _mask_fits(tuple(attn_mask.shape), shapes):
        return False
    return all(array_of(one).strides[-1] == array_of(one).itemsize for one in (query, key, value))


def _mask_fits(mask: tuple[int, ...], shapes: list[tuple[int, ...]]) -> bool:
    wanted = (*shapes[0][:2], shapes[0][2], shapes[1][2])
    if len(mask) == 2:
        return all(m in (1, n) for m, n in zip(mask, wanted[2:], strict=True))
    return len(mask) == 4 and all(m in (1, n) for m, n in zip(mask, wanted, strict=True))


def _spelled_out(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Compute attention by operations: products, a sum, a softmax."""
    given = query
    query, key, value = map(in_single, (query, key, value))
    if attn_mask is not None and array_of(attn_mask).dtype.kind == "f":
        attn_mask = in_single(attn_mask)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    root = math.sqrt(abs(factor))
    scaled = times(query, -root if factor < 0 else root)
    matmul = find("matmul")
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        attn_mask = make(np.tri(rows, columns, dtype=np.bool_))
    attn_mask = _additive(attn_mask, query)
    scores = matmul(scaled, times(find("transpose")(key, -2, -1), root))
    if attn_mask is not None:
        scores = find("add_")(scores, attn_mask)
    weights = safe_softmax(scores, -1)
    if dropout_p > 0:
        weights = find("dropout")(weights, dropout_p, True)
    return find("type_as")(matmul(weights, value), given)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> Tensor:
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        repeat, heads = find("repeat_interleave"), query.shape[-3]
        key = repeat(key, heads // key.shape[-3], -3)
        value = repeat(value, heads // value.shape[-3], -3)
    allowed = current().flags.get(ALLOWED)
    if _fits_flash(query, key, value, attn_mask, dropout_p) and (allowed is None or "FLASH_ATTENTION" in allowed):
        return flash(query, key, value, dropout_p, is_causal, attn_mask=_additive(attn_mask, query), scale=scale)
    if allowed is not None and "MATH" not in allowed:
        message = (
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel "
            "and the fused kernels."
        )
        raise fail("value", message)
    return _spelled_out(query, key, value, attn_mask, dropout_p, is_causal, scale)


scaled_dot_product_attention = composite(
    "scaled_dot_product_attention(query, key, value, attn_mask: Tensor? = None, dropout_p: float = 0.0, "
    "is_causal: bool = False, *, scale: float? = None, enable_gqa: bool = False)",
    "softmax(query keyᵀ / √width + mask) value.", _attention, ("F",),
    samples=(sample((2, 3, 4), (2, 5, 4), (2, 5, 4)),),
    note="Inputs of 4 dims run in one node, which saves query, key, value, output and logsumexp whichever needs a gradient and has "
         "no second derivative; others, and masks that need a gradient, take the expanded path.",
)
