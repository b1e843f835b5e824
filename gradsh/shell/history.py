"""The history file: one entry a statement or block, appended under a lock, so that two shells never mix their lines.

An entry is its lines with a `+` before each; a line that begins with `#` is a remark: `# failed TEXT` marks the latest
entry of that text (as JSON) as one that failed, which is never suggested. A write that was cut off spoils no other entry.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NEWEST = 2_000_000
"""How many bytes at the end of the file are read."""


class HistoryFile:
    """The statements of earlier sessions and of this one. A file that cannot be written costs no statement."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.failed: set[str] = set()

    def load(self) -> list[str]:
        """Return the entries, oldest first."""
        if self.path is None:
            return []
        try:
            if not self.path.is_file():  # a pipe would be waited for
                return []
            with self.path.open("rb") as file:
                file.seek(0, os.SEEK_END)
                start = max(0, file.tell() - NEWEST)
                file.seek(start)
                data = file.read().decode("utf-8", "replace")
        except OSError:
            return []
        return self._entries(data.split("\n")[1 if start else 0 :])

    def _entries(self, lines: list[str]) -> list[str]:
        entries: list[str] = []
        current: list[str] = []
        for line in [*lines, ""]:
            if line.startswith("+"):
                current.append(line[1:])
                continue
            if current:
                entries.append("\n".join(current))
                self.failed.discard(entries[-1])
                current = []
            if line.startswith("# failed "):
                with suppress(ValueError, RecursionError):
                    self.failed.add(str(json.loads(line.removeprefix("# failed "))))
        return entries

    def append(self, text: str) -> None:
        """Write an entry."""
        self.failed.discard(text)
        self._write("\n#\n" + "".join(f"+{line}\n" for line in text.split("\n")))

    def mark_failed(self, text: str) -> None:
        """Note that an entry failed: it is kept, but not suggested."""
        if text.strip() and text not in self.failed:
            self.failed.add(text)
            self._write(f"\n# failed {json.dumps(text)}\n")

    def _write(self, text: str) -> None:
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        except OSError:
            return
        try:
            with _locked(handle), suppress(OSError):
                os.write(handle, text.encode("utf-8", "replace"))
                os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ImportError, OSError):  # a system or a file system without locks: one write call is whole all the same
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
