"""Which files beside a script its import statements may lead to: all that its process can read of the person's own files.

They are found before the script runs, by its text and not by its tree: a name too many costs nothing, as only an import of that
name asks for it. No folder is listed, as it may hold a data set.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress

IMPORTING = r"(?m)^.*\bimport\b.*$"
NAME = r"[^\W\d]\w*"
MOST_NAMES = 2_000
MOST_BYTES = 1 << 20
"""Of a module that is looked through for further imports."""


def modules_beside(script: str, text: str, path: tuple[str, ...] = ()) -> list[str]:
    """Return the Python files beside a script, or in the folders of `path`, that it may import, and those that these may import.

    They are NAME.py and NAME/__init__.py, also below folders NAME, for each name in a line with `import`. Links that lead out of
    their folder are left out.
    """
    own = () if script.startswith("<") else (os.path.dirname(os.path.realpath(script)),)  # noqa: PTH120  # pathlib costs more than the wall
    folders = (*own, *map(os.path.realpath, path))
    names = _names_in(text)
    found: set[str] = set()
    looked = 0
    while looked < len(names) <= MOST_NAMES:
        looked = len(names)
        new = {
            file for folder in folders for file in _files(folder, names) if os.path.realpath(file).startswith(f"{folder}/")
        } - found
        found |= new
        names = names.union(*(_names_in(_read(file)) for file in new))
    return sorted(found)


def _names_in(text: str) -> set[str]:
    lines = re.findall(IMPORTING, text) if "import" in text else ()  # the pattern costs as much as the wall: compiled when needed
    return {name for line in lines for name in re.findall(NAME, line)}


def _files(folder: str, names: set[str]) -> Iterator[str]:
    for name in ("__init__", *names):
        path = f"{folder}/{name}"
        if os.path.isfile(f"{path}.py"):  # noqa: PTH113
            yield f"{path}.py"
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            yield from _files(path, names)


def _read(path: str) -> str:
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return file.read(MOST_BYTES)
    return ""
