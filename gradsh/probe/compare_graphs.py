"""Two graphs beside each other: nodes of each operation, what is shared, saved tensors, freed and modified ones, gradients."""

from collections import Counter
from typing import NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.values.storage import memory_bytes, memory_key
from gradsh.probe.given import freed_count, kept_in
from gradsh.probe.snapshot import node_name, nodes_below


class Compared(NamedTuple):
    """A number of the one graph and of the other: what is counted, whether it counts bytes."""

    what: str
    first: int
    second: int
    is_bytes: bool = False


class GraphDiff(NamedTuple):
    """How two graphs differ; `shared` is the number of nodes that are in both."""

    first: str
    second: str
    shared: int
    rows: tuple[Compared, ...]


def compare_graphs(first: str, second: str, roots: tuple[Node, Node]) -> GraphDiff:
    """Return the counts of two graphs, and of the operations those that differ."""
    nodes = tuple(set(nodes_below(root)) for root in roots)
    counts = tuple(_counts(part) for part in nodes)
    kinds = tuple(Counter(node_name(node) or "" for node in part) for part in nodes)
    rows = [Compared(what, counts[0][what], counts[1][what], what == "bytes saved") for what in counts[0]]
    rows += [Compared(kind, kinds[0][kind], kinds[1][kind]) for kind in sorted(kinds[0] | kinds[1]) if kinds[0][kind] != kinds[1][kind]]
    return GraphDiff(first, second, len(nodes[0] & nodes[1]), tuple(rows))


def _counts(nodes: set[Node]) -> dict[str, int]:
    kept = [(one, one.array) for node in nodes for one in kept_in(node) if one.array is not None]
    sizes = {memory_key(array): memory_bytes(array) for _, array in kept}
    leaves = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
    return {
        "nodes": len(nodes), "saved tensors": len(kept),
        "bytes saved": sum(sizes.values()),
        "freed": sum(freed_count(node) for node in nodes if node.freed),
        "modified since": sum(one.counter.version != one.version for one, _ in kept),
        "leaves": len(leaves), "leaves with a gradient": sum(leaf.grad is not None for leaf in leaves),
    }
