"""The programs of examples/torch: they run, and `gradsh trace` tells the story of each one's mistake."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

from tests.lens.traced import run_python, trace  # noqa: E402

HOME = Path(__file__).parents[2] / "examples" / "torch"
PROGRAMS = Path(__file__).parent / "programs"


def line_of(name: str, text: str) -> int:
    """The number of the first line with a text."""
    return next(n for n, line in enumerate((HOME / name).read_text(encoding="utf-8").splitlines(), 1) if text in line)


@pytest.mark.parametrize("name", ["mlp", "transformer", "lstm", "gan", "ddp"])
def test_the_program_runs(name: str) -> None:
    ran = run_python(HOME / f"{name}.py")
    assert (ran.status, ran.err) == (0, "")
    assert len(ran.out.splitlines()) >= 2


MISTAKES = {
    "transformer": ("SoftmaxBackward0.result", {
        "scores.softmax": "saved here", "weights.mul_": "modified here", "loss.backward": "needed here",
    }),
    "lstm": ("MkldnnRnnLayerBackward0.", {"self.lstm(x": "saved here", "loss.backward": "freed here"}),
    "gan": ("AddmmBackward0.mat1", {
        "fake = gen": "saved here", "loss_d.backward": "freed here", "loss_g.backward": "needed again here",
    }),
    "ddp": ("PowBackward0.self", {"penalty = ": "saved here", "loss.backward": "freed here"}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_told(name: str) -> None:
    node, marks = MISTAKES[name]
    ran = trace(f"{name}_mistake.py", folder=HOME)
    assert ran.status == 1
    assert f"backward needs {node}" in ran.err
    for text, mark in marks.items():
        line = line_of(f"{name}_mistake.py", text)
        assert re.search(rf"^ *{line} \| .*\n.*{mark}", ran.err, re.MULTILINE), (line, mark, ran.err)


def test_the_growing_total_is_told_at_the_end() -> None:
    ran = trace("--summary", "mlp_mistake.py", folder=HOME)
    assert ran.status == 0
    assert "total is a running total that keeps the graphs of 8 iterations alive" in ran.err
    assert f"line {line_of('mlp_mistake.py', 'total = total')}: total = total + loss" in ran.err


def torchrun(*words: str, folder: Path = HOME) -> subprocess.CompletedProcess[str]:
    """Run `gradsh trace` in two processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    launcher = ["torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", port]
    return subprocess.run(
        [sys.executable, "-m", *launcher, "-m", "gradsh", "trace", *words],
        cwd=folder, capture_output=True, text=True, timeout=500, check=False,
        env={"PYTHONPATH": str(HOME.parents[1]), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )


def test_two_processes_tell_their_ranks() -> None:
    ran = torchrun("ddp_mistake.py")
    assert ran.returncode != 0
    assert "[rank 0] error[freed]: backward needs PowBackward0.self" in ran.stderr + ran.stdout
    assert "[rank 1] error[freed]: backward needs PowBackward0.self" in ran.stderr + ran.stdout


def test_the_last_of_two_processes_reports_both(tmp_path: Path) -> None:
    ran = torchrun("--summary", "--report", str(tmp_path / "report.json"), "ddp.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("--- gradsh, all ranks ---") == 1
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [(one["rank"], one["passes"], one["failed"]) for one in report["ranks"]] == [(0, 5, None), (1, 5, None)]
    assert all(one["most_saved"] == sum(one["saved_by_line"].values()) > 0 for one in report["ranks"])
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_events_carry_the_rank() -> None:
    ran = torchrun("--format", "json", "ddp_mistake.py")
    events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert {event["rank"] for event in events if event["event"] == "error"} == {0, 1}


def test_sharded_parameters_keep_working() -> None:
    ran = torchrun("--summary", "fsdp.py", folder=PROGRAMS)
    told = ran.stderr + ran.stdout
    assert {"done 0", "done 1"} <= set(ran.stdout.splitlines())
    for number in (0, 1):
        story = [line for line in told.splitlines() if line.startswith(f"[rank {number}]")]
        assert any("error[freed]: backward needs PowBackward0.self" in line for line in story)
        assert [line.rpartition(" | ")[0].split()[-1] for line in story if re.search(r"\d \| ", line)] == ["16", "18", "21"]
        assert any("not known: which sharded parameters a backward reached" in line for line in story)
        assert not any("no backward reached it" in line for line in story)


def test_pipeline_stages_keep_working() -> None:
    ran = torchrun("pipeline.py", folder=PROGRAMS)
    assert {"done 0", "done 1"} <= set(ran.stdout.splitlines())
    story = ran.stderr.partition("PyTorch says")[0]
    assert "[rank 1] error[freed]: backward needs PowBackward0.self" in story
    assert "[rank 0] error" not in ran.stderr
    assert re.findall(r"^\[rank 1\] +(\d+) \|", story, re.MULTILINE) == ["10", "19", "23"]
