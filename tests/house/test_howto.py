"""The how-to pages: each example raises the message that its page is about, and the index names every page."""

import re
from pathlib import Path

import pytest

from gradsh.text.kinds import KINDS
from tools.howto import SYMPTOMS

FOLDER = Path(__file__).parents[2] / "docs/how-to"
_ELIDED = re.compile(r"'\.\.\.'|\[\.\.\.\]|\d+| (?=to match target)")  # what differs from program to program


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=[one.slug for one in SYMPTOMS])
def test_the_example_raises_the_message(symptom) -> None:
    example = (FOLDER / f"{symptom.slug}.md").read_text(encoding="utf-8").partition("## Example")[2].partition("## Fixes")[0]
    parts = [part for part in _ELIDED.split(symptom.message.rstrip(".").lower()) if part.strip()]
    assert f"error[{symptom.kind.name}]" in example
    assert all(part in example.lower() for part in parts), symptom.message


def test_the_index_names_every_page() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in FOLDER.glob("*.md")} - {"index"}
    assert pages == {one.slug for one in SYMPTOMS}
    assert all(f"({page}.md)" in index for page in pages)


def test_every_kind_that_autograd_has_is_covered() -> None:
    graph = {"freed", "version", "no_grad", "scalar", "grad_shape", "leaf_inplace", "view_inplace", "not_leaf", "unused", "dtype", "shape"}
    assert graph <= {one.kind.name for one in SYMPTOMS} <= set(KINDS)
