"""`graph`: draws the graph behind tensors, with what each node saved and in what state it is."""

from gradsh.commands.record import command
from gradsh.engine.node import Node
from gradsh.engine.tensor import Tensor
from gradsh.probe.graph import GraphReport, SavedMark, graph_report
from gradsh.probe.names import roots_of
from gradsh.state import State
from gradsh.text.fault import fail
from gradsh.view.shapes import Dag, DagNode, Edge, Lines, Mark, View

_MOST = 300


@command(
    "graph",
    "Draw the graph of the tensors: variables, operations, shapes, saved tensors and their state, lines.",
    examples=["x = ones(2, requires_grad=True)\nz = (x * 3).pow(2).sum()\ngraph z"],
)
def run(state: State, *targets: Tensor, depth: int | None = None) -> GraphReport:
    """Return the graph below the targets (below every variable's tensor without any), cut at `--depth` steps."""
    if targets:
        roots = []
        for place, tensor in enumerate(targets):
            node = tensor.grad_fn
            if node is None:
                text = state.call.texts[place] if place < len(state.call.texts) else "the tensor"
                reason = "it is a leaf" if tensor.requires_grad else "it does not require grad"
                raise fail("no_grad", f"{text} has no graph: {reason}", RuntimeError, tensor=tensor)
            roots.append(node)
    else:
        roots = _outermost(state)
    return graph_report(roots, state.names_in_reach(), state.line_of, depth, _MOST)


def _outermost(state: State) -> list[Node]:
    """Return the nodes held by variables that no other variable's graph contains."""
    nodes = [node for _, node in roots_of(state.names_in_reach())]
    below: set[Node] = set()
    for node in sorted(set(nodes), key=lambda one: one.seq):
        stack = [node]
        while stack:
            for edge in stack.pop().edges:
                if edge is not None and edge[0] not in below:
                    below.add(edge[0])
                    stack.append(edge[0])
    return [node for node in dict.fromkeys(nodes) if node not in below]


def view(report: GraphReport) -> View:
    """Shape the drawing."""
    if not report.nodes:
        return Lines(("no graph: no variable has a grad_fn",))
    nodes = tuple(
        DagNode(node.name, node.variables, node.shape, tuple(_mark(mark, node.variables) for mark in node.saved), node.line)
        for node in report.nodes
    )
    edges = tuple(Edge(a, b, f":{output}" if output else "") for a, b, output in report.edges)
    left = report.total - len(report.nodes)
    more = f"{left:,} of {report.total:,} nodes are not drawn; `graph T --depth N` draws less deep" if left > 0 else ""
    return Dag(nodes, edges, report.roots, report.hidden, (), more)


def _mark(mark: SavedMark, variables: tuple[str, ...]) -> Mark:
    if mark.state == "freed":
        where = f" by line {mark.freed_line}" if mark.freed_line is not None else ""
        return Mark("freed", f"{mark.name} freed{where}")
    held = [name for name in mark.held_by if name not in variables] or list(mark.held_by)
    words = f"{mark.name} {mark.nbytes:,} B"
    if mark.state == "pinned":
        words += ", pinned"
    if mark.state == "modified":
        words += ", modified since"
    if held:
        words += f", also held by {', '.join(held[:2])}" + (f" and {len(held) - 2} more" if len(held) > 2 else "")
    return Mark(mark.state, words)
