"""Every recorded situation, traced on PyTorch itself: kinds, prints, and the lines of failures and saved tensors.

`known.json` lists what does not agree yet: {case: facets}, e for errors explained, f for buffer
histories. It is strict: what agrees must be taken off.
"""

import json
from pathlib import Path

import pytest

from tests.lens.traced import trace
from tests.oracle import compare
from tests.oracle.test_situations import CASES, collected, insight

pytestmark = [  # oracle.py, which runs by itself, leaves its files to the collector
    pytest.mark.parity, pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
torch = pytest.importorskip("torch")

ORACLE = Path(__file__).parent.parent / "oracle"
KNOWN: dict[str, str] = json.loads((Path(__file__).parent / "known.json").read_text(encoding="utf-8"))


def differences(name: str) -> dict[str, list[str]]:
    """What does not agree, by facet."""
    path = ORACLE / "real" / f"{name}.py"
    torch.manual_seed(0)
    ran = trace("--keep-going", "--format", "json", str(path))
    expected = json.loads((ORACLE / "expected" / f"{name}.json").read_text(encoding="utf-8"))
    got = collected(ran.events)
    loose = "rng" in compare.tags_of(str(path)) and "manual_seed" not in path.read_text(encoding="utf-8")
    found = {
        "a": compare.facet_errors(expected, got),
        "b": compare.facet_prints(expected, got, loose),
        **insight(name, ran.events, got["buffers"]),
    }
    if "state" not in {event["event"] for event in ran.events}:
        found["a"].append(f"no state: {ran.err}")
    return {facet: diffs for facet, diffs in found.items() if diffs}


@pytest.mark.parametrize("name", CASES)
def test_situation_is_told_as_it_was(name: str) -> None:
    found, known = differences(name), KNOWN.get(name, "")
    assert not {facet: diffs for facet, diffs in found.items() if facet not in known}
    assert not [facet for facet in known if facet not in found], f"{name}: take it off known.json"
