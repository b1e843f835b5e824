"""Custom functions, hooks of every sort, hooks on saved tensors: what they see and in which order, as in PyTorch.

The scripts are files of `scripts/`, written as people would write them; what they print is compared line by line.
"""

from pathlib import Path

import pytest

from tests.api.twin import twin

pytest.importorskip("torch")

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script: Path) -> None:
    """Every line printed is PyTorch's."""
    twin(script.read_text())
