"""Lines of a file that a script imports: tables, drawings and records tell them with the file's name."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.lens import missing

MODEL = "import torch\n\ndef block(h, w):\n    h = h * w\n    return h.exp()\n"
SCRIPT = (
    "import torch\nfrom model import block\nw = torch.ones(3, requires_grad=True)\nh = 2 * w\nz = block(h * w, w).sum()\n"
    "buffers --by line\nbuffers --format json\ngraph z\nbackward z\nbackward z\nwhy\n"
)
GROUPS = ["line 4", "line 5", "line 4 of model.py", "line 5 of model.py"]


@pytest.mark.parametrize("engine", [
    "", pytest.param("torch", marks=[pytest.mark.parity, pytest.mark.skipif(bool(missing()), reason="no PyTorch")]),
])
def test_lines_of_an_imported_file_are_told_with_its_name(gradsh: Callable, tmp_path: Path, engine: str) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "b.grad").write_text(SCRIPT, encoding="utf-8")
    done = gradsh("run", "--keep-going", *(["--engine", engine] if engine else []), "b.grad")
    assert done.status == 1
    groups, _, rest = done.out.partition("{")
    assert [line.split("  ")[0] for line in groups.splitlines()[1:-1]][-3:] == GROUPS[-3:]
    record, _ = json.JSONDecoder().raw_decode("{" + rest)
    places = {(row["saved_line"], Path(row.get("saved_line_of", "")).name) for row in record["rows"]}
    assert {(5, ""), (4, "model.py"), (5, "model.py")} <= places
    assert "line 5 of model.py" in rest
    assert "(called from line 5 of b.grad)" in done.err


def test_one_file_alone_has_no_further_field(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("x = ones(2, requires_grad=True)\ny = x.exp()\nbuffers\nmemory\n", encoding="utf-8")
    done = gradsh("run", "--format", "json", "a.grad")
    assert done.status == 0
    assert '_of"' not in done.out
