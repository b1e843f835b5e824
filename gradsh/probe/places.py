"""The places of very many nodes: what is asked of a place is found once for all that share it."""

from typing import Any

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.types import LineOf, Location
from gradsh.text.line import Line


def call_around(activation: Any) -> object:
    """Return the activation of the innermost call that one lies in: the passes of its loops are left out."""
    while activation[2] is None and activation[1]:
        activation = activation[0]
    return activation


class LineTable:
    """The lines of places; a place is the same in each pass of a loop and in each call."""

    def __init__(self, line_of: LineOf) -> None:
        self._line_of = line_of
        self._known: dict[tuple[int, int], int | None] = {}
        self._made: dict[Line, Line] = {}
        """Each line once: a set of those of many nodes then finds them without comparing."""

    def of(self, where: Location) -> int | None:
        """Return the line of a place, None where there is none."""
        return None if where is None else self._at((id(where[1]), where[2]), where)

    def of_node(self, node: Node) -> int | None:
        """Return the line on which a node was made."""
        if type(node) is not CompactNode or node.code is None:
            return self.of(node.location)
        key = id(node.code), node.offset
        return self._known[key] if key in self._known else self._at(key, node.location)

    def _at(self, key: tuple[int, int], where: object) -> int | None:
        line = self._known.get(key, 0)
        if line == 0:
            line = self._line_of(where)
            if line is not None and not isinstance(line, Line):
                line = Line(line)  # unlike a plain number, it is no other text's
            self._known[key] = line = line if line is None else self._made.setdefault(line, line)
        return line
