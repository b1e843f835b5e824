"""PyTorch's nodes and tensors as subclasses of the engine's: each attribute that a probe reads, answered from PyTorch's object."""

from collections.abc import Sequence
from typing import Any

import torch

from gradsh.engine.graph.node import FREED_SENTENCE, Node
from gradsh.engine.graph.saved import FreedVariables, SavedTensor, SavedVariable
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.lens.arrays import dtype_of
from gradsh.lens.saved_tensors import TorchSaved
from gradsh.text.fault import fail


class TorchNode(Node):
    """A node of PyTorch's graph."""

    __slots__ = ("_entries", "found", "title", "torch")

    torch: Any
    found: tuple[TorchSaved, ...]
    title: str
    _entries: Any

    @property
    def outputs(self) -> Any:
        """(shape, dtype) of each output."""
        try:
            return tuple((tuple(one.shape), dtype_of(one.dtype)) for one in self.torch._input_metadata)
        except (AttributeError, RuntimeError):
            return ()

    def name(self) -> str:
        return self.title

    def saved_names(self) -> Sequence[str]:
        return tuple(dict.fromkeys(saved.name for saved in self.found))

    @property
    def saved(self) -> tuple[SavedTensor, ...]:
        return self.found

    @property
    def entries(self) -> Any:
        if self._entries is None:
            self._entries = self._made_entries()
        return self._entries

    @entries.setter
    def entries(self, value: object) -> None:
        self._entries = value

    def _made_entries(self) -> object:
        if all(saved.index is None and not saved.freed for saved in self.found):
            return tuple([saved.kept for saved in self.found])
        freed = [saved for saved in self.found if saved.freed]
        slots: dict[str, Any] = {}
        for saved in freed or self.found:
            what = (saved.shape, saved.dtype) if freed else saved.kept
            if saved.index is None:
                slots[saved.name] = what
            else:
                slots.setdefault(saved.name, []).append(what)
        return FreedVariables(freed[0].freed_where, tuple(slots.values())) if freed else tuple(slots.values())

    def unpack(self, index: int, as_tensor: bool) -> object:
        """Refuse: saved tensors freed."""
        del as_tensor
        raise fail("freed", FREED_SENTENCE, node=self, index=index, freed_where=self.entries.location)

    def modified(self, kept: SavedVariable, index: int) -> Exception:
        """Return the error for a saved tensor that was modified in place."""
        return fail(
            "version", "one of the variables needed for gradient computation has been modified by an inplace operation",
            node=self, index=index, name=self.saved_names()[index], expected=kept.version, actual=kept.counter.version,
            writes=kept.counter.writes_since(kept.version),
        )


class TorchTensor(Tensor):
    """A tensor of PyTorch's."""

    __slots__ = ("_base", "poisoned", "torch")

    torch: torch.Tensor
    poisoned: bool

    def _ask(self, name: str) -> Any:
        with torch._C.DisableTorchFunction():
            return getattr(self.torch, name)

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted for it, or flows through it."""
        return bool(self._ask("requires_grad"))

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it. Raises RuntimeError where PyTorch does: of a view that became invalid."""
        if self.poisoned:
            self._ask("grad_fn")
        return None if self.edge is None else self.edge[0]

    @property
    def is_leaf(self) -> bool:
        return bool(self._ask("is_leaf"))

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated so far."""
        return None if self.meta is None else self.meta.grad

    @property
    def _version(self) -> int:
        return int(self._ask("_version"))

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def __repr__(self) -> str:
        with torch._C.DisableTorchFunction():
            return repr(self.torch)


class TorchParameter(TorchTensor, Parameter):
    """A parameter of a PyTorch module."""

    __slots__ = ()
