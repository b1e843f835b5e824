"""Differences that are kept, and decided about later: one by one over a terminal or a pipe, or in bulk."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.golden.report import painted_diff
from gradsh.golden.review import review
from gradsh.render.style import Style
from tests.golden.conftest import Golden, script
from tests.terminal import Terminal

TEXT = "print(1)\n#> x\nprint(2)\n#> y\n#> z\nprint(3)\n#> 3\nfor i in 'ab': print(i)\n"
Review = Callable[..., tuple[int, str, str]]


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Review:
    def run(answers: str = "", *paths: str, bulk: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(answers))
        status = review(paths or (".",), bulk)  # type: ignore[arg-type]
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def expectations(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.startswith("#")]


@pytest.mark.parametrize(("answers", "lines", "left"), [
    ("a\na\na\n", ["#> 1", "#> 2", "#> 3", "#> a", "#> b"], 0),
    ("r\na\nr\n", ["#> x", "#> 2", "#> 3"], 0),
    ("A\n", ["#> 1", "#> 2", "#> 3", "#> a", "#> b"], 0),
    ("r\nA\n", ["#> x", "#> 2", "#> 3", "#> a", "#> b"], 0),
    ("s\na\ns\n", ["#> x", "#> 2", "#> 3"], 2),
    ("a\nq\n", ["#> 1", "#> y", "#> z", "#> 3"], 2),
    ("?\n\na\n", ["#> 1", "#> y", "#> z", "#> 3"], 2),
    ("", ["#> x", "#> y", "#> z", "#> 3"], 3),
])
def test_one_by_one(golden: Golden, decide: Review, answers: str, lines: list[str], left: int) -> None:
    path = script("a.grad", TEXT)
    status, out, _ = golden(pending=True)
    assert (status, path.read_text()) == (1, TEXT)
    assert "wrote a.grad.pending\n" in out
    status, out, _ = decide(answers)
    assert expectations(path) == lines
    assert status == (1 if left else 0)
    assert out.endswith(f"{3 - left} decided, {left} pending\n")
    assert Path("a.grad.pending").exists() == bool(left)
    if left:
        assert decide(bulk="accept")[0] == 0
        assert expectations(path)[-2:] == ["#> a", "#> b"], "those that were left have moved with the lines above them"
    assert decide() == (0, "nothing is pending\n", "")


def test_in_ci_they_are_written_and_listed_but_not_accepted(
    golden: Golden, decide: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script("a.grad", TEXT)
    monkeypatch.setenv("CI", "1")
    assert golden(pending=True)[0] == 1
    status, out, _ = decide(bulk="list")
    assert status == 1
    assert "a.grad:1: the output differs (1 of 3)\n@@ a.grad line 2 @@\n print(1)\n-#> x\n+#> 1\n print(2)\n" in out
    for bulk in ("", "accept"):
        assert decide("a\na\na\n", bulk=bulk)[0] == 2
    assert path.read_text() == TEXT
    assert decide(bulk="reject")[0] == 0
    assert not Path("a.grad.pending").exists()


def test_what_has_changed_since_is_left(golden: Golden, decide: Review) -> None:
    path = script("a.grad", TEXT)
    golden(pending=True)
    path.write_text("# a new line\n" + TEXT)
    status, out, _ = decide(bulk="accept")
    assert (status, path.read_text()) == (1, "# a new line\n" + TEXT)
    assert "a.grad has changed since; `gradsh test --pending a.grad` shows what differs now" in out
    golden(pending=True)
    assert decide(bulk="accept")[0] == 0
    assert golden() == (0, "1 passed, 0 failed\n", "")
    path.write_text(TEXT)
    golden(pending=True)
    assert golden(update=True)[0] == 0
    assert golden(pending=True)[0] == 0
    assert not Path("a.grad.pending").exists(), "a script that passes has nothing pending"


def test_files_beside_scripts_documents_and_marks(golden: Golden, decide: Review) -> None:
    script("a.grad", "print('x\\ny')\n#>> a.b.out\n")
    page = script("docs/p.md", "```grad\ngrad> 1 + 1\n3\n```\n")
    Path("c.grad").write_bytes(b"\xef\xbb\xbfprint(1)\r\n#> 2\r\n")
    assert golden(pending=True)[0] == 1
    assert decide(bulk="accept")[0] == 0
    assert Path("a.b.out").read_text() == "x\ny\n"
    assert page.read_text() == "```grad\ngrad> 1 + 1\n2\n```\n"
    assert Path("c.grad").read_bytes() == b"\xef\xbb\xbfprint(1)\r\n#> 1\r\n"
    assert golden()[0] == 0


def test_the_editor_changes_what_is_accepted(golden: Golden, decide: Review, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = script("a.grad", "print(1)\n#> x\n")
    golden(pending=True)
    editor = tmp_path / "ed.py"
    editor.write_text("import sys\nwith open(sys.argv[1], 'a') as file: file.write('#> more\\n')\n")
    for wrong in ("no-such-editor", f"{sys.executable} -c 1/0"):
        monkeypatch.setenv("EDITOR", wrong)
        monkeypatch.delenv("VISUAL", raising=False)
        assert "(1 of 1)" in decide("e\ns\n")[1]
        assert expectations(path) == ["#> x"]
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    assert decide("e\n")[0] == 0
    assert expectations(path) == ["#> 1", "#> more"]


@pytest.mark.parametrize("change", [
    {"version": 9}, {"differences": 3}, {"differences": [{}]}, {"digests": {}}, {"digests": {"../x.grad": ""}}, None,
])
def test_a_strangers_file_is_told(golden: Golden, decide: Review, change: dict[str, object] | None) -> None:
    script("a.grad", "print(1)\n#> x\n")
    golden(pending=True)
    file = Path("a.grad.pending")
    file.write_text("{" if change is None else json.dumps(json.loads(file.read_text()) | change))
    status, _, err = decide(bulk="accept")
    assert status == 2
    assert "a.grad.pending" in err
    assert expectations(Path("a.grad")) == ["#> x"]


def test_other_files_are_not_written(golden: Golden, decide: Review, tmp_path: Path) -> None:
    script("a.grad", "print(1)\n#>> a.x.out\n")
    golden(pending=True)
    Path("a.x.out").symlink_to(tmp_path / "elsewhere")
    status, _, err = decide(bulk="accept")
    assert status == 2
    assert "link to another file" in err
    assert not Path("elsewhere").exists()


def test_words_that_differ_stand_out() -> None:
    colour = Style(colour=True)
    lines = ["--- a", "+++ a", "@@ -1 +1 @@", " same", "-#> loss 1.5 at 3", "+#> loss 2.5 at 3"]
    shown = painted_diff(lines, colour)
    assert painted_diff(lines, Style()) == lines
    assert "\x1b[7;31m1\x1b[0m" in shown[4]
    assert "\x1b[7;32m2\x1b[0m" in shown[5]
    assert "\x1b[7" not in "".join(shown[:4])
    assert "\x1b[7" not in "".join(painted_diff([*lines[:4], "-a", "+a", "+b"], colour)), "other counts: no line has a partner"


def test_keys_on_a_terminal(golden: Golden, tmp_path: Path) -> None:
    path = script("a.grad", "print(1)\n#> x\nprint(2)\n#> y\n")
    golden(pending=True)
    with Terminal("review", folder=tmp_path) as terminal:
        terminal.until(lambda: "[q]uit?" in terminal.text(), "the first question")
        terminal.press("\x03")
        assert terminal.status() == 130
    assert path.read_text() == "print(1)\n#> x\nprint(2)\n#> y\n"
    with Terminal("review", folder=tmp_path) as terminal:
        terminal.until(lambda: "(1 of 2)" in terminal.text(), "the first question")
        terminal.press("a")
        terminal.until(lambda: "(2 of 2)" in terminal.text(), "the second question")
        terminal.press("r")
        terminal.until(lambda: "2 decided, 0 pending" in terminal.text(), "the end")
    assert expectations(path) == ["#> 1", "#> y"]
