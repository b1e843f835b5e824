"""Inputs that are no scripts, outputs that are full, closed or gone, folders that refuse, odd environments: one clear line, the
documented status, and what was there before is still there.
"""

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.process.files import PART, read_text, write_whole
from tests.batch.conftest import _environment, gradsh  # noqa: F401  (a fixture)
from tests.sweep import part

GRAPH = "x = ones(2, requires_grad=True)\nz = (x * x).sum()\n"


def shell(folder: Path, line: str, **names: str) -> tuple[int, str, str]:
    """Run a line of sh, in which $G is gradsh."""
    environment = {**_environment(), **names, "G": f"{sys.executable} -m gradsh"}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("command", "status"), [
    ("run -c 'print(1)'", 1), ("run --format json -c 'print(1)'", 1), ("test ok.grad", 2), ("explain freed", 1), ("--version", 1),
    ("--help", 1), ("run -j 2 ok.grad ok.grad", 1), ("run --params ok.grad", 1),
])
def test_a_full_or_closed_output(tmp_path: Path, command: str, status: int) -> None:
    (tmp_path / "ok.grad").write_text("print(1)\n#> 1\n")
    for where, reason in ((">/dev/full", "No space left on device"), (">&-", "the stream is closed")):
        found, out, err = shell(tmp_path, f"$G {command} {where}")
        assert (found, out) == (status, "")
        assert err.startswith("gradsh")
        assert err.endswith(f"cannot write the output: {reason}\n")
        assert err.count("\n") == 1


@pytest.mark.parametrize("command", [
    "run -c 'for i in range(100000): print(i)'", "run --format json -c 'for i in range(100000): print(i)'", "explain", "--help",
    "run -j 2 ok.grad ok.grad", "test ok.grad",
])
def test_a_reader_that_goes(tmp_path: Path, command: str) -> None:
    (tmp_path / "ok.grad").write_text("print(1)\n#> 1\n")
    for reader in ("head -1", "true"):
        status, out, err = shell(tmp_path, f"$G {command} | {reader}")
        assert status == 0
        assert err == "" or (err == "2 scripts: 2 done\n" and "-j" in command)  # the reader may go when all has been written
        assert out.count("\n") <= 1


def test_streams_that_are_not_there(tmp_path: Path) -> None:
    assert shell(tmp_path, "$G <&-") == (2, "", "error[io]: cannot read <stdin>: the stream is closed\n")
    assert shell(tmp_path, "$G -c nope 2>&-") == (1, "", "")
    assert shell(tmp_path, "$G -c 'x = 1' <&- >&- 2>&-") == (0, "", "")


@pytest.mark.parametrize("command", ["run", "check", "test"])
def test_what_is_no_script(tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.grad").write_bytes(b"x = '\xff'\n")
    (tmp_path / "loop").symlink_to("loop")
    expected = {"pipe": "no process writes to this pipe", "bad.grad": "line 1 is not UTF-8 (byte 0xff)", "/dev/zero": "it is a device"}
    if command != "test":
        expected |= {"folder": "Is a directory", "loop": "Too many levels of symbolic links", "gone": "No such file or directory"}
    for name, reason in expected.items():
        status, out, err = shell(tmp_path, f"$G {command} {name}")
        assert reason in out + err, (out, err)
        assert status == (1 if command == "test" else 2)
        assert len((out + err).splitlines()) <= 2


def test_a_pipe_that_somebody_writes_to_is_a_script(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert shell(tmp_path, "(sleep 0.3; echo 'print(1)'; sleep 0.3; echo 'print(2)') > pipe & $G pipe") == (0, "1\n2\n", "")
    assert shell(tmp_path, "echo 'print(3)' | $G /dev/stdin") == (0, "3\n", "")


@pytest.mark.parametrize("size", part([11_000_000, 60_000_000], 2))
@pytest.mark.parametrize("command", ["run", "test", "check", "run --params"])
def test_a_script_that_is_too_long(tmp_path: Path, size: int, command: str) -> None:
    (tmp_path / "a.grad").write_text("x = 1\n" * (size // 6))
    status, out, err = shell(tmp_path, f"$G {command} a.grad")
    if command != "run --params":
        assert "more than 10,000,000 characters" in out + err
        assert status == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("names", [
    {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}, {"HOME": "/proc"},
    {"HOME": ""}, {"TERM": "dumb"}, {"TERM": ""}, {"XDG_CONFIG_HOME": "/dev/null", "XDG_STATE_HOME": "/proc"}, {"COLUMNS": "x"},
    {"TZ": "x"},
])
def test_odd_environments(tmp_path: Path, names: dict[str, str]) -> None:
    (tmp_path / "a.grad").write_text(GRAPH + "print('é ☃')\ngraph z\n1 / 0\n", encoding="utf-8")
    status, out, err = shell(tmp_path, "$G a.grad", **names)
    assert status == 1
    assert "SumBackward0" in out
    assert err.startswith("error[arithmetic]: division by zero\n")
    assert shell(tmp_path, "mkdir gone; cd gone; rmdir ../gone; $G -c 'print(1)'", **names)[:2] == (0, "1\n")


def test_a_deep_stack_does_not_count_against_the_memory_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("x = torch.ones(2)\nprint(x.sum())\nnon\n")
    status, out, err = shell(tmp_path, "ulimit -s 1000000; $G run --timeout 60 --max-memory 300M a.grad")
    assert (status, out) == (1, "tensor(2.)\n")
    assert err.startswith("error[name]")


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


@pytest.mark.parametrize(("arguments", "status", "reason"), [
    (["run", "--allow-files", ".", "-c", GRAPH + "graph z --format svg --output out"], 1, "error[io]: cannot write"),
    (["run", "--allow-files", ".", "-c", "x = 1\n" * 100 + "save 'out'"], 1, "error[io]: cannot write out: File too large"),
    (["test", "ok.grad", "--junit", "out"], 2, "gradsh test: cannot write out: File too large"),
    (["test", "--update", "long.grad"], 2, "gradsh test: cannot write"),
])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, arguments: list[str], status: int, reason: str) -> None:
    """A bound on the size of files fails as a full disk does: in the middle of a write."""
    (tmp_path / "out").write_text("old")
    (tmp_path / "ok.grad").write_text("print(1)\n#> 1\n")
    text = "print(2)\n#> 1\n" + "# \n" * 100
    (tmp_path / "long.grad").write_text(text)
    done = subprocess.run([sys.executable, "-m", "gradsh", *arguments], cwd=tmp_path, env=_environment(), capture_output=True,
                          preexec_fn=_small_files, check=False, timeout=60)
    assert done.returncode == status
    assert done.stderr.decode().startswith(reason)
    assert (tmp_path / "out").read_text() == "old"
    assert (tmp_path / "long.grad").read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".gradsh_cache") == ["long.grad", "ok.grad", "out"]


@pytest.mark.parametrize("name", ["../x", "/tmp/gradsh-x", "away/x", "loop", "a\\0b", "..", "in/../../x", "./away/../../x"])
@pytest.mark.parametrize("command", ["graph z --format dot --output", "save", "load"])
def test_no_name_leads_out_of_the_folder(gradsh: Callable, tmp_path: Path, command: str, name: str) -> None:  # noqa: F811
    (tmp_path / "in").mkdir()
    (tmp_path / "x").write_text("old")
    (tmp_path / "in" / "away").symlink_to(tmp_path)
    (tmp_path / "in" / "loop").symlink_to("loop")
    done = gradsh("run", "--allow-files", "in", "-c", f'{GRAPH}{command} "{name}"')
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[io]: ")
    reasons = ("outside of in", "is not a valid file name", "Too many levels of symbolic links")
    assert any(reason in done.err for reason in reasons)
    assert (tmp_path / "x").read_text() == "old"


@pytest.mark.parametrize(("name", "reason"), [
    ("folder", "Is a directory"), ("pipe", "No such device"), ("a" * 300, "too long"), ("no/x", "No such"),
])
def test_names_that_cannot_be_written(gradsh: Callable, tmp_path: Path, name: str, reason: str) -> None:  # noqa: F811
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for command in ("graph z --format dot --output", "save"):
        done = gradsh("run", "--allow-files", ".", "-c", f'{GRAPH}{command} "{name}"')
        assert done.status == 1
        assert done.err.startswith("error[io]: cannot write")
        assert reason in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_devices_are_written_to_as_they_are(gradsh: Callable, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "ok.grad").write_text("print(1)\n#> 1\n")
    done = gradsh("test", "ok.grad", "--junit", "/dev/stdout")
    assert (done.status, done.err) == (0, "")
    assert "</testsuites>" in done.out
    before = os.stat(os.devnull)
    write_whole(Path(os.devnull), b"x")
    assert os.path.samestat(before, os.stat(os.devnull))
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    while not read:
        try:
            write_whole(tmp_path / "pipe", b"x")
            break
        except OSError:  # not opened yet
            continue
    reader.join()
    assert read == [b"x"]


def test_a_file_keeps_its_mode_its_link_and_what_else_is_there(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "hard").hardlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "hard").read_text() == "old"
    assert not list(tmp_path.glob(f".*{PART}"))


@pytest.mark.skipif(os.getuid() == 0, reason="root writes anywhere")
def test_what_may_not_be_written_is_not(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    (tmp_path / "x").chmod(0o444)
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "x", b"new")
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "y", b"new")
    tmp_path.chmod(0o755)


def test_only_ordinary_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "pipe", "regular"), (Path(os.devnull), "regular")):
        with pytest.raises(OSError, match=reason):
            read_text(path)


def test_an_update_follows_no_link_beside_the_script(gradsh: Callable, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "precious").write_text("old\n")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "s.grad").write_text("x = 1\nprint(2)\n#>> s.print.out\n")
    (tmp_path / "t" / "s.print.out").symlink_to(tmp_path / "precious")
    done = gradsh("test", "--update", "t", env={"CI": ""})
    assert done.status == 1
    assert (tmp_path / "precious").read_text() == "old\n"
