"""What a backward pass did, told from inside it: nodes run, buffers freed and kept, leaves written, bytes given back."""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from gradsh.engine.autograd.backward_pass import Observer
from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.dispatch.views import CopySlices
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import FreedVariables, SavedTensor, SavedVariable
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.storage import owner_of
from gradsh.probe.names import Names
from gradsh.probe.places import Lines
from gradsh.probe.snapshot import node_name
from gradsh.text.tuples import NamedTuple


class Buffer(NamedTuple):
    """A saved tensor in the account of a pass: its node and name, bytes of the tensor, who still holds its memory.

    Of a `packed` one, which a hook or a checkpoint had in hand, nobody can tell what its memory is.
    """

    node: str
    name: str
    nbytes: int
    line: int | None
    held_by: tuple[str, ...] = ()
    packed: bool = False


class Written(NamedTuple):
    """A leaf whose `.grad` was set (`first`) or added to."""

    name: str
    first: bool


class PassReport(NamedTuple):
    """One backward pass. `gave_back` counts the bytes of memories that nothing holds any more."""

    ran: int
    freed: tuple[Buffer, ...]
    kept: tuple[Buffer, ...]
    kept_because: str
    wrote: tuple[Written, ...]
    gave_back: int
    saving_nodes: int
    retained: tuple[str, ...] = ()
    """names of the non-leaves whose gradient retain_grad kept"""
    kept_in: int = 0
    """bytes of the memories that the kept ones stand in, each once"""


class _Noted(NamedTuple):
    """A saved tensor noted before it is freed, holding its memory weakly."""

    node: str
    name: str
    nbytes: int
    line: int | None
    key: int
    size: int
    memory: Any


def _noted(node: Node, line: int | None) -> list[_Noted]:
    title = node_name(node) or ""
    found = []
    for name, array, nbytes in live_entries(node):
        if array is None:
            found.append(_Noted(title, name, nbytes, line, 0, 0, None))
        else:
            owner = owner_of(array)
            found.append(_Noted(title, name, nbytes, line, id(owner), owner.nbytes, weakref.ref(owner)))
    return found


def live_entries(node: Node) -> list[tuple[str, Any, int]]:
    """Return (name, array, bytes) of a node's live saved tensors; the array is None where a hook packed it."""
    if type(node) is CompactNode and node.live_arrays() is not None:
        slots = zip(node.record.plan.names, node.slots() if node.raw else (), strict=False)
        return [(name, array, array.nbytes) for name, (array, _, _) in slots if array is not None]
    holder: Node = node.function if type(node) is CopySlices else node
    entries = holder.entries
    if not entries or type(entries) is FreedVariables:
        return []
    found: list[tuple[str, Any, int]] = []
    for name, entry in zip(holder.saved_names(), entries, strict=False):
        if type(entry) is SavedVariable and entry.array is not None:
            found.append((name, entry.array, entry.array.nbytes))
        elif entry is not None:
            found += [(saved_title(one), one.array, one.nbytes) for one in holder.saved if one.name == name]
    return found


def saved_inside(node: Node) -> tuple[SavedTensor, ...]:
    """Return a node's saved tensors; of a CopySlices node those of the write inside it, which PyTorch hides."""
    return node.function.saved if type(node) is CopySlices else node.saved


def saved_title(saved: SavedTensor) -> str:
    """Return the name of a saved tensor, with its place where an entry is a list."""
    return saved.name if saved.index is None else f"{saved.name}[{saved.index}]"


def saves(node: Node) -> bool:
    """Whether a node saved anything, freed or not."""
    if isinstance(node, CompactNode) and not node.freed:
        return bool(node.has_saved())
    holder: Node = node.function if type(node) is CopySlices else node
    entries = holder.entries
    slots = entries.shapes if type(entries) is FreedVariables else entries
    return any(one is not None and one != [] for one in slots)  # a custom function's list of saved tensors may be empty


class Recorder(Observer):
    """Notes what a pass does."""

    __slots__ = ("freed", "kept", "line_of", "pinned", "ran", "saving", "written")

    def __init__(self, line_of: Any) -> None:
        self.line_of = Lines(line_of).of
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
        self.saving += saves(node)

    def frees(self, node: Node) -> None:
        """Note the saved tensors while they are there."""
        line = self.line_of(node.location)
        self.freed += _noted(node, line)

    def keeps(self, node: Node) -> None:
        """Note what stays."""
        line = self.line_of(node.location)
        self.pinned = self.pinned or node.pins > 0
        self.kept += _noted(node, line)

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
                given[id(one.memory)] = one.size  # the address of a memory that died may be another's by now
            elif not holders:
                holders = ("the graph",)
            freed.append(Buffer(one.node, one.name, one.nbytes, one.line, holders, one.memory is None))
        kept = tuple(Buffer(one.node, one.name, one.nbytes, one.line) for one in self.kept)
        because = "" if not kept else f"pinned by {', '.join(pins)}" if self.pinned else "--retain"
        wrote = tuple(Written(names.of_leaf(leaf), first) for leaf, first in self.written)
        return PassReport(
            self.ran + len({id(leaf) for leaf, _ in self.written}), tuple(freed), kept, because, wrote,
            sum(given.values()), self.saving, kept_in=sum({one.key: one.size for one in self.kept}.values()),
        )

