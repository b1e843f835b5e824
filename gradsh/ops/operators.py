"""How operators reach operations: `a + b` refuses what is neither tensor nor number, as PyTorch's does."""


import numpy as np

from gradsh.engine.dispatch.declare import binary_operator, implements
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find

FIT = (Tensor, int, float, np.generic)
"""What stands beside a tensor. An array does not: numpy's own operator takes the tensor as an array, or refuses.
Only `==` compares a tensor with an array, as in PyTorch."""


def binary(symbol: str, operation: Operation, reflected: bool = False) -> None:
    """Make `operation` the operator `symbol` between a tensor and a tensor or number; reflected, of a number on the left."""

    @implements(symbol, reflected=reflected)
    def operator(self: Tensor, other: ArrayOrTensor | float) -> Tensor:
        if isinstance(other, FIT):
            return operation(self, other)
        return operation(self, make(other)) if symbol == "eq" and isinstance(other, np.ndarray) else NotImplemented

    binary_operator(operator, operation)


def exchanged(symbol: str, operation: Operation) -> None:
    """Make `operation` also the operator of a number on the left, its first operand."""

    @implements(symbol, reflected=True)
    def operator(self: Tensor, other: int) -> Tensor:
        return operation(other, self) if isinstance(other, FIT) else NotImplemented


def inplace(symbol: str, method: str = "") -> None:
    """Make the in-place form the augmented assignment (`x += y` writes into x)."""
    name = method or symbol + "_"

    @implements("i" + symbol)
    def operator(self: Tensor, other: Tensor | float) -> Tensor:
        return find(name)(self, other) if isinstance(other, FIT) else NotImplemented
