"""The shapes that a command's output can have. A command chooses one and fills it in; only renderers draw it.

Cells and labels are values, not formatted text: a count of bytes stays a number, so that every renderer can write
it in its own way.
"""

from typing import Literal

from gradsh.text.problem import Problem
from gradsh.text.span import Source
from gradsh.text.tuples import NamedTuple

CellKind = Literal["text", "bytes", "count", "number", "percent", "growth", "line", "shape", "names"]
Cell = str | int | float | bool | tuple[object, ...] | None


class Lines(NamedTuple):
    """Plain lines of text, without line ends.

    With `fill` the lines that begin at the margin are prose: they are broken to so many columns, or fewer on a narrow terminal.
    """

    lines: tuple[str, ...]
    fill: int = 0


class Column(NamedTuple):
    """A column: its heading and what its cells are.

    `kind` decides how a cell is written: `text` as it is; `bytes` as `1,024 B`; `growth` as `+1,024 B`; `count` as a whole number;
    `number` with three decimals; `percent` a part of 1 as `12.5 %`; `line` as `line 3`; `shape` as `(2, 3)`; `names` as a list.
    """

    title: str
    kind: CellKind = "text"


class Row(NamedTuple):
    """A row of a table: cells, one a column, and the state that colours it (live, freed, pinned or none)."""

    cells: tuple[Cell, ...]
    state: str = ""


class Table(NamedTuple):
    """Columns and rows; `totals` are sentences below, `omitted` counts rows left out, `more` says how to see them."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    totals: tuple[str, ...] = ()
    omitted: int = 0
    more: str = ""
    empty: str = ""


class Mark(NamedTuple):
    """A saved tensor at a node of a drawing: its state (live, freed, pinned, modified, packed) and what is said of it."""

    state: str
    text: str


class DagNode(NamedTuple):
    """A node of a drawing: variable names bound to its result, title (its operation), shape, marks and source line.

    What stands for several nodes reaches from `line` to `last_line`. A `stub` stands for those that were removed. `frame` is
    the position in `Dag.frames` of the innermost frame around it.
    """

    title: str
    names: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    marks: tuple[Mark, ...] = ()
    line: int | None = None
    note: str = ""
    last_line: int | None = None
    stub: bool = False
    frame: int | None = None


class Edge(NamedTuple):
    """An edge from a node to one that it needs, by their positions in `Dag.nodes`; `label` is empty where plain."""

    source: int
    target: int
    label: str = ""


class DagFrame(NamedTuple):
    """A frame around nodes of a drawing: its title, and the position of the frame in which it stands."""

    title: str
    parent: int | None = None


class Dag(NamedTuple):
    """A directed graph: nodes, edges in the order of each node's children, and the nodes where a drawing starts.

    `more` says how to see what was removed. Text shows no frames.
    """

    nodes: tuple[DagNode, ...]
    edges: tuple[Edge, ...]
    roots: tuple[int, ...]
    totals: tuple[str, ...] = ()
    more: str = ""
    frames: tuple[DagFrame, ...] = ()


class Chart(NamedTuple):
    """Values over time, as (label, value); `peak` is the position of the largest, `unit` follows the numbers."""

    title: str
    points: tuple[tuple[str, int], ...]
    peak: int = 0
    unit: str = "B"


class TensorView(NamedTuple):
    """A tensor's repr, PyTorch's to the character."""

    text: str


class Diagnostic(NamedTuple):
    """A problem and the source whose lines it marks."""

    problem: Problem
    source: Source


class Group(NamedTuple):
    """Several shapes, one below the other."""

    parts: tuple["View", ...]


View = Lines | Table | Dag | Chart | TensorView | Diagnostic | Group
