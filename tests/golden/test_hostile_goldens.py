"""Goldens that would take for ever, lead elsewhere, or run other texts: each is judged in time, at the right line."""

import os
import time
from pathlib import Path

import pytest

from gradsh.golden import compare
from gradsh.golden.check import Checked, check_script
from gradsh.golden.compare import Patience, Tolerance, agree, align
from gradsh.golden.update import proposed
from gradsh.process.limits import Limits
from gradsh.run.read import Script
from gradsh.run.script import RunOptions
from gradsh.text.expectations import Expected
from tests.processes import BOUND

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The alarm that ends a comparison may fall into the finalizer of what an earlier test left; it rings again."""


def check(text: str, path: Path | str = "x.grad", limits: Limits = Limits()) -> Checked:
    return check_script(Script(str(path), text), RunOptions(limits=limits, owns_process=False), Tolerance())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "PATIENCE", Patience(0.2))


@pytest.mark.parametrize("text", [
    "print('a' * 40)\n#/ (a+)+b /\n", "for i in range(5): print('a' * 40)\n#/ (a|a)*c /\n#/ (((a*)*)*)d /\n",
    "print('a' * 20000)\n#> " + "[..]a" * 20000 + "b\n",
    "for i in range(1500): print(i)\n" + "#> x[..]\n" * 1500,
])
def test_what_would_take_for_ever_does_not_match(impatient: None, text: str) -> None:
    begun = time.monotonic()
    checked = check(text)
    assert [one.fault for one in checked.mismatches] == ["output"]
    assert proposed(checked, force=True).text != text
    assert time.monotonic() - begun < BOUND


def test_patience_is_for_all_comparisons_together(impatient: None) -> None:
    evil = Expected(1, "#/", "(a+)+b")
    for _ in range(3):
        assert not agree([evil], ["a" * 40], Tolerance())
    assert compare.PATIENCE.left < 0
    assert agree([Expected(1, "#/", "a+")], ["aaa"], Tolerance())
    assert len(align([evil], ["a" * 40], Tolerance())) == 2


@pytest.mark.parametrize(("text", "line"), [("x = 1\n\ny = (\n", 3), ("x = 1\nif x:\ny = 2\n", 2), ("\n\n$\n", 3)])
def test_a_syntax_error_is_told_at_its_line(text: str, line: int) -> None:
    assert [(one.line, one.message) for one in check(text).mismatches] == [(line, "cannot be run")]


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", ".", "a\0b", "x" * 5000, ""])
def test_a_file_beside_the_script_is_no_other_file(tmp_path: Path, name: str) -> None:
    checked = check(f"1\n#>> {name}\n", tmp_path / "x.grad")
    assert [one.fault for one in checked.mismatches] == ["sibling"]
    proposed(checked, force=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_beside_the_script_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.1.out")
    checked = check("1\n#>> x.1.out\n", tmp_path / "x.grad")
    assert "not a regular file" in checked.mismatches[0].message
    proposed(checked, force=True)


@pytest.mark.parametrize("option", ["rtol=nan", "atol=-1", "seed=99999999999999999999", "seed=" + "9" * 5000, "rtol=", "seed=1.5"])
def test_options_that_are_none_are_told(option: str) -> None:
    assert [one.fault for one in check(f"#@ {option}\n1\n#> 1\n").mismatches] == ["script"]


def test_statements_of_a_text_that_a_command_runs_are_part_of_that_command(tmp_path: Path) -> None:
    (tmp_path / "inner.grad").write_text("\n\n1\n\n2\n", encoding="utf-8")
    limits = Limits(allow_files=str(tmp_path))
    assert check(f"load {tmp_path}/inner.grad\n#> 1\n#> 2\nprint(3)\n#> 3\n", tmp_path / "x.grad", limits).passed
    tour = proposed(check("tour\nprint(1)\n#> 2\n")).text
    assert tour.endswith("print(1)\n#> 1\n")
    assert check(tour).passed
