"""The status line: live tensors, buffers and bytes, the peak, grad mode, pins. Taken after a statement, never while idle."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsh.session.session import Session

SEPARATOR = " | "
LEAST_FIRST = ("grad on", "tensor", "peak", "node", "pin", "buffer")
MOST = 5_000
"""How many nodes are looked at: the line must not make the prompt wait."""


def status_of(session: "Session") -> str:
    """Return the status line of a session."""
    from gradsh.engine.values.storage import owner_of
    from gradsh.probe.given import arrays_in
    from gradsh.probe.names import named_tensors, roots_of
    from gradsh.probe.snapshot import nodes_below

    variables = session.machine.variables()
    tensors = {id(tensor) for _, tensor in named_tensors(variables)}
    sizes: dict[int, int] = {}
    nodes = buffers = 0
    seen: set[object] = set()
    for _, root in roots_of(variables):
        for node in nodes_below(root, seen):  # type: ignore[arg-type]  # a set of nodes
            nodes += 1
            for array in arrays_in(node):
                buffers += 1
                owner = owner_of(array)
                sizes[id(owner)] = owner.nbytes
            if nodes > MOST:
                break
    more = "+" if nodes > MOST else ""
    parts = [_count(len(tensors), "tensor"), f"{_count(nodes, 'node', more)}",
             f"{_count(buffers, 'buffer', more)} {size_text(sum(sizes.values()))}{more}"]
    peak = session.state.meter.peak if session.state.meter is not None else None
    if peak is not None:
        parts.append(f"peak {size_text(peak.account.total)}")
    parts.append("grad on" if session.ambient.grad_enabled else "grad off")
    if session.state.pins:
        parts.append(_count(len(session.state.pins), "pin"))
    return SEPARATOR.join(parts)


def fitted(status: str, width: int) -> str:
    """Return a status line without the parts that a narrow terminal has no room for, those that tell least left out first."""
    parts = status.split(SEPARATOR)
    for word in LEAST_FIRST:
        if len(SEPARATOR.join(parts)) <= width:
            break
        parts = [part for part in parts if word not in part]
    return SEPARATOR.join(parts)[:width]


def _count(number: int, noun: str, more: str = "") -> str:
    return f"{number:,}{more} {noun}{'' if number == 1 else 's'}"


def size_text(size: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return ""
