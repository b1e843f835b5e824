"""What a report tells is what happened: held to the probes at the end of each statement, and to the passes' own accounts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gradsh.contracts.events import Done, Event, Failure, Result
from gradsh.probe.accounts import take_account
from gradsh.probe.graph import GraphReport, Wanted, graph_report
from gradsh.probe.names import roots_of
from gradsh.probe.passes import PassReport
from gradsh.report.recorder import SessionRecorder
from gradsh.session.session import Session
from gradsh.text.span import Source

SCRIPTS = Path(__file__).parents[2] / "scripts"
CHOSEN = ["s01-*", "s16-*", "s17-*", "s18-*", "s19-*", "s20-*", "s24-*", "s26-*", "g06-*", "g07-*", "g11-*", "g14-*", "g16-*"]
Run = dict[str, Any]


def recorded(text: str, name: str = "<code>", look: Any = lambda event: None, beside: Mapping[str, str] = {}) -> tuple[Run, Session]:
    session = Session()
    session.machine.read_module = lambda path: Source(f"{path}.py", beside[path]) if path in beside else None
    with SessionRecorder(session, Source(name, text), lambda event: look((event, session))) as recorder:
        session.run(text, recorder, name=name, keep_going=True)
    run = recorder.data()
    assert json.loads(json.dumps(run)) == run
    return run, session


def state_at(run: Run, node: dict[str, Any], step: int) -> set[str]:
    """The states of a node's saved tensors, read off the report as docs/report.md says."""
    if node.get("freed", step + 1) <= step:
        return {"freed"}
    pinned = sum(one <= step for one in node.get("pinned", ())) % 2
    return {
        "packed" if "packed" in saved else "modified" if saved.get("modified", step + 1) <= step else "pinned" if pinned else "live"
        for saved in node.get("saved", ())
    }


@pytest.mark.parametrize("pattern", CHOSEN)
def test_each_statement_ends_as_the_probes_see_it(pattern: str) -> None:
    script = next(SCRIPTS.glob(f"{pattern}.grad"))
    seen: list[tuple[int, int, GraphReport]] = []

    def look(told: tuple[Event, Session]) -> None:
        event, session = told
        if type(event) is Done:
            variables = session.machine.variables()
            roots = [node for _, node in roots_of(variables)]
            report = graph_report(roots, variables, session.line_of, session.scopes_of, Wanted(expand=True))
            seen.append((event.line, take_account(variables).total, report))

    run, _ = recorded(script.read_text(encoding="utf-8"), str(script), look)
    ends = [number for number, step in enumerate(run["steps"]) if step["kind"] == "statement"]
    assert "note" not in run
    assert [run["steps"][end]["line"] for end in ends] == [line for line, _, _ in seen]
    for end, (_, total, report) in zip(ends, seen, strict=True):
        assert sum(run["bytes"][end]) == total
        alive = [node for node in run["nodes"] if node["born"] <= end < node.get("died", end + 1)]
        inner = [node for node in alive if not node.get("leaf")]
        told = [node for node in report.nodes if not node.leaf]
        assert sorted(node["name"] for node in inner) == sorted(node.name for node in told)
        states = [sorted(state_at(run, node, end)) for node in inner]
        assert sorted(states) == sorted(sorted({mark.state for mark in node.saved}) for node in told)
        assert sorted(str(node.get("line")) for node in inner) == sorted(str(node.line) for node in told)


def test_a_pass_is_told_node_by_node() -> None:
    results: list[Any] = []
    text = (SCRIPTS / "s24-trunk-and-two-heads.grad").read_text(encoding="utf-8")
    run, _ = recorded(text, look=lambda told: results.append(told[0].report) if type(told[0]) is Result else None)
    reports = [report for report in results if isinstance(report, PassReport)]
    passes: list[list[int]] = []
    for number, step in enumerate(run["steps"]):
        if step["kind"] == "pass":
            passes.append([])
        elif step["kind"] == "node":
            passes[-1].append(number)
    failed = [ran for ran in passes if any(run["steps"][number].get("failed") for number in ran)]
    assert len(failed) == 1
    node = run["nodes"][run["steps"][failed[0][-1]]["node"]]
    assert (node["name"], node["line"], node["freed_line"]) == ("ReluBackward0", 10, 14)
    whole = [ran for ran in passes if ran not in failed]
    assert len(whole) == len(reports) > 2
    for ran, report in zip(whole, reports, strict=True):
        nodes = [(number, run["nodes"][run["steps"][number]["node"]]) for number in ran]
        assert len(nodes) == report.ran
        freed = [(one["name"], saved["name"]) for number, one in nodes if one.get("freed") == number for saved in one["saved"]]
        assert freed == [(buffer.node, buffer.name) for buffer in report.freed]


def test_a_failure_has_its_story_and_its_fixes() -> None:
    failures: list[Failure] = []
    text = "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nbackward z\nbackward z\n"
    run, _ = recorded(text, look=lambda told: failures.append(told[0]) if type(told[0]) is Failure else None)
    (failure,) = run["failures"]
    assert failure["kind"] == failures[0].problem.kind == "freed"
    assert {span["role"]: span["line"] for span in failure["spans"]} == {"saved": 2, "freed": 3, "needed": 4}
    assert failure["fixes"][0]["diff"] == ["- 3 | backward z", "+ 3 | backward z --retain"]
    assert run["steps"][failure["step"]] == {"kind": "statement", "line": 4, "end_line": 4, "ok": False}


def test_loops_functions_and_modules_have_scopes() -> None:
    text = (
        "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "def step(x):\n    loss = net(x).sum()\n    loss.backward()\n"
        "for i in range(2):\n    step(randn(4, 2))\n"
    )
    run, _ = recorded(text)
    tanh = [node for node in run["nodes"] if node["name"] == "TanhBackward0"]
    assert [node["module"] for node in tanh] == ["net.1", "net.1"]
    chains = []
    for node in tanh:
        chain, scope = [], node["scope"]
        while scope is not None:
            chain.append(run["scopes"][scope]["label"])
            scope = run["scopes"][scope]["parent"]
        chains.append(chain)
    assert chains == [["step()", "iteration 1", "loop"], ["step()", "iteration 2", "loop"]]
    assert tanh[0]["died"] <= tanh[1]["born"]


def test_in_place_writes_pins_and_variables_are_followed() -> None:
    text = (
        "a = ones(3, requires_grad=True)\nb = a * 2\nc = (b * b).sum()\nretain c\nb.add_(1)\nrelease c\nn = 4\ndel b\n"
    )
    run, _ = recorded(text)
    saved = next(node for node in run["nodes"] if node["name"] == "MulBackward0" and len(node["saved"]) == 2)
    assert saved["pinned"] == [3, 5]
    assert {one["modified"] for one in saved["saved"]} == {4}
    assert {one["modified_line"] for one in saved["saved"]} == {5}
    assert [(step, record and record["version"]) for step, record in run["variables"]["b"]] == [(1, 0), (4, 1), (7, None)]
    assert run["variables"]["n"] == [[6, {"value": "4"}]]


def test_the_bytes_of_a_pass_go_down_where_nothing_else_holds_them() -> None:
    text = "a = ones(1000, requires_grad=True)\nb = a.exp().exp().exp().sum()\nb.backward()\n"
    run, _ = recorded(text)
    graph = [parts[3] for parts in run["bytes"]]
    assert graph[2:] == [12000, 12000, 8000, 4000, 0, 0, 0]
    assert [parts[1] for parts in run["bytes"]][-2:] == [4000, 4000]
    assert run["peak"] == 1


def test_what_a_script_breaks_costs_the_report_and_not_the_session() -> None:
    text = "class Odd:\n    @property\n    def __dict__(self):\n        raise ValueError('no')\nodd = Odd()\nx = ones(1)\nx\n"
    shown: list[Event] = []
    run, _ = recorded(text, look=lambda told: shown.append(told[0]))
    assert any(getattr(event, "text", "") == "tensor([1.])" for event in shown)
    assert run["steps"]


def test_a_long_session_stays_small() -> None:
    text = (
        "x = randn(8, requires_grad=True)\nfor i in range(50):\n    y = x\n"
        "    for j in range(100):\n        y = y * 1.01\n    y.sum().backward()\n"
    )
    run, _ = recorded(text)
    assert len(run["nodes"]) > 5000
    assert len(json.dumps(run)) < 5_000_000
