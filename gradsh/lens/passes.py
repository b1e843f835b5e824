"""Backward passes as a watcher sees them: where each began, what it freed, and how it failed.

`Tensor.backward`, `autograd.backward` and `autograd.grad` all end in one function of PyTorch's, which is wrapped. Before
a pass the live saved tensors below its roots are noted as shapes in their nodes' metadata, so that what it freed can be
told afterwards; nothing is kept alive.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from gradsh.engine.graph.types import Location
from gradsh.lens.lines import LineTracer
from gradsh.lens.saved_tensors import MARK, NAMES, outlines_of, raw_entries, saved_names

_ENTRY = "_engine_run_backward"
_MOST = 20_000
"""Passes that are remembered; the older half is dropped beyond that."""


class PassNote(NamedTuple):
    """A backward pass: its number and place, how many nodes save something, the bytes they saved (0 where nobody asks for them),
    seconds, whether it retained.
    """

    number: int
    place: Location
    nodes: int
    nbytes: int
    seconds: float
    retained: bool


class Passes:
    """Follows the passes; `notes` has the latest of them, `failure` what the latest failed one was found to need."""

    def __init__(self, lines: LineTracer, explain: Callable[..., object]) -> None:
        self.lines = lines
        self.explain = explain
        """Tells what a failed pass needed, while its graph is there."""
        self.number = 0
        self.notes: list[PassNote] = []
        self.failure: tuple[int, Any, Any] | None = None
        """(id of the exception, its Fault, the place of the pass)"""
        self.detailed = False
        """Whether it is noted which line saved how much, for the largest pass."""
        self.largest: list[tuple[object, int]] = []
        """(place, bytes) of each memory that stood saved for the largest pass"""
        self.largest_place: object = None
        self.reached: set[int] = set()
        """ids of the leaves below the roots of passes"""
        self.before: Callable[[list[Any]], None] | None = None
        """Told the root nodes before each pass."""
        self.after: Callable[[bool, bool], None] | None = None
        """Told after each pass whether it retained its graph, and whether it failed."""
        self._original: object = None

    def start(self) -> None:
        """Wrap PyTorch's function."""
        original = self._original = torch.autograd.graph._engine_run_backward

        def run(t_outputs: object, *args: object, **kwargs: object) -> Any:
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
        self.lines.resume()
        log = self.lines.log()
        trace = sys.gettrace()
        sys.settrace(None)  # our own functions need not be followed
        try:
            place = log.exactly(sys._getframe(1))
            if self.before is not None:
                self.before([node for root in roots if (node := _node_of(root)) is not None])
            with torch._C.DisableTorchFunction():
                marked = self._mark(roots, place, retain)
        finally:
            sys.settrace(trace)
        begun, failed = time.perf_counter(), True
        heard = log.hear()
        try:
            try:
                found = original(roots, *args, **kwargs)
                failed = False
            finally:
                log.mute(heard)
        except BaseException as error:
            self._failed(error, roots, args, marked, place)
            raise
        finally:
            self.notes.append(PassNote(self.number, place, *self._saved, time.perf_counter() - begun, retain))
            if len(self.notes) > _MOST:
                del self.notes[: _MOST // 2]
            if self.after is not None:
                self.after(retain, failed)
        if some and not retain:
            _unmark(marked)
        return found

    _saved = (0, 0)

    def _mark(self, roots: Any, place: object, retain: bool) -> list[object]:
        """Note in each node that a pass may free what it saves, by shape; return these nodes.

        This runs before each pass, over all of its graph: names are looked up once, and nothing is made twice.
        """
        nodes = [node for root in roots if (node := _node_of(root)) is not None]
        seen, marked = set(nodes), []
        saving, number, known = 0, self.number, NAMES
        measured = _Sizes() if self.detailed else None
        for node in nodes:  # which grows as it is gone through
            for below, _ in node.next_functions:
                if below is not None and below not in seen:
                    seen.add(below)
                    nodes.append(below)
            names = known.get(type(node))
            if names is None:
                names = saved_names(node)
            if measured is not None and hasattr(node, "variable"):
                self.reached.add(id(node.variable))
            if not names:
                continue
            metadata = node.metadata
            if MARK in metadata and metadata[MARK][2]:
                continue  # an earlier pass has freed it
            outlines = outlines_of(node, names)
            if outlines:
                saving += 1
                if not retain:
                    metadata[MARK] = place, number, outlines
                    marked.append(node)
                if measured is not None:
                    measured.take(node)
        self._saved = saving, 0 if measured is None else self._measured(measured, place)
        return marked

    def _measured(self, measured: "_Sizes", place: object) -> int:
        """Return the bytes that stand saved for a pass; keep where they were saved, if no pass had more."""
        total = sum(measured.sizes.values())
        if total > sum(nbytes for _, nbytes in self.largest) * 1.05:
            self.largest_place = place
            self.largest = measured.by_place(self.lines.find)
        return total

    def _failed(self, error: BaseException, roots: Any, args: Any, marked: list[Any], place: object) -> None:
        """Find out what the failed pass needed, while its graph is there; take back the marks of what it has not freed."""
        _unmark(marked)
        with torch._C.DisableTorchFunction():
            fault = self.explain(self.number, error, roots, bool(args[1]), args[3] if len(args) > 3 else ())
        self.failure = (id(error), fault, place)


def _node_of(root: object) -> Any:
    return getattr(root, "grad_fn", None) if isinstance(root, torch.Tensor) else getattr(root, "node", None)


class _Sizes:
    """The memories (key -> bytes) that what nodes have saved stands in, and the number of the first node of each."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.owners: dict[int, int] = {}

    def take(self, node: Any) -> None:
        """Measure what a node has saved."""
        number = node._sequence_nr()
        for _, _, raw in raw_entries(node):
            data = raw.data
            if data is None or raw.unpack_hook is not None:
                continue
            try:
                storage = data.untyped_storage()
                key, nbytes = storage._cdata, storage.nbytes()
            except (RuntimeError, NotImplementedError):  # a sparse tensor or a wrapper has none
                key, nbytes = -id(data), data.numel() * data.itemsize
            self.sizes[key] = nbytes
            self.owners[key] = min(number, self.owners.get(key, number))

    def by_place(self, find: Callable[[int], object]) -> list[tuple[object, int]]:
        """Return (place, bytes) of each memory."""
        return [(find(number), self.sizes[key]) for key, number in self.owners.items()]


def _unmark(marked: list[Any]) -> None:
    """Take the marks off nodes whose saved tensors are still there."""
    for node in marked:
        if any(raw.data is not None for _, _, raw in raw_entries(node)):
            node.metadata.pop(MARK, None)
