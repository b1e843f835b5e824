"""Writes reports to a file: as JSON, or as one HTML page that holds the same JSON and what draws it."""

import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from gradsh.process import sandbox
from gradsh.version import PYTORCH_VERSION, __version__

VERSION = 1
"""Of the format that docs/report.md describes; it grows when a field changes its meaning or goes."""
ENDINGS = (".html", ".htm", ".json")
_PLACE = "<!--report-->"
_PAGE = Path(__file__).with_name("page.html")


class ReportFile:
    """The file of a report. It is opened at once, so that a run that could not write it need not begin, and behind no wall."""

    def __init__(self, path: str, *, any_ending: bool = False) -> None:
        """Raises OSError where the file cannot be written, ValueError where its name has no known ending."""
        if not any_ending and not path.lower().endswith(ENDINGS):
            raise ValueError(f"--report takes a file that ends in .html or .json, not {path!r}")
        self.path = path
        self.runs: list[dict[str, object]] = []
        self.more: dict[str, object] = {}
        """What stands beside the runs."""
        self._is_new = not os.path.lexists(path)
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        self._as_page = path.lower().endswith((".html", ".htm"))
        if self._as_page and _room(self._handle) < _PAGE.stat().st_size:
            if self._is_new:
                self.drop()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def keep_open(self) -> None:
        """Let the file stay open when this process is walled in."""
        sandbox.keep(self._handle)

    def add(self, name: str, data: dict[str, Any]) -> None:
        """Add a run."""
        self.runs.append({"name": name, **data})

    def write(self) -> int:
        """Write the report; tell where that fails, and return the exit status that this asks for."""
        try:
            _pour(self._handle, report_text(self.runs, as_page=self._as_page, more=self.more).encode())
        except (OSError, MemoryError) as error:
            self.drop()
            sys.stderr.write(f"gradsh: cannot write the report {self.path}: {getattr(error, 'strerror', None) or 'out of memory'}\n")
            return 1
        return 0

    def drop(self) -> None:
        """Leave no half of a report behind: no file where none was, else an empty one."""
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
        with suppress(OSError):  # behind the wall, no file is taken away
            if self._is_new:
                Path(self.path).unlink()


def report_text(runs: list[dict[str, object]], *, as_page: bool, more: dict[str, object] | None = None) -> str:
    """Return a report of runs as a page, or as JSON."""
    data = json.dumps({"version": VERSION, "gradsh": __version__, "pytorch": PYTORCH_VERSION, **(more or {}), "runs": runs})
    return page().replace(_PLACE, embedded(data)) if as_page else f"{data}\n"


def page() -> str:
    """Return the page without its data."""
    return _PAGE.read_text(encoding="utf-8")


def embedded(data: str) -> str:
    """Return JSON as it may stand in an element of a page: ASCII, and nothing that ends the element or begins another."""
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="report">{data}</script>'


def _room(handle: int) -> int:
    """Return the bytes that a file may have on its disk; those of a pipe or a device are not bounded."""
    import stat

    found, disk = os.fstat(handle), os.fstatvfs(handle)
    return found.st_size + disk.f_bavail * disk.f_frsize if stat.S_ISREG(found.st_mode) else sys.maxsize


def _pour(handle: int, data: bytes) -> None:
    """Write to an open file from its beginning, and end it there; a pipe or a device takes what it is given."""
    import stat

    if stat.S_ISREG(os.fstat(handle).st_mode):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
    with os.fdopen(os.dup(handle), "wb") as file:
        file.write(data)
