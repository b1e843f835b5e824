"""Who holds a memory of PyTorch's, by PyTorch's own counts of tensors and references."""

import sys
from collections.abc import Set
from functools import cache
from typing import Any

import torch

from gradsh.lens import older
from gradsh.lens.arrays import TorchArray


def storage_uses(key: int) -> int | None:
    """Return how many tensors of PyTorch's stand in a storage; None where PyTorch does not tell."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    if count is None or key < 0:
        return None
    known = torch.empty(1)  # what Python's own object of a storage counts is found out with one tensor's
    return int(count(key)) - int(count(known.untyped_storage()._cdata)) + 1


@cache
def _own_references() -> int:
    """Return the references that Python counts of a tensor which one node saved and one variable of ours holds."""
    with torch.enable_grad():
        node: Any = torch.ones(1, requires_grad=True).exp().grad_fn
    data = torch.ones(1) if older.NEEDED else node._raw_saved_result.data
    return sys.getrefcount(data)


def only_these(arrays: list[TorchArray], copies: Set[int]) -> bool:
    """Whether the entries of these arrays are all that holds their storage. `copies` are ids of tensors beside the saved ones."""
    tensors: dict[int, int] = {}
    for array in arrays:
        tensors[id(array.tensor)] = tensors.get(id(array.tensor), 0) + 1
    if storage_uses(arrays[0].base.key) != len(tensors) + len(copies & tensors.keys()):
        return False
    for array in arrays:
        tensor = array.tensor
        if id(tensor) in copies:
            continue
        entries = tensors[id(tensor)]
        uses = tensor._use_count() if hasattr(torch.Tensor, "_use_count") else None  # type: ignore[union-attr]
        if uses != entries + 1 or sys.getrefcount(tensor) > 1 + _own_references():  # one array stands for all entries
            return False
    return True
