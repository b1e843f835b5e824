"""Writes `gradsh/ops/families.py`: which file declares which operations, found by importing them all and watching.

`make docs` writes the file. It is found in a process of its own: a family tells what it declares only while it is imported.
"""

import importlib
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

from gradsh.engine import registry

ROOT = Path(__file__).parents[1]
FAMILIES = ROOT / "gradsh/ops/families.py"
HEAD = '''"""Which file of this folder declares which operations and operators. Written by `make docs`: do not change it by hand."""

FAMILIES = {
'''


class Watched(dict[str, Any]):
    """A table that notes under which file's import each of its entries was made."""

    def __init__(self, declared: dict[str, list[str]]) -> None:
        super().__init__()
        self.declared = declared

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        frame = sys._getframe(1)
        while not (frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("gradsh.ops.")):
            assert frame.f_back is not None, f"{name} is declared outside an import"
            frame = frame.f_back
        self.declared[frame.f_globals["__name__"].rpartition(".")[2]].append(name)


def declared() -> dict[str, list[str]]:
    """Return the names that each file declares. The process must not have imported any of them."""
    found: dict[str, list[str]] = defaultdict(list)
    registry.REGISTRY = Watched(found)
    registry.OPERATORS = Watched(found)
    for path in sorted((ROOT / "gradsh/ops").glob("*.py")):
        if path.stem != "__init__":
            importlib.import_module(f"gradsh.ops.{path.stem}")
    names = [name for each in found.values() for name in set(each)]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"these have overloads in several files, and one of them would not be found: {twice}"
    return {family: sorted(set(found[family])) for family in sorted(found)}


def families_text() -> str:
    """Return the file as it should be."""
    lines = [HEAD]
    for family, names in declared().items():
        rows = [f'        "{row} "\n' for row in textwrap.wrap(" ".join(names), 120)]
        lines += [f'    "{family}": (\n', *rows, "    ),\n"] if len(rows) > 1 else [f'    "{family}": "{" ".join(names)}",\n']
    return "".join([*lines, "}\n"])


def families_page() -> str:
    """Return the file as it should be, found in a fresh process."""
    done = subprocess.run([sys.executable, "-m", "tools.families"], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    sys.stdout.write(families_text())
