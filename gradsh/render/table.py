"""Draws a table: aligned columns, its totals, and how many rows were removed.

A table that is wider than the terminal loses its empty columns, then its long cells are folded, and where that does not do
either it is told row by row.
"""

from collections.abc import Sequence

from gradsh.render.style import Style, pad, printable, width_of
from gradsh.render.wrap import wrap
from gradsh.view.shapes import Cell, CellKind, Column, Table

RIGHT = {"bytes", "count", "number", "percent", "growth"}
FOLDED = {"text", "names", "shape"}
LONGEST_WORD = 40
"""Columns of a word that is not broken when cells are folded."""
GAP = 2


def draw(table: Table, style: Style) -> list[str]:
    """Return the lines of a table; one without rows says `empty` instead."""
    sentences = list(table.totals)
    if table.rows:
        out = _rows(table, style)
        if table.omitted:
            more = f"; {table.more}" if table.more else ""
            line = f"{style.pick('…', '...')} {table.omitted:,} more rows{more}"
            out += [style.paint("dim", part) for part in wrap(line, style.width)]
    else:
        out = []
        sentences.insert(0, table.empty)
    return out + [part for line in sentences if line or table.rows for part in wrap(printable(line), style.width)]


def _rows(table: Table, style: Style) -> list[str]:
    """Return headings and rows, in the way that fits the terminal."""
    columns = list(table.columns)
    texts = [[cell_text(cell, column.kind) for cell, column in zip(row.cells, columns, strict=True)] for row in table.rows]
    widths = _widths(columns, texts)
    if style.width is not None and _total(widths) > style.width:
        kept = [i for i in range(len(columns)) if any(row[i] for row in texts)] or [0]
        columns, texts = [columns[i] for i in kept], [[row[i] for i in kept] for row in texts]
        folded = _fitted(columns, texts, style.width)
        if folded is None:
            return _stacked(table, columns, texts, style)
        widths = folded
    out = [style.paint("bold", line) for line in _lines([c.title for c in columns], columns, widths)]
    for row, cells in zip(table.rows, texts, strict=True):
        out += [style.paint(row.state or "", line) for line in _lines(cells, columns, widths)]
    return out


def _widths(columns: Sequence[Column], texts: list[list[str]]) -> list[int]:
    return [max(width_of(column.title), *(width_of(row[i]) for row in texts)) for i, column in enumerate(columns)]


def _total(widths: list[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _fitted(columns: Sequence[Column], texts: list[list[str]], room: int) -> list[int] | None:
    """Return widths that fit, the widest cells folded at words; None where that does not do."""
    widths = _widths(columns, texts)
    words = _widths(columns, [[max(cell.split(), key=width_of, default="") for cell in row] for row in texts])
    least = [min(word, LONGEST_WORD) if column.kind in FOLDED else width
             for column, width, word in zip(columns, widths, words, strict=True)]
    while _total(widths) > room:
        widest = max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))
        if widths[widest] <= least[widest]:
            return None
        widths[widest] -= 1
    return widths


def _stacked(table: Table, columns: Sequence[Column], texts: list[list[str]], style: Style) -> list[str]:
    """The rows for a terminal that is too narrow for columns: the first cell, below it the others with their titles."""
    out: list[str] = []
    for row, cells in zip(table.rows, texts, strict=True):
        out += [style.paint(row.state or "bold", part) for part in wrap(cells[0], style.width)]
        line = " "
        for column, cell in zip(columns[1:], cells[1:], strict=True):
            part = f" {column.title} {cell.strip()}" if cell.strip() else ""
            if len(line) > 1 and width_of(line) + width_of(part) + 1 > (style.width or 0):
                out += wrap(line.rstrip(), style.width, 4)
                line = " "
            line += part + " " * bool(part)
        out += wrap(line.rstrip(), style.width, 4)
    return [line for line in out if line]


def _lines(cells: list[str], columns: Sequence[Column], widths: list[int]) -> list[str]:
    """Return a row's lines: one, or as many as its most folded cell has."""
    folded = [wrap(cell, width, 0) for cell, width in zip(cells, widths, strict=True)]
    return [_line([part[i] if i < len(part) else "" for part in folded], columns, widths)
            for i in range(max(map(len, folded)))]


def _line(cells: list[str], columns: Sequence[Column], widths: list[int]) -> str:
    parts = [pad(cell, width, "right" if column.kind in RIGHT else "left")
             for cell, column, width in zip(cells, columns, widths, strict=True)]
    return (" " * GAP).join(parts).rstrip()


def cell_text(cell: Cell, kind: CellKind) -> str:
    """Return a cell as text; nothing for None."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if kind == "bytes":
        return f"{cell:,} B"
    if kind == "count":
        return f"{cell:,}"
    if kind == "number":
        return f"{cell:,.3f}"
    if kind == "percent" and isinstance(cell, int | float):
        return f"{100 * cell:.1f} %"
    if kind == "growth" and isinstance(cell, int | float):
        return f"{_growth_text(cell)} B"
    if kind == "line":
        return printable(f"line {cell}")
    if isinstance(cell, tuple):
        return shape_text(cell) if kind == "shape" else ", ".join(printable(str(part)) for part in cell)
    return printable(str(cell))


def _growth_text(number: float) -> str:
    """Return what is added as text: `+1,024`, `-3.5`, `0`."""
    return f"{number:+,.1f}".removesuffix(".0") if number else "0"


def shape_text(shape: tuple[object, ...]) -> str:
    """Return a shape as a person writes it: `()`, `(2,)`, `(2, 3)`."""
    return str(tuple(shape))
