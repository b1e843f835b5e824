"""The tensors saved for backward, as a table: state, bytes, versions, lines, and who else holds each memory."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gradsh.engine.node import Node, SavedTensor
from gradsh.engine.storage import memory_bytes, memory_key
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside
from gradsh.probe.snapshot import node_name, nodes_below

LineOf = Callable[[Any], int | None]
BufferState = Literal["live", "freed", "pinned", "modified"]


@dataclass(frozen=True, slots=True)
class BufferRow:
    """One saved tensor. `nbytes` are the tensor's own; `memory` numbers the memory it stands in (0: freed).

    `alone` tells that only graphs keep the memory alive, so a backward that frees the tensor gives it back.
    """

    node: str
    name: str
    of: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    state: BufferState
    held_by: tuple[str, ...]
    alone: bool
    version: int | None
    current_version: int | None
    saved_line: int | None
    freed_line: int | None
    memory: int


@dataclass(frozen=True, slots=True)
class BufferTotals:
    """Bytes of the live entries: as saved, of distinct memories, and of these by who holds them (each counted once)."""

    entries: int
    freed: int
    nbytes: int
    memories: int
    unique_bytes: int
    parameter_bytes: int
    variable_bytes: int
    graph_bytes: int


def buffer_rows(roots: Iterable[Node], variables: Mapping[str, object], line_of: LineOf) -> list[BufferRow]:
    """Return a row for each saved tensor of the nodes reachable from `roots`, depth first, each node once."""
    names = Names(variables)
    seen: set[Node] = set()
    numbers: dict[int, int] = {}
    rows: list[BufferRow] = []
    for root in roots:
        for node in nodes_below(root):
            if node in seen:
                continue
            seen.add(node)
            for saved in saved_inside(node):
                rows.append(_row(node, saved, names, line_of, numbers))
    return rows


def _row(node: Node, saved: SavedTensor, names: Names, line_of: LineOf, numbers: dict[int, int]) -> BufferRow:
    state: BufferState = "live"
    held: tuple[str, ...] = ()
    number = 0
    alone = False
    if saved.freed:
        state = "freed"
    else:
        if saved.current_version != saved.version:
            state = "modified"
        elif node.pins:
            state = "pinned"
        if saved.array is not None:
            key = memory_key(saved.array)
            held = names.of_memory(key)
            number = numbers.setdefault(key, len(numbers) + 1)
            alone = not held
    title = saved.name if saved.index is None else f"{saved.name}[{saved.index}]"
    return BufferRow(
        node_name(node) or "", title, names.of_node(node), saved.shape, saved.dtype.name, saved.nbytes, state, held,
        alone, saved.version, saved.current_version, line_of(node.where),
        line_of(saved.freed_where) if saved.freed else None, number,
    )


def totals_of(roots: Iterable[Node], variables: Mapping[str, object]) -> BufferTotals:
    """Count the saved tensors below `roots`; a memory that several share counts once."""
    names = Names(variables)
    seen: set[Node] = set()
    entries = freed = nbytes = 0
    sizes: dict[int, int] = {}
    for root in roots:
        for node in nodes_below(root):
            if node in seen:
                continue
            seen.add(node)
            for saved in saved_inside(node):
                if saved.freed:
                    freed += 1
                    continue
                entries += 1
                nbytes += saved.nbytes
                if saved.array is not None:
                    sizes[memory_key(saved.array)] = memory_bytes(saved.array)
    held = {key: names.memory.get(key, ()) for key in sizes}
    parameters = sum(size for key, size in sizes.items() if any(leaf for _, leaf in held[key]))
    alone = sum(size for key, size in sizes.items() if not held[key])
    unique = sum(sizes.values())
    return BufferTotals(entries, freed, nbytes, len(sizes), unique, parameters, unique - parameters - alone, alone)
