"""Views as HTML, and a command's result in the formats (MIME types) among which a notebook chooses."""

from collections.abc import Sequence
from html import escape
from typing import Any

from gradsh.contracts.events import Result
from gradsh.render.pictures import picture
from gradsh.render.style import Style
from gradsh.render.table import cell_text
from gradsh.render.text import lines_of, result_text
from gradsh.view.shapes import Chart, Dag, Group, Table, View

SVG, HTML, PLAIN = "image/svg+xml", "text/html", "text/plain"


def bundle_of(result: Result) -> dict[str, object]:
    """Return a result by MIME type: its text, and beside it HTML, the drawing or the data where it has one.

    `--format` decides alone: what it asks for is all that is shown, but png is always beside the text.
    """
    if result.format in {"", "text"}:
        found: dict[str, Any] = {PLAIN: result_text(result, Style()).removesuffix("\n")}
        view = result.view()
        if not result.format and isinstance(view, Dag | Chart):
            found[SVG] = picture(view, "svg")
        elif not result.format and _is_drawn(view):
            found[HTML] = html_of(view)
        return found
    if result.format == "png":
        from base64 import b64encode

        drawn = picture(result.view(), "png")
        text = result_text(result._replace(format=""), Style()).removesuffix("\n")
        return {PLAIN: text, "image/png": b64encode(drawn if isinstance(drawn, bytes) else drawn.encode()).decode()}
    text = result_text(result, Style()).removesuffix("\n")
    return {PLAIN: text, SVG: text} if result.format == "svg" else {PLAIN: text}


def _is_drawn(view: View) -> bool:
    """Whether HTML shows a view better than text."""
    return any(map(_is_drawn, view.parts)) if isinstance(view, Group) else isinstance(view, Table | Dag | Chart)


def html_of(view: View) -> str:
    """Return a view as HTML: tables as tables, graphs and charts as drawings, anything else as its text."""
    match view:
        case Table():
            return _table(view)
        case Dag() | Chart():
            return str(picture(view, "svg"))
        case Group(parts=parts):
            return "".join(map(html_of, parts))
    return f"<pre>{escape(chr(10).join(lines_of(view, Style())))}</pre>"


def _table(table: Table) -> str:
    """Return a table as HTML, in the words of the text that the command prints."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    if not table.rows:
        return f"<p>{escape(table.empty)}</p>"
    head = row("th", [column.title for column in table.columns])
    kinds = [column.kind for column in table.columns]
    body = [row("td", [cell_text(cell, kind) for cell, kind in zip(one.cells, kinds, strict=True)]) for one in table.rows]
    notes = "".join(f"<p>{escape(line)}</p>" for line in table.totals)
    return f"<table>{head}{''.join(body)}</table>{notes}"
