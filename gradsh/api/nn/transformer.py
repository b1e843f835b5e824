"""Transformer encoder and decoder layers, and stacks of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.api.copying import deepcopy
from gradsh.api.nn import init
from gradsh.api.nn.attention import MultiheadAttention, float_mask
from gradsh.api.nn.container import ModuleList
from gradsh.api.nn.conversion import factory
from gradsh.api.nn.declared import functional
from gradsh.api.nn.dropout import Dropout
from gradsh.api.nn.linear import Linear
from gradsh.api.nn.module import Module
from gradsh.api.nn.normalization import LayerNorm
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail

Activation = str | Callable[[Any], Any]


def _activation(given: Activation | None) -> Callable[[Any], Any]:
    if given is None:
        return functional("relu")
    if not isinstance(given, str):
        return given
    if given not in {"relu", "gelu"}:
        raise fail("value", f"activation should be relu/gelu, not {given}")
    return functional(given)


class _Layer(Module):
    """What both sorts of layers share: a feed-forward block and normalisation before or after each block."""

    norms = 2

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation | None = None, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        own = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **own)
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **own)
        self.linear1 = Linear(d_model, dim_feedforward, **own)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **own)
        self.norm_first = norm_first
        numbers = range(1, self.norms + 1)
        for number in numbers:
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, **own))
        for number in numbers:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def _block(self, number: int, x: object, compute: Callable[[Any], object]) -> Tensor:
        """Add a block's result to its input, normalised before or after."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + drop(compute(norm(x)))
        return norm(x + drop(compute(x)))

    def _feed_forward(self, x: object) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward block."""

    def forward(self, src: Any, src_mask: Tensor | None = None, src_key_padding_mask: object = None, is_causal: bool = False) -> Any:
        """Return the encoded sequence."""
        padding = float_mask(src_key_padding_mask, "src_key_padding_mask", src, src_mask, "src_mask")
        mask = float_mask(src_mask, "src_mask", src)

        def attend(x: object) -> Tensor:
            return self.self_attn(
                x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal
            )[0]

        return self._block(2, self._block(1, src, attend), self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward block."""

    norms = 3

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: object = None, memory_mask: object = None, tgt_key_padding_mask: object = None,
        memory_key_padding_mask: object = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:
        """Return the decoded sequence."""

        def attend(x: object) -> Any:
            return self.self_attn(
                x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask, is_causal=tgt_is_causal,
                need_weights=False,
            )[0]

        def look(x: object) -> Any:
            return self.multihead_attn(
                x, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_key_padding_mask,
                is_causal=memory_is_causal, need_weights=False,
            )[0]

        return self._block(3, self._block(2, self._block(1, tgt, attend), look), self._feed_forward)


def _hides_later(size: int, kind: Any) -> Array:
    return np.triu(np.full((size, size), -np.inf).astype(kind), 1)


def _is_causal(mask: Any, given: bool | None, sequence: Tensor, layer: Module) -> bool:
    """Whether a mask hides exactly what comes later in the sequence, and nothing else."""
    if given is not None or mask is None:
        return bool(given)
    size = sequence.shape[1 if sequence.ndim == 3 and layer.self_attn.batch_first else 0]
    return np.array_equal(mask.array, _hides_later(size, mask.array.dtype))


class _Stack(Module):
    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _finished(self, output: object) -> object:
        return output if self.norm is None else self.norm(output)


class TransformerEncoder(_Stack):
    """A stack of copies of an encoder layer."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(self, src: Any, mask: Tensor | None = None, src_key_padding_mask: object = None, is_causal: bool | None = None) -> Any:
        """Return the encoded sequence."""
        padding = float_mask(src_key_padding_mask, "src_key_padding_mask", src, mask, "mask")
        mask = float_mask(mask, "mask", src)
        causal = _is_causal(mask, is_causal, src, self.layers[0])
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return self._finished(src)


class TransformerDecoder(_Stack):
    """A stack of copies of a decoder layer."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: object = None, memory_mask: object = None, tgt_key_padding_mask: object = None,
        memory_key_padding_mask: object = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:
        """Return the decoded sequence."""
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0])
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal,
            )
        return self._finished(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation | None = None,
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        own = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*sizes, device, dtype)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, **own))
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, device, dtype)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model, **own))
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self, src: Any, tgt: Any, src_mask: object = None, tgt_mask: object = None, memory_mask: object = None,
        src_key_padding_mask: object = None, tgt_key_padding_mask: object = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Any:
        """Return the decoded sequence."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise fail("shape", "the batch number of src and tgt must be equal", tensor=src)
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise fail("shape", "the feature number of src and tgt must be equal to d_model", tensor=src)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: object = None, dtype: object = None) -> Tensor:
        """Return the mask that hides what comes later: -inf above the diagonal, 0 elsewhere."""
        return make(_hides_later(sz, factory(device, dtype)))
