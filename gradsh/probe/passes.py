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
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import owner_of
from gradsh.probe.names import Names
from gradsh.probe.places import LineTable
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


class Buffers(dict[tuple[Any, ...], Buffer]):
    """Fields of a `Buffer` -> the one with these: a graph has many that are alike, which are told as one."""

    def __missing__(self, fields: tuple[Any, ...]) -> Buffer:
        """Make the first of its kind."""
        one = self[fields] = Buffer(*fields)
        return one


_Noted = tuple[Buffer, Any, int]
"""A saved tensor noted before it is freed, its memory (weakly held; None: packed), and the bytes of that."""


def live_entries(node: Node) -> list[tuple[str, Array | None, int]]:
    """Return (name, array, bytes) of a node's live saved tensors; the array is None where a hook packed it."""
    if type(node) is CompactNode and (slots := node.live_slots()) is not None:
        return [(name, array, bytes_of(array)) for name, array, _, _ in slots]
    holder: Node = node.function if type(node) is CopySlices else node
    entries = holder.entries
    if not entries or type(entries) is FreedVariables:
        return []
    found: list[tuple[str, Any, int]] = []
    for name, entry in zip(holder.saved_names(), entries, strict=False):
        if type(entry) is SavedVariable and entry.array is not None:
            found.append((name, entry.array, bytes_of(entry.array)))
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

    __slots__ = ("_alike", "freed", "kept", "line_of", "pinned", "ran", "saving", "written")

    def __init__(self, line_of: Any) -> None:
        self.line_of = LineTable(line_of).of
        self.ran = 0
        self.saving = 0
        self.freed: list[_Noted] = []
        self.kept: list[_Noted] = []
        self.pinned = False
        self.written: list[tuple[Tensor, bool]] = []
        self._alike = Buffers()

    def passes_by(self, node: Node, keeps: bool) -> bool:
        """Count the node and note what it saved, before it runs; the gradients are not looked at."""
        self.ran += 1
        if node.has_saved():
            self.saving += 1
            (self.keeps if keeps else self.frees)(node)
        else:
            self.saving += saves(node)
        return True

    def before(self, node: Node, grads: Sequence[object]) -> None:
        """Count the node."""
        del grads
        self.ran += 1
        self.saving += saves(node)

    def frees(self, node: Node) -> None:
        """Note the saved tensors while they are there."""
        self._note(node, self.freed)

    def keeps(self, node: Node) -> None:
        """Note what stays."""
        self.pinned = self.pinned or node.pins > 0
        self._note(node, self.kept)

    def _note(self, node: Node, noted: list[_Noted]) -> None:
        title, line, alike = node_name(node) or "", self.line_of(node.location), self._alike
        for name, array, nbytes in live_entries(node):
            if array is None:
                noted.append((alike[title, name, nbytes, line, (), True], None, 0))
            else:
                owner = owner_of(array)
                noted.append((alike[title, name, nbytes, line, (), False], weakref.ref(owner), bytes_of(owner)))

    def wrote(self, leaf: Tensor, first: bool) -> None:
        """Note a written leaf."""
        self.written.append((leaf, first))

    def report(self, variables: Mapping[str, object], pins: Sequence[str] = ()) -> PassReport:
        """Return the account, with the names that hold what memories now."""
        names, alike = Names(variables), self._alike
        given: dict[int, int] = {}
        """what held a memory that is gone, weakly -> its bytes; the address of such a memory may be another's by now"""
        freed = []
        for one, memory, size in self.freed:
            alive = None if memory is None else memory()
            if alive is not None:
                held = names.of_memory(id(alive)) or ("the graph",)
                one = alike[one.node, one.name, one.nbytes, one.line, held, False]
            elif memory is not None:
                given[id(memory)] = size
            freed.append(one)
        kept = tuple([one for one, _, _ in self.kept])
        because = "" if not kept else f"pinned by {', '.join(pins)}" if self.pinned else "--retain"
        wrote = tuple(Written(names.of_leaf(leaf), first) for leaf, first in self.written)
        return PassReport(
            self.ran + len({id(leaf) for leaf, _ in self.written}), tuple(freed), kept, because, wrote, sum(given.values()), self.saving,
            kept_in=sum({id(memory): size for _, memory, size in self.kept}.values()),
        )
