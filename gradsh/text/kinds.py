"""The kinds of errors, by name. What `explain` prints, and what a search for PyTorch's sentence finds.

Kinds are stable: scripts, goldens and consumers of the JSON name them. The examples are run by the tests: the last
statement of an example fails with its kind, and every way out runs without an error.
"""

from gradsh.text import kinds_autograd as autograd
from gradsh.text import kinds_general as general
from gradsh.text.kind import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        autograd.FREED, autograd.VERSION, autograd.NO_GRAD, autograd.SCALAR, autograd.GRAD_SHAPE,
        autograd.LEAF_INPLACE, autograd.VIEW_INPLACE, autograd.NOT_LEAF, autograd.UNUSED, autograd.DTYPE,
        autograd.SHAPE, general.INDEX, general.KEY, general.ATTRIBUTE, general.NAME, general.TYPE, general.VALUE,
        general.ARITHMETIC, general.ASSERT, general.EXPECT, general.SYNTAX, general.LIMIT, general.IO,
        general.INTERRUPT, general.OTHER,
    )
}  # fmt: skip


def kinds_for(sentence: str) -> list[str]:
    """Return the kinds whose sentences contain `sentence`, or are contained in it, whatever the case of its letters."""
    wanted = " ".join(sentence.casefold().split())
    if not wanted:
        return []
    return [
        kind.name
        for kind in KINDS.values()
        if any(wanted in known.casefold() or known.casefold() in wanted for known in kind.sentences)
    ]
