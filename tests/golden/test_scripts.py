"""The scenario scripts hold, in process: one test each."""

import re
from pathlib import Path

import pytest

from gradsh.golden.documents import check_file
from gradsh.golden.report import failure_lines
from gradsh.render.style import Style
from gradsh.run.script import RunOptions
from tests.sweep import part

FOLDER = Path(__file__).parents[2] / "scripts"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.grad"))


@pytest.mark.parametrize("name", part(SCRIPTS, 5))  # `make test` runs `gradsh test scripts`, too
def test_script(name: str) -> None:
    checked = check_file(str(FOLDER / name), RunOptions())
    assert checked.passed, "\n".join(failure_lines(checked, Style()))
    assert checked.blocks, "a scenario without expectations shows nothing"


def test_every_scenario_has_its_script() -> None:
    rows = {found[1] for name in SCRIPTS if (found := re.match(r"s(\d\d)-", name))}
    assert rows == {f"{number:02}" for number in range(1, 27)}


def test_the_list_names_every_script_once() -> None:
    listed = re.findall(r"^\| \[(.+)\]\((.+)\) \| \S", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(link for _, link in listed) == SCRIPTS
    assert all(f"{title}.grad" == link for title, link in listed)


def test_every_script_says_what_to_look_at() -> None:
    for name in SCRIPTS:
        lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        assert lines[0] == "#!/usr/bin/env gradsh"
        assert sum(line.startswith("# ") for line in lines[:5]) in {2, 3}, name

