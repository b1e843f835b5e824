"""`retain`: pins graphs, so that no backward frees what their nodes saved; alone, it lists the pins."""

import weakref
from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.contracts.state import Pin, State
from gradsh.engine.graph.node import Node, behind
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, node_of
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import owner_of
from gradsh.probe.given import arrays_in
from gradsh.probe.snapshot import nodes_below
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class PinRow(NamedTuple):
    """A pin: the name it was given by, its line, how many nodes it still holds, the bytes these keep, whether it is gone."""

    name: str
    line: int
    nodes: int
    nbytes: int
    alive: bool


class Report(NamedTuple):
    """The pins set by this command (all of them when it only lists), and tensors whose gradient is kept from now on."""

    pins: tuple[PinRow, ...]
    listed: bool
    retain_grad: tuple[str, ...] = ()


@command(
    "retain",
    "Pin the graph below the tensors: no backward frees its buffers until `release`. Alone: list the pins.",
    examples=["x = ones(2, requires_grad=True)\nh = x.exp()\nz = h.sum()\nretain h\nbackward z\nbackward z\nrelease h"],
)
def run(state: State, *targets: object, grad: bool = False) -> Report:
    """Takes tensors or nodes. `--grad` keeps the `.grad` of tensors that are not leaves (`retain_grad`)."""
    texts = state.call.texts
    if grad:
        for text, one in zip(texts, targets, strict=False):
            _tensor(text, one).retain_grad()
        return Report((), False, texts[: len(targets)])
    if not targets:
        return Report(tuple(_row(pin) for pin in state.pins), True)
    made = []
    for one, text in zip(targets, texts, strict=False):
        made.append(_pin(state, behind(one) if isinstance(behind(one), Node) else _root(text, _tensor(text, one)), text))
    return Report(tuple(_row(pin) for pin in made), False)


def _tensor(text: str, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise fail("type", f"retain: {text} must be a Tensor or its grad_fn, not {type(value).__name__}", TypeError, value=value)


def _root(text: str, tensor: Tensor) -> Node:
    root = node_of(tensor)
    if root is not None:
        return root
    if tensor.requires_grad:
        raise fail("value", f"{text} has no graph to retain: it is a leaf", ValueError)
    raise fail("no_grad", f"{text} has no graph to retain: it does not require grad", tensor=tensor)


def _pin(state: State, root: Node, text: str) -> Pin:
    nodes = [node for node in nodes_below(root) if not isinstance(node, AccumulateGrad)]
    freed = sum(node.freed for node in nodes)
    if freed:
        noun = "node" if freed == 1 else "nodes"
        state.hint(f"the saved tensors of {freed} {noun} are already freed; a pin cannot restore them: compute {text} again")
    for node in nodes:
        node.more().pins += 1
    pin = Pin(text, state.call.line, weakref.ref(root), tuple(weakref.ref(node) for node in nodes))
    state.pins.append(pin)
    return pin


def _row(pin: Pin) -> PinRow:
    nodes = [node for node in (reference() for reference in pin.nodes) if node is not None]
    owners = {id(owner): bytes_of(owner) for node in nodes for owner in map(owner_of, arrays_in(node))}
    return PinRow(pin.name, pin.line, len(nodes), sum(owners.values()), pin.root() is not None)


def view(report: Report) -> View:
    """Shape the answer: a line for each pin."""
    if report.retain_grad:
        return Lines((f"keeping the grad of {', '.join(report.retain_grad)}",))
    if not report.pins:
        return Lines(("no pins",))
    lines = []
    for pin in report.pins:
        words = "pinned by" if report.listed else "pinned"
        place = f" `retain {pin.name}` on line {pin.line}" if report.listed else f" {pin.name}"
        if not pin.alive:
            lines.append(f"{words}{place}: its graph is gone")
            continue
        noun = "node" if pin.nodes == 1 else "nodes"
        lines.append(f"{words}{place}: {pin.nodes:,} {noun}, {pin.nbytes:,} B saved")
    return Lines(tuple(lines))
