"""`gradsh trace --report`: what the page of a program on PyTorch tells is what PyTorch did."""

from pathlib import Path

import pytest

from gradsh.cli.app import run_cli
from tests.lens.traced import Traced, forked, trace
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


def gradsh(*words: str) -> Traced:
    return forked(lambda: run_cli(list(words)))


SCRIPT = """x = ones(3, requires_grad=True)
y = x.exp()
print("hello")
z = y.sum()
backward z
z.backward()
w = 1
"""


def test_a_script_on_pytorch_is_told_as_one_on_gradshs_engine(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text(SCRIPT)
    told = []
    for engine in ("gradsh", "torch"):
        name = tmp_path / f"{engine}.html"
        ran = gradsh("run", "--engine", engine, "--keep-going", "--report", str(name), str(tmp_path / "a.grad"))
        assert ran.status == 1
        (run,) = data_of(name)["runs"]
        steps = [(one["kind"], one.get("line"), one.get("ok"), one.get("output")) for one in run["steps"]]
        last = max(number for number, one in enumerate(run["steps"]) if one["kind"] == "pass")
        nodes = sorted((one["name"], one.get("line"), one["born"], one.get("freed"), one.get("freed_line")) for one in run["nodes"])
        told.append((steps[: last + 1], [one for one in steps[last:] if one[0] == "statement"], nodes,
                     [span["line"] for span in run["failures"][0]["spans"]], run["bytes"][-1]))
    assert told[0] == told[1]


def test_several_scripts_on_pytorch_make_one_report(tmp_path: Path) -> None:
    for name in ("a.grad", "b.grad"):
        (tmp_path / name).write_text("x = ones(2, requires_grad=True)\nx.exp().sum().backward()\n")
    names = [str(tmp_path / name) for name in ("a.grad", "b.grad")]
    assert gradsh("run", "--engine", "torch", "--report", str(tmp_path / "all.json"), *names).status == 0
    assert [run["name"] for run in data_of(tmp_path / "all.json")["runs"]] == names


def test_statements_that_are_run_one_by_one_are_told(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import torch\nx = torch.ones(3, requires_grad=True)\nz = x.exp().sum()\nz.backward()\nz.backward()\nint('x')\nw = 1\n"
    )
    trace("--keep-going", "--report", "a.json", "p.py", folder=tmp_path)
    (run,) = data_of(tmp_path / "a.json")["runs"]
    statements = [(one["line"], one["ok"]) for one in run["steps"] if one["kind"] == "statement"]
    assert statements == [(1, True), (2, True), (3, True), (4, True), (5, False), (6, False), (7, True)]
