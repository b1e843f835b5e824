"""No sentence that a user can see has a wording that the glossary retired; every term is defined and printed by `help TERM`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradsh.commands.help import about
from gradsh.session.session import Session
from gradsh.text.glossary import TERMS, term_of
from tools.glossary import RETIRED

ROOT = Path(__file__).parents[2]
PATTERN = re.compile("|".join(RETIRED))
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "docs/gradsh.1",
         *sorted((ROOT / "scripts").glob("*.grad"))]
JOINED = re.compile(r"""["']\s*\n\s*f?["']""")
"""What stands between the parts of a literal over several lines."""
DEVELOPERS = {"architecture.md", "contributing.md"}  # about the code, not about the tool


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file's code that may reach a user: strings with blanks, docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip() and id(node) not in docs:
            yield node.lineno, node.value


def test_no_text_of_the_code_has_a_retired_wording() -> None:
    files = [path for path in sorted((ROOT / "gradsh").rglob("*.py")) if PATTERN.search(JOINED.sub("", path.read_text(encoding="utf-8")))]
    found = [f"{path.relative_to(ROOT)}:{line}: {match[0]}" for path in files
             for line, text in sentences(path) if (match := PATTERN.search(text))]
    assert found == []


def test_no_document_has_a_retired_wording() -> None:
    found = [f"{path.relative_to(ROOT)}:{number}: {match[0]}" for path in TEXTS if path.name not in DEVELOPERS
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if (match := PATTERN.search(line))]
    assert found == []


@pytest.mark.parametrize("text", [
    "foretells a pass", "nothing lies about", "print it, and leave.", "in 2 memories", "giving back 8 B", "pass 2 of the loop",
    "in each pass", "the ways out", "wandb stands in as an object", "for what is to be learnt", "cut the history", "is no leaf",
    "freed as ever",
])
def test_the_patterns_find_what_they_are_for(text: str) -> None:
    assert PATTERN.search(text)


def test_help_prints_each_term() -> None:
    state = Session().state
    for term, meaning in TERMS.items():
        assert f"{term}: {meaning}" in about(state, term)
        assert f"{term}: {meaning}" in about(state, term.lower().replace(" ", "_"))
    assert term_of("dry") == "dry run"
    assert term_of("nothing of the kind") == ""
