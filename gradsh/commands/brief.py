"""The one-line account of a statement that `set account on` asks for: what it added to the graph, freed and wrote."""

from gradsh.commands.words import count, listed
from gradsh.contracts.state import Entry, State
from gradsh.engine.graph.node import LAST
from gradsh.probe.changes import Changes, changes


def brief(state: State, entry: Entry) -> str:
    """Return what the statement that was just run changed in the graph, in one line; empty where it changed nothing."""
    written = [leaf for leaf in (one() for one in state.written.get(entry.unit, {}).values()) if leaf is not None]
    report = changes(
        (entry.text, entry.line, entry.ok), (entry.unit,), (entry.mark, LAST), state.variables, state.control.unit_of,
        written, (),
    )
    return "; ".join(_parts(report))


def _parts(report: Changes) -> list[str]:
    parts: list[str] = []
    if report.made:
        saved = [size for one in report.made for _, size in one.saved]
        parts.append(f"+{count(len(report.made), 'node')}, saving {count(len(saved), 'tensor')} ({sum(saved):,} B)")
    if report.freed:
        parts.append(f"freed {count(len(report.freed), 'buffer')} ({sum(size for *_, size in report.freed):,} B)")
    if report.wrote:
        parts.append(f"wrote {listed(report.wrote)}")
    parts += [f"wrote {name} in place, version {now}" for name, _, now in report.bumped]
    return parts
