"""Embedding and EmbeddingBag."""

from typing import Any

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.declared import functional
from gradsh.api.nn.module import Module, differing
from gradsh.engine.graph.tensor import Parameter, Tensor, written
from gradsh.text.fault import fail


class _Table(Module):
    """A matrix of rows, one of which may stand for nothing."""

    def _take(self, rows: int, columns: int, padding_idx: int | None, weight: Any, kind: object, freeze: bool = False) -> None:
        self.num_embeddings = rows
        self.embedding_dim = columns
        self.padding_idx = _padding(padding_idx, rows)
        if weight is None:
            self.weight = blank((rows, columns), kind).requires_grad_(not freeze)
            self.reset_parameters()
        elif list(weight.shape) != [rows, columns]:
            raise fail("shape", "Shape of weight does not match num_embeddings and embedding_dim", AssertionError)
        else:
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the rows; that of padding_idx is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.array[self.padding_idx] = 0
            written(self.weight)


class Embedding(_Table):
    """A row of `weight` (num_embeddings, embedding_dim) for each index."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: object = None,
        _freeze: bool = False, device: object = None, dtype: object = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._take(num_embeddings, embedding_dim, padding_idx, _weight, factory(device, dtype), _freeze)

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows at the indices: (…) to (…, embedding_dim)."""
        return functional("embedding")(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """Return the sizes and what differs from the defaults."""
        return f"{self.num_embeddings}, {self.embedding_dim}" + differing(
            self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False,
        )

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, **settings: Any
    ) -> Module:
        """Make one from a matrix of rows."""
        if embeddings.ndim != 2:
            raise fail("shape", "Embeddings parameter is expected to be 2-dimensional", AssertionError)
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze, **settings)


def _padding(index: int | None, rows: int) -> int | None:
    if index is None:
        return None
    if not -rows <= index < rows:
        raise fail("index", "Padding_idx must be within num_embeddings", AssertionError)
    return index % rows


class EmbeddingBag(_Table):
    """The sum, mean or largest of the rows at the indices of each bag."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: object = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: object = None, dtype: object = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._take(num_embeddings, embedding_dim, padding_idx, _weight, factory(device, dtype))

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        mode: str = "mean", sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None,
    ) -> Module:
        """Make one from a matrix of rows."""
        if embeddings.ndim != 2:
            raise fail("shape", "Embeddings parameter is expected to be 2-dimensional", AssertionError)
        made = cls(
            embeddings.shape[0], embeddings.shape[1], max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
            include_last_offset, padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: object = None) -> Tensor:
        """Return one row for each bag."""
        return functional("embedding_bag")(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return the sizes and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += differing(self, max_norm=None, norm_type=2, scale_grad_by_freq=False) + f", mode={self.mode!r}"
        return text + differing(self, padding_idx=None)
