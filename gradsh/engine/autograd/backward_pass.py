"""One backward pass at work: buffers of gradients, frees, leaves, and what a failed pass had already done.

Nodes run from the latest to the earliest sequence number, so a node runs when nothing more can arrive; leaves
accumulate as soon as their last contribution is there. A node's saved tensors are freed right after it has run.
"""

import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

import numpy as np

from gradsh.engine.ambient import Ambient, current, grad_mode
from gradsh.engine.autograd.gradient_versions import note_more
from gradsh.engine.autograd.hooks import (
    accumulate,
    as_array,
    as_tensor,
    owns_memory,
    run_node_hooks,
    run_post_accumulate_hooks,
    run_post_hooks,
    run_prehooks,
    run_tensor_hooks,
)
from gradsh.engine.autograd.sums import add_into, summed
from gradsh.engine.autograd.topology import arriving_from, needed_nodes, toposort
from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.dispatch.op_node import OpNode
from gradsh.engine.graph.node import Edge, Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor
from gradsh.engine.schema.overload import FALLBACK, KEEP
from gradsh.text.fault import fail, fault_of

_DEEPEST = 24
"""Passes within passes after which a thread goes on."""
_ALL = tuple((True,) * n for n in range(16))


class Observer:
    """What may be told about a pass while it runs. The default does nothing; `backward --step` and plans look in."""

    __slots__ = ()

    def passes_by(self, node: Node, keeps: bool) -> bool:
        """A node is about to run, which keeps or frees its saved tensors; return whether that is all that need be told of it.

        It then runs as fast as one that nobody watches. Of any other the methods below tell.
        """
        del node, keeps
        return False

    def before(self, node: Node, grads: Sequence[object]) -> None:
        """A node is about to run on these gradients of its outputs."""

    def after(self, node: Node, grads: Sequence[object], results: Sequence[object]) -> None:
        """A node has run; its saved tensors are still there."""

    def frees(self, node: Node) -> None:
        """A node's saved tensors are about to be freed."""

    def keeps(self, node: Node) -> None:
        """A node's saved tensors are kept: the pass retains, or a pin holds them."""

    def wrote(self, leaf: Tensor, first: bool) -> None:
        """A leaf's `.grad` was set (`first`) or added to."""


class PassProgress:
    """What a pass had done when it ended or failed: nodes run, nodes freed, leaves written. Holds no graph."""

    __slots__ = ("freed", "ran", "wrote")

    def __init__(self, ran: int, freed: tuple[tuple[str, str, int], ...], wrote: tuple[Tensor, ...]) -> None:
        self.ran = ran
        self.freed = freed
        """(node name, saved name, bytes) of each saved tensor that was freed"""
        self.wrote = wrote


class BackwardPass:
    """One backward pass: its buffers of gradients on the way, and what it has done so far."""

    __slots__ = (
        "__weakref__", "alone", "ambient", "arriving", "buffers", "callbacks", "captured", "create", "deferred",
        "depth", "leaves", "location", "needed", "observer", "order", "position", "retain", "roots", "sums", "targets",
        "wrote",
    )

    def __init__(
        self, roots: list[tuple[Edge, Any]], retain: bool, create: bool, observer: Observer | None,
        targets: dict[Node, set[int] | None] | None,
    ) -> None:
        self.roots = roots
        self.retain = retain
        self.create = create
        self.observer = observer
        self.targets = targets
        """Nodes the pass must reach. None: accumulate there (a leaf), else the outputs whose gradient is captured."""
        self.ambient: Ambient = current()
        self.location = self.ambient.location()
        self.buffers: dict[Node, Any] = {}
        """What has arrived at each node: a gradient or None for each output; in fast steps the array alone of the only one."""
        self.leaves: dict[Node, list[Any]] = {}
        """In fast steps, what has arrived at leaves: [edges yet to deliver, sum, how often summed in place or None]."""
        self.sums: dict[Edge, int] = {}
        """Where gradients were summed into an array of the pass's own: how often in place."""
        self.captured: dict[tuple[Node, int], Any] = {}
        self.wrote: list[Tensor] = []
        self.callbacks: list[Callable[[], Any]] = []
        """What runs at the end of the pass; it may add more."""
        self.position = 0
        self.deferred: list[Callable[[], None]] | None = [] if self.ambient.atomic else None
        self.order, self.arriving = toposort([edge[0] for edge, _ in roots])
        self.needed = None if targets is None else needed_nodes(self.order, targets)
        if self.needed is not None:
            self.arriving = arriving_from(self.order, self.needed, (edge[0] for edge, _ in roots))

    def run(self) -> None:
        """Run the pass. An exception carries, in its fault's field `done`, what had been done before it.

        A pass deep within others goes on in a thread of its own, as in PyTorch: each has its own depth of recursion.
        """
        outer = self.ambient.running
        self.depth = 0 if outer is None else outer.depth + 1
        if self.depth % _DEEPEST != _DEEPEST - 1:
            self._run()
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            thread.submit(copy_context().run, self._run).result()

    def _run(self) -> None:
        outer, self.ambient.running = self.ambient.running, self
        hooks = self.ambient.saved_hooks
        watch = self.ambient.passes
        with grad_mode(self.create):
            try:
                if watch is not None:
                    watch(self, False)
                self._start()
                if self._is_plain():
                    self._loop_plainly()
                else:
                    self._loop()
                if self.deferred is not None:
                    for action in self.deferred:
                        action()
                for callback in self.callbacks:
                    if self.ambient.check is not None:
                        self.ambient.check(0)
                    callback()
            except BaseException as error:
                self._tell(error)
                if self.ambient.anomaly is not None and isinstance(error, Exception) and self.position < len(self.order):
                    self.ambient.anomaly[2](self.order[self.position])
                raise
            finally:
                self.ambient.running = outer
                self.ambient.saved_hooks = hooks  # what a hook entered and did not leave ends with the pass
                self.buffers.clear()
                if watch is not None:
                    watch(self, True)
                self.order = []

    def will_run(self, node: Node) -> bool:
        """Whether the pass reaches a node (for hooks that wait for several): of a single root PyTorch says no."""
        if self.needed is not None and node not in self.needed:
            return False
        if node is self.alone:
            return False
        return node in self.arriving or node in self.order

    def check_not_captured(self, leaf: AccumulateGrad) -> None:
        """Refuse the question whether the pass runs a leaf whose gradient it returns."""
        if self.targets is not None and self.targets.get(leaf) is not None:
            message = (
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently "
                "not supported."
            )
            raise fail("other", message)

    def in_order(self) -> list[Node]:
        """Return the nodes in the order in which the pass runs them, each leaf where its last gradient arrives."""
        needed = toposort(self.order)[1].keys() | set(self.order) if self.needed is None else self.needed
        waiting = arriving_from(self.order, needed, ())
        found: list[Node] = []
        for node in filter(needed.__contains__, self.order):
            found.append(node)
            for leaf in [below for below in node.below() if below in needed and below in waiting]:
                waiting[leaf] -= 1
                if not waiting[leaf]:
                    found.append(leaf)
        return found

    def _start(self) -> None:
        self.alone = self.roots[0][0][0] if len(self.roots) == 1 else None
        buffers, needed = self.buffers, self.needed
        for edge, gradient in self.roots:
            node = edge[0]
            if node is self.alone and needed is not None and node not in needed and node.extra is not None:
                arrived = [None] * len(node.outputs)
                arrived[edge[1]] = gradient
                run_node_hooks(node, arrived)  # PyTorch runs a sole root's hooks, whether or not it leads to the inputs
            if type(node) is CompactNode and node not in buffers and (needed is None or node in needed):
                buffers[node] = gradient if type(gradient) is np.ndarray and gradient.ndim < 2 else [gradient]
            elif needed is None or node in needed:
                self._deliver(edge, [gradient], 0)
        self.roots = []

    def _loop(self) -> None:
        check = self.ambient.check
        order = self.order
        needed, targets = self.needed, self.targets
        freed_by = KEEP if self.retain else self.location
        checked, observer = self._is_checked(), self.observer
        for place, node in enumerate(order):
            self.position = place
            if needed is not None and node not in needed:
                continue
            if check is not None:
                check(0)
            watching = observer
            plain = not checked and (targets is None or targets.get(node) is None)
            if plain and (observer is None or observer.passes_by(node, self.retain or node.pins > 0)):
                watching = None
                if isinstance(node, CompactNode) and node.extra is None:  # noqa: SIM102
                    if node.record.recorded_step(node, self, needed, freed_by) is not FALLBACK:
                        continue
            self._step(node, watching)
        self.position = len(order)

    def _is_checked(self) -> bool:
        """Whether each node is looked at by anomaly mode, or what it does waits for the end of the pass."""
        return self.ambient.anomaly is not None or self.deferred is not None

    def _is_plain(self) -> bool:
        """Whether the pass makes no graph of its own, and frees and delivers as it goes."""
        return not (self.create or self._is_checked())

    def _loop_plainly(self) -> None:
        """Do what `_loop` does for a plain pass, by the fast steps of the records where they have one."""
        check, needed, targets, observer = self.ambient.check, self.needed, self.targets, self.observer
        freed_by = KEEP if self.retain else self.location
        for place, node in enumerate(self.order):
            self.position = place
            watching = observer
            if needed is not None and (node not in needed or targets.get(node) is not None):  # type: ignore[union-attr]
                if node not in needed:
                    continue
            else:
                if check is not None:
                    check(0)
                if observer is None or observer.passes_by(node, self.retain or node.pins > 0):
                    watching = None
                    kind = type(node)
                    if kind is CompactNode or kind.__base__ is CompactNode:
                        if node.extra is None and node.record.compact_step(node, self, needed, freed_by) is not FALLBACK:
                            continue
                    elif (kind is OpNode or kind.__base__ is OpNode) and node.extra is None:  # noqa: SIM102
                        if node.record.step(node, self, needed, freed_by) is not FALLBACK:
                            continue
            self._return_leaves()
            self._step(node, watching)
        self.position = len(self.order)

    def open_leaf(self, leaf: Node) -> list[Any]:
        """Return where a fast step puts what arrives at a leaf."""
        opened = self.leaves[leaf] = [self.arriving[leaf], None, None]
        if leaf in self.buffers:
            opened[1] = self.buffers.pop(leaf)[0]
            opened[2] = self.sums.get((leaf, 0))
        return opened

    def close_leaf(self, leaf: Any) -> None:
        """Let a leaf receive its gradient: nothing more can arrive."""
        self._return_leaf(leaf)
        self._finish_leaf(leaf)

    def add_to_leaf(self, leaf: list[Any], holder: list[Any]) -> None:
        """Add the second gradient, taken out of its list, to the first that arrived at a leaf, in place if nobody else refers to that."""
        before = leaf[1]
        if sys.getrefcount(before) <= 3 and owns_memory(before) and before.flags.writeable:
            add_into(before, holder.pop())
            leaf[2] = 1
        else:
            leaf[1] = summed(before, holder.pop())
            leaf[2] = 0

    def _return_leaf(self, leaf: Node) -> None:
        arrived = self.leaves.pop(leaf)
        left, gradient, sums = arrived
        self.arriving[leaf] = left
        arrived.clear()  # the leaf may take the gradient over only if nobody else refers to it
        if gradient is not None:
            self.buffers[leaf] = [gradient]
            if sums is not None:
                self.sums[(leaf, 0)] = sums

    def _return_leaves(self) -> None:
        """Put the sums for leaves where the general step looks for them."""
        for leaf in list(self.leaves):
            self._return_leaf(leaf)

    def _step(self, node: Node, observer: Observer | None) -> None:
        grads = self.buffers.pop(node, None)
        if grads is None:
            grads = [None] * len(node.outputs)
        elif type(grads) is np.ndarray:
            grads = [grads]
        edges = node.edges
        wanted = None if self.targets is None else self.targets.get(node)
        if wanted is not None:
            further = any(edge is not None and edge[0] in self.needed for edge in edges)  # type: ignore[operator]
            # as in PyTorch: what is captured has been through the tensor's hooks only if the pass ends here
            arrived = run_node_hooks(node, grads) if node.extra is not None and not further else grads
            for output in wanted:
                self.captured[(node, output)] = arrived[output]
            if not further:
                return
        if node.extra is not None:
            grads = run_prehooks(node, run_node_hooks(node, list(grads)))
        if self.targets is not None:
            needs = tuple(edge is not None and edge[0] in self.needed for edge in edges)  # type: ignore[operator]
        elif None in edges:
            needs = tuple(edge is not None for edge in edges)
        else:
            needs = _ALL[len(edges)] if len(edges) < len(_ALL) else (True,) * len(edges)
        if observer is not None:
            observer.before(node, grads)
        results = self._results(node, grads, needs)
        if observer is not None:
            observer.after(node, grads, results)
        self._release(node, observer)
        if self.ambient.anomaly is not None and self.ambient.anomaly[0]:
            _check_nan(node, results)
        del grads
        complete = [
            edge[0] for place, edge in enumerate(edges) if edge is not None and needs[place] and self._arrives(edge, results, place)
        ]
        for leaf in complete:  # as in PyTorch, when all is delivered: by then another may have let go of the array
            self._finish_leaf(leaf)  # type: ignore[arg-type]

    def _results(self, node: Node, grads: list[Any], needs: tuple[bool, ...]) -> list[Any]:
        hooked = node.extra is not None and bool(node.extra.posthooks)
        if isinstance(node, OpNode) and all(grad is None for grad in grads):
            if node.raw:
                node._check_saved()
            results: list[Any] = [None] * len(node.edges)
        elif isinstance(node, OpNode) and node.differs_on_arrays(grads):
            results = [as_array(one) for one in node.run([None if one is None else as_tensor(one) for one in grads], needs)]
        else:
            results = list(node.run(grads, needs))
        if node.extra is not None and node.extra.posthooks:  # one that came while the node ran is shown no gradients
            results = run_post_hooks(node, results, grads if hooked else [None] * len(grads))
        return results

    def _release(self, node: Node, observer: Observer | None) -> None:
        if self.retain or node.pins:
            if observer is not None and node.has_saved():
                observer.keeps(node)
            return
        if node.entries or node.has_saved():
            if observer is not None and node.has_saved():
                observer.frees(node)
            if self.deferred is not None:
                self.deferred.append(lambda: node.free(self.location))
            else:
                node.free(self.location)

    def _deliver(self, edge: Edge, gradients: list[Any], place: int) -> None:
        """Move a gradient to the buffer of its receiver; a leaf receives at once when nothing more can arrive."""
        if self._arrives(edge, gradients, place):
            self._finish_leaf(edge[0])  # type: ignore[arg-type]

    def _arrives(self, edge: Edge, gradients: list[Any], place: int) -> bool:
        """Move a gradient to the buffer of its receiver; return whether that is a leaf to which nothing more can arrive.

        It is taken out of the list, so that a leaf can keep an array to which nobody else refers.
        """
        node = edge[0]
        if gradients[place] is not None:
            self.add(edge, gradients, place)
        if type(node) is not AccumulateGrad:
            return False
        left = self.arriving[node] = self.arriving[node] - 1
        return left == 0

    def add(self, edge: Edge, gradients: list[Any], place: int) -> None:
        """Add a gradient, taken out of the list, to what has arrived at a node."""
        node, output = edge
        gradient = gradients[place]
        gradients[place] = None
        held = self.buffers.get(node)
        if held is None:
            held = self.buffers[node] = [None] * len(node.outputs)
        elif type(held) is np.ndarray:
            held = self.buffers[node] = [held]
        before = held[output]
        if before is None:
            held[output] = gradient
        elif self.create:
            held[output] = before + gradient
        elif edge in self.sums or (sys.getrefcount(before) <= 3 and owns_memory(before) and before.flags.writeable):
            add_into(before, gradient)
            self.sums[edge] = self.sums.get(edge, 0) + 1
            if type(node) is not AccumulateGrad:
                note_more(before)
        else:
            held[output] = summed(before, gradient)
            self.sums[edge] = 0

    def _finish_leaf(self, node: AccumulateGrad) -> None:
        held = self.buffers.pop(node, None)
        if self.targets is not None and node not in self.targets:
            return
        if held is None or held[0] is None:
            meta = node.variable.meta
            if meta is not None:
                if meta.hooks:
                    run_tensor_hooks(meta.hooks, None)
                run_post_accumulate_hooks(node.variable)
            return
        gradient = held[0]
        del held
        if self.targets is not None and self.targets.get(node) is not None:
            hooks = node.variable.meta.hooks if node.variable.meta is not None else None
            if hooks:
                gradient = run_tensor_hooks(hooks, as_tensor(gradient, self.sums.get((node, 0), 0)))
            self.captured[(node, 0)] = gradient
            return
        if self.deferred is not None:
            self.deferred.append(lambda: self._write(node, gradient, False))
            return
        sole = not self.create and sys.getrefcount(gradient) <= 2
        self._write(node, gradient, sole)

    def _write(self, node: AccumulateGrad, gradient: object, sole: bool) -> None:
        first = accumulate(node, gradient, self.create, sole, self.location, self.sums.get((node, 0), 0))
        self.wrote.append(node.variable)
        if self.observer is not None:
            self.observer.wrote(node.variable, first)

    def _tell(self, error: BaseException) -> None:
        """Note on the error what the pass had done: that hides the cause from the next try."""
        fault = fault_of(error)
        if fault is None or "done" in fault.fields:
            return
        freed = [
            (node.name(), saved.name, saved.nbytes)
            for node in self.order[: self.position]
            if node.freed and node.entries.location is self.location
            for saved in node.saved
        ]
        fault.fields["done"] = PassProgress(self.position, tuple(freed), tuple(self.wrote))


def _check_nan(node: Node, results: Sequence[Any]) -> None:
    for place, result in enumerate(results):
        array = result.array if isinstance(result, Tensor) else result
        if array is not None and np.isnan(array).any():
            message = f"Function '{node.name()}' returned nan values in its {place}th output."
            first = tuple(int(n) for n in np.argwhere(np.isnan(array))[0]) if np.ndim(array) else ()
            raise fail("value", message, node=node, element=first, place=place, anomaly=True)
