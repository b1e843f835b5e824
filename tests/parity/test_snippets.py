"""Snippets as people post them, and random programs, run here and in PyTorch: errors, messages, prints, tensors and saved buffers agree."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gradsh.render.json import plain, to_dict
from gradsh.runtime.machine import Machine
from gradsh.session.session import Session
from tests.oracle import compare, oracle
from tests.parity.programs import program

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.parity, pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SNIPPETS = sorted((Path(__file__).parent / "snippets").glob("*.py"))
ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,}")


def pytorch(path: Path) -> dict[str, Any]:
    """What PyTorch does, from the seeds that a session starts from."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    found: dict[str, Any] = json.loads(json.dumps(oracle.run_case(str(path))))
    return found


def gradsh(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What gradsh does, with the class and the text of each exception that ended a statement."""
    raised: list[tuple[str, str]] = []
    explain = Machine.explain

    def explaining(machine: Machine, error: BaseException, unit: Any = None) -> Any:
        if machine is session.machine:  # and not that of a fix that is tried
            raised.append((type(error).__name__, str(error)))
        return explain(machine, error, unit)

    session = Session()
    monkeypatch.setattr(Machine, "explain", explaining)
    found: dict[str, Any] = {"errors": [], "raised": raised}
    printed: list[str] = []

    def emit(event: Any) -> None:
        data = to_dict(event)
        data = None if data is None else json.loads(json.dumps(plain(data)))
        match data:
            case {"event": "print"}:
                printed.append(data["text"] + ("" if data.get("newline") is False else "\n"))
            case {"event": "error"}:
                found["errors"].append(data)
            case {"event": "state"}:
                found.update(tensors=data["tensors"], buffers=data["buffers"])

    session.run(path.read_text(encoding="utf-8"), emit, name=str(path), keep_going=True)
    emit(session.snapshot())
    found["prints"] = ADDRESS.sub("0x0", "".join(printed)).splitlines()
    return found


def texts(raised: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Classes and messages, without addresses and the blanks around them."""
    return [(name, ADDRESS.sub("0x0", text).strip()) for name, text in raised]


def assert_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a file in both and compare all that can be seen."""
    expected, got = pytorch(path), gradsh(path, monkeypatch)
    assert compare.facet_errors(expected, got) == []
    assert texts(got["raised"]) == texts([(one["exc"], one["message"]) for one in expected["errors"]])
    assert compare.facet_prints(expected, got, False) == []
    assert compare.facet_tensors(expected, got, False) == []
    assert compare.facet_buffers(expected, got) == []


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_snippet_does_what_pytorch_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(path, monkeypatch)


@pytest.mark.parametrize("seed", range(100, 260))
def test_program_does_what_pytorch_does(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program.py"
    path.write_text(program(seed), encoding="utf-8")
    assert_same(path, monkeypatch)


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_failures_name_their_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"freed": {"needed", "saved", "freed"}, "version": {"needed", "saved", "modified"}}
    built = {kind: {"needed", "built"} for kind in ("scalar", "unused", "not_leaf", "leaf_inplace", "view_inplace")}
    for error in gradsh(path, monkeypatch)["errors"]:
        roles = {span["role"] for span in error["spans"]}
        assert (asked | built).get(error["kind"], {"needed"}) <= roles, error["message"]
