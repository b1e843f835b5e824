"""Every recorded situation, run in process and held against what PyTorch did.

`known.json` lists what does not agree yet: {case: facets} for `compare.py`'s facets, and e/f for errors explained and
buffer histories of `insight_check.py`. It is strict: a listed facet that agrees fails the test, so the list only shrinks.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.sweep import part

from gradsh.render.json import plain, to_dict
from gradsh.session.session import Session
from tests.oracle import compare, insight_check

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in (HERE / "real").glob("*.py"))
KNOWN: dict[str, str] = json.loads((HERE / "known.json").read_text())


def run_case(name: str) -> list[dict[str, Any]]:
    """The events of a case, as the JSON stream has them."""
    path = HERE / "real" / f"{name}.py"
    events: list[dict[str, Any]] = []

    def emit(event: Any) -> None:
        data = to_dict(event)
        if data is not None:
            events.append(json.loads(json.dumps(plain(data))))

    session = Session()
    session.run(path.read_text(encoding="utf-8"), emit, name=str(path), keep_going=True)
    emit(session.snapshot())
    return events


def differences(name: str) -> dict[str, list[str]]:
    """What does not agree, by facet."""
    events = run_case(name)
    expected = json.loads((HERE / "expected" / f"{name}.json").read_text(encoding="utf-8"))
    got = collected(events)
    found = {
        "a": compare.facet_errors(expected, got),
        "b": compare.facet_prints(expected, got, False),
        "c": compare.facet_tensors(expected, got, False),
        "d": compare.facet_buffers(expected, got),
        **insight(name, events, got["buffers"]),
    }
    return {facet: diffs for facet, diffs in found.items() if diffs}


def collected(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The events as `compare.py` collects them from the stream."""
    got: dict[str, Any] = {"errors": [], "prints": [], "tensors": {}, "buffers": {}}
    for event in events:
        match event["event"]:
            case "print":
                text = compare.re.sub(r"0x[0-9a-fA-F]{5,}", "0x0", event["text"])
                got["prints"].extend(
                    text[:-1].split("\n") if text.endswith("\n") and text != "\n" else text.split("\n"))
            case "error":
                got["errors"].append(event)
            case "state":
                got.update(tensors=event["tensors"], buffers=event["buffers"])
    return got


def insight(name: str, events: list[dict[str, Any]], buffers: dict[str, Any]) -> dict[str, list[str]]:
    """What the lines of errors and saved tensors miss."""
    truth = json.loads((HERE / "insight" / f"{name}.json").read_text(encoding="utf-8"))
    judged, extra = insight_check.judge_errors(truth["errors"], [e for e in events if e["event"] == "error"])
    errors = [miss for _, _, misses, _ in judged for miss in misses] + extra
    history = [miss for variable, entries in truth["buffers"].items()
               for miss in insight_check.judge_buffers(entries, buffers.get(variable))[2]]
    return {"e": errors, "f": history}


@pytest.mark.parametrize("name", part(CASES, 4))
def test_situation(name: str) -> None:
    found = differences(name)
    known = KNOWN.get(name, "")
    new = {facet: diffs for facet, diffs in found.items() if facet not in known}
    assert not new
    healed = [facet for facet in known if facet not in found]
    assert not healed, f"{name} agrees in {healed}: take it off known.json"


def test_known_names_exist() -> None:
    assert set(KNOWN) <= set(CASES)


def test_comparison_tells_differences() -> None:
    """The comparison itself must be able to fail."""
    events = run_case(CASES[0])
    expected = json.loads((HERE / "expected" / f"{CASES[0]}.json").read_text(encoding="utf-8"))
    got = SimpleNamespace(**collected(events))
    wrong = {"errors": [{"line": 1, "kind": "freed"}], "prints": ["x"], "tensors": {"x": {}}, "buffers": got.buffers}
    assert compare.facet_errors(expected, wrong)
    assert compare.facet_prints(expected, wrong, False)
    assert compare.facet_tensors(expected, wrong, False)
