"""Several scripts, processes, parameters, profiles."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.golden.collect import scripts_below
from gradsh.run.script import RunOptions
from gradsh.run.watch import watch
from gradsh.session.parameters import WrongValueError, converted, parameters_in
from tests.batch.conftest import _environment
from tests.processes import wait_until


def scripts(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / f"{name}.grad").write_text(text)
    return [f"{name}.grad" for name in texts]


@pytest.mark.parametrize("options", [[], ["-j", "2"]])
def test_order_is_that_of_the_files(gradsh: Callable, tmp_path: Path, options: list[str]) -> None:
    slow = "x = 0\nfor i in range(300000):\n    x += i\nprint('a')\n"
    names = scripts(tmp_path, a=slow, b="print('b')\nnonsense\nprint('never')\n", c="print('c')\n")
    done = gradsh("run", *options, *names)
    assert (done.status, done.out) == (1, "a\nb\nc\n")
    assert "--> b.grad:2:1" in done.err
    assert done.err.endswith("3 scripts: 2 done, 1 failed\n")


def test_one_json_stream(gradsh: Callable, tmp_path: Path) -> None:
    names = scripts(tmp_path, a="print(1)\n", b="y = 2\n")
    done = gradsh("run", "-j", "2", "--format", "json", *names)
    assert [(event["event"], event["file"]) for event in done.events] == [
        ("print", "a.grad"), ("state", "a.grad"), ("state", "b.grad")]
    assert done.err == ""


def test_fail_fast(gradsh: Callable, tmp_path: Path) -> None:
    names = scripts(tmp_path, a="nonsense\n", b="print('b')\n")
    done = gradsh("run", "--fail-fast", *names)
    assert (done.status, done.out) == (1, "")
    assert done.err.endswith("2 scripts: 0 done, 1 failed, 1 not run\n")


def test_missing_file_among_others(gradsh: Callable, tmp_path: Path) -> None:
    names = scripts(tmp_path, a="print('a')\n")
    done = gradsh("gone.grad", *names)
    assert (done.status, done.out) == (2, "a\n")


PARAMETERS = """
lr = 0.1  #@param learning rate
steps = -3  #@param {type:"integer"}
name = "adam"  #@param
loud = False  #@param: say more
other = 5
print(lr, steps, name, loud, other)
"""


def test_parameters_are_set(gradsh: Callable, tmp_path: Path) -> None:
    names = scripts(tmp_path, a=PARAMETERS)
    assert gradsh(*names).out == "0.1 -3 adam False 5\n"
    done = gradsh("run", "--set", "lr=1e-2", "--set", "steps=7", "--set", "name=a=b", "--set", "loud=yes", *names)
    assert done.out == "0.01 7 a=b True 5\n"


@pytest.mark.parametrize(("setting", "words"), [
    ("steps=1.5", "steps is an int, not '1.5'"),
    ("loud=maybe", "loud is a bool, not 'maybe'"),
    ("other=6", "there is no parameter other; there are lr (float), steps (int), name (str), loud (bool)"),
    ("lr", "--set takes NAME=VALUE"),
])
def test_wrong_values(gradsh: Callable, tmp_path: Path, setting: str, words: str) -> None:
    done = gradsh("run", "--set", setting, *scripts(tmp_path, a=PARAMETERS))
    assert (done.status, done.out) == (2, "")
    assert words in done.err


def test_parameters_are_listed(gradsh: Callable, tmp_path: Path) -> None:
    names = scripts(tmp_path, a=PARAMETERS)
    done = gradsh("run", "--params", *names)
    assert done.out.splitlines()[:2] == [
        "name   type   default  line    about", "lr     float  0.1      line 2  learning rate"]
    rows = gradsh("run", "--params", "--format", "json", *names).events
    assert rows[1] == {"event": "parameter", "name": "steps", "type": "int", "default": -3, "line": 3,
                       "about": '{type:"integer"}', "file": "a.grad"}
    assert gradsh("run", "--params", "-c", "x = 1").out.startswith("no parameters")


def test_conversion_is_the_types() -> None:
    (parameter,) = parameters_in("s", "n = 3  #@param")
    assert converted(parameter, "0x10") == 16
    with pytest.raises(WrongValueError):
        converted(parameter, "x")


TRAINING = """net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
def step(x):
    loss = net(x).pow(
        2
    ).mean()
    loss.backward()
    return loss

for i in range(20):
    step(randn(32, 8))
"""


def test_profile(gradsh: Callable, tmp_path: Path) -> None:
    text = "def f(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return s\nx = f(1000)\ny = [0] * 100000\n"
    done = gradsh("run", "--profile", *scripts(tmp_path, a=text))
    rows = {int(m[1]): m for m in re.finditer(
        r"^ *(\d+) +([\d,]+) +([\d.,]+) +([\d.]+) % +(-?[\d,]+) B  (.*)$", done.out, re.MULTILINE)}
    assert rows[4][2] == "1,000"
    assert rows[7][6] == "y = [0] * 100000"
    assert rows[7][5] == "0"  # a list is no tensor
    data = gradsh("run", "--profile", "--format", "json", "a.grad").events[0]
    assert (data["event"], data["command"]) == ("result", "profile")
    assert {row["line"]: row["passes"] for row in data["data"]["rows"]}[4] == 1000


@pytest.mark.parametrize("way", [
    "h.register_hook(seen)", "x.register_post_accumulate_grad_hook(lambda leaf: seen(leaf.grad))",
    "h.grad_fn.register_prehook(lambda grads: seen(grads[0]))",
])
def test_a_profile_counts_lines_that_run_within_a_backward(gradsh: Callable, tmp_path: Path, way: str) -> None:
    passes = "for i in range(3):\n    h.sum().backward(retain_graph=True)\n"
    text = f"def seen(g):\n    2 * 3\n\nx = ones(2, requires_grad=True)\nh = x * x\n{way}\n{passes}"
    done = gradsh("run", "--profile", "--format", "json", *scripts(tmp_path, a=text))
    rows = {row["line"]: row["passes"] for row in done.events[0]["data"]["rows"]}
    assert (rows[2], rows[8]) == (3, 3)


def test_profile_of_nodes_modules_and_saved_bytes(gradsh: Callable, tmp_path: Path) -> None:
    done = gradsh("run", "--profile-sort", "bytes", "--format", "json", *scripts(tmp_path, t=TRAINING))
    data = done.events[0]["data"]
    assert (data["rows"][0]["line"], data["rows"][0]["passes"]) == (3, 20)  # a statement of three lines counts once
    saved = gradsh("-c", TRAINING.replace("    loss.backward()\n", "").replace("step(randn", "z = step(randn") + "print(live_bytes())").out
    assert data["rows"][0]["bytes"] == int(saved.split()[-1])
    nodes = {row["name"]: row["passes"] for row in data["nodes"]}
    assert (nodes["TanhBackward0"], nodes["AddmmBackward0"]) == (20, 40)
    modules = {row["name"]: row for row in data["modules"]}
    assert modules["net"]["passes"] == modules["net[2]"]["passes"] == 20
    assert modules["net"]["ms"] >= modules["net[0]"]["ms"]
    assert sum(row["bytes"] for row in data["modules"]) <= data["rows"][0]["bytes"]


def test_a_flame_graph_is_written_from_behind_the_walls(gradsh: Callable, tmp_path: Path) -> None:
    file = tmp_path / "flame.json"
    assert gradsh("run", "--flame", str(file), *scripts(tmp_path, t=TRAINING)).status == 0
    data = json.loads(file.read_text())
    names = [frame["name"] for frame in data["shared"]["frames"]]
    assert {"step()", "net", "net[0]", "TanhBackward0"} <= set(names)
    stack, last = [], 0.0
    for event in data["profiles"][0]["events"]:
        assert event["at"] >= last
        last = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert stack == []
    assert gradsh("run", "--flame", str(tmp_path / "nowhere" / "x.json"), "t.grad").status == 2


def test_threads_and_seed(gradsh: Callable) -> None:
    code = "print(torch.initial_seed())\n"
    assert gradsh("run", "--threads", "1", "-c", code).out == "0\n"
    assert gradsh("--seed", "3", "-c", code).out == "3\n"
    assert gradsh("-c", "#@ seed=5\n" + code).out == "5\n"
    assert gradsh("--seed", "random", "-c", code).out != gradsh("--seed", "random", "-c", code).out


def test_watch_runs_again_after_a_change(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.grad"
    path.write_text("print('one')\n")

    shown = ["", ""]

    def waiting() -> bool:
        shown[:] = [before + new for before, new in zip(shown, capfd.readouterr(), strict=True)]
        return "ended with status 0; waiting" in shown[1]

    def change() -> None:
        wait_until(waiting, "the end of the first run")
        path.write_text("print('two')\nnonsense\n")

    thread = threading.Thread(target=change)
    thread.start()
    assert watch(RunOptions((str(path),)), rounds=2) == 1
    thread.join()
    assert shown[0] + capfd.readouterr().out == "one\ntwo\n"


def test_check(gradsh: Callable, tmp_path: Path) -> None:
    names = scripts(tmp_path, a="x = 1\nprint(x)\n", b="def f(a):\n    return [b for b in a] + prnt(c)\n", c="print((1\n")
    assert gradsh("check", names[0]) == (0, "", "")
    done = gradsh("check", *names)
    assert (done.status, done.out) == (1, "")
    assert "name 'prnt' is not defined" in done.err
    assert "did you mean `print`?" in done.err
    assert "name 'c' is not defined" in done.err
    assert "error[syntax]" in done.err
    assert gradsh("check", "gone.grad").status == 2


def test_explain(gradsh: Callable) -> None:
    assert gradsh("explain", "freed").out.startswith("freed: ")
    assert gradsh("explain", "Trying to backward through the graph a second time").out.startswith("freed: ")
    listed = gradsh("explain").out
    assert all(kind in listed for kind in ("freed", "version", "syntax", "io"))
    wrong = gradsh("explain", "fred")
    assert wrong.status == 2
    assert "did you mean `freed`?" in wrong.err


def test_fast_and_full_command_lines_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradsh.__main__ import fast_options, with_default
    from gradsh.cli import dispatch as starting
    from gradsh.cli.app import run_cli

    seen: list[RunOptions] = []
    monkeypatch.setattr(starting, "start", lambda options: seen.append(options) or 0)
    for line in ("a.grad b.grad", "run a.grad --keep-going", "--format json a.grad", "--format=json --seed=3 a",
                 "-c x=1 --plain", "--seed random -", "run -- -odd.grad", "", "--timeout 3 a", "run --timeout=0.5 a.grad --max-nodes 10",
                 "--max-memory 500M --max-output=1k --allow-files /tmp a.grad"):
        words = line.split()
        fast = fast_options(words)
        assert fast is not None, line
        assert run_cli(with_default(words)) == 0
        assert seen.pop() == fast, line
    for line in ("run", "run --help", "--timeout off a", "--timeout soon a", "--max-memory 1X a", "--max-nodes=0 a", "--max-nodes",
                 "test", "--seed x a", "--format xml a", "-c x a.grad", "--nonsense"):
        assert fast_options(line.split()) is None, line


def test_scripts_are_found_in_folders(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "sub").mkdir()
    for name in ("b.grad", "a.grad", ".hidden/c.grad", "sub/d.grad", "e.txt"):
        (tmp_path / name).write_text("")
    found, missing = scripts_below([str(tmp_path), str(tmp_path / "e.txt"), str(tmp_path / "gone")])
    assert [Path(path).name for path in found] == ["a.grad", "b.grad", "d.grad", "e.txt"]
    assert [Path(path).name for path in missing] == ["gone"]


def test_events_are_json_lines(gradsh: Callable) -> None:
    done = gradsh("--format", "json", "-c", "x = tensor([1., float('nan'), float('inf')])\nx.tolist()\n")
    state = json.loads(done.out.splitlines()[-1])
    assert state["tensors"]["x"] == {
        "shape": [3], "dtype": "float32", "requires_grad": False, "is_leaf": True, "grad_fn": None, "version": 0,
        "data": [1.0, "nan", "inf"], "grad": None,
    }


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("command", ["run", "test"])
def test_a_script_that_ends_its_process_is_named_and_the_run_goes_on(tmp_path: Path, command: str, jobs: str) -> None:
    for name in "abc":
        (tmp_path / f"{name}.grad").write_text(f"x = 1\nif '{name}' == 'b': crash()\nprint('{name}')\n#> {name}\n")
    code = (
        "import faulthandler, ctypes\nfrom gradsh.session.session import Session\nplain = Session.offer_assertions\n"
        "def offer(self):\n    plain(self)\n    self.machine.builtins['crash'] = lambda: ctypes.string_at(0)\n"
        "Session.offer_assertions = offer\nfrom gradsh.__main__ import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, "-j", jobs, *(f"{name}.grad" for name in "abc")], cwd=tmp_path, env=_environment(),
        capture_output=True, text=True, check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 1
    assert "the process that ran it ended: signal SIGSEGV" in told
    assert ("3 scripts: 2 done, 1 failed" if command == "run" else "b.grad:2") in told
    assert ("2 passed, 1 failed" in told) is (command == "test")
    assert command == "test" or done.stdout == "a\nc\n"
