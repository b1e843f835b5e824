"""Notebooks executed by nbclient: the tutorial on the kernel, and `%%grad` in a Python notebook."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
import nbformat  # noqa: E402
from nbformat.v4 import new_code_cell, new_notebook  # noqa: E402

from gradsh.cli.app import run_cli  # noqa: E402

TUTORIAL = Path(__file__).parents[2] / "docs/tutorial.ipynb"


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_cli(["kernel", "install", "--prefix", str(tmp_path)]) == 0
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share/jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


def executed(notebook: Any, kernel: str, **options: Any) -> Any:
    return nbclient.NotebookClient(notebook, timeout=300, kernel_name=kernel, **options).execute()


def outputs(cell: Any) -> list[tuple[str, str]]:
    """What a cell shows, as (type, text)."""
    return [(one.output_type, one.get("text") or "\n".join(one.get("traceback", ())) or one["data"]["text/plain"]) for one in cell.outputs]


def test_the_tutorial_runs_and_is_exported() -> None:
    notebook = executed(nbformat.read(TUTORIAL, 4), "gradsh")  # a failure in a cell without the tag ends it
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    failing = [cell for cell in cells if "raises-exception" in cell.metadata.get("tags", ())]
    assert len(failing) > 3
    assert all(outputs(cell)[-1][0] == "error" for cell in failing)
    assert all("error" not in dict(outputs(cell)) for cell in cells if cell not in failing)
    assert any("text/html" in one.get("data", {}) for cell in cells for one in cell.outputs)
    nbconvert = pytest.importorskip("nbconvert")
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert "was modified in place after it was saved" in page
    assert "\x1b" not in page


def test_grad_cells_of_a_python_notebook_share_a_session() -> None:
    cells = [
        "%load_ext gradsh", "%%grad\nx = ones(2, requires_grad=True)\nloss = x.exp().sum()\nbuffers loss", "%%grad\nbackward loss",
        "try:\n    x\nexcept NameError:\n    print('Python has no x')", "%%grad\n\nbackward loss",
    ]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    shown = executed(notebook, "python3", allow_errors=True).cells
    assert "<table>" in shown[1].outputs[0].data["text/html"]
    assert outputs(shown[2])[0][1].startswith("ran 3 nodes, freed 1 buffer")
    assert outputs(shown[3]) == [("stream", "Python has no x\n")]
    assert [kind for kind, _ in outputs(shown[4])] == ["error"]
    story = outputs(shown[4])[0][1]
    for place in ("cell 2:3:8", "cell 3:2:1", "cell 5:3:1"):
        assert place in story
    assert "Traceback" not in story
