"""What a backward pass would do, told without running it: nodes, buffers freed and kept, leaves written, or its failure.

The pass's own order and counts are used (`engine.backward`), so that a plan can only differ from what happens where a
script's own code decides: hooks and custom functions. `assumes` says where it does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gradsh.api.function import FunctionNode
from gradsh.engine.ambient import current
from gradsh.engine.autograd.backward import make_roots
from gradsh.engine.autograd.topology import arriving_from, needed_nodes, toposort
from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.dispatch.op_node import OpNode
from gradsh.engine.dispatch.views import CopySlices
from gradsh.engine.graph.node import FREED_SENTENCE, Node
from gradsh.engine.graph.saved import FreedVariables, SavedVariable
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, gradient_edge
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.storage import memory_bytes, memory_key
from gradsh.probe.given import given_back
from gradsh.probe.names import Names
from gradsh.probe.passes import Buffer, Buffers, PassReport, Written, live_entries, saves
from gradsh.probe.places import LineTable
from gradsh.probe.snapshot import node_name
from gradsh.process.pace import paced
from gradsh.text.fault import fail, fault_of


class Foreseen(NamedTuple):
    """The failure that a pass would end in: its kind and PyTorch's message, the node and saved tensor, and their lines."""

    kind: str
    message: str
    node: str = ""
    saved: str = ""
    saved_line: int | None = None
    freed_line: int | None = None
    modified_lines: tuple[int, ...] = ()


class PassPlan(NamedTuple):
    """What a pass would do; with a `failure`, `would` is what it would have done before that."""

    would: PassReport
    failure: Foreseen | None = None
    assumes: tuple[str, ...] = ()


class Course:
    """The pass while it is being thought through."""

    def __init__(self, roots: list[Node], targets: set[Node] | None, retain: bool) -> None:
        self.roots = roots
        self.targets = targets
        self.retain = retain
        self.order, self.arriving = toposort(roots)
        self.needed = None if targets is None else needed_nodes(self.order, targets)
        if self.needed is not None:
            self.arriving = arriving_from(self.order, self.needed, roots)
        self.reached: set[Node] = set()
        self.ran = self.saving = 0
        self.freed: list[Node] = []
        self.kept: list[Node] = []
        self.wrote: list[AccumulateGrad] = []
        self.assumes: dict[str, None] = {}

    def run(self) -> Exception | None:
        """Go through the nodes in the pass's order; return the error that it would end in."""
        for root in self.roots:
            if self.needed is None or root in self.needed:
                self._deliver(root, True)
        for node in paced(self.order, "planned"):
            if self.needed is not None and node not in self.needed:
                continue
            arrived = node in self.reached
            if arrived:
                try:
                    _check(node)
                except Exception as error:  # noqa: BLE001  # the engine's own refusal, whatever its class
                    return error
            self.ran += 1
            live = node.has_saved()
            self.saving += live if type(node) is CompactNode and live else saves(node)
            if type(node) is not CompactNode or node.extra is not None:
                self._note_assumptions(node)
            if live:
                (self.kept if self.retain or node.pins else self.freed).append(node)
            for below in node.below():
                if self.needed is not None and below not in self.needed:
                    continue
                if type(below) is AccumulateGrad:
                    self._deliver(below, arrived)
                elif arrived:
                    self.reached.add(below)
        return None

    def _deliver(self, node: Node, arrives: bool) -> None:
        if arrives:
            self.reached.add(node)
        if type(node) is not AccumulateGrad:
            return
        left = self.arriving[node] = self.arriving[node] - 1
        if left == 0 and node in self.reached and (self.targets is None or node in self.targets):
            meta = node.variable.meta
            if node.variable.needs_grad:
                self.wrote.append(node)
            if meta is not None and (meta.hooks or meta.post_hooks):
                self.assumes["hooks of leaves change nothing"] = None

    def _note_assumptions(self, node: Node) -> None:
        if type(node) is not OpNode and isinstance(node, FunctionNode):
            self.assumes[f"{node.name()}: its backward reads all that it saved"] = None
        extra = node.extra
        if extra is not None and (extra.prehooks or extra.posthooks or any(extra.tensor_hooks.values())):
            self.assumes["hooks change nothing"] = None


def _check(node: Node) -> None:
    """Raise the error with which a node would refuse to run on what it saved."""
    if isinstance(node, OpNode):
        if not node.record.node:
            raise fail("other", f"derivative for aten::{node.record.name} is not implemented", node=node)
        if node.raw:
            node._check_saved()
    elif type(node) is CopySlices:
        if type(node.entries) is FreedVariables:
            raise fail("freed", FREED_SENTENCE, node=node, index=0, freed_where=node.entries.location)
        _check(node.function)
    elif type(node.entries) is FreedVariables:
        node.unpack(0, as_tensor=False)
    else:
        for index, entry in enumerate(node.entries):
            for kept in entry if type(entry) is list else (entry,):
                if isinstance(kept, SavedVariable) and kept.counter.version != kept.version:
                    raise node.modified(kept, index)
        refusal = getattr(node, "message", None)
        if isinstance(refusal, str):
            raise fail("other", refusal, node=node)


def plan(
    tensors: Sequence[Tensor], gradients: Sequence[Tensor | None] | None, retain: bool, create_graph: bool,
    inputs: Sequence[Tensor] | None, variables: Mapping[str, object], line_of: LineOf, pins: Sequence[str] = (),
) -> PassPlan:
    """Return what `backward` with these arguments would do now. Touches nothing."""
    try:
        roots = [edge[0] for edge, _ in make_roots(tensors, gradients, create_graph)]
        targets = None if inputs is None else _targets(inputs)
    except Exception as error:  # noqa: BLE001  # told as data
        return PassPlan(_NOTHING, _foreseen(error, line_of))
    course = Course(roots, targets, retain or create_graph)
    refusal = course.run()
    if refusal is not None and current().atomic:  # then the pass has not freed or written anything yet
        course.freed, course.kept, course.wrote = [], [], []
    would = _account(course, variables, line_of, pins)
    return PassPlan(would, None if refusal is None else _foreseen(refusal, line_of), tuple(course.assumes))


_NOTHING = PassReport(0, (), (), "", (), 0, 0)


def _targets(inputs: Sequence[Tensor]) -> set[Node]:
    found: set[Node] = set()
    for place, tensor in enumerate(inputs):
        edge = gradient_edge(tensor)
        if edge is None:
            message = "can't retain_grad on Tensor that has requires_grad=False"
            raise fail("no_grad", message, tensor=tensor, index=place)
        found.add(edge[0])
    return found


def _account(course: Course, variables: Mapping[str, object], line_of: LineOf, pins: Sequence[str]) -> PassReport:
    names, lines, alike = Names(variables), LineTable(line_of), Buffers()
    given = given_back(course.freed)
    freed: list[Buffer] = []
    for node in paced(course.freed, "told"):
        line, title = lines.of_node(node), node_name(node) or ""
        for name, array, nbytes in live_entries(node):
            key = 0 if array is None else memory_key(array)
            held = () if array is None or key in given else names.of_memory(key) or ("the graph",)
            freed.append(alike[title, name, nbytes, line, held, array is None])
    kept = tuple([
        alike[node_name(node) or "", name, nbytes, lines.of_node(node), (), False]
        for node in paced(course.kept, "told") for name, _, nbytes in live_entries(node)
    ])
    pinned = any(node.pins for node in course.kept)
    because = "" if not kept else f"pinned by {', '.join(pins)}" if pinned else "--retain"
    wrote = tuple(
        Written(names.of_leaf(leaf.variable), leaf.variable.meta is None or leaf.variable.meta.grad is None)
        for leaf in course.wrote
    )
    memories = {
        memory_key(array): memory_bytes(array) for node in course.kept for _, array, _ in live_entries(node) if array is not None
    }
    return PassReport(
        course.ran + len(wrote), tuple(freed), kept, because, wrote, sum(given.values()), course.saving, kept_in=sum(memories.values()),
    )


def _foreseen(error: Exception, line_of: LineOf) -> Foreseen:
    fault = fault_of(error)
    fields: dict[str, Any] = {} if fault is None else fault.fields
    kind = "other" if fault is None else fault.kind
    node = fields.get("node")
    name, index = fields.get("name"), fields.get("index")
    if node is None:
        return Foreseen(kind, str(error))
    if name is None and index is not None:
        names = list(node.saved_names())
        name = names[index] if index < len(names) else None
    writes = tuple(dict.fromkeys(line for _, where in fields.get("writes", ()) if (line := line_of(where)) is not None))
    freed_line = line_of(fields["freed_where"]) if fields.get("freed_where") is not None else None
    return Foreseen(kind, str(error), node_name(node) or "", name or "", line_of(node.location), freed_line, writes)
