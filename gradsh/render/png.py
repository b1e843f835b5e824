"""Makes PNG of SVG, with the library resvg and a font of the machine's."""

import re

from gradsh.render.style import FONT
from gradsh.text.fault import fail

_SCALE = 2
"""Pixels for each point, so that text is sharp."""
_MOST_PIXELS = 64_000_000
_LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'


def png(svg: str) -> bytes:
    """Return the picture as a PNG file.

    Raises ValueError (kind `value`) where resvg is not installed, the machine has no font, or the picture is too large.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise fail("value", "png needs the library resvg: pip install resvg-py; or take --format svg", ValueError) from None
    found = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
    assert found is not None
    width, height = int(found[1]), int(found[2])
    scale = _SCALE if width * height * _SCALE**2 <= _MOST_PIXELS else 1
    if width * height * scale**2 > _MOST_PIXELS:
        raise fail("value", f"the picture would have {width:,} × {height:,} pixels: choose less with --depth, or take svg", ValueError)
    if _draws_nothing(svg_to_bytes):
        raise fail("value", "png needs a font, and there is none: install one (fonts-dejavu-core), or take --format svg", ValueError)
    return bytes(svg_to_bytes(svg_string=svg, zoom=scale))


def _draws_nothing(svg_to_bytes: object) -> bool:
    """Whether no letter is drawn: without any font, text would be left out without a word."""
    assert callable(svg_to_bytes)
    letter = _LETTER.format(f'<text y="15" {FONT}>M</text>')
    return bool(svg_to_bytes(svg_string=letter) == svg_to_bytes(svg_string=_LETTER.format("")))
