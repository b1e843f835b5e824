"""What one statement, or several, changed: nodes made, tensors saved and freed, gradients written, versions bumped, names bound.

Nothing is noted while statements run: nodes carry their birth, freed ones who freed them, versions their writes.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from gradsh.engine.graph.node import LAST, Node
from gradsh.engine.graph.saved import FreedVariables
from gradsh.engine.graph.tensor import Tensor, last_node_of
from gradsh.engine.graph.types import Location
from gradsh.probe.foreign import tensor_of
from gradsh.probe.names import Names, named_tensors, roots_of
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.snapshot import node_name, nodes_below

UnitOf = Callable[[Location], int]


class MadeNode(NamedTuple):
    """A node that the statement made: operation, names, output shape, what it saved as (name, bytes)."""

    node: str
    variables: tuple[str, ...]
    shape: tuple[int, ...]
    saved: tuple[tuple[str, int], ...]


class Changes(NamedTuple):
    """What a statement changed. `bumped` has (name, from version, to version), `freed` (node, saved tensor, bytes)."""

    text: str
    line: int
    ok: bool
    made: tuple[MadeNode, ...]
    freed: tuple[tuple[str, str, int], ...]
    wrote: tuple[str, ...]
    bumped: tuple[tuple[str, int, int], ...]
    bound: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...]


def changes(
    entry: tuple[str, int, bool], units: Container[int], marks: tuple[int, int], variables: Mapping[str, object], unit_of: UnitOf,
    written: Iterable[Tensor], names: Iterable[str],
) -> Changes:
    """Return what the statements `units` changed, as far as what they made is still alive.

    `entry` is (text, line, whether it passed), `marks` the sequence numbers that no node made before them, or by them, exceeds,
    `written` the leaves their passes wrote, `names` those that they bind or delete.
    """
    known = Names(variables)
    mark, last = marks[0], min(marks[1], LAST - 1)  # the nodes of leaves have LAST, whenever they were made
    made: list[MadeNode] = []
    freed: list[tuple[str, str, int]] = []
    seen: set[Node] = set()
    for _, root in roots_of(variables):
        if root in seen:
            continue
        for node in nodes_below(root, seen):
            if mark < node.seq <= last:
                made.append(_made(node, known))
            freed += _freed(node, units, unit_of)
    text, line, ok = entry
    wrote = tuple(f"{known.of_leaf(leaf)}.grad" for leaf in written)
    bound = tuple((name, told(variables[name])) for name in names if name in variables)
    dropped = tuple(name for name in names if name not in variables)
    return Changes(text, line, ok, tuple(made), tuple(freed), wrote, _bumped(variables, units, unit_of), bound, dropped)


def _made(node: Node, names: Names) -> MadeNode:
    shape = tuple(node.outputs[0][0]) if node.outputs else ()
    saved = tuple((saved_title(one), one.nbytes) for one in saved_inside(node))
    return MadeNode(node_name(node) or "", names.of_node(node), shape, saved)


def _freed(node: Node, units: Container[int], unit_of: UnitOf) -> list[tuple[str, str, int]]:
    entries = node.entries
    if type(entries) is not FreedVariables or unit_of(entries.location) not in units:
        return []
    return [(node_name(node) or "", saved_title(one), one.nbytes) for one in saved_inside(node)]


def _bumped(variables: Mapping[str, object], units: Container[int], unit_of: UnitOf) -> tuple[tuple[str, int, int], ...]:
    found: list[tuple[str, int, int]] = []
    seen: set[int] = set()
    for path, tensor in named_tensors(variables):
        held: Tensor | None = tensor
        name = path
        while held is not None and id(held.counter) not in seen:
            counter = held.counter
            seen.add(id(counter))
            writes = [version for version, where in counter.writes or () if where is not None and unit_of(where) in units]
            if writes:
                found.append((name, writes[0] - 1, writes[-1]))
            held = None if held.meta is None else held.meta.grad
            name += ".grad"
    return tuple(found)


def told(value: object) -> str:
    """Return a few words on a value: a tensor's shape and what made it, else its type."""
    tensor = tensor_of(value)
    if tensor is None:
        return type(value).__name__
    made = node_name(last_node_of(tensor)) or ("leaf" if tensor.needs_grad else "no grad")
    return f"{tuple(tensor.array.shape)} {made}"
