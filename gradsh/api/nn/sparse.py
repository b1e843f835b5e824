"""Embedding and EmbeddingBag."""

from typing import Any

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.declared import functional
from gradsh.api.nn.module import Module, differing
from gradsh.engine.ambient import grad_mode
from gradsh.engine.graph.tensor import Parameter, written
from gradsh.text.fault import fail


class Embedding(Module):
    """A row of `weight` (num_embeddings, embedding_dim) for each index."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _padding(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            self.weight = blank((num_embeddings, embedding_dim), factory(device, dtype)).requires_grad_(not _freeze)
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                message = "Shape of weight does not match num_embeddings and embedding_dim"
                raise fail("shape", message, AssertionError)
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw the rows; that of padding_idx is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with grad_mode(False):
                self.weight.array[self.padding_idx] = 0
                written(self.weight)

    def forward(self, input: Any) -> Any:
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
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, **settings: Any) -> Any:
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


class EmbeddingBag(Module):
    """The sum, mean or largest of the rows at the indices of each bag."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = _padding(padding_idx, num_embeddings)
        if _weight is None:
            self.weight = blank((num_embeddings, embedding_dim), factory(device, dtype))
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draw the rows; that of padding_idx is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.array[self.padding_idx] = 0
            written(self.weight)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Return one row for each bag."""
        return functional("embedding_bag")(
            input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return the sizes and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += differing(self, max_norm=None, norm_type=2, scale_grad_by_freq=False) + f", mode={self.mode!r}"
        return text + differing(self, padding_idx=None)
