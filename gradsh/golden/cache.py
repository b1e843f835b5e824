"""What runs leave for the next ones in `.gradsh_cache/`: how long each script took, and whether it failed.

Nothing depends on it: a cache that is missing, broken or of another version is an empty one, and one that cannot be written is left.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from gradsh.golden.check import Checked
from gradsh.process.files import read_text, write_whole

FOLDER = Path(".gradsh_cache")
FILE = FOLDER / "tests.json"
VERSION = 1


class LastRun(NamedTuple):
    """How a script went when it was last run."""

    seconds: float
    failed: bool


def key(path: str) -> str:
    """Return the name under which a script is kept: its path from the current folder, however it was named."""
    return os.path.relpath(path)


def load() -> dict[str, LastRun]:
    """Return how the scripts went, by their keys."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        told = json.loads(read_text(FILE))
        if told["version"] == VERSION:
            runs = {str(name): LastRun(float(seconds), bool(failed)) for name, (seconds, failed) in told["scripts"].items()}
            return {name: one for name, one in runs.items() if isfinite(one.seconds)}
    return {}


def save(results: Iterable[Checked]) -> None:
    """Keep how these scripts went, and what is known of the others that still exist."""
    if FOLDER.is_symlink() or FILE.is_symlink():  # a stranger's tree of scripts could have this written anywhere
        return
    new = {key(one.path): LastRun(round(one.seconds, 4), not one.passed) for one in results if not one.skipped}
    kept = {name: one for name, one in (load() | new).items() if Path(name).exists()}
    with suppress(OSError):
        FOLDER.mkdir(exist_ok=True)
        with suppress(FileExistsError), (FOLDER / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
        write_whole(FILE, json.dumps({"version": VERSION, "scripts": kept}, indent=0).encode())
