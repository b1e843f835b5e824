"""A backward pass node by node: what arrived, what went out and where to, what was freed and kept, which hooks ran."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.dtype import Array
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


def gradient_of(value: Array, to: str = "") -> GradientStep | None:
    """Return a gradient (array or Tensor) as data; None where none arrived."""
    if value is None:
        return None
    array = value.array if isinstance(value, Tensor) else value
    return GradientStep(to, tuple(array.shape), int(array.nbytes), _values(array))


def _values(array: Array) -> str:
    import numpy as np

    flat = np.asarray(array).reshape(-1)
    if flat.size <= SHOWN_WHOLE:
        return "[" + ", ".join(f"{float(one):.4g}" for one in flat) + "]"
    size = np.abs(flat)
    zeros = int((flat == 0).sum())
    return f"|g| mean {float(size.mean()):.4g}, max {float(size.max()):.4g}" + (f", {zeros:,} zeros" if zeros else "")


class StepRecorder(Recorder):
    """A recorder that also notes each step; `pause` is told of every step as soon as it is over and may raise.

    For who pauses, `latest` is the node of the latest step, `arrived` and `sent` are its gradients themselves, and `before_pass` keeps
    what is freed.
    """

    __slots__ = (
        "_arrived", "_buffers", "_sent", "_written", "arrived", "before_pass", "latest", "names", "node", "paths", "pause", "sent",
        "steps",
    )

    def __init__(
        self, line_of: LineOf, names: Names, paths: ModulePaths, pause: "Callable[[StepRecorder], None] | None" = None,
        before_pass: Rewind | None = None,
    ) -> None:
        super().__init__(line_of)
        self.names = names
        self.paths = paths
        self.pause = pause
        self.before_pass = before_pass
        self.steps: list[Step] = []
        self.arrived: tuple[Any, ...] = ()
        self.sent: tuple[Any, ...] = ()
        self.node: Node | None = None
        self.latest: Node | None = None
        self._clear()

    def _clear(self) -> None:
        self._arrived: tuple[GradientStep, ...] = ()
        self._sent: tuple[GradientStep, ...] = ()
        self._buffers: tuple[tuple[str, int, str], ...] = ()
        self._written: list[str] = []

    def before(self, node: Node, grads: Sequence[Any]) -> None:
        """Finish the step before, begin another."""
        self.finish()
        super().before(node, grads)
        self.node = node
        if self.pause is not None:
            self.arrived = tuple(grads)
        self._arrived = tuple(one for one in map(gradient_of, grads) if one is not None)
        fate = "kept"
        self._buffers = tuple((saved_title(one), one.nbytes, "freed before" if one.freed else fate) for one in saved_inside(node))

    def after(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """Note what goes out, and where to."""
        del grads
        if self.pause is not None:
            self.sent = tuple(value for edge, value in zip(node.edges, results, strict=False) if edge is not None)
        sent = []
        for edge, value in zip(node.edges, results, strict=False):
            if edge is not None and value is not None:
                one = gradient_of(value, self._receiver(edge[0]))
                sent += [] if one is None else [one]
        self._sent = tuple(sent)

    def _receiver(self, node: Node) -> str:
        bound = self.names.of_node(node)
        if isinstance(node, AccumulateGrad):
            return f"{self.names.of_leaf(node.variable)}.grad"
        return bound[0] if bound else node_name(node) or ""

    def frees(self, node: Node) -> None:
        """Note what is freed."""
        super().frees(node)
        if self.before_pass is not None:
            self.before_pass.frees(node)
        self._buffers = tuple((name, size, "freed" if fate == "kept" else fate) for name, size, fate in self._buffers)

    def keeps(self, node: Node) -> None:
        """Note what is kept, and by what."""
        super().keeps(node)
        if node.pins:
            self._buffers = tuple((name, size, "pinned") for name, size, _ in self._buffers)

    def wrote(self, leaf: Tensor, first: bool) -> None:
        """Note a written leaf."""
        super().wrote(leaf, first)
        self._written.append(f"{self.names.of_leaf(leaf)}.grad {'written' if first else 'added to'}")

    def finish(self) -> None:
        """End the step that is going on."""
        node, self.node = self.node, None
        if node is None:
            return
        self.latest = node
        extra = node.extra
        hooks = 0
        if extra is not None:
            hooks = len(extra.prehooks) + len(extra.posthooks) + sum(map(len, extra.tensor_hooks.values()))
        step = Step(
            len(self.steps) + 1, node_name(node) or "", self.names.of_node(node), self.line_of(node.location), self._arrived,
            self._sent, self._buffers, hooks, tuple(self._written), self.paths.of(node.location),
        )
        self.steps.append(step)
        self._clear()
        if self.pause is not None:
            self.pause(self)
