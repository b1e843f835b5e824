"""Which nodes a pass reaches, in what order, and how many contributions each leaf waits for. Nothing recurses."""

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import OUT_OF_ORDER, Node
from gradsh.engine.graph.tensor import AccumulateGrad

_SEQUENCE = attrgetter("seq")


def toposort(roots: Iterable[Node]) -> tuple[list[Node], dict[Node, int]]:
    """Return the nodes reachable from `roots`, latest first, and how many edges reach each leaf's AccumulateGrad."""
    seen: set[Node] = set()
    arriving: dict[Node, int] = {}
    order: list[Node] = []
    stack = list(roots)
    while stack:
        node = stack.pop()
        if type(node) is AccumulateGrad:
            arriving[node] = arriving.get(node, 0) + 1
        elif node not in seen:
            seen.add(node)
            order.append(node)  # mostly in order already, which a sort notices
            if type(node) is CompactNode:
                edge: Any = node.left
                if edge is not None:
                    stack.append(edge[0] if type(edge) is tuple else edge)
                edge = node.right
                if edge is not None:
                    stack.append(edge[0] if type(edge) is tuple else edge)
            else:
                stack.extend([edge[0] for edge in node.edges if edge is not None])
    order.sort(key=_SEQUENCE, reverse=True)
    return _by_readiness(order) if OUT_OF_ORDER in current().flags else order, arriving


def _by_readiness(nodes: list[Node]) -> list[Node]:
    """Return nodes in the order in which a pass takes them: of those that wait for no other one, that of the highest number.

    A node of an operation without a derivative has the highest number of all, as in PyTorch.
    """
    nodes.sort(key=lambda node: not node.runs_first)  # keeps the order of the others
    waiting: Counter[Node] = Counter(edge[0] for node in nodes for edge in node.edges if edge is not None)
    places = {node: place for place, node in enumerate(nodes)}
    ready = [place for place, node in enumerate(nodes) if not waiting[node]]  # sorted, so it is a heap
    order = []
    while ready:
        node = nodes[heappop(ready)]
        order.append(node)
        for edge in node.edges:
            if edge is not None and edge[0] in places:
                waiting[edge[0]] -= 1
                if not waiting[edge[0]]:
                    heappush(ready, places[edge[0]])
    return order


def needed_nodes(order: list[Node], targets: Iterable[Node]) -> set[Node]:
    """Return the nodes on a way to a target, from nodes sorted latest first (targets themselves included)."""
    needed = set(targets)
    for node in reversed(order):
        for edge in (node.left, node.right) if type(node) is CompactNode else node.edges:
            if edge is not None and (edge[0] if type(edge) is tuple else edge) in needed:
                needed.add(node)
                break
    return needed


def arriving_from(order: list[Node], needed: set[Node], roots: Iterable[Node]) -> dict[Node, int]:
    """Return how many edges of needed nodes (and roots) reach each leaf: what must arrive before it is complete."""
    arriving: dict[Node, int] = {}
    for root in roots:
        if type(root) is AccumulateGrad:
            arriving[root] = arriving.get(root, 0) + 1
    for node in order:
        if node in needed:
            for edge in (node.left, node.right) if type(node) is CompactNode else node.edges:
                leaf = edge[0] if type(edge) is tuple else edge
                if type(leaf) is AccumulateGrad:
                    arriving[leaf] = arriving.get(leaf, 0) + 1
    return arriving
