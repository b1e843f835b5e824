"""What a backward pass did, told from inside it: nodes run, buffers freed and kept, leaves written, bytes given back."""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradsh.engine.backward import Observer
from gradsh.engine.node import Node, SavedTensor
from gradsh.engine.storage import memory_bytes, memory_key, owner_of
from gradsh.engine.tensor import Tensor
from gradsh.probe.names import Names
from gradsh.probe.snapshot import node_name


@dataclass(frozen=True, slots=True)
class Buffer:
    """A saved tensor in the account of a pass: its node and name, bytes of the tensor, who still holds its memory."""

    node: str
    name: str
    nbytes: int
    line: int | None
    held_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A leaf whose `.grad` was set (`first`) or added to."""

    name: str
    first: bool


@dataclass(frozen=True, slots=True)
class PassReport:
    """One backward pass. `gave_back` counts the bytes of memories that nothing holds any more."""

    ran: int
    freed: tuple[Buffer, ...]
    kept: tuple[Buffer, ...]
    kept_because: str
    wrote: tuple[Written, ...]
    gave_back: int
    saving_nodes: int
    retained: tuple[str, ...] = field(default=())
    """names of the non-leaves whose gradient retain_grad kept"""


class _Noted:
    """A saved tensor noted before it is freed, holding its memory weakly."""

    __slots__ = ("key", "line", "memory", "name", "nbytes", "node", "size")

    def __init__(self, node: Node, saved: SavedTensor, line: int | None) -> None:
        self.node = node_name(node) or ""
        self.name = saved_title(saved)
        self.nbytes = saved.nbytes
        self.line = line
        self.key = 0
        self.size = 0
        self.memory: Any = None
        if saved.array is not None:
            self.key = memory_key(saved.array)
            self.size = memory_bytes(saved.array)
            self.memory = weakref.ref(owner_of(saved.array))


def saved_inside(node: Node) -> tuple[SavedTensor, ...]:
    """Return a node's saved tensors; of a CopySlices node those of the write inside it, which PyTorch hides."""
    inner = getattr(node, "function", None)
    if isinstance(inner, Node):
        return inner.saved
    return node.saved


def saved_title(saved: SavedTensor) -> str:
    """Return the name of a saved tensor, with its place where an entry is a list."""
    return saved.name if saved.index is None else f"{saved.name}[{saved.index}]"


class Recorder(Observer):
    """Notes what a pass does."""

    __slots__ = ("freed", "kept", "line_of", "pinned", "ran", "saving", "written")

    def __init__(self, line_of: Any) -> None:
        self.line_of = line_of
        self.ran = 0
        self.saving = 0
        self.freed: list[_Noted] = []
        self.kept: list[_Noted] = []
        self.pinned = False
        self.written: list[tuple[Tensor, bool]] = []

    def before(self, node: Node, grads: Sequence[Any]) -> None:
        """Count the node."""
        del grads
        self.ran += 1
        self.saving += bool(saved_inside(node))

    def frees(self, node: Node) -> None:
        """Note the saved tensors while they are there."""
        line = self.line_of(node.where)
        self.freed += [_Noted(node, saved, line) for saved in saved_inside(node) if not saved.freed]

    def keeps(self, node: Node) -> None:
        """Note what stays."""
        line = self.line_of(node.where)
        self.pinned = self.pinned or node.pins > 0
        self.kept += [_Noted(node, saved, line) for saved in saved_inside(node) if not saved.freed]

    def wrote(self, leaf: Tensor, first: bool) -> None:
        """Note a written leaf."""
        self.written.append((leaf, first))

    def report(self, variables: Mapping[str, object], pins: Sequence[str] = ()) -> PassReport:
        """Return the account, with the names that hold what memories now."""
        names = Names(variables)
        given: dict[int, int] = {}
        freed = []
        for one in self.freed:
            alive = one.memory is not None and one.memory() is not None
            holders = names.of_memory(one.key) if alive else ()
            if not alive:
                given[one.key] = one.size
            elif not holders:
                holders = ("the graph",)
            freed.append(Buffer(one.node, one.name, one.nbytes, one.line, holders))
        kept = tuple(Buffer(one.node, one.name, one.nbytes, one.line) for one in self.kept)
        because = "" if not kept else f"pinned by {', '.join(pins)}" if self.pinned else "--retain"
        wrote = tuple(Written(names.of_leaf(leaf), first) for leaf, first in self.written)
        return PassReport(
            self.ran + len({id(leaf) for leaf, _ in self.written}), tuple(freed), kept, because, wrote,
            sum(given.values()), self.saving,
        )

