"""`graph`: draws the graph behind tensors, with what each node saved and in what state it is."""

import re
from typing import Literal

from gradsh.commands.record import Word, command
from gradsh.commands.words import count, listed
from gradsh.contracts.state import State
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, gradient_edge, node_of
from gradsh.probe.fold import LOOP
from gradsh.probe.graph import GraphNode, GraphReport, SavedMark, Wanted, graph_report
from gradsh.probe.names import roots_of
from gradsh.probe.snapshot import nodes_below_all
from gradsh.text.fault import fail
from gradsh.view.shapes import Dag, DagFrame, DagNode, Edge, Lines, Mark, View

_MOST = 300
_SUMMARY_FROM = 30


@command(
    "graph",
    "Draw the graph of the tensors: variables, operations, shapes, saved tensors with their state, lines.",
    examples=[
        "x = ones(2, requires_grad=True)\nz = (x * 3).pow(2).sum()\ngraph z",
        "x = ones(2, requires_grad=True)\nz = x.pow(2).sum()\ngraph z --depth 1\ngraph z --limit 3\ngraph z --format mermaid",
        "w = ones(2, requires_grad=True)\nh = w\nfor i in range(30):\n    h = (h * w).tanh()\n\ngraph h\ngraph h --name tanh --depth 3",
        "def f(h, w):\n    return (h * w).tanh()\n\nw = ones(2, requires_grad=True)\ny = f(f(w, w), w).sum()\ngraph y --by function",
        "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())\ny = net(ones(1, 2)).sum()\ngraph y --by module\ngraph y --open net[0]",
    ],
)
def run(
    state: State,
    *targets: Tensor,
    depth: int | None = None,
    expand: bool = False,
    limit: int | None = None,
    by: Literal["module", "function", "line", "none"] | None = None,
    open: Word | None = None,
    from_: tuple[Tensor, ...] | None = None,
    to: tuple[Tensor, ...] | None = None,
    state_: Literal["live", "freed", "pinned", "modified"] | None = None,
    name: Word | None = None,
) -> GraphReport:
    """Without a tensor: the graphs of all variables.

    `--depth N` draws N steps. Large graphs are folded by module, function and loop, and of very large ones only the
    nearest nodes are drawn: `--expand` draws all nodes, `--limit N` at most N. `--by` draws the nodes of each
    module, function call or line as one, `--open NAME` those of one module or function singly. Pictures have frames
    around what is open. `--from T` starts at further
    tensors; `--to T` draws only paths to these tensors; `--state` and `--name` draw only nodes that match.
    """
    for option, number, least in (("--depth", depth, 0), ("--limit", limit, 1)):
        if number is not None and number < least:
            raise fail("value", f"{option} must be at least {least}, not {number}", ValueError)
    tensors = (*targets, *(from_ or ()))
    roots = [_root(state, place, tensor) for place, tensor in enumerate(tensors)] if tensors else _outermost(state)
    ends = tuple(_end(one) for one in to or ())
    wanted = Wanted(depth, limit or (None if expand else _MOST), expand, ends, state_ or "", str(name or ""), by or "", _path(open or ""))
    return graph_report(roots, state.names_in_reach(), state.line_of, state.control.scopes_of, wanted)


def _path(text: str) -> str:
    """Return a module's path as names are written: `net[0].fc` for `net.0.fc`, too."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", text)


def _root(state: State, place: int, tensor: Tensor) -> Node:
    node = node_of(tensor)
    if node is None:
        text = state.call.texts[place] if place < len(state.call.texts) else "the tensor"
        if tensor.requires_grad:
            raise fail("value", f"{text} has no graph: it is a leaf, where graphs end", ValueError)
        raise fail("no_grad", f"{text} has no graph: it does not require grad", tensor=tensor)
    return node


def _end(tensor: Tensor) -> Node:
    edge = gradient_edge(tensor)
    if edge is None:
        raise fail("no_grad", "--to: no gradient flows to a tensor that does not require grad", tensor=tensor)
    return edge[0]


def _outermost(state: State) -> list[Node]:
    """Return the nodes held by variables that no other variable's graph contains."""
    nodes = [node for _, node in roots_of(state.names_in_reach())]
    below = set(nodes_below_all(end for node in nodes for end in node.below()))
    return [node for node in dict.fromkeys(nodes) if node not in below]


def view(report: GraphReport) -> View:
    """Shape the drawing; a large graph is summed up below it."""
    if not report.total:
        return Lines(("no graph: no variable has a grad_fn",))
    if not report.nodes:
        return Lines((f"no node matches ({count(report.total, 'node')})",))
    totals = (_summary(report),) if report.total > _SUMMARY_FROM else ()
    frames = tuple(DagFrame(frame.title, frame.parent) for frame in report.frames)
    return Dag(*_parts(report), report.roots, totals, _advice(report), frames)


def _parts(report: GraphReport) -> tuple[tuple[DagNode, ...], tuple[Edge, ...]]:
    """Return nodes and edges of the drawing: for each edge that is cut a stub, at the edge's place among the others."""
    nodes = [_node(node) for node in report.nodes]
    below: list[list[Edge]] = [[] for _ in nodes]
    for source, target, output in report.edges:
        below[source].append(Edge(source, target, f":{output}" if output else ""))
    for source, place, number in report.cuts:
        below[source].insert(place, Edge(source, len(nodes)))
        nodes.append(DagNode(f"… {number:,} more node{'' if number == 1 else 's'} below", stub=True, frame=nodes[source].frame))
    return tuple(nodes), tuple(edge for edges in below for edge in edges)


def _advice(report: GraphReport) -> str:
    """Say how to see what is not drawn, if there is any."""
    drawn = sum(node.members + len(node.leaves) for node in report.nodes)
    if drawn < report.total:
        every = "; `--expand` draws all" if report.cuts else ""
        ways = f"select with `--depth`, `--limit`, `--to`, `--name`, `--state`{every}"
        return f"nodes not drawn: {report.total - drawn:,} of {report.total:,}; {ways}"
    folds = [node for node in report.nodes if node.members > 1]
    if not report.folded or not folds:
        return ""
    kinds = {"module": any(node.module for node in folds), "function": any(node.name.endswith("()") for node in folds)}
    opening = "; `--open NAME` those of a " + " or ".join(kind for kind in kinds if kinds[kind]) if any(kinds.values()) else ""
    inside = sum(node.members + len(node.leaves) for node in folds)
    return f"{inside:,} nodes are folded into {count(len(folds), 'part')}; `graph T --expand` draws every node{opening}"


def _summary(report: GraphReport) -> str:
    kinds = [f"{number:,} {name}" for name, number in report.kinds]
    live, freed, size = report.saved
    saved = f"; {count(live, 'saved tensor')} in {size:,} B" if live else "; nothing is saved" if not freed else ""
    return f"{count(report.total, 'node')}: {listed(kinds, 5)}{saved}" + (f"; {freed:,} freed" if freed else "")


def _node(node: GraphNode) -> DagNode:
    names = node.variables if node.members == 1 else node.variables[:3]
    marks = tuple(_mark(mark, node.variables) for mark in node.saved)
    if node.members == 1 and not node.leaves and node.shape is not None:
        return DagNode(node.name, names, node.shape, marks, node.line, frame=node.frame)
    note = ", ".join([count(node.members, "node")] * (node.members > 1) + _leaves(node))
    title = node.name if node.times == 1 else f"{node.times:,} × {node.name}"
    if node.name == LOOP:
        title = f"{node.times:,} iterations of the loop"
    return DagNode(title, names, None, marks, node.line, note, node.last_line, frame=node.frame)


def _leaves(node: GraphNode) -> list[str]:
    """Tell the leaves that only a fold reaches; of a module their names within it, or how many."""
    own = [one.removeprefix(f"{node.module}.") for one in node.leaves]
    if node.module and len(own) > 2:
        return [count(len(own), "leaf", "leaves")]
    return [f"to {listed(own)}"] if own else []


def _mark(mark: SavedMark, variables: tuple[str, ...]) -> Mark:
    where = f" by line {mark.freed_line}" if mark.freed_line is not None else ""
    if not mark.name:
        words = count(mark.count, "tensor") + (f" freed{where}" if mark.state == "freed" else f", {mark.nbytes:,} B")
        return Mark(mark.state, words + (f", {mark.state}" if mark.state in {"pinned", "modified"} else ""))
    if mark.state == "freed":
        return Mark("freed", f"{mark.name} freed{where}")
    held = [name for name in mark.held_by if name not in variables] or list(mark.held_by)
    words = f"{mark.name} {mark.nbytes:,} B"
    if mark.state == "pinned":
        words += ", pinned"
    if mark.state == "modified":
        words += ", modified since"
    if mark.state == "packed":
        words += ", recomputed by its checkpoint" if mark.recomputed else ", packed by a hook"
    if held:
        words += f", also held by {', '.join(held[:2])}" + (f" and {len(held) - 2} more" if len(held) > 2 else "")
    return Mark(mark.state, words)
