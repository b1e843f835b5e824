"""A backward pass node by node: what arrived, what went out and where to, what was freed and kept, which hooks ran."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import bytes_of
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import Recorder, saved_inside, saved_title
from gradsh.probe.rewind import Rewind
from gradsh.probe.snapshot import node_name


class GradientStep(NamedTuple):
    """A gradient on its way: the node it goes to (empty: arriving), its shape and bytes, its values or a summary."""

    to: str
    shape: tuple[int, ...]
    nbytes: int
    values: str


class Step(NamedTuple):
    """One node of a walk; `buffers` are (name, bytes, what became of it: freed, kept, pinned)."""

    number: int
    node: str
    variables: tuple[str, ...]
    line: int | None
    arrived: tuple[GradientStep, ...]
    sent: tuple[GradientStep, ...]
    buffers: tuple[tuple[str, int, str], ...]
    hooks: int
    wrote: tuple[str, ...]
    module: str = ""


SHOWN_WHOLE = 6
"""Gradients of at most so many elements are shown whole."""


def gradient_of(value: Array, to: str = "") -> GradientStep:
    """Return a gradient (array or Tensor) as data."""
    array = value.array if isinstance(value, Tensor) else value
    return GradientStep(to, tuple(array.shape), bytes_of(array), _values(array))


def _values(array: Array) -> str:
    import numpy as np

    flat = np.asarray(array).reshape(-1)
    if flat.size <= SHOWN_WHOLE:
        return "[" + ", ".join(f"{float(one):.4g}" for one in flat) + "]"
    size = np.abs(flat)
    zeros = int((flat == 0).sum())
    return f"|g| mean {float(size.mean()):.4g}, max {float(size.max()):.4g}" + (f", {zeros:,} zeros" if zeros else "")


class Pauses(Protocol):
    """Is called after each node of a pass, and returns when the next one may run; `over` tells it that the pass itself has ended."""

    over: bool

    def begin(self, shown: int) -> None:
        """Begin the pass anew, up to the node of that number without a stop."""

    def skips(self, node: Node, number: int) -> bool:
        """Whether a node that runs next is of no interest, whatever its gradients are."""

    def __call__(self, recorder: "StepRecorder") -> None:
        """Take a node that has just run; may raise."""


class StepRecorder(Recorder):
    """A recorder that also notes each step, or those that `pause` asks for.

    `latest` is the node that has run, `number` how many have; `arrived` and `sent` are copies of its gradients: who refers to a
    gradient on its way changes what the pass does with its memory, and so its version. `before_pass` keeps what is freed, and
    without `account` nothing is noted for the report.
    """

    __slots__ = (
        "_buffers", "_fate", "_received", "_wrote", "account", "arrived", "before_pass", "latest", "names", "node", "number", "paths",
        "pause", "sent", "steps",
    )

    def __init__(
        self, line_of: LineOf, names: Names, paths: ModulePaths, pause: Pauses | None = None, before_pass: Rewind | None = None,
        *, account: bool = True,
    ) -> None:
        super().__init__(line_of)
        self.account = account
        self.names = names
        self.paths = paths
        self.pause = pause
        self.before_pass = before_pass
        self.number = 0
        self.steps: list[Step] = []
        self.latest: Node | None = None
        self._begin(None)

    def _begin(self, node: Node | None) -> None:
        self.node = node
        self.arrived: tuple[Any, ...] = ()
        self.sent: tuple[Any, ...] = ()
        self._received: list[Node] = []
        """to which nodes `sent` went"""
        self._buffers: list[tuple[str, int, bool]] = []
        """(name, bytes, whether freed by an earlier pass) of the saved tensors"""
        self._fate = "kept"
        self._wrote: list[tuple[str, bool]] = []

    def passes_by(self, node: Node, keeps: bool) -> bool:
        """Finish the step before; begin another, unless more than that it runs is to be told of it."""
        self.finish()
        if self.pause is None or not self.pause.skips(node, self.number + 1):
            return False
        self._begin(node)
        return super().passes_by(node, keeps)

    def before(self, node: Node, grads: Sequence[object]) -> None:
        """Finish the step before, begin another."""
        self.finish()
        super().before(node, grads)
        self._begin(node)
        self.arrived = tuple(map(_copied, grads))
        self._buffers = [(saved_title(one), one.nbytes, one.freed) for one in saved_inside(node)]

    def after(self, node: Node, grads: Sequence[object], results: Sequence[object]) -> None:
        """Note what goes out, and where to."""
        del grads
        going = [(edge[0], value) for edge, value in zip(node.edges, results, strict=False) if edge is not None]
        self._received = [receiver for receiver, _ in going]
        self.sent = tuple([_copied(value) for _, value in going])

    def frees(self, node: Node) -> None:
        """Note what is freed."""
        if self.account:
            super().frees(node)
        if self.before_pass is not None:
            self.before_pass.frees(node)
        self._fate = "freed"

    def keeps(self, node: Node) -> None:
        """Note what is kept, and by what."""
        super().keeps(node)
        self._fate = "pinned" if node.pins else "kept"

    def wrote(self, leaf: Tensor, first: bool) -> None:
        """Note a written leaf."""
        super().wrote(leaf, first)
        self._wrote.append((self.names.of_leaf(leaf), first))

    def finish(self) -> None:
        """End the step that is going on."""
        node, self.node = self.node, None
        if node is None:
            return
        self.latest = node
        self.number += 1
        if self.pause is None:
            self.step()
        else:
            self.pause(self)

    def written_leaves(self) -> list[str]:
        """Return the names of the leaves that the latest node wrote."""
        return [name for name, _ in self._wrote]

    def names_of(self, node: Node) -> set[str]:
        """Return the names of a node: its operation, its variables, and the modules that made it."""
        return {node_name(node) or "", *self.names.of_node(node), *(call.path for call in self.paths.calls(node.location))}

    def names_of_latest(self) -> set[str]:
        """Return the names of the latest node, and of the leaves that it wrote."""
        return set() if self.latest is None else {*self.names_of(self.latest), *self.written_leaves()}

    def step(self) -> Step:
        """Return the latest node as data; those that were asked for are kept in `steps`."""
        node = self.latest
        if node is None:
            raise LookupError("no node has run")
        if not self.steps or self.steps[-1].number != self.number:
            self.steps.append(self._told(node))
        return self.steps[-1]

    def _told(self, node: Node) -> Step:
        extra = node.extra
        hooks = 0
        if extra is not None:
            hooks = len(extra.prehooks) + len(extra.posthooks) + sum(map(len, extra.tensor_hooks.values()))
        sent = [gradient_of(value, self._receiver(one)) for one, value in zip(self._received, self.sent, strict=True) if value is not None]
        return Step(
            self.number, node_name(node) or "", self.names.of_node(node), self.line_of(node.location),
            tuple([gradient_of(one) for one in self.arrived if one is not None]), tuple(sent),
            tuple([(name, size, "freed before" if freed else self._fate) for name, size, freed in self._buffers]), hooks,
            tuple([f"{name}.grad {'written' if first else 'added to'}" for name, first in self._wrote]), self.paths.of(node.location),
        )

    def _receiver(self, node: Node) -> str:
        if isinstance(node, AccumulateGrad):
            return f"{self.names.of_leaf(node.variable)}.grad"
        bound = self.names.of_node(node)
        return bound[0] if bound else node_name(node) or ""


def _copied(value: Any) -> object:
    """Return a gradient as it is now; of a recorded pass (a Tensor), which is never written into, itself."""
    return value if value is None or isinstance(value, Tensor) else value.copy()
