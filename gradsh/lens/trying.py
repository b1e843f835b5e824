"""Tries edits of a program on PyTorch: runs it again with each, muted, in a process of its own, until one does not fail."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gradsh.text.fix import Fix, applied

_MOST = 6
"""Edits that are tried."""
_PATIENCE = 20.0
"""Seconds that a run may take beyond three times what the program took until it failed; what still runs then has not failed."""
_RUN = """\
import sys
from pathlib import Path
edited, module, name, *arguments = sys.argv[1:]
from gradsh.lens.program import PythonProgram
PythonProgram(name, arguments, module=bool(module)).run(Path(edited).read_bytes())
"""


def in_order(fixes: Iterable[Fix], file: str, name: str, arguments: Iterable[str], *, module: bool, seconds: float) -> list[Fix]:
    """Return the fixes that edit the program, one that was seen to work first, none that was seen to fail.

    `seconds` is what the program took until it failed.
    """
    known = sorted((fix for fix in fixes if fix.edits and not fix.here), key=lambda fix: fix.guess)
    lines = Path(file).read_text(encoding="utf-8").split("\n")
    tried = [fix for fix in known if all(edit.file == file for edit in fix.edits)][:_MOST]
    with tempfile.TemporaryDirectory() as folder:
        edited = Path(folder, "program.py")
        for fix in tried:
            edited.write_text("\n".join(applied(lines, fix.edits)[0]), encoding="utf-8")
            if _runs([str(edited), "m" * module, name, *arguments], 3 * seconds + _PATIENCE):
                return [fix._replace(tried=True), *(one for one in known if one is not fix)]
    return [fix for fix in known if fix not in tried and not fix.guess]


def _runs(words: list[str], seconds: float) -> bool:
    """Whether a program runs to its end, or is still running after so many seconds."""
    package = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
    silent = subprocess.DEVNULL
    child = subprocess.Popen(
        [sys.executable, "-c", _RUN, *words], stdin=silent, stdout=silent, stderr=silent, env=environment, start_new_session=True,
    )
    try:
        return child.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        if child.poll() is None:
            os.killpg(child.pid, 9)
            child.wait()
