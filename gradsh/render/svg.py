"""Draws a graph as SVG: boxes with what each node saved, in the colour and border of its state, and frames around what is open."""

from html import escape
from itertools import pairwise

from gradsh.render.layers import Points
from gradsh.render.layout import LINE, MARGIN, PAD, Box, EdgePath, FrameBox, Layout, lay_out
from gradsh.render.style import FONT
from gradsh.view.shapes import Dag

COLOURS = {
    "name": "#0b3d91", "title": "#1a1a1a", "live": "#1a7f37", "freed": "#6b6b6b", "pinned": "#0a7ea4", "modified": "#c92a2a",
    "packed": "#7a5195",
    "line": "#6b6b6b", "more": "#6b6b6b",
}
FILLS = {"leaf": ("#eef7ee", "#4f9d5d"), "fold": ("#eef2fb", "#5b7bc0"), "node": ("#ffffff", "#555555"),
         "stub": ("#f8f8f8", "#bbbbbb")}
"""By the kind of a box: what it is filled with, and its border where it has no state."""
STATE_FILLS = {"live": "#f0f9f2", "freed": "#f3f3f3", "pinned": "#e6f5fa", "modified": "#fdecec", "packed": "#f5eff9"}
BORDERS = {"freed": ' stroke-dasharray="5 3"', "modified": ' stroke-width="3"', "packed": ' stroke-dasharray="1.5 2.5" stroke-width="1.5"'}
"""By state, what its border has beside its colour; one that is pinned has two."""
FRAME_FILLS = ("#f7f7fa", "#eeeef4")
_EDGE = "#888888"
_HEAD = f'<path d="M0,0 L8,4 L0,8 z" fill="{_EDGE}"/></marker>'
_ARROW = f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">{_HEAD}</defs>'


def svg(dag: Dag) -> str:
    """Return the graph as an SVG document."""
    layout = lay_out(dag)
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" {FONT}>',
        _ARROW,
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *map(_frame, layout.frames),
        *map(_path, layout.paths),
        *map(_box, layout.boxes),
        *map(_title, layout.frames),
        *_footer(layout),
    ]
    return "\n".join([*out, "</svg>"]) + "\n"


def _rect(left: float, top: float, width: float, height: float, rest: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" {rest}/>'


def _frame(frame: FrameBox) -> str:
    fill = FRAME_FILLS[frame.depth % 2]
    return _rect(frame.left, frame.top, frame.width, frame.height, f'rx="8" fill="{fill}" stroke="#9a9ab0"')


def _title(frame: FrameBox) -> str:
    """Return a frame's title, above the edges that come in, on the colour of the frame."""
    x, y = frame.left + PAD, frame.top + LINE
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#4a4a68" font-weight="bold">{escape(frame.title)}</text>'


def _path(path: EdgePath) -> str:
    line = f'<path d="{_curve(path.points)}" fill="none" stroke="{_EDGE}" marker-end="url(#arrow)"/>'
    if not path.label:
        return line
    x, y = path.points[0]
    return f'{line}<text x="{x + 4:.1f}" y="{y + 12:.1f}" fill="#6b6b6b">{escape(path.label)}</text>'


def _curve(points: Points) -> str:
    """Return a path that is straight where it runs down, and bends where it runs sideways."""
    (x, y), *_ = points
    out = [f"M{x:.1f},{y:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        bend = "" if abs(x - to_x) < 0.5 else f"C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} "
        out.append(f"{bend or 'L'}{to_x:.1f},{to_y:.1f}")
    return " ".join(out)


def _box(box: Box) -> str:
    fill, stroke = FILLS[box.kind]
    if box.state:
        fill, stroke = STATE_FILLS[box.state], COLOURS[box.state]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    border = f'rx="5" fill="{fill}" stroke="{stroke}"{BORDERS.get(box.state, "")}'
    out = [_rect(left, top, box.width, box.height, border)]
    if box.kind == "fold":  # a second sheet behind it
        out.insert(0, _rect(left + 4, top + 4, box.width, box.height, border))
    if box.state == "pinned":
        out.append(_rect(left + 2.5, top + 2.5, box.width - 5, box.height - 5, f'rx="3" fill="none" stroke="{stroke}"'))
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
