"""kill -9 at random moments of writing: every file is its old or its new self, and what is left behind is taken away later.

`GRADSH_TRIALS=200` tries each as often; a few times is what a test run has time for.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradsh.process.files import PART
from gradsh.shell.history import HistoryFile
from tests.batch.conftest import _environment
from tests.processes import BOUND, program, wait_until

TRIALS = int(os.environ.get("GRADSH_TRIALS", "2"))
PAUSE = 0.3
"""Seconds after the first write within which the kill falls."""
COUNT = 12
GRAPH = "x = ones(2, requires_grad=True)\ny = x\nfor _ in range(300): y = y * 2\n"


def killed(folder: Path, arguments: list[str], begun: Callable[[], bool], seed: int, number: int = signal.SIGKILL) -> str:
    """Start a process, kill it some time after `begun` first holds, and return what it wrote to standard error."""
    with program(arguments, folder, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: begun() or process.poll() is not None, "the first write")
        time.sleep(random.Random(seed).random() * PAUSE)
        if process.poll() is None:
            os.killpg(process.pid, number)
        return process.communicate(timeout=BOUND)[1].decode()


def tidied(folder: Path) -> Iterator[str]:
    """Grow old what was left behind, write beside it, and yield what is there then under a name of that kind."""
    for part in folder.glob(f".*{PART}"):
        os.utime(part, (1, 1))
    subprocess.run(
        [sys.executable, "-c", "from pathlib import Path; from gradsh.process.files import write_whole; write_whole(Path('x'), b'')"],
        cwd=folder, env=_environment(), check=True,
    )
    yield from (path.name for path in folder.iterdir() if path.name.endswith(PART))


def golden(number: int, result: str) -> str:
    return f"x = tensor([{number}.])\nx * 2\n#> {result}\nx + 1\n#> tensor([{number + 1}.])\nvars\n#>> g{number:02}.vars.out\n"


@pytest.mark.parametrize("seed", range(TRIALS))
def test_an_update_of_goldens(tmp_path: Path, seed: int) -> None:
    for number in range(COUNT):
        (tmp_path / f"g{number:02}.grad").write_text(golden(number, "wrong"))
        (tmp_path / f"g{number:02}.vars.out").write_text("old\n")
    first = tmp_path / "g00.grad"
    killed(tmp_path, ["-m", "gradsh", "test", "--update", "."], lambda: "wrong" not in first.read_text(), seed)
    for number in range(COUNT):
        assert (tmp_path / f"g{number:02}.grad").read_text() in {golden(number, "wrong"), golden(number, f"tensor([{2 * number}.])")}
        beside = (tmp_path / f"g{number:02}.vars.out").read_text()
        assert beside == "old\n" or (beside.startswith("name") and beside.count("\n") == 2)
    done = subprocess.run([sys.executable, "-m", "gradsh", "test", "--update", "."], cwd=tmp_path, env=_environment(), check=False,
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{COUNT} passed, 0 failed" in done.stdout
    assert list(tidied(tmp_path)) == []


@pytest.mark.parametrize(("code", "name", "end"), [
    ("graph y --format json --output out", "out", "}\n"), ("graph y --format svg --output out", "out", "</svg>\n"),
    ("graph y --format dot --output out", "out", "}\n"), ("save 'out'", "out", "\n"),
])
@pytest.mark.parametrize("seed", range(TRIALS))
def test_files_of_commands(tmp_path: Path, code: str, name: str, end: str, seed: int) -> None:
    out = tmp_path / name
    text = f"{GRAPH}for _ in range(10**6):\n    {code}\n"
    killed(tmp_path, ["-m", "gradsh", "run", "--allow-files", ".", "-c", text], out.exists, seed)
    assert out.read_text().endswith(end)
    assert list(tidied(tmp_path)) == []


@pytest.mark.parametrize("seed", range(TRIALS))
def test_the_history(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "history"
    entry = "\n".join(["for i in range(3):", *["    print(i)"] * 2000])
    code = (f"from pathlib import Path; from gradsh.shell.history import HistoryFile\nfile = HistoryFile(Path({str(path)!r}))\n"
            f"while True: file.append({entry!r})")
    killed(tmp_path, ["-c", code], path.exists, seed)
    HistoryFile(path).append("x = 1")
    *entries, last = HistoryFile(path).load()
    assert last == "x = 1"
    assert set(entries[:-1][-20:]) <= {entry}  # the very last may have been cut off, or the oldest, by what is read
    assert not entries or entry.startswith(entries[-1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_other_signals_leave_files_whole_too(tmp_path: Path, number: int) -> None:
    out = tmp_path / "out"
    text = f"{GRAPH}for _ in range(10**6):\n    graph y --format json --output out\n"
    told = killed(tmp_path, ["-m", "gradsh", "run", "--allow-files", ".", "-c", text], out.exists, 1, number)
    assert "Traceback" not in told
    assert out.read_text().endswith("}\n")


def test_a_file_that_is_being_written_is_not_taken_away(tmp_path: Path) -> None:
    import fcntl

    for name in ("held", "left"):
        (tmp_path / f".{name}{PART}").write_text("half")
        os.utime(tmp_path / f".{name}{PART}", (1, 1))
    with (tmp_path / f".held{PART}").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert list(tidied(tmp_path)) == [f".held{PART}"]
    assert list(tidied(tmp_path)) == []
