"""The tutorial as a notebook: the text between fences as Markdown, sessions as cells that end where something is shown.

A cell whose statement fails is tagged `raises-exception`, so that running all cells goes on behind it.
"""

import json
from collections.abc import Iterator
from typing import Any

from gradsh.golden.documents import Fence, fences, turns

METADATA = {
    "kernelspec": {"display_name": "gradsh", "language": "grad", "name": "gradsh"},
    "language_info": {"name": "grad", "file_extension": ".grad", "mimetype": "text/x-python", "pygments_lexer": "grad"},
}


def notebook_of(document: str) -> str:
    """Return a Markdown document as a notebook without outputs."""
    cells = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(_cells(document), 1)]
    return json.dumps({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def _cells(document: str) -> Iterator[dict[str, Any]]:
    lines = document.split("\n")
    done = 0
    for number, fence in enumerate(fences(document)):
        yield from _text(lines[done : fence.line - 2])
        yield from _session(fence, anew=number > 0)
        done = fence.line + len(fence.lines)
    yield from _text(lines[done:])


def _text(lines: list[str]) -> Iterator[dict[str, Any]]:
    if text := "\n".join(lines).strip("\n"):
        yield {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _session(fence: Fence, *, anew: bool) -> Iterator[dict[str, Any]]:
    """Yield the cells of a fence; each fence is a program of its own, so the later ones begin with `reset`."""
    typed = ["reset"] * anew
    if not fence.is_session:
        yield _code([*typed, *fence.lines], fails=False)
        return
    for turn in turns(fence):
        typed += turn.typed.split("\n")
        if turn.shown:
            yield _code(typed, fails=turn.shown[0].text.startswith("error["))
            typed = []
    if typed:
        yield _code(typed, fails=False)


def _code(lines: list[str], *, fails: bool) -> dict[str, Any]:
    metadata = {"tags": ["raises-exception"]} if fails else {}
    source = "\n".join(lines).splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}
