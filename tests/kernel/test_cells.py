"""Cells without Jupyter: every table, drawing and record tells a line with its cell."""

import json
import re
from typing import Any

import pytest

from gradsh.kernel.cells import Cells

CELLS = (
    "x = ones(3, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()",
    "def f(a):\n    return (a * x).cos().sum()",
    "\nu = f(z)",
)
LINES = ["line 2 of cell 1", "line 3 of cell 1", "line 2 of cell 2"]


@pytest.fixture
def asked() -> Any:
    """Run three cells; return what runs a further one and gives what it shows last, by MIME type."""
    shown: list[dict[str, Any]] = []
    cells = Cells(lambda bundle, _: shown.append(bundle))
    for number, text in enumerate(CELLS, 1):
        assert cells.run(text, number) is None

    def ask(text: str, number: int = 4) -> Any:
        shown.clear()
        failed = cells.run(text, number)
        return {"text/plain": "\n".join(failed.lines)} if failed is not None else shown[-1] if shown else {}

    return ask


def test_tables_group_and_name_lines_by_cell(asked: Any) -> None:
    for command in ("buffers u --by line", "memory --by line"):
        bundle = asked(command)
        assert [line for line in LINES if line in bundle["text/plain"]] == LINES
        assert all(f"<td>{line}</td>" in bundle["text/html"] for line in LINES)
    rows = json.loads(asked("buffers u --format json")["text/plain"])["rows"]
    assert {(row["saved_line"], row["saved_line_of"]) for row in rows} == {(2, "cell 1"), (3, "cell 1"), (2, "cell 2")}
    places = re.findall(r"line . of cell .", asked("buffers u --sort line")["text/plain"])
    assert list(dict.fromkeys(places)) == LINES
    assert "line 2 of cell 1" in asked("holders y")["text/plain"]


def test_drawings_and_stories_name_the_cell(asked: Any) -> None:
    drawn = asked("graph u")
    assert "line 2 of cell 2" in drawn["text/plain"]
    assert "line 2 of cell 2" in drawn["image/svg+xml"]
    assert "on line 2 of cell 2" in asked("why u")["text/plain"]
    asked("backward u")
    assert "freed by line 1 of cell 4" in asked("buffers u")["text/plain"]
    assert "(called from line 2 of cell 3)" in asked("u.backward()", 5)["text/plain"]
    story = asked("why")["text/plain"]
    assert "1. line 2 of cell 2: return (a * x).cos().sum()" in story
    timeline = json.loads(asked("memory --format json")["text/plain"])
    assert timeline["timeline_of"][:3] == ["cell 1"] * 3
    assert timeline["peak_line_of"].startswith("cell ")


def test_a_warning_names_the_cell_of_its_line(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked("import warnings\ndef warn():\n    warnings.warn('doubt')")
    asked("\n\n\nwarn()", 5)
    assert "cell 4:3:1" in capsys.readouterr().err
