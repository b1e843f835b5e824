"""The nodes of a report: when each was born, ran, was freed and died, what it saved, and where it stands in the program."""

from collections.abc import Callable, Iterable
from typing import Any
from weakref import ref

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.values.storage import owner_of
from gradsh.probe.budget import ModuleCall, owners_of
from gradsh.probe.given import kept_in
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.snapshot import node_name
from gradsh.probe.tally import Tally
from gradsh.report.places import Places, Storages


class Graphs(Tally):
    """The tally of the nodes that are alive, which also keeps a record of every node that it has seen.

    `step` is the number of the step to which what happens now belongs.
    """

    def __init__(self, places: Places, storages: Storages) -> None:
        super().__init__()
        self.places, self.storages = places, storages
        self.step = 0
        self.records: list[dict[str, Any]] = []
        self.number: dict[ref[Node], int] = {}
        """node that is alive -> its place in the records"""
        self._order: list[int] = []
        """sequence numbers of the nodes in the records"""
        self._new: list[Node] = []

    def follow(self, roots: Iterable[Node]) -> int:
        """Record the nodes that the roots lead to and that are not known yet; return how many these were."""
        found = super().follow(roots)
        new, self._new = self._new, []
        for node in new:
            record = self.records[self.number[ref(node)]]
            record["edges"] = [(self.number[ref(edge[0])], edge[1]) for edge in node.edges if edge is not None]
        return found

    def _hold(self, node: Node, known: ref[Node]) -> tuple[int, ...]:
        held = super()._hold(node, known)
        if known not in self.number:
            self.number[known] = len(self.records)
            self.records.append(node_record(node, self.step, self.places, lambda array: self.storages.number(owner_of(array))))
            self._order.append(node.seq)
            self._new.append(node)
        return held

    def _drop(self, gone: ref[Node]) -> None:
        super()._drop(gone)
        self.records[self.number.pop(gone)]["died"] = self.step

    def look_again(self) -> int:
        """Note what was freed, pinned or modified since the last look; return how many nodes were looked at."""
        nodes = [node for known, held in list(self._known.items()) if held and (node := known()) is not None]
        self.again(nodes)
        for node in nodes:
            self.note(node)
        return len(nodes)

    def note(self, node: Node) -> None:
        """Note in which state a node's saved tensors are now."""
        note_state(self.records[self.number[ref(node)]], node, self.step, self.places)

    def name_modules(self, calls: Iterable[ModuleCall]) -> None:
        """Note in which module each node was made."""
        owners = owners_of(calls)
        for record, number in zip(self.records, self._order, strict=True):
            if number in owners and "leaf" not in record:
                record["module"] = owners[number][0]

    def storages_of(self, node: Node) -> tuple[int, ...]:
        """Return the storages that the live saved tensors of a node stood in when it was last looked at."""
        return self._known.get(ref(node), ())

    def users(self, storage: int) -> int:
        """Return how many saved tensors stood in a storage."""
        return self._more.get(storage, 0) + (storage in self.sizes)


def node_record(node: Node, step: int, places: Places, storage_of: Callable[[Any], int]) -> dict[str, Any]:
    """Return what is told of a node that is seen first at a step; its edges are added when all nodes have numbers."""
    leaf = type(node) is AccumulateGrad
    saved = [] if leaf else [_saved_record(one, storage_of) for one in saved_inside(node)]
    return {
        "name": node_name(node) or "", "shape": node.outputs[0][0] if node.outputs else (), "born": step,
        **({"leaf": True} if leaf else places.of(node.location)), **({"saved": saved} if saved else {}),
    }


def _saved_record(saved: Any, storage_of: Callable[[object], int]) -> dict[str, object]:
    array = saved.array
    found = {
        "name": saved_title(saved), "shape": saved.shape, "dtype": saved.dtype.name, "bytes": saved.nbytes,
        "storage": None if array is None else storage_of(array), "version": saved.version,
    }
    return {**found, "packed": "recomputed" if saved.recomputed else "hook"} if array is None and not saved.freed else found


def note_state(record: dict[str, Any], node: Node, step: int, places: Places) -> None:
    """Note in a node's record what was freed, pinned or modified by a step."""
    if "saved" not in record or "freed" in record:
        return
    if node.freed:
        record["freed"] = step
        record["freed_line"] = places.line_of(saved_inside(node)[0].freed_where)
        return
    if (node.pins > 0) != bool(len(record.get("pinned", ())) % 2):
        record.setdefault("pinned", []).append(step)
    if all(one.counter.version == one.version for one in kept_in(node)):
        return
    for told, saved in zip(record["saved"], saved_inside(node), strict=False):
        if saved.array is not None and saved.current_version != saved.version and "modified" not in told:
            writes = saved.counter.writes_since(saved.version or 0) if saved.counter is not None else []
            told["modified"] = step
            told["modified_line"] = places.line_of(writes[0][1]) if writes else None
