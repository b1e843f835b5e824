"""PyTorch's samples of every operation (its OpInfo database) give the same here and there, by position and by keyword.

Drawn by seed are a few samples of a part of the operations; GRADSH_SWEEP=1 takes all operations, GRADSH_SAMPLES so many of each.
`known_opinfo.txt` lists what differs, by entry and dtype, strictly where all are run.
"""

import os
import random
from pathlib import Path

import pytest

pytorch = pytest.importorskip("torch")

from opinfo_walk import database, parameters, walk  # noqa: E402  (needs PyTorch)
from ops_namespace import Missing  # noqa: E402

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

KNOWN = set((Path(__file__).parent / "known_opinfo.txt").read_text(encoding="utf-8").split())
SWEEP = "GRADSH_SWEEP" in os.environ
SAMPLES = int(os.environ.get("GRADSH_SAMPLES", "2"))
DTYPES = (pytorch.float64, pytorch.float32, pytorch.float16, pytorch.bfloat16, pytorch.int64, pytorch.bool)


def offered(name):
    try:
        parameters(name)
    except (Missing, AttributeError):
        return False
    return True


def title(info, dtype):
    return f"{info.name}{'-' * bool(info.variant_test_name)}{info.variant_test_name}-{str(dtype).removeprefix('torch.')}".replace(" ", "_")


UNWRITTEN = ("empty",)
"""How the names begin of what returns memory that nothing was written to."""
ENTRIES = [info for info in database() if not info.name.startswith(UNWRITTEN) and offered(info.name)]
CASES = [(info, dtype) for info in ENTRIES for dtype in DTYPES if dtype in info.supported_dtypes("cpu")]
DRAWN = CASES if SWEEP else random.Random(0).sample(CASES, 150)


@pytest.mark.parametrize(("info", "dtype"), DRAWN, ids=[title(*one) for one in DRAWN])
def test_samples(info, dtype, monkeypatch):
    monkeypatch.setattr(info, "supports_autograd", info.supports_autograd and dtype.is_floating_point)
    _, bad = walk(info, dtype, SAMPLES, only=True, keywords=True)
    if title(info, dtype) in KNOWN and SWEEP:
        assert bad, "it agrees: take it out of known_opinfo.txt"
    assert not bad or title(info, dtype) in KNOWN, bad[0]


def test_known_entries_exist():
    assert {title(*one) for one in CASES} >= KNOWN
    assert len(CASES) > 1000
