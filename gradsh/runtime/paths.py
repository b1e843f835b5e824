"""`pathlib` as values: Python's own pure paths, which know nothing of a disk. What the program wrote exists."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current
from gradsh.runtime.file_modules import is_file, is_folder, listed_folder, move, remove
from gradsh.runtime.session_files import open as open_file

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


class PosixPath(PurePosixPath):
    """A path: its text, and what the program wrote under that."""

    __module__ = "pathlib"
    __slots__ = ()
    __script_attributes__ = frozenset({
        "name", "stem", "suffix", "parent", "parts", "with_suffix", "with_name", "joinpath", "as_posix", "exists", "is_file",
        "is_dir", "mkdir", "open", "read_text", "write_text", "resolve", "absolute", "expanduser",
        "is_absolute", "parents", "suffixes", "with_stem", "relative_to", "is_relative_to", "iterdir", "glob", "rglob", "unlink",
        "touch", "rename", "cwd", "home", "match",
    })

    @classmethod
    def cwd(cls) -> "PosixPath":
        """Return the program's own folder."""
        return cls()

    home = cwd

    def iterdir(self) -> Iterator["PosixPath"]:
        """Give what the program wrote in the folder."""
        return (self / name for name in listed_folder(self))

    def glob(self, pattern: str) -> Iterator["PosixPath"]:
        """Give the files that the program wrote and whose names below the path fit a pattern."""
        files = [type(self)(name) for name in sorted(current().files)]
        return (file for file in files if file.is_relative_to(self) and fnmatchcase(str(file.relative_to(self)), pattern))

    def rglob(self, pattern: str) -> Iterator["PosixPath"]:
        """Give the files below, in whatever folder, whose own names fit a pattern."""
        return (file for file in self.glob("*") if file.match(pattern))

    def unlink(self, missing_ok: bool = False) -> None:
        """Forget a file of the session."""
        if self.exists() or not missing_ok:
            remove(self)

    def rename(self, target: object) -> "PosixPath":
        """Give a file of the session another name."""
        return type(self)(move(self, target))

    def touch(self, *_: object, **__: object) -> None:
        """Keep a file of this name, empty if it is new."""
        self.open("a")

    def resolve(self) -> "PosixPath":
        """Return the path itself: nothing of a disk is looked at."""
        return self

    absolute = expanduser = resolve

    def is_file(self) -> bool:
        """Return whether the program wrote a file of this name."""
        return is_file(self)

    def is_dir(self) -> bool:
        """Return whether the program wrote a file below."""
        return is_folder(self)

    def exists(self) -> bool:
        """Return whether the program wrote it, or a file below."""
        return self.is_file() or self.is_dir()

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make no folder: what a program saves is kept in the session."""
        del mode, parents, exist_ok
        current().stands_in("Path.mkdir", f"it does not create the folder '{self}'")

    def open(self, mode: str = "r", *_: object, **__: object) -> Any:
        """Open a file of the session."""
        return open_file(self, mode)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """Return the text of a file that the program wrote."""
        return str(self.open(encoding=encoding, errors=errors).read())

    def write_text(self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> int:
        """Keep a text in the session under this path."""
        return int(self.open("w", encoding=encoding, errors=errors, newline=newline).write(data))


def load_pathlib(_: "Machine") -> Mapping[str, object]:
    """Return what `pathlib` offers."""
    return dict.fromkeys(("Path", "PurePath", "PosixPath", "PurePosixPath"), PosixPath)
