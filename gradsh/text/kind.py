"""What a kind of error is: `Kind`, with its ways out. The kinds themselves are in `kinds`."""

from typing import NamedTuple


class Recipe(NamedTuple):
    """A way out: one sentence, and a script that takes it."""

    text: str
    script: str


class Kind(NamedTuple):
    """A kind of error.

    `summary` is one sentence for a list of kinds. `sentences` are PyTorch's (or Python's) key sentences, as people search
    for them. `example` is a script whose last statement fails with the kind; it is empty for what no script produces by
    itself, and then `situation` says how it comes about.
    """

    name: str
    summary: str
    sentences: tuple[str, ...]
    meaning: str
    example: str
    ways: tuple[Recipe, ...]
    situation: str = ""
