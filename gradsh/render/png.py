"""Draws a graph or a chart as PNG, with the library Pillow and the font that it brings; signs are drawn as shapes."""

from typing import Any

from gradsh.render.layout import LINE, MARGIN, PAD, Box, EdgePath, Layout, lay_out
from gradsh.render.svg import COLOURS, FILLS
from gradsh.text.fault import fail
from gradsh.view.shapes import Chart, Dag

_SCALE = 2
"""Pixels for each point, so that text is sharp."""
_MOST_PIXELS = 64_000_000


def png(view: Dag | Chart) -> bytes:
    """Return the picture as a PNG file. Raises ValueError (kind `value`) where Pillow is not installed, or it is too large."""
    try:
        import PIL.Image
        import PIL.ImageDraw
    except ImportError:
        raise fail("value", "png needs the library Pillow: pip install pillow; or take --format svg", ValueError) from None
    width, height, paint = _chart(view) if isinstance(view, Chart) else _dag(view)
    scale = _SCALE if width * height * _SCALE * _SCALE <= _MOST_PIXELS else 1
    size = int(width * scale) + 1, int(height * scale) + 1
    if size[0] * size[1] > _MOST_PIXELS:
        raise fail("value", f"the picture would have {size[0]:,} × {size[1]:,} pixels: choose less with --depth, or take svg", ValueError)
    image = PIL.Image.new("RGB", size, "#ffffff")
    paint(_Pen(PIL.ImageDraw.Draw(image), scale))
    return _bytes(image)


def _bytes(image: Any) -> bytes:
    from io import BytesIO

    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class _Pen:
    """Draws in points."""

    def __init__(self, draw: Any, scale: int) -> None:
        from PIL import ImageFont

        self.draw = draw
        self.scale = scale
        self.font: Any = ImageFont.load_default(11 * scale)

    def box(self, left: float, top: float, right: float, bottom: float, fill: str, stroke: str, radius: float = 5) -> None:
        """Draw a rectangle with round corners."""
        place = [one * self.scale for one in (left, top, right, bottom)]
        self.draw.rounded_rectangle(place, radius * self.scale, fill=fill, outline=stroke, width=self.scale)

    def text(self, x: float, y: float, text: str, colour: str, *, room: float = 0, bold: bool = False) -> None:
        """Write text with its top left corner at a point, squeezed into `room` points where it is given."""
        plain = text.translate(_PLAIN)
        font = self.font
        if room and font.getlength(plain) > room * self.scale:
            font = font.font_variant(size=max(7, int(11 * self.scale * room * self.scale / font.getlength(plain))))
        self.draw.text((x * self.scale, y * self.scale), plain, fill=colour, font=font, stroke_width=1 if bold else 0)

    def line(self, points: Any, colour: str) -> None:
        """Draw a line through points."""
        self.draw.line([(x * self.scale, y * self.scale) for x, y in points], fill=colour, width=self.scale)

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """Draw the head of an arrow."""
        dx, dy = end[0] - start[0], end[1] - start[1]
        length = max((dx * dx + dy * dy) ** 0.5, 1e-6)
        dx, dy = 6 * dx / length, 6 * dy / length
        corners = (end, (end[0] - dx + dy / 2, end[1] - dy - dx / 2), (end[0] - dx - dy / 2, end[1] - dy + dx / 2))
        self.draw.polygon([(x * self.scale, y * self.scale) for x, y in corners], fill=colour)

    def sign(self, x: float, y: float, state: str, colour: str) -> None:
        """Draw the sign of a saved tensor's state."""
        place = [x * self.scale, y * self.scale, (x + 7) * self.scale, (y + 7) * self.scale]
        if state in {"freed", "packed"}:
            self.draw.ellipse(place, outline=colour, width=self.scale)
        elif state == "pinned":
            self.draw.regular_polygon(((x + 3.5) * self.scale, (y + 3.5) * self.scale, 4.5 * self.scale), 4, 45, fill=colour)
        elif state == "modified":
            self.draw.line(place, fill=colour, width=2 * self.scale)
            self.draw.line([place[0], place[3], place[2], place[1]], fill=colour, width=2 * self.scale)
        else:
            self.draw.ellipse(place, fill=colour)


_PLAIN = str.maketrans({"–": "-", "…": "...", "×": "x"})
_STATES = frozenset({"live", "freed", "pinned", "modified", "packed"})


def _dag(dag: Dag) -> tuple[float, float, Any]:
    layout = lay_out(dag)

    def paint(pen: _Pen) -> None:
        for path in layout.paths:
            _path(pen, path)
        for box in layout.boxes:
            _box(pen, box)
        _footer(pen, layout)

    return layout.width, layout.height, paint


def _path(pen: _Pen, path: EdgePath) -> None:
    pen.line(path.points, "#888888")
    pen.arrow(path.points[-2], path.points[-1], "#888888")
    if path.label:
        (x, y), (to_x, to_y) = path.points[0], path.points[1]
        pen.text((x + to_x) / 2 + 4, (y + to_y) / 2 - 8, path.label, "#777777")


def _box(pen: _Pen, box: Box) -> None:
    fill, stroke = FILLS[box.kind]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    if box.kind == "fold":
        pen.box(left + 4, top + 4, left + box.width + 4, top + box.height + 4, fill, stroke)
    pen.box(left, top, left + box.width, top + box.height, fill, stroke)
    for place, line in enumerate(box.lines):
        x, y, colour = left + PAD, top + PAD + LINE * place, COLOURS[line.role]
        room = box.width - 2 * PAD
        if line.role in _STATES:
            pen.sign(x, y + 3, line.role, colour)
            pen.text(x + 12, y, line.text[2:], colour, room=room - 12)
        else:
            pen.text(x, y, line.text, colour, room=room, bold=line.role == "name")


def _footer(pen: _Pen, layout: Layout) -> None:
    first = layout.height - LINE * (len(layout.footer) + 1)
    for place, text in enumerate(layout.footer):
        pen.text(MARGIN, first + LINE * place + 4, text, "#555555")


def _chart(chart: Chart) -> tuple[float, float, Any]:
    width, height, left = 720.0, 200.0, 90.0
    top = max((value for _, value in chart.points), default=0) or 1
    step = (width - left - 20) / max(1, len(chart.points))

    def paint(pen: _Pen) -> None:
        pen.text(left, 8, chart.title, "#1a1a1a", bold=True)
        for place, (_, value) in enumerate(chart.points):
            colour = "#d9480f" if place == chart.peak else "#4c78a8"
            x, tall = left + place * step, value / top * height
            pen.box(x, 30 + height - tall, x + max(step * 0.85, 0.5), 30 + height, colour, colour, 0)
        pen.text(4, 30, f"{top:,} {chart.unit}", "#555555", room=left - 10)
        if chart.points:
            label, value = chart.points[chart.peak]
            pen.text(left, height + 36, f"{chart.points[0][0]} ... {chart.points[-1][0]}", "#555555")
            pen.text(left, height + 52, f"most: {value:,} {chart.unit} at {label}", "#d9480f")

    return width, height + 76, paint
