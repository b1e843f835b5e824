"""Draws a graph as SVG: boxes with what each node saved, in the colours of their state, without any other program."""

from html import escape

from gradsh.render.layout import LINE, MARGIN, PAD, Box, EdgePath, Layout, lay_out
from gradsh.view.shapes import Dag

COLOURS = {
    "name": "#0b3d91", "title": "#1a1a1a", "live": "#1a7f37", "freed": "#8a8a8a", "pinned": "#0a7ea4", "modified": "#c92a2a",
    "packed": "#7a5195",
    "line": "#777777", "more": "#777777",
}
_FONT = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11"'
_HEAD = '<path d="M0,0 L8,4 L0,8 z" fill="#888888"/></marker>'
FILLS = {"leaf": ("#eef7ee", "#4f9d5d"), "fold": ("#eef2fb", "#5b7bc0"), "node": ("#ffffff", "#555555"),
         "stub": ("#f8f8f8", "#bbbbbb")}


def svg(dag: Dag) -> str:
    """Return the graph as an SVG document."""
    layout = lay_out(dag)
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" {_FONT}>',
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">{_HEAD}</defs>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *(_path(path) for path in layout.paths),
        *(_box(box) for box in layout.boxes),
        *_footer(layout),
    ]
    return "\n".join([*out, "</svg>"]) + "\n"


def _path(path: EdgePath) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in path.points)
    line = f'<polyline points="{points}" fill="none" stroke="#888888" marker-end="url(#arrow)"/>'
    if not path.label:
        return line
    (x, y), (to_x, to_y) = path.points[0], path.points[1]
    return f'{line}<text x="{(x + to_x) / 2 + 4:.1f}" y="{(y + to_y) / 2:.1f}" fill="#777777">{escape(path.label)}</text>'


def _box(box: Box) -> str:
    fill, stroke = FILLS[box.kind]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    frame = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="{fill}" stroke="{stroke}"'
    out = [f'<rect x="{left:.1f}" y="{top:.1f}" {frame}/>']
    if box.kind == "fold":  # a second sheet behind it
        out.insert(0, f'<rect x="{left + 4:.1f}" y="{top + 4:.1f}" {frame}/>')
    for place, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if line.role == "name" else ""
        y = top + PAD + LINE * place + 11
        out.append(f'<text x="{left + PAD:.1f}" y="{y:.1f}" fill="{COLOURS[line.role]}"{weight}>{escape(line.text)}</text>')
    return "".join(out)


def _footer(layout: Layout) -> list[str]:
    first = layout.height - LINE * len(layout.footer)
    return [
        f'<text x="{MARGIN:.0f}" y="{first + LINE * place:.1f}" fill="#555555">{escape(text)}</text>'
        for place, text in enumerate(layout.footer)
    ]
