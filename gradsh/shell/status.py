"""The status line: live tensors, buffers and bytes, the peak, grad mode, pins. Taken after a statement, never while idle."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsh.session.session import Session

SEPARATOR = " | "
LEAST_FIRST = ("grad on", "tensor", "peak", "node", "pin", "buffer")


def status_of(session: "Session") -> str:
    """Return the status line of a session, as it was measured after the latest statement."""
    meter = session.state.meter
    tally = None if meter is None else meter.tally
    tensors, nodes, buffers, nbytes = (0, 0, 0, 0) if tally is None else (meter.tensors, tally.nodes, tally.buffers, tally.nbytes)
    parts = [_count(tensors, "tensor"), _count(nodes, "node"), f"{_count(buffers, 'buffer')} {size_text(nbytes)}"]
    peak = None if meter is None else meter.peak
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


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return ""
