"""MultiheadAttention: queries look at keys and return mixtures of values, in several heads."""

import math
from typing import Any

import numpy as np

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.declared import functional
from gradsh.api.nn.linear import Linear
from gradsh.api.nn.module import Module
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.text.fault import fail


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch's repr of attention shows."""


def float_mask(mask: Any, name: str, like: Tensor, other: Any = None, other_name: str = "") -> Any:
    """Return a mask to be added: a bool mask becomes -inf where it is True."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.array.dtype != np.bool_:
        raise fail("dtype", f"only bool and floating types of {name} are supported", AssertionError, tensor=mask)
    if other is not None and other.dtype != mask.dtype:
        current().warning(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead."
        )
    return make(np.where(mask.array, -np.inf, 0).astype(like.array.dtype))


class MultiheadAttention(Module):
    """Attention over (L, N, E), (N, L, E) with batch_first, or (L, E)."""

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: object = None, dtype: object = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            message = (
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
            raise fail("value", message, ValueError)
        super().__init__()
        kind = factory(device, dtype)
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise fail("value", "embed_dim must be divisible by num_heads", AssertionError)
        self._add_projections(kind)
        self.register_parameter("in_proj_bias", blank((3 * embed_dim,), kind) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k = blank((1, 1, embed_dim), kind) if add_bias_kv else None
        self.bias_v = blank((1, 1, embed_dim), kind) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _add_projections(self, kind: object) -> None:
        size = self.embed_dim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = blank((3 * size, size), kind)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = blank((size, size), kind)
            self.k_proj_weight = blank((size, self.kdim), kind)
            self.v_proj_weight = blank((size, self.vdim), kind)
            self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    # --- forward -------------------------------------------------------------------------------------------------------

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: object = None, need_weights: bool = True,
        attn_mask: object = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[object, object]:
        """Return the attention's output and, if `need_weights`, the weights (mean over heads, or each head's)."""
        padding = float_mask(key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask")
        mask = float_mask(attn_mask, "attn_mask", query)
        batched = query.ndim == 3
        self._check_shapes(query, key, value, padding, mask)
        turned = self.batch_first and batched
        if turned:
            query, key, value = _turned(query, key, value)
        if not batched:
            query, key, value = (one.unsqueeze(1) for one in (query, key, value)) if not query is key is value else (
                query.unsqueeze(1),) * 3
            padding = None if padding is None else padding.unsqueeze(0)
        if is_causal and mask is None:
            message = (
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                "`generate_square_subsequent_mask` to create this mask."
            )
            raise fail("value", message)
        hinted = is_causal and padding is None and not need_weights
        output, weights = self._attend(query, key, value, padding, None if hinted else mask, need_weights, hinted)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            output = output.squeeze(1)
            weights = None if weights is None else weights.squeeze(0)
        return (output.transpose(1, 0) if turned else output), weights

    def _check_shapes(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
    ) -> None:
        dims = query.ndim
        if dims not in {2, 3}:
            message = f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
            raise fail("shape", message, AssertionError, tensor=query)
        sort = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
        if key.ndim != dims or value.ndim != dims:
            message = (
                f"For {sort} `query`, expected `key` and `value` to be {dims}-D but found {key.ndim}-D and {value.ndim}-D "
                "tensors respectively"
            )
            raise fail("shape", message, AssertionError, tensor=key)
        if padding is not None and padding.ndim != dims - 1:
            message = (
                f"For {sort} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {padding.ndim}-D "
                "tensor instead"
            )
            raise fail("shape", message, AssertionError, tensor=padding)
        if mask is not None and mask.ndim not in {2, 3}:
            message = f"For {sort} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead"
            raise fail("shape", message, AssertionError, tensor=mask)
        if query.shape[-1] != self.embed_dim:
            message = f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}"
            raise fail("shape", message, AssertionError, tensor=query)
        if self._qkv_same_embed_dim and key.shape != value.shape:
            message = f"key shape {key.shape} does not match value shape {value.shape}"
            raise fail("shape", message, AssertionError, tensor=key)

    def _project(self, query: object, key: object, value: object) -> tuple[Any, Any, Any]:
        linear = find("linear")
        bias, weight, size = self.in_proj_bias, self.in_proj_weight, self.embed_dim
        if weight is None:
            biases = (None,) * 3 if bias is None else bias.chunk(3)
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
            found = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
            return found[0], found[1], found[2]
        if key is value and query is key:
            parts = _parts(linear(query, weight, bias), 3, size)
            return parts[0], parts[1], parts[2]
        if key is value:
            w_q, w_rest = weight.split([size, size * 2])
            b_q, b_rest = (None, None) if bias is None else bias.split([size, size * 2])
            q = linear(query, w_q, b_q)
            parts = _parts(linear(key, w_rest, b_rest), 2, size)
            return q, parts[0], parts[1]
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        found = [linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True)]
        return found[0], found[1], found[2]

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Tensor | None, need_weights: bool, is_causal: bool
    ) -> tuple[Any, Any]:
        targets, batch, size = query.shape
        heads, width = self.num_heads, self.head_dim
        q, k, v = self._project(query, key, value)
        mask = self._shaped_mask(mask, batch, targets, key.shape[0])
        k, v, mask, padding = self._extended(k, v, mask, padding, batch)
        q = q.view(targets, batch * heads, width).transpose(0, 1)
        k = k.view(k.shape[0], batch * heads, width).transpose(0, 1)
        v = v.view(v.shape[0], batch * heads, width).transpose(0, 1)
        k, v, mask, padding = self._with_zeros(k, v, mask, padding, batch)
        sources = k.shape[1]
        if padding is not None:
            padding = padding.view(batch, 1, 1, sources).expand(-1, heads, -1, -1).reshape(batch * heads, 1, sources)
            mask = padding if mask is None else mask + padding
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scaled = q * math.sqrt(1.0 / float(width))
            turned = k.transpose(-2, -1)
            scores = find("bmm")(scaled, turned) if mask is None else find("baddbmm")(mask, scaled, turned)
            weights = find("softmax")(scores, -1)
            if dropout > 0.0:
                weights = functional("dropout")(weights, p=dropout)
            output = find("bmm")(weights, v).transpose(0, 1).reshape(targets * batch, size)
            weights = weights.view(batch, heads, targets, sources)
        else:
            if mask is not None:
                mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.view(batch, heads, -1, sources)
            q, k, v = (one.view(batch, heads, -1, width) for one in (q, k, v))
            output = functional("scaled_dot_product_attention")(q, k, v, mask, dropout, is_causal)
            output = output.permute(2, 0, 1, 3).reshape(batch * targets, size)
        output = self.out_proj._within(find("linear"), output, self.out_proj.weight, self.out_proj.bias)
        return output.view(targets, batch, output.shape[1]), weights

    def _shaped_mask(self, mask: Tensor | None, batch: int, targets: int, sources: int) -> Tensor | None:
        if mask is None:
            return None
        expected = (targets, sources) if mask.ndim == 2 else (batch * self.num_heads, targets, sources)
        if mask.shape != expected:
            message = f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {expected}."
            raise fail("shape", message, tensor=mask)
        return mask.unsqueeze(0) if mask.ndim == 2 else mask

    def _extended(self, k: object, v: object, mask: object, padding: object, batch: int) -> tuple[Any, Any, Any, Any]:
        """Add the learned key and value at the end of the sequence."""
        if self.bias_k is None or self.bias_v is None:
            return k, v, mask, padding
        cat = find("cat")
        k, v = cat([k, self.bias_k.repeat(1, batch, 1)]), cat([v, self.bias_v.repeat(1, batch, 1)])
        return k, v, _padded(mask), _padded(padding)

    def _with_zeros(self, k: Tensor, v: object, mask: object, padding: object, batch: int) -> tuple[Any, Any, Any, Any]:
        """Add a key and value of zeros at the end of the sequence."""
        if not self.add_zero_attn:
            return k, v, mask, padding
        zeros = make(np.zeros((batch * self.num_heads, 1, self.head_dim), k.array.dtype))
        cat = find("cat")
        return cat([k, zeros], 1), cat([v, zeros], 1), _padded(mask), _padded(padding)


def _padded(mask: object) -> object:
    return None if mask is None else functional("pad")(mask, (0, 1))


def _parts(projected: Tensor, count: int, size: int) -> Tensor:
    return projected.unflatten(-1, (count, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return (time, batch, features) of all three, keeping one tensor where they were one."""
    if key is value:
        if query is key:
            query = key = value = query.transpose(1, 0)
        else:
            query, key = query.transpose(1, 0), key.transpose(1, 0)
            value = key
        return query, key, value
    return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
