"""`buffers`: the table of saved tensors, with totals that count each memory once."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Literal

from gradsh.commands.record import command
from gradsh.commands.words import count, listed
from gradsh.contracts.state import State
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.probe.buffers import BufferReport, BufferRow, BufferRows, BufferTotals, RollUp, Survey, roll_up
from gradsh.probe.names import roots_of, top_name
from gradsh.probe.snapshot import nodes_below
from gradsh.text.line import in_order
from gradsh.view.shapes import Cell, Column, Group, Lines, Row, Table, View

_MOST = 200


@command(
    "buffers",
    "List the tensors saved for backward: bytes, state, who else holds the memory, lines.",
    examples=[
        "x = ones(2, requires_grad=True)\nz = x.exp().sum()\nbuffers z\nbackward z\nbuffers z",
        "buffers --live --sort bytes\nbuffers --by line\nbuffers --by module\nbuffers --by variable",
    ],
)
def run(
    state: State,
    *targets: Tensor,
    live: bool = False,
    freed: bool = False,
    sort: Literal["graph", "line", "bytes"] = "graph",
    by: Literal["module", "line", "op", "function", "variable"] | None = None,
) -> BufferReport:
    """Without a tensor: those of all variables. `--by` groups them. `--live` and `--freed` list only these."""
    variables = state.names_in_reach()
    if targets:
        texts = (*state.call.texts, *[""] * len(targets))
        roots = [(text, node) for text, one in zip(texts, targets, strict=False) if (node := node_of(one)) is not None]
    else:
        roots = roots_of(variables)
    survey = Survey(roots, variables, state.line_of, lambda where: _function(state, where), by_node=by == "variable")
    rows = survey.rows()

    def wanted(row: BufferRow) -> bool:
        return freed in (live, row.state == "freed")

    groups = () if by is None else _by_variable(rows, wanted, survey, roots) if by == "variable" else _groups(by, rows.only(wanted), survey)
    if live != freed:
        rows = rows.only(wanted)
    if sort == "line":
        rows = rows.ordered(lambda row: in_order(row.saved_line))
    elif sort == "bytes":
        rows = rows.ordered(lambda row: -row.nbytes)
    nothing = tuple(survey.nothing.most_common())
    return BufferReport(rows, survey.totals(), by or "", groups, survey.nodes, nothing)


def _function(state: State, where: object) -> str:
    calls = [scope.label for scope in state.control.scopes_of(where) if scope.label != "loop"]
    return calls[-1] if calls else ""


def _groups(by: str, rows: BufferRows, survey: Survey) -> tuple[RollUp, ...]:
    found = roll_up(rows, attrgetter(_FIELDS[by]), survey.sizes)
    if by == "line":
        ordered = sorted(found.items(), key=lambda pair: (pair[0] is not None, in_order(pair[0])))
        return tuple(one._replace(key="no line" if line is None else f"line {line}") for line, one in ordered)
    named = [one._replace(key=one.key or _OUTSIDE[by]) for one in found.values()]
    return tuple(sorted(named, key=lambda one: -one.unique_bytes))


_FIELDS = {"op": "node", "line": "saved_line", "function": "function", "module": "module"}
_OUTSIDE = {"function": "top level", "module": "no module", "op": ""}


def _by_variable(
    rows: BufferRows, wanted: Callable[[BufferRow], bool], survey: Survey, roots: Iterable[tuple[str, Node]]
) -> tuple[RollUp, ...]:
    """Group by the variables whose graphs hold the entries; an entry may belong to several."""
    owners = survey.owners or {}
    below: dict[str, dict[Node, None]] = {}
    seen: dict[str, set[Node]] = {}
    for path, root in roots:
        name = top_name(path)
        mine = seen.setdefault(name, set())
        if root not in mine:
            below.setdefault(name, {}).update(dict.fromkeys(nodes_below(root, mine)))
    found: list[RollUp] = []
    for name, nodes in below.items():
        held = rows.picked(place for node in nodes for place in owners.get(node, ())).only(wanted)
        found += [one._replace(key=name) for one in roll_up(held, lambda _: "", survey.sizes).values()]
    return tuple(sorted(found, key=lambda one: -one.unique_bytes))


_COLUMNS = (
    Column("node"), Column("saved"), Column("shape", "shape"), Column("dtype"), Column("bytes", "bytes"), Column("state"),
    Column("also held by", "names"), Column("version"), Column("saved on", "line"),
)
_SHARED = Column("storage")
_BY = {"module": "module", "line": "line", "op": "operation", "function": "function", "variable": "variable"}


def view(report: BufferReport) -> View:
    """Shape the table, or the groups, and the totals."""
    if report.by:
        return _grouped(report)
    shared = any(row.shared > 1 for row in report.rows[:_MOST])
    rows = tuple(Row(_cells(row, shared), row.state) for row in report.rows[:_MOST])
    empty = _empty(report)
    columns = (*_COLUMNS, _SHARED) if shared else _COLUMNS
    more = "--sort bytes, --by line, or name a tensor"
    return Table(columns, rows, _totals(report), max(0, len(report.rows) - _MOST), more, empty)


def groups_table(by: str, groups: tuple[RollUp, ...], totals: tuple[str, ...] = (), empty: str = "") -> Table:
    """Return groups of saved tensors as a table."""
    columns = (
        Column(_BY[by]), Column("live", "count"), Column("freed", "count"), Column("bytes", "bytes"),
        Column("storage", "bytes"), Column("graph alone", "bytes"),
    )
    rows = tuple(Row((one.key, one.live, one.freed, one.nbytes, one.unique_bytes, one.graph_bytes)) for one in groups[:_MOST])
    return Table(columns, rows, totals, max(0, len(groups) - _MOST), "", empty)


def _cells(row: BufferRow, shared: bool) -> tuple[Cell, ...]:
    held = row.held_by if len(row.held_by) <= 3 else (*row.held_by[:2], f"{len(row.held_by) - 2} more")
    cells = (row.node, row.name, row.shape, row.dtype, row.nbytes, _state(row), held, _version(row), row.saved_line)
    return (*cells, f"#{row.memory}" if row.shared > 1 else None) if shared else cells


def _empty(report: BufferReport) -> str:
    if not report.nodes:
        return "no graph: no tensor has a grad_fn"
    if report.totals.entries or report.totals.freed:
        return "no saved tensor matches"
    kinds = listed([name for name, _ in report.saving_nothing], 5)
    return f"nothing is saved ({kinds}): backward frees nothing and can be repeated"


def _grouped(report: BufferReport) -> View:
    table = groups_table(report.by, report.groups, _totals(report), _empty(report))
    if report.by != "variable" or len(report.groups) < 2:
        return table
    return Group((table, Lines(("a saved tensor that several variables reach is counted for each",))))


def _state(row: BufferRow) -> str:
    if row.state == "freed" and row.freed_line is not None:
        return f"freed by line {row.freed_line}"
    return "recomputed" if row.recomputed else row.state


def _version(row: BufferRow) -> str:
    if row.version is None:
        return ""
    return str(row.version) if row.version == row.current_version else f"{row.version}, now {row.current_version}"


def _packed(totals: BufferTotals) -> str:
    hooked = totals.packed - totals.recomputed
    words = []
    if totals.recomputed:
        words.append(f"{totals.recomputed:,} not kept: a checkpoint recomputes them for backward")
    if hooked:
        words.append(f"{hooked:,} packed by a saved-tensor hook")
    return "; ".join(words)


def _totals(report: BufferReport) -> tuple[str, ...]:
    totals: BufferTotals = report.totals
    if not totals.entries and not totals.freed:
        return ()
    lines = []
    if totals.entries > totals.packed:
        lines.append(
            f"{count(totals.entries - totals.packed, 'saved tensor')}, {totals.nbytes:,} B, in {count(totals.memories, 'storage')} "
            f"({totals.unique_bytes:,} B): {totals.parameter_bytes:,} B in leaves, {totals.variable_bytes:,} B held by variables, "
            f"{totals.graph_bytes:,} B held by the graph alone"
        )
    if totals.packed:
        lines.append(
            f"{_packed(totals)}: {totals.packed_bytes:,} B kept instead"
        )
    if totals.freed:
        lines.append(f"{totals.freed:,} freed")
    number = sum(number for _, number in report.saving_nothing)
    if 2 * number > report.nodes:
        kinds = listed([name for name, _ in report.saving_nothing], 4)
        lines.append(f"{number:,} of {count(report.nodes, 'node')} save{'s' if number == 1 else ''} nothing: {kinds}")
    return tuple(lines)
