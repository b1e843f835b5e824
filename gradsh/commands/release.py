"""`release`: takes pins away, by name, by tensor, or all of them; with `--free` it also drops what they held."""


from typing import NamedTuple

from gradsh.commands.record import Lazy, command
from gradsh.contracts.state import Pin, State
from gradsh.engine.ambient import current
from gradsh.engine.graph.node import Node, behind
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.probe.given import given_back
from gradsh.probe.passes import live_entries
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The names of the pins taken away, and what `--free` dropped: saved tensors and their bytes.

    `gave_back` are the bytes of memories that nothing holds any more; `unpinned` (saved tensors, bytes) stay until a backward
    frees them.
    """

    released: tuple[str, ...]
    freed: int
    freed_bytes: int
    free: bool
    gave_back: int = 0
    unpinned: tuple[int, int] = (0, 0)


@command(
    "release",
    "Remove the pins of the named tensors, or all pins. `--free` frees the buffers that no pin holds.",
    examples=["x = ones(2, requires_grad=True)\nz = x.exp().sum()\nretain z\nbackward z\nrelease z --free"],
)
def run(state: State, *targets: Lazy, free: bool = False) -> Report:
    """A target is the name of a pin, or a tensor whose node is pinned."""
    chosen: list[Pin] = []
    if targets:
        for text, thunk in zip(state.call.texts, targets, strict=False):
            chosen += _pins_of(state, text, thunk, chosen)
    else:
        chosen = list(state.pins)
    nodes: list[Node] = []
    for pin in chosen:
        state.pins.remove(pin)
        for node in (reference() for reference in pin.nodes):
            if node is not None and node.extra is not None and node.extra.pins:
                node.extra.pins -= 1
                nodes.append(node)
    loose = [node for node in dict.fromkeys(nodes) if not node.pins and not node.freed]
    entries = [entry for node in loose for entry in live_entries(node)]
    number, size = len(entries), sum(nbytes for _, _, nbytes in entries)
    del entries
    names = tuple(pin.name for pin in chosen)
    if not free:
        return Report(names, 0, 0, False, 0, (number, size))
    back = sum(given_back(loose).values())
    where = current().location()
    for node in loose:
        node.free(where)
    if state.meter is not None:
        state.meter.freed(loose)
    return Report(names, number, size, True, back)


def _pins_of(state: State, text: str, thunk: Lazy, taken: list[Pin]) -> list[Pin]:
    """Return the pins of one target: by the name it was given, else by the node that the expression has now."""
    found = [pin for pin in state.pins if pin.name == text and pin not in taken]
    if found:
        return found
    value = thunk()  # type: ignore[operator]
    value = behind(value)
    node = value if isinstance(value, Node) else node_of(value) if isinstance(value, Tensor) else None
    found = [pin for pin in state.pins if node is not None and pin.root() is node and pin not in taken]
    if not found:
        names = ", ".join(dict.fromkeys(pin.name for pin in state.pins)) or "none"
        raise fail("value", f"no pin is called {text}; pins: {names}", ValueError)
    return found


def view(report: Report) -> View:
    """Shape the answer."""
    if not report.released:
        return Lines(("there are no pins",))
    text = f"unpinned {', '.join(report.released)}"
    if report.free:
        noun = "buffer" if report.freed == 1 else "buffers"
        back = f", releasing {report.gave_back:,} B of memory" if report.freed else ""
        text += f"; freed {report.freed:,} {noun}, {report.freed_bytes:,} B{back}"
    elif report.unpinned[0]:
        number, size = report.unpinned
        noun = "buffer" if number == 1 else "buffers"
        text += f"; kept until the next backward or `release --free`: {number:,} {noun} ({size:,} B)"
    return Lines((text,))
