"""The kinds of errors, by name. What `explain` prints, and what a search for PyTorch's sentence finds.

Kinds are stable: scripts, goldens and consumers of the JSON name them. The examples are run by the tests: the last
statement of an example fails with its kind, and every way out runs without an error.
"""

import re

from gradsh.text import kinds_autograd as autograd
from gradsh.text import kinds_general as general
from gradsh.text.kind import Kind
from gradsh.text.messages import MESSAGES

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
    """Return the kinds that a sentence leads to, the best first: it contains one of theirs, or is a part of one.

    The case of letters and the name of the exception before it do not count. Where a whole sentence is found,
    kinds that share a word with it are left out.
    """
    wanted = re.sub(r"^\w+error: ", "", " ".join(sentence.casefold().split()))
    scores = {
        kind.name: max((_score(wanted, known.casefold()) for known in kind.sentences), default=0)
        for kind in (*KINDS.values(), *MESSAGES.values())
    }
    best = max(scores.values())
    return sorted((name for name, score in scores.items() if score and score * 2 >= best), key=lambda name: -scores[name])


def _score(wanted: str, known: str) -> int:
    """Return how many characters of two sentences agree, where one contains the other."""
    return min(len(wanted), len(known)) if wanted in known or known in wanted else 0
