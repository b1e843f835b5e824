"""The history file: blocks, failures, cut-off writes, and several shells at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradsh.shell.history import HistoryFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history"


def test_a_block_is_one_entry(path: Path) -> None:
    HistoryFile(path).append("for i in x:\n    print(i)")
    HistoryFile(path).append("+ x # y")
    assert HistoryFile(path).load() == ["for i in x:\n    print(i)", "+ x # y"]


def test_failed_entries_are_known_until_they_pass(path: Path) -> None:
    file = HistoryFile(path)
    file.append("1/0\nx")
    file.mark_failed("1/0\nx")
    fresh = HistoryFile(path)
    assert fresh.load() == ["1/0\nx"]
    assert fresh.failed == {"1/0\nx"}
    fresh.append("1/0\nx")
    again = HistoryFile(path)
    again.load()
    assert again.failed == set()


def test_a_write_that_was_cut_off_spoils_nothing(path: Path) -> None:
    HistoryFile(path).append("a = 1")
    with path.open("ab") as file:
        file.write(b"\n#\n+half of a st")
    HistoryFile(path).append("b = 2")
    assert HistoryFile(path).load() == ["a = 1", "half of a st", "b = 2"]


def test_bytes_that_are_no_text_are_read(path: Path) -> None:
    HistoryFile(path).append("a = 1")
    with path.open("ab") as file:
        file.write(b"\n+\xff\xfe\n# failed {broken\n")
    assert HistoryFile(path).load()[0] == "a = 1"


def test_a_folder_that_cannot_be_written_costs_nothing() -> None:
    file = HistoryFile(Path("/proc/nowhere/history"))
    file.append("a = 1")
    assert file.load() == []


def test_two_shells_do_not_mix(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gradsh.shell.history import HistoryFile\n"
        "for i in range(40): HistoryFile(Path(sys.argv[1])).append('\\n'.join([sys.argv[2]] * 200))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "ab"]
    assert [one.wait(60) for one in running] == [0, 0]
    entries = HistoryFile(path).load()
    assert len(entries) == 80
    assert {frozenset(entry.split("\n")) for entry in entries} == {frozenset("a"), frozenset("b")}
    assert {entry.count("\n") for entry in entries} == {199}


def test_only_the_newest_are_read_of_a_huge_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradsh.shell.history.NEWEST", 100)
    file = HistoryFile(path)
    for number in range(50):
        file.append(f"x = {number}")
    assert file.load()[-1] == "x = 49"
    assert len(file.load()) < 20
