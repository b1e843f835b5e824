"""The places of very many nodes: what is asked of a place is found once for all that share it."""

from typing import Any

from gradsh.engine.graph.types import LineOf


def call_around(activation: Any) -> Any:
    """Return the activation of the innermost call that one lies in: the passes of its loops are left out."""
    while activation[2] is None and activation[1]:
        activation = activation[0]
    return activation


class Lines:
    """The lines of places; a place is the same in each pass of a loop and in each call."""

    def __init__(self, line_of: LineOf) -> None:
        self._line_of = line_of
        self._known: dict[tuple[int, int], int | None] = {}

    def of(self, where: Any) -> int | None:
        """Return the line of a place, None where there is none."""
        if where is None:
            return None
        key = id(where[1]), where[2]
        line = self._known.get(key, 0)
        if line == 0:
            line = self._known[key] = self._line_of(where)
        return line
