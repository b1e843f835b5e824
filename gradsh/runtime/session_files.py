"""Files that a program writes: they are kept in the session, and can be read again. No file of the disk is touched."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from gradsh.api import file_tree
from gradsh.engine.ambient import standing_in, tell


class OpenFile:
    """A file of the session that is open for reading or writing."""

    __module__ = "io"
    __script_attributes__ = frozenset({"read", "readline", "readlines", "write", "writelines", "close", "flush", "name", "closed"})

    def __init__(self, name: str, mode: str) -> None:
        self._lines: list[str] | None = None
        self.name = name
        self._place = file_tree.whole(name)
        self.mode = mode
        self.closed = False

    def write(self, text: str) -> int:
        """Add text."""
        if "r" in self.mode and "+" not in self.mode:
            raise OSError("not writable")
        held = file_tree.taken(self._place)
        if type(text) is not type(held):
            raise TypeError(f"write() argument must be {type(held).__name__}, not {type(text).__name__}")
        file_tree.keep(self._place, held + text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Add several texts."""
        for line in lines:
            self.write(line)

    def read(self) -> Any:
        """Return what is left."""
        return "".join(self._rest(None))

    def readline(self) -> str:
        """Return the next line, empty at the end."""
        return "".join(self._rest(1))

    def readlines(self) -> list[str]:
        """Return the lines that are left."""
        return self._rest(None)

    def _rest(self, count: int | None) -> list[str]:
        if self._lines is None:
            held = file_tree.taken(self._place)
            if not isinstance(held, str):
                raise OSError(f"'{self.name}' holds no text: read with torch.load what torch.save kept")
            self._lines = held.splitlines(keepends=True)
        taken, self._lines = self._lines[:count], self._lines[len(self._lines) if count is None else count :]
        return taken

    def __iter__(self) -> Iterator[str]:
        while line := self.readline():
            yield line

    def close(self) -> None:
        """Close the file."""
        self.closed = True

    def flush(self) -> None:
        """Do nothing: the text is kept already."""

    def __enter__(self) -> "OpenFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@standing_in("open", "the file exists in the session only")
def open(file: object, mode: str = "r", *_: object, **__: object) -> OpenFile:
    """Open a file of the session: for writing a new one, for reading one that the program wrote."""
    name = str(file)
    if "r" in mode:
        file_tree.taken(name)
        return OpenFile(name, mode)
    tell(open, f", '{name}'")
    if "a" not in mode or not file_tree.is_file(name):
        file_tree.keep(name, b"" if "b" in mode else "")
    return OpenFile(name, mode)


class TemporaryFolder:
    """What `tempfile.TemporaryDirectory` gives: a name below which the session keeps files until the block ends."""

    __module__ = "tempfile"
    __script_attributes__ = frozenset({"name", "cleanup"})

    def __init__(self, name: str) -> None:
        self.name = name

    def cleanup(self) -> None:
        """Forget the folder and the files in it."""
        file_tree.remove_folder(self.name)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()


def load_tempfile(_: object) -> Mapping[str, object]:
    """Return what `tempfile` offers: names below which the session keeps files, numbered in each session anew."""
    numbers = count(1)

    def folder(suffix: str | None = None, prefix: str | None = None, *_: object, **__: object) -> TemporaryFolder:
        """Return a folder with a name of its own."""
        made = TemporaryFolder(f"/tmp/{prefix or 'tmp'}{next(numbers)}{suffix or ''}")
        file_tree.make_folder(made.name)
        return made

    def file(mode: str = "w+b", *_: object, suffix: str | None = None, prefix: str | None = None, **__: object) -> OpenFile:
        """Open a new file of the session."""
        opened: OpenFile = open(f"{folder(suffix, prefix).name}/file", mode)
        return opened

    return {
        "gettempdir": lambda: "/tmp", "mkdtemp": lambda *args, **named: folder(*args, **named).name,
        "TemporaryDirectory": folder, "NamedTemporaryFile": file, "TemporaryFile": file,
    }
