"""In which order what is below a node is drawn, so that a deep graph stays narrow: what is short first, what goes on last."""

from collections.abc import Callable, Sequence

from gradsh.view.shapes import Dag

_LOOKED_AT = 200
"""Nodes that are looked at to find out whether one leads to another."""
Child = tuple[int, str]


def drawing_order(dag: Dag) -> "Order":
    """Return what the edges of a drawing tell of its nodes."""
    children: list[list[Child]] = [[] for _ in dag.nodes]
    reached = [0] * len(dag.nodes)
    for source, target, label in dag.edges:
        children[source].append((target, label))
        reached[target] += 1
    for root in dag.roots:
        reached[root] += 1
    return Order(children, {i for i, count in enumerate(reached) if count > 1}, dag.roots)


class Order:
    """Each node's inputs (node, label), the nodes that are reached more than once, and how high each stands."""

    def __init__(self, children: list[list[Child]], shared: set[int], roots: Sequence[int]) -> None:
        self.children = children
        self.shared = shared
        self.heights = _heights(children, roots)
        self.height = max((self.heights[root] for root in roots), default=0)

    def straight(self, index: int, is_row: Callable[[int], bool]) -> list[Child]:
        """Return the inputs of a node: first what takes one row, then from the lowest to the highest.

        An input to which another one leads comes last: the drawing runs through the other to it, and goes on from there.
        """
        children = sorted(self.children[index], key=lambda one: 0 if is_row(one[0]) else self.heights[one[0]])
        for place in range(len(children) - 2, -1, -1):
            if not is_row(children[place][0]) and self.reached_by(children[-1:], children[place][0]):
                children.append(children.pop(place))
                break
        return children

    def reached_by(self, starts: Sequence[Child], target: int) -> bool:
        """Whether one of some nodes is another or leads to it, as far as is found out by looking at a few nodes."""
        least = self.heights[target]
        if any(start == target for start, _ in starts):
            return True
        stack = [start for start, _ in starts if self.heights[start] > least]
        seen = set(stack)
        while stack and len(seen) <= _LOOKED_AT:
            for child, _ in self.children[stack.pop()]:
                if child == target:
                    return True
                if self.heights[child] > least and child not in seen:
                    seen.add(child)
                    stack.append(child)
        return False


def _heights(children: list[list[Child]], roots: Sequence[int]) -> list[int]:
    """Return how many edges the longest way from each node down has."""
    heights = [-1] * len(children)
    stack = list(roots)
    while stack:
        index = stack[-1]
        below = [child for child, _ in children[index] if heights[child] < 0]
        if below and heights[index] == -1:
            heights[index] = -2  # its inputs come first
            stack += below
            continue
        stack.pop()
        heights[index] = max((heights[child] + 1 for child, _ in children[index]), default=0)
    return heights
