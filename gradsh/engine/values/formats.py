"""Layouts and memory formats as values."""


class _Named:
    """A value that prints as PyTorch's name for it."""

    __slots__ = ("name",)
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class MemoryFormat(_Named):
    """How the dimensions of a tensor lie in memory: `torch.contiguous_format` and its like."""

    __slots__ = ()


class TensorLayout(_Named):
    """How a tensor keeps its elements: all of gradsh's are strided."""

    __slots__ = ()


strided = TensorLayout("strided")
