"""Every example in the documents is run: scripts as golden tests, sessions line by line against what they show."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance
from gradsh.golden.report import failure_lines
from gradsh.render.style import Style
from gradsh.run.script import RunOptions, Script
from tools.docs import picture, stale
from tools.sessions import FENCE, PROMPT, refreshed, wrong_turns

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]  # docs/reference is made by running
EXAMPLES = [
    pytest.param(match.group(1), id=f"{path.name}:{path.read_text('utf-8').count(chr(10), 0, match.start()) + 1}")
    for path in DOCUMENTS for match in FENCE.finditer(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(text: str) -> None:
    if text.startswith(PROMPT):
        assert wrong_turns(text) == []
    else:
        checked = check_script(Script("example.grad", text), RunOptions(), Tolerance())
        assert checked.passed, "\n".join(failure_lines(checked, Style()))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_links_lead_somewhere() -> None:
    for path in [*DOCUMENTS, *(ROOT / "docs/reference").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_generated_documents_are_up_to_date() -> None:
    assert stale() == [], "run `make docs` and look at the difference"


def test_the_first_screen_names_commands_that_exist() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]
    named = [line.split()[1] for line in first if line.startswith("make ")]
    assert named == ["run", "test"]
    rules = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    assert all(any(line.startswith(f"{name}:") for line in rules) for name in named)


def test_the_picture_shows_the_session() -> None:
    session = next(text for (text,) in (one.values for one in EXAMPLES) if text.startswith(PROMPT))
    drawn = "".join(ET.fromstring(picture()).itertext())
    assert "".join(session.split()) in "".join(drawn.split())


def test_an_unannounced_failure_is_not_recorded() -> None:
    with pytest.raises(SystemExit, match="unannounced"):
        refreshed("grad> 1 / 0\n")
    assert refreshed("grad> 1 / 0\nerror[arithmetic]\n").startswith("grad> 1 / 0\nerror[arithmetic]: division by zero\n")


def test_a_wrong_session_is_noticed() -> None:
    assert wrong_turns("grad> 1 + 1\n3\n") == ["grad> 1 + 1\nshows\n2"]
    assert wrong_turns("grad> for i in range(2):\n....>     print(i)\n0\n1\n") == []
