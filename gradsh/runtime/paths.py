"""`pathlib` as values: Python's own pure paths, which know nothing of a disk. What the program wrote exists."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from gradsh.api import file_tree
from gradsh.engine.ambient import current
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
        "touch", "rename", "replace", "rmdir", "cwd", "home", "match",
    })

    @classmethod
    def cwd(cls) -> "PosixPath":
        """Return the working folder."""
        return cls(file_tree.working_folder())

    home = cwd

    def iterdir(self) -> Iterator["PosixPath"]:
        """Give what the program wrote in the folder."""
        return (self / name for name in file_tree.listed(self))

    def glob(self, pattern: str) -> Iterator["PosixPath"]:
        """Give what the program wrote below the path and what fits a pattern."""
        return (self / name for name in file_tree.matching(self, pattern))

    def rglob(self, pattern: str) -> Iterator["PosixPath"]:
        """Give what is in the folder and in all folders below, and whose own names fit a pattern."""
        return self.glob(f"**/{pattern}")

    def unlink(self, missing_ok: bool = False) -> None:
        """Forget a file of the session."""
        if self.exists() or not missing_ok:
            file_tree.remove(self)

    def rmdir(self) -> None:
        """Forget a folder of the session in which nothing is left."""
        file_tree.remove_folder(self, empty=True)

    def rename(self, target: object) -> "PosixPath":
        """Give a file or a folder of the session another name."""
        return type(self)(file_tree.move(self, target))

    replace = rename

    def touch(self, *_: object, **__: object) -> None:
        """Keep a file of this name, empty if it is new."""
        self.open("a")

    def resolve(self, strict: bool = False) -> "PosixPath":
        """Return the path from the root on, without `..`."""
        if strict and not self.exists():
            raise file_tree.no_such(self)
        return type(self)(file_tree.whole(self))

    def absolute(self) -> "PosixPath":
        """Return the path from the root on, as it is written."""
        return type(self)(file_tree.working_folder()) / self

    def expanduser(self) -> "PosixPath":
        """Return the path itself: no user is known."""
        return self

    def is_file(self) -> bool:
        """Return whether the program wrote a file of this name."""
        return file_tree.is_file(self)

    def is_dir(self) -> bool:
        """Return whether the program made the folder or wrote into it."""
        return file_tree.is_folder(self)

    def exists(self) -> bool:
        """Return whether the program wrote the file or made the folder."""
        return file_tree.exists(self)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder of the session."""
        del mode
        current().stands_in("Path.mkdir", f"the folder exists in the session only, '{self}'")
        file_tree.make_folder(self, exist_ok, parents)

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
