"""`gradsh test` as a person uses it: written, broken, updated, reviewed, reported."""

import io
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gradsh.golden.redact import of_project
from tests.golden.conftest import Golden, script

PASSING = "x = 3\nprint(x)\n#> 3\nx / 2\n#> 1.5000001\nnonsense\n#! error[name]: name 'nonsense' [..]\n#! ...\n"


def test_passes(golden: Golden) -> None:
    script("a.grad", PASSING)
    script("b/c.grad", "print(1)\n")  # no expectation: it must just run
    assert golden() == (0, "2 passed, 0 failed\n", "")


def test_difference_is_a_unified_diff_with_line_numbers(golden: Golden) -> None:
    script("a.grad", "x = 3\nprint(x, 1.0)\n#> 4 1.0\n")
    status, out, _ = golden()
    assert status == 1
    assert out == (
        "./a.grad:2: the output differs\n"
        "--- ./a.grad (expected)\n+++ ./a.grad (actual)\n@@ -1,3 +1,3 @@\n"
        " x = 3\n print(x, 1.0)\n-#> 4 1.0\n+#> 3 1.0\n"
        "0 passed, 1 failed\n"
    )


def test_the_diff_is_a_patch(golden: Golden, tmp_path: Path) -> None:
    """What `--update` would write is exactly what the diff shows."""
    path = script("a.grad", "print(1)\n#> 2\nprint(3)\n#> 3\nprint('new')\n")
    _, out, _ = golden()
    added = [line[1:] for line in out.splitlines() if re.match(r"\+(?!\+)", line)]
    golden(update=True)
    assert [line for line in path.read_text().splitlines() if line in added] == added == ["#> 1", "#> new"]


@pytest.mark.parametrize(("text", "words"), [
    ("nonsense\n", "the statement failed"),
    ("x = 1\n#!\n", "succeeded, but a failure is expected"),
    ("nonsense\n#! error[type]: x\n", "the failure differs"),
    ("print(1)\nx = 1\n#>\n", "the output differs"),
    ("print((1)\n", "cannot be run"),
    ("#> early\nprint(1)\n", "belongs to no statement"),
    ("#@ sed=1\nprint(1)\n", "unknown option"),
    ("print(1)\n#>> gone.out\n", "cannot read gone.out"),
    ("print(1)\n#>> ../gone.out\n", "without a folder"),
    ("if True:\n    print(1)\n    #> 1\n", "inside a block"),
])
def test_failures(golden: Golden, text: str, words: str) -> None:
    script("a.grad", text)
    status, out, err = golden()
    assert status == 1
    assert words in out
    assert out.endswith("0 passed, 1 failed\n")
    assert "Traceback" not in out + err


def test_update_then_pass(golden: Golden) -> None:
    path = script("a.grad", "x = 2\nprint('a')\nx * 1.5\n#> 4.0\nfor i in range(2):\n    print(i)\nprint()\n#>\n")
    status, out, _ = golden(update=True)
    assert (status, out) == (0, "updated ./a.grad\n1 passed, 0 failed\n")
    assert path.read_text() == (
        "x = 2\nprint('a')\n#> a\nx * 1.5\n#> 3.0\nfor i in range(2):\n    print(i)\n#> 0\n#> 1\nprint()\n#>\n"
    )
    before = path.stat().st_mtime_ns
    assert golden(update=True)[0] == 0
    assert path.stat().st_mtime_ns == before


def test_update_settles_outputs_that_name_lines(golden: Golden) -> None:
    path = script("a.grad", "print('a\\nb')\n#>\nx = ones(1, requires_grad=True)\ny = x.exp()\nbuffers y\n")
    assert golden(update=True)[0] == 0
    assert "line 5\n" in path.read_text()
    assert golden()[0] == 0


def test_update_never_announces_a_failure(golden: Golden) -> None:
    path = script("a.grad", "nonsense\nprint(1)\n#> 2\n")
    status, out, _ = golden(update=True)
    assert status == 1
    assert path.read_text() == "nonsense\nprint(1)\n#> 1\n"
    assert "write a line `#!` below the statement" in out


def test_update_fills_an_announced_failure(golden: Golden) -> None:
    path = script("a.grad", "nonsense\n#!\n")
    assert golden(update=True)[0] == 0
    assert path.read_text().startswith("nonsense\n#! error[name]: name 'nonsense' is not defined\n#!   1 | nonsense\n")


def test_update_reports_wildcards(golden: Golden) -> None:
    path = script("a.grad", "print('b')\n#> a[..]\n")
    status, out, _ = golden(update=True)
    assert status == 1
    assert path.read_text() == "print('b')\n#> a[..]\n"
    assert "./a.grad:2: the line has a wildcard and no longer matches" in out


@pytest.mark.parametrize("option", ["update", "review"])
def test_update_is_refused_under_ci(golden: Golden, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    path = script("a.grad", "print(1)\n#> 2\n")
    monkeypatch.setenv("CI", "true")
    status, _, err = golden(**{option: True})
    assert status == 2
    assert "CI" in err
    assert path.read_text() == "print(1)\n#> 2\n"


def test_siblings(golden: Golden) -> None:
    script("a.grad", "print('x\\ny')\n#>> a.big.out\n")
    assert golden()[0] == 1
    assert golden(update=True)[0] == 0
    assert Path("a.big.out").read_text() == "x\ny\n"
    assert golden() == (0, "1 passed, 0 failed\n", "")
    Path("a.big.out").write_text("x\nz\n")
    status, out, _ = golden()
    assert status == 1
    assert "-z\n+y\n" in out


def test_orphans_fail(golden: Golden) -> None:
    script("a.grad", "print(1)\n#> 1\n")
    script("a.old.out", "x\n")
    script("gone.graph.out", "x\n")
    script("nohup.out", "none of ours\n")
    status, out, _ = golden()
    assert status == 1
    assert "a.old.out: no script names this output file" in out
    assert "gone.graph.out" in out
    assert "nohup" not in out
    assert out.endswith("1 passed, 2 failed\n")
    assert golden("a.grad")[1].endswith("1 passed, 1 failed\n")


def test_words_choose_scripts(golden: Golden) -> None:
    script("pow.grad", "print(1)\n")
    script("mul.grad", "nonsense\n")
    script("mul.x.out", "")
    assert golden(words=("pow",)) == (0, "1 passed, 0 failed\n", "")
    assert golden(words=("nothing",))[0] == 2


def test_missing_path(golden: Golden) -> None:
    status, out, err = golden("gone")
    assert (status, out) == (2, "")
    assert err == "gradsh test: no such file or folder: gone\n"


def test_nothing_leaks_from_one_script_to_the_next(golden: Golden) -> None:
    script("a.grad", "#@ seed=7\nleaked = 1\nimport math as sqrt\nprint(1)\n#> 1\n")
    script("b.grad", "leaked\n#! error[name]: name 'leaked' is not defined\n#! ...\n")
    assert golden()[0] == 0


def test_processes_agree_with_one(golden: Golden) -> None:
    for i in range(5):
        script(f"s{i}.grad", f"print({i})\n#> {i if i != 3 else 'x'}\n")
    alone = golden()
    assert golden(jobs=2) == alone
    assert alone[0] == 1


def test_junit(golden: Golden) -> None:
    script("a.grad", "print(1)\n#> 1\n")
    script("b<&.grad", "print('\\x1b]\\x00')\n#> 2\n")
    assert golden(junit="out.xml")[0] == 1
    suite = ET.parse("out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite] == ["./a.grad", "./b<&.grad"]
    assert "the output differs" in suite[1][0].get("message", "")


def test_tap(golden: Golden) -> None:
    script("a.grad", "print(1)\n#> 1\n")
    script("b.grad", "print(1)\n#> 2\n")
    status, out, _ = golden(tap=True)
    lines = out.splitlines()
    assert status == 1
    assert lines[:4] == ["TAP version 14", "1..2", "ok 1 - ./a.grad", "not ok 2 - ./b.grad"]
    assert lines[4] == "  ---"
    assert lines[-1] == "  ..."


def test_annotations(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    script("a.grad", "x = 1\nprint(x)\n#> 2\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error file=a.grad,line=2,title=gradsh test::the output differs%0A- 2%0A+ 1\n" in golden()[1]


def test_durations(golden: Golden) -> None:
    script("a.grad", "print(1)\n")
    script("b.grad", "print(1)\n")
    out = golden(durations=1)[1].splitlines()
    assert len(out) == 2
    assert re.fullmatch(r" +\d+\.\d{3} s  \./[ab]\.grad", out[0])


def test_fail_fast(golden: Golden) -> None:
    for name in "abc":
        script(f"{name}.grad", "print(1)\n#> 2\n")
    assert golden(fail_fast=True)[1].endswith("0 passed, 1 failed, 2 not run\n")


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_review_asks_and_tests_again(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script("a.grad", "print(1)\n#> x\nprint(2)\n#> y\nprint(3)\n#> 3\n")
    monkeypatch.setattr("sys.stdin", Typed("a\nr\n"))
    status, out, _ = golden(review=True)
    assert status == 1
    assert [line for line in path.read_text().splitlines() if line.startswith("#")] == ["#> 1", "#> y", "#> 3"]
    assert out.count("updated a.grad\n") == 1
    monkeypatch.setattr("sys.stdin", Typed("a\n"))
    assert golden(review=True)[0] == 0
    assert not Path("a.grad.pending").exists()


def test_quitting_a_review_asks_about_no_other_file(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        script(f"{name}.grad", "print(1)\n#> x\n")
    monkeypatch.setattr("sys.stdin", Typed("q\n"))
    status, out, _ = golden(review=True)
    assert status == 1
    assert out.count("[q]uit?") == 1
    assert out.endswith("0 passed, 2 failed\n")
    assert Path("a.grad.pending").exists()
    assert Path("b.grad.pending").exists()


def test_new_writes_expectations_where_there_are_none(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = script("a.grad", "x = 3\nfor i in range(2):\n    print(i)\nx\n")
    silent = script("b.grad", "x = 3\n")
    said = script("c.grad", "print(1)\n#> 2\n")
    failing = script("d.grad", "print(1)\nnope\n")
    status, out, _ = golden(new=True)
    assert status == 1
    assert "updated ./a.grad\n" in out
    assert bare.read_text() == "x = 3\nfor i in range(2):\n    print(i)\n#> 0\n#> 1\nx\n#> 3\n"
    assert (silent.read_text(), said.read_text()) == ("x = 3\n", "print(1)\n#> 2\n")
    assert failing.read_text() == "print(1)\n#> 1\nnope\n", "an unannounced failure is never recorded"
    assert golden("a.grad", "b.grad") == (0, "2 passed, 0 failed\n", "")
    monkeypatch.setenv("CI", "1")
    assert golden(new=True)[0] == 2


def test_update_says_how_a_script_gets_expectations(golden: Golden) -> None:
    script("a.grad", "print(1)\n")
    assert golden("a.grad", update=True)[1].startswith("a.grad has no expectations: --new writes them\n")
    assert golden(".", update=True)[1] == "1 passed, 0 failed\n", "in a folder some scripts just run"


def test_update_names_the_files_beside_scripts(golden: Golden) -> None:
    script("a.grad", "print(1)\n#>> a.x.out\n")
    assert golden("a.grad", update=True)[1] == "updated a.x.out\n1 passed, 0 failed\n"


def test_review_needs_a_terminal(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    script("a.grad", "print(1)\n#> x\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    status, _, err = golden(review=True)
    assert status == 2
    assert "terminal" in err


def test_trailing_blanks_are_neither_written_nor_asked_for(golden: Golden) -> None:
    path = script("a.grad", "print('a  \\n   \\nb')\n")
    script("b.grad", "print(1)\n#> 1\n")
    path.write_text("print('a  \\n   \\nb')\n#>\n")
    assert golden(update=True)[0] == 0
    assert path.read_text() == "print('a  \\n   \\nb')\n#> a\n#>\n#> b\n"


def test_full_disk_is_told_and_leaves_the_file_whole(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script("a.grad", "print(1)\n#> 2\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("os.fsync", full)
    status, _, err = golden(update=True)
    assert status == 2
    assert err == "gradsh test: cannot write a.grad: No space left on device\n"
    assert path.read_text() == "print(1)\n#> 2\n"
    assert sorted(os.listdir()) == [".gradsh_cache", "a.grad"]
    assert os.listdir(".gradsh_cache") == [".gitignore"]


def test_redactions_are_written_down_and_stay(golden: Golden) -> None:
    text = "#@ [ID] /n\\d+/\n#@ [TIME]\nfor i in range(2):\n    print('n%d took %d ms at 0x1f' % (i + 7, i))\nprint('end')\n"
    path = script("a.grad", text)
    assert golden(new=True)[0] == 0
    said = "#> [ID] took [TIME] at 0x1f\n" * 2
    assert path.read_text() == text.replace("print('end')", f"{said}print('end')") + "#> end\n"
    path.write_text(path.read_text().replace("0x1f\n#", "0x2f\n#").replace("end\n", "[PTR]\n"))
    status, out, _ = golden(update=True)
    assert status == 1
    assert said in path.read_text()
    assert "./a.grad:8: the line has a wildcard and no longer matches" in out


@pytest.mark.parametrize(("text", "words"), [
    ("[tool.gradsh.redact]\nid = 'x'\n", "a name in capitals"), ("[tool.gradsh.redact]\nID = 3\n", "a name in capitals"),
    ("[tool.gradsh.redact]\nID = '('\n", "the pattern is none"), ("[tool\n", "cannot read"), ("[tool.gradsh]\nredact = 3\n", "is a table"),
])
def test_patterns_of_the_project(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ValueError, match=words):
        of_project(tmp_path / "deeper")
    (tmp_path / "pyproject.toml").write_text("[tool.gradsh.redact]\nID = 'n[0-9]+'\nTIME = 'now'\n")
    found = {one.name: one.pattern for one in of_project(tmp_path)}
    assert (found["ID"], found["TIME"]) == ("n[0-9]+", "now")


def test_a_pattern_that_nothing_defines_is_told(golden: Golden) -> None:
    script("a.grad", "#@ [NEW]\nprint(1)\n#> 1\n")
    assert golden()[1].startswith("./a.grad:1: no pattern is called [NEW]; define it: #@ [NEW] /PATTERN/\n")


def test_an_update_keeps_what_a_line_allows(golden: Golden) -> None:
    path = script("a.grad", "print(1.5)\n#~1e-2> 1.4\nfor x in 'dbc': print(x)\n#*> a\n#*> b\n#*> c\nprint('x\\ny')\n#*> z\n")
    assert golden(update=True)[0] == 0
    assert path.read_text() == (
        "print(1.5)\n#~1e-2> 1.5\nfor x in 'dbc': print(x)\n#*> d\n#*> b\n#*> c\nprint('x\\ny')\n#*> x\n#*> y\n")
