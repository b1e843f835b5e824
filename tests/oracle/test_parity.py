"""The recorded situations held against PyTorch as it is installed: the recordings themselves must still be true."""

import json
import re
from pathlib import Path

import pytest

from tests.sweep import part

from tests.oracle import compare, oracle

pytestmark = [  # oracle.py, which runs by itself, leaves its files to the collector
    pytest.mark.parity, pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
torch = pytest.importorskip("torch")

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in (HERE / "real").glob("*.py"))


@pytest.mark.parametrize("name", part(CASES, 4))
def test_recording_is_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    recorded = json.loads((HERE / "expected" / f"{name}.json").read_text(encoding="utf-8"))
    got = json.loads(json.dumps(oracle.run_case(str(HERE / "real" / f"{name}.py"))))
    if not re.search(r"manual_seed", (HERE / "real" / f"{name}.py").read_text()) and "rng" in compare.tags_of(
        str(HERE / "real" / f"{name}.py")
    ):
        pytest.skip("draws numbers from a seed that it does not set")
    assert compare.facet_errors(recorded, got) == []
    assert compare.facet_prints(recorded, got, False) == []
    assert compare.facet_tensors(recorded, got, False) == []
    assert compare.facet_buffers(recorded, got) == []
