"""Draws a table: aligned columns, its totals, and how many rows were left out."""

from gradsh.render.style import Style, pad, printable, width_of
from gradsh.view.shapes import Cell, CellKind, Column, Table

RIGHT = {"bytes", "count", "number", "percent"}


def draw(table: Table, style: Style) -> list[str]:
    """Return the lines of a table; one without rows says `empty` instead."""
    if not table.rows:
        return [line for line in (table.empty, *table.totals) if line]
    texts = [[cell_text(cell, column.kind) for cell, column in zip(row.cells, table.columns, strict=True)]
             for row in table.rows]
    widths = [max(width_of(column.title), *(width_of(row[i]) for row in texts))
              for i, column in enumerate(table.columns)]
    out = [style.paint("bold", _line([c.title for c in table.columns], table.columns, widths))]
    for row, cells in zip(table.rows, texts, strict=True):
        out.append(style.paint(row.state or "", _line(cells, table.columns, widths)))
    if table.omitted:
        more = f"; {table.more}" if table.more else ""
        out.append(style.paint("dim", f"{style.pick('…', '...')} {table.omitted:,} more rows{more}"))
    return out + [printable(line) for line in table.totals]


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
