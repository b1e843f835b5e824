"""Hooks that take a saved tensor's place between forward and backward (`saved_tensors_hooks`)."""

from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.graph.saved import DETACHED, SavedVariable
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, restored
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.engine.graph.node import Node


def unchanged(value: object) -> object:
    """Pack nothing."""
    return value


FOLLOWING = (unchanged, unchanged)
"""Stands among the hooks, the outermost, while something looks at every operation: nothing is packed, the general way is taken."""
_REASONS = "general_way"


def watching(reason: str, needed: bool) -> None:
    """Let every operation take the general way for a reason, or no longer for that one."""
    ambient = current()
    reasons: set[str] = ambient.flags.setdefault(_REASONS, set())
    (reasons.add if needed else reasons.discard)(reason)
    others = tuple(one for one in ambient.saved_hooks if one is not FOLLOWING)
    ambient.saved_hooks = (FOLLOWING, *others) if reasons else others


class Dispatch:
    """What stands between operations and their kernels while it is the flag DISPATCH and the general way is taken."""

    __slots__ = ()

    def outputs(self, record: Any, values: list[Any]) -> Any:
        """Return the outputs of an operation if its kernel need not run, else None."""

    def ran(self, record: Any, values: list[Any], outputs: object, made: object) -> None:
        """An operation has made these tensors of the kernel's outputs."""


DISPATCH = "dispatch"


def dispatch() -> Dispatch | None:
    """Return what stands between operations and their kernels; only while hooks stand on saved tensors does anybody ask."""
    return current().flags.get(DISPATCH)


BEFORE_WRITE = "before_write"


def announce_write(tensor: Tensor) -> None:
    """Tell who asked for it that a tensor is about to be written; only while hooks stand on saved tensors does anybody ask."""
    told = current().flags.get(BEFORE_WRITE)
    if told is not None:
        told(tensor)


def pack_entries(node: "Node") -> None:
    """Hand each freshly saved tensor of a node to the innermost pack hook, in PyTorch's order, and keep what it returns instead."""
    pack, unpacker = innermost = current().saved_hooks[-1]
    if innermost is FOLLOWING:
        return
    entries = list(node.entries)
    names = node.saved_names()
    for slot in node.packing_order():
        entry = entries[slot]
        if entry is None:
            continue
        if type(entry) is list:
            entries[slot] = [None if one is None else _packed(node, names[slot], one, pack, unpacker) for one in entry]
        else:
            entries[slot] = _packed(node, names[slot], entry, pack, unpacker)
    node.entries = tuple(entries)


def _packed(node: "Node", name: str, kept: SavedVariable, pack: Any, unpacker: object) -> SavedVariable:
    if kept.array is None or kept.edge is False:  # a Python number is no tensor
        return kept
    shown = restored(kept, node.edge_of(kept))
    before = kept.counter.version
    with grad_mode(False):
        value = pack(shown, node.facade(), name) if getattr(pack, "wants_node", False) else pack(shown)
    if kept.counter.version != before:
        message = (
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
            "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need "
            "to perform in-place operations on the input to a pack hook."
        )
        raise fail("other", message)
    if value is shown:
        value = shown.detach()  # the tensor itself would keep its own node alive; unpacking puts it back in its place
    return SavedVariable(None, kept.counter, before, kept.edge, (unpacker, value, kept.array.shape, kept.array.dtype))


def unpack(node: "Node", kept: SavedVariable, as_tensor: bool) -> ArrayOrTensor:
    """Ask the unpack hook for the tensor it stands for."""
    unpacker, value, _shape, _dtype = kept.packed
    if unpacker is DETACHED:
        message = (
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
            "out-of-place `.detach()` instead"
        )
        raise fail("other", message, node=node)
    found = unpacker(value)
    if not isinstance(found, Tensor):
        got = type(found).__name__
        message = f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {got}"
        raise fail("type", message, TypeError, node=node)
    if not as_tensor:
        return found.array
    edge = node.edge_of(kept) or None
    if edge is None and not found.requires_grad:
        return found
    return restored(SavedVariable(found.array, found.counter, found.counter.version, kept.edge), edge, anew=True)


class RawSaved:
    """A place where a node saves a tensor, for setting hooks on this one alone (`node._raw_saved_self`); `part` of a list of tensors."""

    __module__ = "torch._C._autograd"

    __slots__ = ("index", "node", "part")
    __script_attributes__ = frozenset({"register_hooks"})

    def __new__(cls, *place: object) -> "RawSaved":
        """Refuse a place that no node gave."""
        if not place:
            raise fail("type", "Trying to create a SavedTensor object from Python is forbidden.")
        return object.__new__(cls)

    def __init__(self, node: "Node", index: int, part: int | None = None) -> None:
        self.node = node
        self.index = index
        self.part = part

    def register_hooks(self, *hooks: object) -> None:
        """Pack the saved tensor now by the first hook; the second unpacks it when it is needed."""
        node = self.node
        if len(hooks) != 2 or not all(map(callable, hooks)):
            message = (
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. (self: "
                "torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                f"Invoked with: {', '.join(map(repr, (self, *hooks)))}"
            )
            raise fail("type", message, TypeError)
        node.unpack(self.index, as_tensor=False)
        entries = list(node.entries)
        entry = entries[self.index] if self.part is None else entries[self.index][self.part]
        if entry is None:
            raise fail("other", "Calling register_hooks on a saved tensor with value None is forbidden", node=node)
        if type(entry) is list or entry.packed is not None:
            message = (
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at "
                "a time."
            )
            raise fail("other", message, node=node)
        packed = _packed(node, node.saved_names()[self.index], entry, *hooks)
        if self.part is None:
            entries[self.index] = packed
        else:
            entries[self.index] = [*entries[self.index][: self.part], packed, *entries[self.index][self.part + 1:]]
        node.entries = tuple(entries)


RawSaved.__name__ = RawSaved.__qualname__ = "SavedTensor"
