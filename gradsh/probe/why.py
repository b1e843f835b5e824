"""Why a tensor is as it is to autograd: its need of a gradient, its missing or zero gradient, what keeps its graph alive."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, node_of
from gradsh.engine.graph.types import LineOf
from gradsh.probe.accounts import saved_memories
from gradsh.probe.modules import parameters_of
from gradsh.probe.names import Names, roots_of, top_name
from gradsh.probe.passes import live_entries, saves
from gradsh.probe.snapshot import node_name, nodes_below

GradState = Literal["some", "zero", "none"]
GradCause = Literal[
    "", "no_need", "not_leaf", "frozen", "not_reached", "reachable", "cleared", "blocked", "spent",
]


class HistoryBreak(NamedTuple):
    """A statement that ended a history (`cut`), or made something that needs no gradient."""

    line: int
    text: str
    cut: bool


class BlockingNode(NamedTuple):
    """A node that lets no gradient through: its operation, line, and what of its saved tensor shows that."""

    node: str
    line: int | None
    what: str


class GradientVerdict(NamedTuple):
    """A tensor's gradient: whether there is one, whether it is all zeros, and the cause where not.

    `roots` are variables whose graph reaches the tensor, `blocks` nodes that stop every gradient, `line` the statement that
    cleared it.
    """

    state: GradState
    cause: GradCause = ""
    roots: tuple[str, ...] = ()
    blocks: tuple[BlockingNode, ...] = ()
    line: int | None = None
    mean: float = 0.0


class TensorStory(NamedTuple):
    """All that is told of one tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    leaf: bool
    requires_grad: bool
    made_by: str
    line: int | None
    leaves: tuple[str, ...]
    cuts: tuple[HistoryBreak, ...]
    gradient: GradientVerdict
    keepers: tuple[str, ...]
    nodes: int
    nbytes: int
    modified: tuple[int, ...]


class ParameterStory(NamedTuple):
    """A parameter of a module: its name, shape, whether it is trained, its gradient."""

    name: str
    shape: tuple[int, ...]
    requires_grad: bool
    gradient: GradientVerdict


class Asker:
    """Answers for one state of a program. `cleared` gives the line that cleared gradients since the last pass, if one did."""

    def __init__(
        self, variables: Mapping[str, object], line_of: LineOf, cuts_of: Callable[[object], list[tuple[int, str, bool]]],
        cleared: Callable[[str], int | None],
    ) -> None:
        self.names = Names(variables)
        self.line_of = line_of
        self.cuts_of = cuts_of
        self.cleared = cleared
        self.roots: dict[str, list[Node]] = {}
        for path, node in roots_of(variables):
            self.roots.setdefault(path, []).append(node)

    def tensor(self, tensor: Tensor, text: str) -> TensorStory:
        """Return the story of a tensor."""
        node = node_of(tensor)
        below = list(nodes_below(node)) if node is not None else []
        leaves = tuple(dict.fromkeys(self.names.of_leaf(one.variable) for one in below if isinstance(one, AccumulateGrad)))
        sizes, nodes = saved_memories([node] if node is not None else [])
        keepers = self._keepers(node) if node is not None else ()
        cuts = () if tensor.requires_grad else tuple(HistoryBreak(*one) for one in self.cuts_of(tensor))
        writes = (self.line_of(where) for _, where in tensor.counter.writes or () if where is not None)
        return TensorStory(
            text, tuple(tensor.array.shape), tensor.dtype.name, node is None, bool(tensor.requires_grad), node_name(node) or "",
            None if node is None else self.line_of(node.location), leaves, cuts, self.gradient(tensor, text), keepers, nodes,
            sum(sizes.values()), tuple(dict.fromkeys(line for line in writes if line is not None)),
        )

    def _keepers(self, node: Node) -> tuple[str, ...]:
        """The variables whose graphs contain a node."""
        found: dict[str, None] = {}
        for path, roots in self.roots.items():
            name = top_name(path)
            if name not in found and any(root.seq >= node.seq and node in set(nodes_below(root)) for root in roots):
                found[name] = None
        return tuple(found)

    def parameters(self, module: object) -> tuple[ParameterStory, ...]:
        """Return the stories of a module's parameters."""
        return tuple(
            ParameterStory(name, tuple(one.array.shape), bool(one.requires_grad), self.gradient(one, name))
            for name, one in parameters_of(module)
        )

    def gradient(self, tensor: Tensor, text: str) -> GradientVerdict:
        """Return what there is of a tensor's gradient, and why not more."""
        grad = None if tensor.meta is None else tensor.meta.grad
        if grad is not None and grad.array.any():
            return GradientVerdict("some", mean=float(np.abs(grad.array).mean()))
        if grad is not None:
            reaching = self._reaching(tensor)
            blocks = self._blocks(reaching)
            spent = bool(reaching) and not blocks and any(_spent(node) for _, node in reaching)
            cause: GradCause = "blocked" if blocks else "spent" if spent else ""
            return GradientVerdict("zero", cause, tuple(dict.fromkeys(path for path, _ in reaching)), blocks)
        if not tensor.requires_grad:
            return GradientVerdict("none", "no_need")
        if tensor.edge is not None:
            return GradientVerdict("none", "not_leaf", tuple(dict.fromkeys(path for path, _ in self._reaching(tensor))))
        line = self.cleared(text)
        reaching = self._reaching(tensor)
        roots = tuple(dict.fromkeys(path for path, _ in reaching))
        if line is not None:
            return GradientVerdict("none", "cleared", roots, (), line)
        return GradientVerdict("none", "reachable" if reaching else "not_reached", roots)

    def _reaching(self, tensor: Tensor) -> list[tuple[str, Node]]:
        """The roots, with their paths, whose graphs lead to a tensor."""
        target = tensor.edge[0] if tensor.edge is not None else None
        if target is None and tensor.meta is not None and tensor.meta.accumulator is not None:
            target = tensor.meta.accumulator()
        if target is None:
            return []
        return [
            (path, root) for path, roots in self.roots.items() for root in roots
            if root is not target and target in set(nodes_below(root))
        ]

    def _blocks(self, reaching: Iterable[tuple[str, Node]]) -> tuple[BlockingNode, ...]:
        """Nodes on the ways to a tensor whose saved tensors show that they pass nothing on."""
        found: dict[Node, BlockingNode] = {}
        for _, root in reaching:
            for node in nodes_below(root):
                what = "" if node in found else blocks(node)
                if what:
                    found[node] = BlockingNode(node_name(node) or "", self.line_of(node.location), what)
        return tuple(found.values())


_SATURATED = 1e-6
_FLAT = re.compile(r"(Normal|Bernoulli|Round|Floor|Ceil|Trunc|Sign)Backward\d+")
"""Operations that are flat between their jumps, or forget what they were drawn from: zeros come through, whatever arrives."""


def blocks(node: Node) -> str:
    """Return in a few words how a node, or what it saved, shows that it passes no gradient on; empty if it does not."""
    name = node.name()
    if _FLAT.fullmatch(name):
        return "random: its gradient is zero" if name[0] in "NB" else "piecewise constant: its gradient is zero"
    for saved, array, _ in live_entries(node):
        if array is None or not array.size or array.dtype.kind not in "fb":
            continue
        if saved == "result" and name.startswith(("Relu", "LeakyRelu", "Elu")) and not (array > 0).any():
            return "no unit is above zero (a dead relu)"
        if saved == "result" and name.startswith("Tanh") and bool((1 - np.abs(array) < _SATURATED).all()):
            return "every unit is saturated at ±1"
        if saved == "result" and name.startswith(("Sigmoid", "Softmax")) and bool((array * (1 - array) < _SATURATED).all()):
            return "every unit is saturated at 0 or 1"
        if name.startswith("Mul") and not array.any():
            return f"{saved} is all zeros (masked)"
        if saved in {"mask", "condition"} and array.dtype.kind == "b" and (array.all() or not array.any()):
            return f"the {saved} is {'all true' if array.all() else 'all false'}"
    return ""


def _spent(root: Node) -> bool:
    return any(node.freed and saves(node) for node in nodes_below(root))
