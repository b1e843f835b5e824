"""Saved tensors as formulas and programs get them again: checked for writes, with their place in the graph.

These are methods of `Node`, which itself knows no tensors.
"""

import gc
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.saved_hooks import RawSaved, unpack
from gradsh.engine.dispatch.views import refused_saved
from gradsh.engine.graph.node import Node, forward_name
from gradsh.engine.graph.saved import DETACHED, SavedVariable
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, restored
from gradsh.engine.values.dtype import type_name
from gradsh.text.fault import fail

_ENABLE_ANOMALY = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_SEE_ANOMALY = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question "
    "was changed in there or anywhere later. Good luck!"
)
_UNREACHED = {type(None), str}
"""The types of the edges of saved tensors that no gradient reaches."""
if TYPE_CHECKING:
    _Base = Node
else:
    _Base = object


class _Unpacking(_Base):
    """The methods, which are put on `Node`."""

    def restore(self, kept: SavedVariable, index: int, as_tensor: bool) -> object:
        """Return one kept tensor after checking that it was not modified since."""
        if kept.packed is not None:  # PyTorch checks no version of what a hook has packed
            return unpack(self, kept, as_tensor)
        if kept.counter.version != kept.version:
            raise self.modified(kept, index)
        if not as_tensor:
            return kept.array
        return restored(kept, self.edge_of(kept))

    def modified(self, kept: SavedVariable, index: int) -> Exception:
        """Return the error for a saved tensor that was modified in place, naming every write since."""
        if type(kept.edge) is str and kept.edge != "default":
            return refused_saved(kept.edge, None, self)
        array = kept.array
        kind = "torch.Tensor" if array is None else type_name(array.dtype)
        own = type(kept.edge) is int  # which the node keeps as it was
        shape = [] if array is None else list(array.shape if own else kept.counter.present(array).shape)
        output = ""
        if type(kept.edge) is int:
            output = f", which is output {kept.edge} of {forward_name(self)},"
        elif type(kept.edge) is tuple and not isinstance(kept.edge[0], AccumulateGrad):
            history, number = kept.counter.history(*kept.edge)
            if (creation := _creation(history)) != "default":
                return refused_saved(creation, (history, number), history)
            if history is not kept.edge[0]:
                shape = list(history.outputs[number][0])  # as the tensor is now
            of_view = getattr(getattr(history, "record", None), "kind", "") == "view"  # made anew when it is looked at
            output = f", which is output 0 of {'AsStrided' if of_view else forward_name(history)},"  # 0 whichever it is, in PyTorch
        elif kept.edge is None and array is not None:
            history, by_base = kept.counter.history_of(array)
            if history is not None:
                output = f", which is output 0 of {'AsStrided' if by_base else forward_name(history)},"
        message = (
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{kind} {shape}]{output} is at version {kept.counter.version}; expected version {kept.version} instead. "
            + (_ENABLE_ANOMALY if current().anomaly is None else _SEE_ANOMALY)
        )
        return fail(
            "version", message, node=self, index=index, name=self.saved_names()[index], expected=kept.version,
            actual=kept.counter.version, writes=kept.counter.writes_since(kept.version),
        )

    def ask(self, name: str) -> Any:
        """Return the attribute `_saved_NAME` or `_raw_saved_NAME`; raises AttributeError, also for every other name."""
        if name.startswith("_saved_"):
            return self._saved_attribute(name.removeprefix("_saved_"))
        if name.startswith("_raw_saved_") and name.removeprefix("_raw_saved_") in self.saved_names():
            return RawSaved(self, list(self.saved_names()).index(name.removeprefix("_raw_saved_")))
        raise AttributeError(f"'{self.name().rpartition('::')[2]}' object has no attribute '{name}'")

    def _saved_attribute(self, name: str) -> object:
        names = list(self.saved_names())
        if name in names:
            index = names.index(name)
            kept = self.entries[index] if type(self.entries) is tuple else None
            if type(kept) is SavedVariable and kept.packed is not None and kept.packed[0] is DETACHED:
                return restored(kept, None)
            found = self.unpack(index, as_tensor=True)
            if type(kept) is not SavedVariable or type(kept.edge) is int or kept.packed is not None or not isinstance(found, Tensor):
                return found
            return _living(kept, found)
        attributes = self.attributes()
        if name in attributes:
            return attributes[name]
        raise AttributeError(f"'{self.name().rpartition('::')[2]}' object has no attribute '_saved_{name}'")


def _creation(history: Any) -> str:
    """Return how a tensor with this history, or the view that it is a view of, was made (see `View`)."""
    while (record := getattr(history, "record", None)) is not None and record.kind == "view":
        if record.multi_view:
            return "multi"
        edge = history.edges[0]
        history = None if edge is None else edge[0]
    return getattr(history, "creation", "default")


def _living(kept: SavedVariable, found: Tensor) -> Tensor:
    """Return the program's own tensor that was saved, as long as it has it; else what was restored of it.

    The node holds the array alone, so the tensor is looked for among whoever refers to that: a person asks, not a pass.
    """
    gc.unfreeze()  # what is frozen would not be looked through
    living = [one for one in gc.get_referrers(kept.array) if isinstance(one, Tensor) and one is not found and one.array is kept.array]
    same = [one for one in living if (one.edge, one.needs_grad) == (found.edge, found.needs_grad)]
    since = [one for one in living if type(kept.edge) in _UNREACHED and one.edge is None and one.own_counter is kept.counter]
    return (same or since or [found])[0]  # a leaf may have been made to require grad since


for _name in ("restore", "modified", "ask", "_saved_attribute"):
    setattr(Node, _name, vars(_Unpacking)[_name])
