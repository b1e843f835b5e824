"""The documents are up to date; `gradsh test README.md docs` runs their examples, and `make test` does that."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gradsh.golden.documents import fences
from tools.docs import picture, stale
from tools.sessions import refreshed

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]  # docs/reference is made by running


def test_links_lead_somewhere() -> None:
    for path in [*DOCUMENTS, *(ROOT / "docs").glob("*/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_generated_documents_are_up_to_date() -> None:
    assert stale() == [], "run `make docs` and look at the difference"


def test_the_first_screen_names_commands_that_exist() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:45]
    named = [line.split()[1] for line in first if line.startswith("make ")]
    assert named == ["run", "test"]
    rules = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    assert all(any(line.startswith(f"{name}:") for line in rules) for name in named)


def test_the_picture_shows_the_session() -> None:
    session = next(one for one in fences((ROOT / "README.md").read_text(encoding="utf-8")) if one.is_session)
    drawn = "".join(ET.fromstring(picture()).itertext())
    assert "".join(session.text.split()) in "".join(drawn.split())


def test_an_unannounced_failure_is_not_recorded() -> None:
    with pytest.raises(SystemExit, match="the statement failed"):
        refreshed("```grad\ngrad> 1 / 0\n```\n")
    text = "```grad\ngrad> 1 / 0\nerror[arithmetic]"
    assert refreshed(f"{text}\n```\n").startswith(f"{text}: division by zero\n")


def test_the_documents_have_examples_and_are_tested() -> None:
    assert sum(1 for path in DOCUMENTS for _ in fences(path.read_text(encoding="utf-8"))) >= 3
    recipes = re.findall(r"gradsh test (.*?)(?: \|\||$)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipes == ["scripts README.md docs"] * 2
