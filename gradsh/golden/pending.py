"""Differences that wait for somebody to look at them: `a.grad.pending` beside `a.grad`, written by `--pending`, read by `gradsh review`.

The file is JSON: a version, a digest of each file that it is about, and for each difference the lines that stand there and those that
came out. Scripts are not touched before a difference is accepted.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gradsh.golden.check import Checked
from gradsh.golden.update import proposed
from gradsh.process.files import read_text, write_whole

SUFFIX = ".pending"
VERSION = 1
STRANGE = "nothing that `gradsh test --pending` wrote"


class PendingChange(NamedTuple):
    """Lines of a file that differ from what came out: from line `at` on, `old` stands there, and `new` came out.

    `line` is that of the statement, `file` a name in the script's folder.
    """

    line: int
    message: str
    file: str
    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class Pending(NamedTuple):
    """The differences of a script that nobody has decided about."""

    script: Path
    differences: tuple[PendingChange, ...]
    digests: dict[str, str]

    @property
    def path(self) -> Path:
        """The file beside the script that holds them."""
        return self.script.with_name(self.script.name + SUFFIX)

    def changed(self) -> str:
        """Return the name of a file that has changed since, or nothing."""
        return next((name for name, digest in self.digests.items() if _digest(self.script.with_name(name)) != digest), "")

    def decided(self, accepted: Sequence[PendingChange], left: Sequence[PendingChange]) -> None:
        """Write what was accepted into the files, and keep what is left. Raises OSError."""
        for name in {one.file for one in accepted}:
            path = self.script.with_name(name)
            if path.is_symlink() and path != self.script:
                raise OSError(0, "it is a link to another file", str(path))
            lines = _text(path).split("\n")
            for one in sorted((one for one in accepted if one.file == name), key=lambda one: -one.at):
                lines[one.at - 1 : one.at - 1 + len(one.old)] = one.new
            write_whole(path, "\n".join(lines).encode())
        moved = [one._replace(at=one.at + _grown(accepted, one.file, one.at), line=one.line + _grown(accepted, self.script.name, one.line))
                 for one in left]
        self._replace(differences=tuple(moved), digests={name: _digest(self.script.with_name(name)) for name in self.digests}).write()

    def write(self) -> None:
        """Write the file, or take it away where nothing is left. Raises OSError."""
        if self.path.is_symlink():
            raise OSError(0, "it is a link to another file", str(self.path))
        if self.differences:
            told = {"version": VERSION, "digests": self.digests, "differences": [one._asdict() for one in self.differences]}
            write_whole(self.path, json.dumps(told, indent=1, ensure_ascii=False).encode(errors="backslashreplace"))
        else:
            self.path.unlink(missing_ok=True)


def _grown(accepted: Sequence[PendingChange], file: str, line: int) -> int:
    return sum(len(one.new) - len(one.old) for one in accepted if one.file == file and one.at < line)


def _text(path: Path) -> str:
    """Return a file's text, a byte order mark included; nothing for a file that is not there."""
    try:
        return read_text(path)
    except FileNotFoundError:
        return ""


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def pending_of(tested: Checked) -> Pending:
    """Return what differs in a script that was tested, statement by statement; nothing where nothing can be accepted."""
    script = Path(tested.path)
    found = []
    for mismatch in tested.mismatches:
        update = proposed(tested._replace(mismatches=(mismatch,)), force=True)
        texts = {script: update.text, **update.siblings}
        for path, new in texts.items():
            old = tested.text if path == script else _text(path)
            if new != old:
                found.append(PendingChange(mismatch.line, mismatch.message, path.name, *_stretch(old.split("\n"), new.split("\n"))))
    names = {one.file for one in found}
    return Pending(script, tuple(found), {name: _digest(script.with_name(name)) for name in sorted(names)})


def _stretch(old: list[str], new: list[str]) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Return from which line on two texts differ, and how, up to where they are the same again."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[~i] != new[~i]), shorter - head)
    return head + 1, tuple(old[head : len(old) - tail]), tuple(new[head : len(new) - tail])


def read(path: Path) -> Pending:
    """Return what a file that `--pending` wrote holds. Raises ValueError, with a sentence, for any other file."""
    try:
        told = json.loads(read_text(path))
        if told["version"] != VERSION:
            raise ValueError(f"{path} is of another version of gradsh")
        found = tuple(map(_difference, told["differences"]))
        digests = {_name(name): str(digest) for name, digest in told["digests"].items()}
    except (OSError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {path}: {getattr(error, 'strerror', None) or STRANGE}") from None
    script = path.with_name(path.name.removesuffix(SUFFIX))
    if any(one.file not in digests or (one.file != script.name and not one.file.endswith(".out")) for one in found):
        raise ValueError(f"cannot read {path}: {STRANGE}")
    return Pending(script, found, digests)


def _difference(told: dict[str, object]) -> PendingChange:
    line, at = told["line"], told["at"]
    if not isinstance(line, int) or not isinstance(at, int) or at < 1:
        raise TypeError("no lines of a file")
    return PendingChange(line, str(told["message"]), _name(told["file"]), at, _lines(told["old"]), _lines(told["new"]))


def _name(name: object) -> str:
    """Return the name of a file in the script's own folder; a stranger's file may name another one."""
    if not isinstance(name, str) or not name or name in {".", ".."} or "/" in name or "\0" in name:
        raise TypeError("no name of a file")
    return name


def _lines(lines: object) -> tuple[str, ...]:
    if not isinstance(lines, list) or any(not isinstance(line, str) or "\n" in line for line in lines):
        raise TypeError("no lines")
    return tuple(lines)


def below(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the files with pending differences: of scripts, below folders, or named themselves."""
    for path in map(Path, paths):
        if path.is_dir():
            for base, folders, files in os.walk(path):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield from (Path(base, name) for name in sorted(files) if name.endswith(SUFFIX) and name != SUFFIX)
        elif path.name.endswith(SUFFIX):
            yield path
        elif path.with_name(path.name + SUFFIX).exists():
            yield path.with_name(path.name + SUFFIX)
