"""`gradsh trace --report`: what the page of a program on PyTorch tells is what PyTorch did."""

from pathlib import Path

import pytest

from tests.lens.traced import trace
from tests.report.read import data_of

pytestmark = pytest.mark.parity
pytest.importorskip("torch")

PROGRAM = """import torch
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
for step in range(2):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    loss.backward()
loss.backward()
"""


def test_passes_nodes_and_the_failure_are_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    for name in ("a.html", "a.json"):
        ran = trace("--report", name, "train.py", folder=tmp_path)
        assert ran.status == 1
        assert "error[freed]" in ran.err
    data = data_of(tmp_path / "a.html")
    assert data["version"] == 1
    assert [rank["passes"] for rank in data["ranks"]] == [3]
    (run,) = data["runs"]
    assert "note" not in run
    assert [step["line"] for step in run["steps"] if step["kind"] == "pass"] == [5, 5, 6]
    (failure,) = run["failures"]
    assert {span["role"]: span["line"] for span in failure["spans"]} == {"saved": 4, "freed": 5, "needed": 6}
    tanh = [node for node in run["nodes"] if node["name"] == "TanhBackward0"]
    assert [(node["module"], node["line"], node["freed_line"]) for node in tanh] == [("net[1]", 4, 5)] * 2
    assert tanh[0]["died"] == tanh[1]["born"]
    assert [saved["bytes"] for saved in tanh[0]["saved"]] == [16 * 8 * 4]
    for node in tanh:
        assert run["steps"][node["freed"]] == {"kind": "node", "node": run["nodes"].index(node)}
    weight = run["variables"]["net[0].weight"]
    assert weight[0][1].get("grad") is None
    assert weight[-1][1]["grad"]["shape"] == [8, 4]
    first, second = [number for number, step in enumerate(run["steps"]) if step["kind"] == "pass"][:2]
    saved = [parts[3] for parts in run["bytes"]]
    held = run["storages"][weight[0][1]["storage"]] // 4  # of net[2].weight, which a variable leads to and its node saves
    assert saved[first] == data["ranks"][0]["most_saved"] - held
    assert saved[second - 1] < saved[first]


def test_a_report_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("print(1)\n")
    ran = trace("--report", "missing/a.html", "p.py", folder=tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert "cannot write the report missing/a.html" in ran.err


def test_a_program_is_not_changed_by_being_reported(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM.rpartition("loss.backward()")[0] + "print(loss, [p.grad.sum() for p in net.parameters()])\n")
    (tmp_path / "p.py").write_text("import torch; torch.manual_seed(0)\n" + (tmp_path / "p.py").read_text())
    plain, reported = trace("p.py", folder=tmp_path), trace("--report", "a.html", "p.py", folder=tmp_path)
    assert plain == reported
    assert plain.status == 0
