"""`pathlib` as values: a path knows its parts, and nothing of a disk. What the program wrote exists."""

import posixpath
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current
from gradsh.runtime.file_modules import is_file, is_folder, listed_folder, move, remove
from gradsh.runtime.session_files import open as open_file

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


class Path:
    """A path: its text, and what can be told from that."""

    __module__ = "pathlib"
    __slots__ = ("_text",)
    __script_attributes__ = frozenset({
        "name", "stem", "suffix", "parent", "parts", "with_suffix", "with_name", "joinpath", "as_posix", "exists", "is_file",
        "is_dir", "mkdir", "open", "read_text", "write_text", "resolve", "absolute", "expanduser",
        "is_absolute", "parents", "suffixes", "with_stem", "relative_to", "is_relative_to", "iterdir", "glob", "rglob", "unlink",
        "touch", "rename", "cwd", "home", "match",
    })

    def __init__(self, *parts: object) -> None:
        self._text = posixpath.normpath(posixpath.join(*map(str, parts))) if parts else "."

    def __truediv__(self, other: object) -> "Path":
        return type(self)(self, other)

    def __rtruediv__(self, other: object) -> "Path":
        return type(self)(other, self)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"PosixPath({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self._text == other._text

    def __lt__(self, other: "Path") -> bool:
        return self.parts < other.parts

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def name(self) -> str:
        """The last part."""
        return posixpath.basename(self._text).removesuffix("..") if self._text != "." else ""

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return posixpath.splitext(self.name)[0]

    @property
    def suffix(self) -> str:
        """The ending of the last part, with its dot."""
        return posixpath.splitext(self.name)[1]

    @property
    def parent(self) -> "Path":
        """The path without its last part."""
        return type(self)(posixpath.dirname(self._text) or ".")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path."""
        root = ("/",) if self._text.startswith("/") else ()
        return (*root, *(part for part in self._text.split("/") if part and part != "."))

    def with_suffix(self, suffix: str) -> "Path":
        """Return the path with another ending."""
        return self.with_name(self.stem + suffix)

    @property
    def suffixes(self) -> list[str]:
        """The endings of the last part."""
        return [f".{part}" for part in self.name.lstrip(".").split(".")[1:]]

    @property
    def parents(self) -> list["Path"]:
        """The path without its last part, without its last two, and so on."""
        above = self.parent
        return [above, *above.parents] if above != self else []

    def with_stem(self, stem: str) -> "Path":
        """Return the path with another last part before its ending."""
        return self.with_name(stem + self.suffix)

    def is_relative_to(self, other: object) -> bool:
        """Return whether the path lies below another, by its text."""
        above = type(self)(other).parts
        return self.parts[: len(above)] == above

    def relative_to(self, other: object) -> "Path":
        """Return the path as seen from one above it."""
        if not self.is_relative_to(other):
            raise ValueError(f"{self._text!r} is not in the subpath of {str(other)!r}")
        return type(self)(*self.parts[len(type(self)(other).parts) :])

    def match(self, pattern: str) -> bool:
        """Return whether the last parts fit a pattern."""
        count = pattern.count("/") + 1
        return fnmatchcase("/".join(self.parts[-count:]), pattern)

    @classmethod
    def cwd(cls) -> "Path":
        """Return the program's own folder."""
        return cls()

    home = cwd

    def iterdir(self) -> Iterator["Path"]:
        """Give what the program wrote in the folder."""
        return (self / name for name in listed_folder(self))

    def glob(self, pattern: str) -> Iterator["Path"]:
        """Give the files that the program wrote and whose names below the path fit a pattern."""
        files = [type(self)(name) for name in sorted(current().files)]
        return (file for file in files if file.is_relative_to(self) and fnmatchcase(str(file.relative_to(self)), pattern))

    def rglob(self, pattern: str) -> Iterator["Path"]:
        """Give the files below, in whatever folder, whose own names fit a pattern."""
        return (file for file in self.glob("*") if file.match(pattern))

    def unlink(self, missing_ok: bool = False) -> None:
        """Forget a file of the session."""
        if self.exists() or not missing_ok:
            remove(self)

    def rename(self, target: object) -> "Path":
        """Give a file of the session another name."""
        return type(self)(move(self, target))

    def touch(self, *_: object, **__: object) -> None:
        """Keep a file of this name, empty if it is new."""
        self.open("a")

    def with_name(self, name: str) -> "Path":
        """Return the path with another last part."""
        return self.parent / name

    def joinpath(self, *parts: object) -> "Path":
        """Return the path with further parts."""
        return type(self)(self, *parts)

    def as_posix(self) -> str:
        """Return the path as text."""
        return self._text

    def is_absolute(self) -> bool:
        """Return whether the path begins at the root."""
        return self._text.startswith("/")

    def resolve(self) -> "Path":
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
    return dict.fromkeys(("Path", "PurePath", "PosixPath", "PurePosixPath"), Path)
