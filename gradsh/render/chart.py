"""Draws values over time: a sparkline for the terminal, bars as SVG."""

from itertools import pairwise

from gradsh.render.style import FONT, Style
from gradsh.render.wrap import wrap
from gradsh.view.shapes import Chart

_WIDTH = 60
_BARS = "▁▂▃▄▅▆▇█"


def draw(chart: Chart, style: Style) -> list[str]:
    """Return a line of bars, and what the first, the last and the largest are; nothing for fewer than two points.

    Plain text has no bars: read aloud, they say nothing.
    """
    if len(chart.points) < 2:
        return []
    first, last = chart.points[0], chart.points[-1]
    label, value = chart.points[chart.peak]
    most = f"most {value:,} {chart.unit} at {label}"
    if style.ascii:
        return wrap(f"{chart.title} from {first[0]} to {last[0]}: {most}", style.width)
    values = squeezed([value for _, value in chart.points], min(_WIDTH, max(8, (style.width or 100) - 30)))
    top = max(values) or 1
    line = "".join(_BARS[min(7, value * 8 // top) if value < top else 7] for value in values)
    return wrap(f"{chart.title}  {line}  {first[0]} … {last[0]}, {most}", style.width)


def squeezed(values: list[int], width: int) -> list[int]:
    """Return at most `width` values: the largest of each stretch, so that no peak is lost."""
    if len(values) <= width:
        return values
    edges = [place * len(values) // width for place in range(width + 1)]
    return [max(values[a:b]) for a, b in pairwise(edges)]


def svg(chart: Chart) -> str:
    """Return the values as bars, the peak marked, with its label."""
    width, height, left, below = 720, 200, 90, 40
    size = f'width="{width}" height="{height + below + 30}" viewBox="0 0 {width} {height + below + 30}"'
    top = max((value for _, value in chart.points), default=0) or 1
    step = (width - left - 20) / max(1, len(chart.points))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{left}" y="18">{chart.title}</text>',
    ]
    for place, (label, value) in enumerate(chart.points):
        tall = value / top * height
        colour = "#d9480f" if place == chart.peak else "#4c78a8"
        out.append(
            f'<rect x="{left + place * step:.1f}" y="{30 + height - tall:.1f}" width="{max(step * 0.85, 0.5):.1f}" '
            f'height="{tall:.1f}" fill="{colour}"><title>{label}: {value:,} {chart.unit}</title></rect>'
        )
    out.append(f'<text x="{left - 8}" y="40" text-anchor="end">{top:,} {chart.unit}</text>')
    out.append(f'<text x="{left - 8}" y="{30 + height}" text-anchor="end">0</text>')
    if chart.points:
        end = width - 20
        out.append(f'<text x="{left}" y="{height + 50}">{chart.points[0][0]}</text>')
        out.append(f'<text x="{end}" y="{height + 50}" text-anchor="end">{chart.points[-1][0]}</text>')
        label, value = chart.points[chart.peak]
        out.append(f'<text x="{left}" y="{height + 66}" fill="#d9480f">most: {value:,} {chart.unit} at {label}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
