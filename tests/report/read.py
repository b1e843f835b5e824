"""Reads the data of a report back."""

import json
import re
from pathlib import Path
from typing import Any


def data_of(file: Path) -> dict[str, Any]:
    """The data of a report, read as a browser does."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".json":
        (text,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
    found: dict[str, Any] = json.loads(text)
    return found
