"""The how-to pages: each example raises the message that its page is about, and the index names every page."""

import re
from pathlib import Path

import pytest

from gradsh.commands.explain import EXPLAINED, lookup
from gradsh.text.kinds import KINDS
from tools.howto import SYMPTOMS

FOLDER = Path(__file__).parents[2] / "docs/how-to"
_ELIDED = re.compile(r"'\.\.\.'|\[\.\.\.\]|\d+| (?=to match target)")  # what differs from program to program


PRINTED = {
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after": "backward-a-second-time",
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.Float":
        "modified-by-an-inplace-operation",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn": "does-not-require-grad",
    "RuntimeError: grad can be implicitly created only for scalar outputs": "only-scalar-outputs",
    "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.": "leaf-variable-in-place",
    "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.":
        "call-numpy-on-tensor-that-requires-grad",
    "UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad": "grad-of-a-non-leaf",
    "ValueError: can't optimize a non-leaf Tensor": "optimize-a-non-leaf",
    "RuntimeError: One of the differentiated Tensors appears to not have been used in the graph. Set": "not-used-in-the-graph",
    "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.": "returned-nan-values",
}
"""Messages as PyTorch prints them, often cut short, and the page of each."""


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=[one.slug for one in SYMPTOMS])
def test_the_example_raises_the_message(symptom) -> None:
    example = (FOLDER / f"{symptom.slug}.md").read_text(encoding="utf-8").partition("## Example")[2].partition("## Fixes")[0]
    parts = [part for part in _ELIDED.split(symptom.message.rstrip(".").lower()) if part.strip()]
    assert f"error[{symptom.kind.name}]" in example or symptom.kind.name not in KINDS
    assert all(part in example.lower() for part in parts), symptom.message


def test_the_index_names_every_page() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in FOLDER.glob("*.md")} - {"index"}
    assert pages == {one.slug for one in SYMPTOMS}
    assert all(f"({page}.md)" in index for page in pages)


def test_every_kind_that_autograd_has_is_covered() -> None:
    graph = {"freed", "version", "no_grad", "scalar", "grad_shape", "leaf_inplace", "view_inplace", "not_leaf", "unused", "dtype", "shape"}
    assert graph <= {one.kind.name for one in SYMPTOMS} <= set(EXPLAINED)


@pytest.mark.parametrize(("printed", "slug"), PRINTED.items(), ids=PRINTED.values())
def test_a_message_as_it_is_printed_leads_to_the_page(printed, slug) -> None:
    symptom = next(one for one in SYMPTOMS if one.slug == slug)
    assert lookup(printed)[0].name == symptom.kind.name
    page = (FOLDER / f"{slug}.md").read_text(encoding="utf-8")
    assert any(sentence in printed and sentence in page for sentence in (symptom.message, *symptom.kind.sentences))
    assert "## Fixes" in page
    assert page.count("```grad") >= 2
    assert f"how-to/{slug}.md" in (FOLDER.parents[1] / "mkdocs.yml").read_text(encoding="utf-8")
