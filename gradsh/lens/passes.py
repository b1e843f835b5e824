"""Backward passes as a watcher sees them: where each began, what it freed, and how it failed.

`Tensor.backward`, `autograd.backward` and `autograd.grad` all end in one function of PyTorch's, which is wrapped. Before
a pass the live saved tensors below its roots are noted as shapes in their nodes' metadata, so that what it freed can be
told afterwards; nothing is kept alive.
"""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradsh.lens.saved_tensors import MARK, Outlines, Spent, raw_entries, saved_names

if TYPE_CHECKING:
    from gradsh.lens.watcher import Watcher

_ENTRY = "_engine_run_backward"


class PassNote(NamedTuple):
    """A backward pass: its number and place, how many nodes save something, the bytes they saved (0 where nobody asks for them),
    seconds, whether it retained.
    """

    number: int
    place: Any
    nodes: int
    nbytes: int
    seconds: float
    retained: bool


class Passes:
    """Follows the passes; `notes` has the latest of them, `failure` what the latest failed one was found to need."""

    def __init__(self, watcher: "Watcher", explain: Callable[..., Any]) -> None:
        self.watcher = watcher
        self.explain = explain
        """Tells what a failed pass needed, while its graph is there."""
        self.number = 0
        self.notes: list[PassNote] = []
        self.failure: tuple[int, Any, Any] | None = None
        """(id of the exception, its Fault, the place of the pass)"""
        self.detailed = False
        """Whether it is noted which line saved how much, for the largest pass."""
        self.largest: list[tuple[Any, int]] = []
        """(place, bytes) of each memory that stood saved for the largest pass"""
        self.largest_place: Any = None
        self.reached: set[int] = set()
        """ids of the leaves below the roots of passes"""
        self.before: Callable[[list[Any]], None] | None = None
        """Told the root nodes before each pass."""
        self._original: Any = None

    def start(self) -> None:
        """Wrap PyTorch's function."""
        original = self._original = torch.autograd.graph._engine_run_backward

        def run(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            return self._run(original, t_outputs, args, kwargs)

        for owner in (torch.autograd, torch.autograd.graph):
            setattr(owner, _ENTRY, run)

    def stop(self) -> None:
        """Put PyTorch's function back."""
        if self._original is not None:
            for owner in (torch.autograd, torch.autograd.graph):
                setattr(owner, _ENTRY, self._original)
            self._original = None

    def _run(self, original: Any, roots: Any, args: Any, kwargs: Any) -> Any:
        self.number += 1
        retain, some = bool(args[1]), bool(args[3]) if len(args) > 3 else False
        place = self.watcher.lines.log().here()
        if self.before is not None:
            self.before([node for root in roots if (node := _node_of(root)) is not None])
        trace = sys.gettrace()
        sys.settrace(None)  # our own functions need not be followed
        try:
            with torch._C.DisableTorchFunction():
                marked = self._mark(roots, place, retain)
        finally:
            sys.settrace(trace)
        begun = time.perf_counter()
        try:
            found = original(roots, *args, **kwargs)
        except BaseException as error:
            self._failed(error, roots, args, marked, place)
            raise
        finally:
            note = PassNote(self.number, place, *self._saved, time.perf_counter() - begun, retain)
            self.notes.append(note)
            del self.notes[:-10_000]
        if some and not retain:
            _unmark(marked)
        return found

    _saved = (0, 0)

    def _mark(self, roots: Any, place: Any, retain: bool) -> list[Any]:
        """Note in each node that a pass may free what it saves, by shape; return these nodes."""
        seen: set[Any] = set()
        stack = [node for root in roots if (node := _node_of(root)) is not None]
        marked = []
        sizes: dict[int, int] = {}
        owners: dict[int, int] = {}
        saving, detailed = 0, self.detailed
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            stack += [one for one, _ in node.next_functions if one is not None]
            if detailed and hasattr(node, "variable"):
                self.reached.add(id(node.variable))
            if not saved_names(node):
                continue
            metadata = node.metadata
            old = metadata.get(MARK)
            if old is not None and old.outlines:
                continue  # an earlier pass has freed it
            outlines = _outlines(node)
            if detailed:
                mine, number = _sizes(node), node._sequence_nr()
                sizes.update(mine)
                owners.update((key, min(number, owners.get(key, number))) for key in mine)
            if outlines and not retain:
                metadata[MARK] = Spent(place, self.number, outlines)
                marked.append(node)
            saving += bool(outlines)
        self._saved = saving, sum(sizes.values())
        if detailed and self._saved[1] > sum(nbytes for _, nbytes in self.largest) * 1.05:
            self.largest_place = place
            self.largest = [(self.watcher.lines.find(number), sizes[key]) for key, number in owners.items()]
        return marked

    def _failed(self, error: BaseException, roots: Any, args: Any, marked: list[Any], place: Any) -> None:
        """Find out what the failed pass needed, while its graph is there; take back the marks of what it has not freed."""
        _unmark(marked)
        with torch._C.DisableTorchFunction():
            fault = self.explain(self.watcher, error, roots, bool(args[1]), args[3] if len(args) > 3 else ())
        self.failure = (id(error), fault, place)


def _node_of(root: Any) -> Any:
    return getattr(root, "grad_fn", None) if isinstance(root, torch.Tensor) else getattr(root, "node", None)


def _outlines(node: Any) -> Outlines:
    """Return the name, place in a list, shape and dtype of what a node has saved; of what a hook has packed, the name."""
    found: list[Any] = []
    for name, index, raw in raw_entries(node):
        data = raw.data
        if data is None:
            continue
        found.append((name, index, (), None) if raw.unpack_hook is not None else (name, index, data.shape, data.dtype))
    return tuple(found)


def _sizes(node: Any) -> dict[int, int]:
    """Return the memories (key -> bytes) that what a node has saved stands in."""
    sizes: dict[int, int] = {}
    for _, _, raw in raw_entries(node):
        data = raw.data
        if data is None or raw.unpack_hook is not None:
            continue
        try:
            storage = data.untyped_storage()
            sizes[storage._cdata] = storage.nbytes()
        except (RuntimeError, NotImplementedError):  # a sparse tensor or a wrapper has none
            sizes[-id(data)] = data.numel() * data.itemsize
    return sizes


def _unmark(marked: list[Any]) -> None:
    """Take the marks off nodes whose saved tensors are still there."""
    for node in marked:
        if any(raw.data is not None for _, _, raw in raw_entries(node)):
            node.metadata.pop(MARK, None)
