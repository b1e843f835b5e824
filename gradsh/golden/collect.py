"""Finds scripts to test, and no script names this output file."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gradsh.golden.check import Checked
from gradsh.golden.documents import fences, is_document
from gradsh.run.read import read_script

SKIPPED = frozenset({"__pycache__", "node_modules"})


def scripts_below(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return (scripts, paths that do not exist): files as they are named, folders searched for `*.grad` and for
    Markdown that holds scripts or sessions, in order.
    """
    found: dict[str, None] = {}
    missing = []
    for path in paths:
        if Path(path).is_dir():
            found.update(dict.fromkeys(_walk(path)))
        elif Path(path).exists():
            found[path] = None
        else:
            missing.append(path)
    return list(found), missing


def _walk(folder: str) -> Iterable[str]:
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        for name in sorted(files):
            path = os.path.join(base, name)  # noqa: PTH118
            if name.endswith(".grad") or (is_document(name) and any(fences(read_script(path).text))):
                yield path


def orphans(paths: Sequence[str], results: Iterable[Checked]) -> list[str]:
    """Return the files `NAME.….out` that no script names: their script was tested, or is gone from a tested folder."""
    named: set[Path] = set()
    tested: dict[Path, set[str]] = {}
    for result in results:
        script = Path(result.path)
        if not result.excused and not any(mismatch.fault == "script" for mismatch in result.mismatches):
            tested.setdefault(script.parent, set()).add(script.stem)
        named.update(script.parent / block.sibling.text for block in result.blocks.values() if block.sibling)
    whole = {Path(base) for path in paths if Path(path).is_dir() for base, _, _ in os.walk(path)}
    out = []
    for folder in sorted(whole | set(tested)):
        stems = {path.stem for path in folder.glob("*.grad")}
        for file in sorted(folder.glob("*.*.out")):
            owner = next((stem for stem in stems if file.name.startswith(stem + ".")), None)
            answerable = owner in tested.get(folder, set()) if owner is not None else folder in whole
            if answerable and file not in named:
                out.append(str(file))
    return out
