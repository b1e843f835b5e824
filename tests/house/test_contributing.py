"""The operation and the command that `docs/contributing.md` adds are added to a copy of the package, and work there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import gradsh

PACKAGE = Path(gradsh.__file__).parent
PAGE = (PACKAGE.parent / "docs/contributing.md").read_text(encoding="utf-8")


def blocks(opening: str) -> list[str]:
    return re.findall(rf"^```{opening}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_the_page_adds_works(tmp_path: Path) -> None:
    copy = tmp_path / "gradsh"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    operation, command = blocks("python")
    with (copy / "ops/pointwise.py").open("a", encoding="utf-8") as family:
        family.write(operation)
    (copy / "commands/leaves.py").write_text(command, encoding="utf-8")
    listed = copy / "commands/__init__.py"
    text = listed.read_text(encoding="utf-8")
    assert text.count('    "vars": "",\n') == 1
    listed.write_text(text.replace('    "vars": "",\n', '    "vars": "",\n    "leaves": "",\n'), encoding="utf-8")
    examples = blocks("grad once added")
    assert len(examples) == 2
    for number, example in enumerate(examples):
        (tmp_path / f"{number}.grad").write_text(example, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "gradsh", "test", "0.grad", "1.grad"], cwd=tmp_path, check=False,
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
