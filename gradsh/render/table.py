"""Draws a table: aligned columns, its totals, and how many rows were left out."""

from gradsh.render.style import Style, pad, printable, width_of
from gradsh.view.shapes import Cell, CellKind, Column, Table

NARROW = 100
"""Columns below which a table that is too wide is told row by row; a stream that is no terminal is never narrower."""
RIGHT = {"bytes", "count", "number", "percent"}


def draw(table: Table, style: Style) -> list[str]:
    """Return the lines of a table; one without rows says `empty` instead."""
    if not table.rows:
        return [line for line in (table.empty, *table.totals) if line]
    texts = [[cell_text(cell, column.kind) for cell, column in zip(row.cells, table.columns, strict=True)]
             for row in table.rows]
    widths = [max(width_of(column.title), *(width_of(row[i]) for row in texts))
              for i, column in enumerate(table.columns)]
    if style.width < NARROW and sum(widths) + 2 * len(widths) - 2 > style.width:
        out = _stacked(table, texts, style)
    else:
        out = [style.paint("bold", _line([c.title for c in table.columns], table.columns, widths))]
        for row, cells in zip(table.rows, texts, strict=True):
            out.append(style.paint(row.state or "", _line(cells, table.columns, widths)))
    if table.omitted:
        more = f"; {table.more}" if table.more else ""
        out.append(style.paint("dim", f"{style.pick('…', '...')} {table.omitted:,} more rows{more}"))
    return out + [printable(line) for line in table.totals]


def _stacked(table: Table, texts: list[list[str]], style: Style) -> list[str]:
    """The rows for a terminal that is narrower than the table: the first cell, below it the others with their titles."""
    out: list[str] = []
    for row, cells in zip(table.rows, texts, strict=True):
        out.append(style.paint(row.state or "bold", cells[0]))
        line = " "
        for column, cell in zip(table.columns[1:], cells[1:], strict=True):
            part = f" {column.title} {cell.strip()}" if cell.strip() else ""
            if len(line) > 1 and width_of(line) + width_of(part) + 1 > style.width:
                out.append(line.rstrip())
                line = " "
            line += part + " " * bool(part)
        out.append(line.rstrip())
    return [line for line in out if line]


def _line(cells: list[str], columns: tuple[Column, ...], widths: list[int]) -> str:
    parts = [pad(cell, width, "right" if column.kind in RIGHT else "left")
             for cell, column, width in zip(cells, columns, widths, strict=True)]
    return "  ".join(parts).rstrip()


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
    if kind == "line":
        return f"line {cell}"
    if isinstance(cell, tuple):
        return shape_text(cell) if kind == "shape" else ", ".join(printable(str(part)) for part in cell)
    return printable(str(cell))


def shape_text(shape: tuple[object, ...]) -> str:
    """Return a shape as a person writes it: `()`, `(2,)`, `(2, 3)`."""
    return str(tuple(shape))
