"""Python's modules about files, over those that the program wrote: the session keeps them, and nothing of a disk is looked at."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.api import file_tree
from gradsh.engine.ambient import current, standing_in, tell
from gradsh.runtime.library import Library, listed
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


def load_glob(_: "Machine") -> Mapping[str, object]:
    """Return what `glob` offers: the files that the program wrote, by pattern."""

    def glob(pathname: object, *, recursive: bool = False, **_: object) -> list[str]:
        """Return the names of the session's files and folders that fit a pattern."""
        text = str(pathname)
        start = "/" if text.startswith("/") else "./" if text.startswith("./") else ""
        pattern = text.removeprefix(start)
        return [start + name for name in file_tree.matching(start or ".", pattern if recursive else pattern.replace("**", "*"))]

    return {"glob": glob, "iglob": lambda pathname, **options: iter(glob(pathname, **options))}


def load_os(machine: "Machine") -> Mapping[str, object]:
    """Return what `os` offers: paths as values, and an environment without variables."""
    environment: dict[str, str] = {}

    @standing_in("os.makedirs", "the folder exists in the session only")
    def makedirs(name: object, mode: int = 0o777, exist_ok: bool = False) -> None:
        """Make a folder of the session, and those above it."""
        del mode
        tell(makedirs, f", '{name}'")
        file_tree.make_folder(name, exist_ok)

    def mkdir(path: object, mode: int = 0o777) -> None:
        """Make a folder of the session."""
        del mode
        tell(makedirs, f", '{path}'")
        file_tree.make_folder(path, parents=False)

    def rename(src: object, dst: object) -> None:
        """Give a file or a folder of the session another name."""
        file_tree.move(src, dst)

    def rmdir(path: object) -> None:
        """Forget a folder of the session in which nothing is left."""
        file_tree.remove_folder(path, empty=True)

    @standing_in("os.system", "it runs nothing and returns 0")
    def system(command: object) -> int:
        """Start nothing and return 0."""
        del command
        tell(system)
        return 0

    return {
        "system": system, "chdir": file_tree.enter, "path": Library("os.path", lambda: load_os_path(machine)),
        "sep": "/", "linesep": "\n", "name": "posix",
        "environ": environment, "getenv": environment.get, "makedirs": makedirs, "mkdir": mkdir,
        "getcwd": file_tree.working_folder, "cpu_count": lambda: 1, "getpid": lambda: 1, "listdir": file_tree.listed,
        "remove": file_tree.remove, "unlink": file_tree.remove, "rename": rename, "replace": rename, "rmdir": rmdir,
        "removedirs": rmdir,
        "F_OK": 0, "X_OK": 1, "W_OK": 2, "R_OK": 4, "curdir": ".", "pardir": "..", "extsep": ".", "walk": _walk, "fspath": str,
    }


def load_platform(_: "Machine") -> Mapping[str, object]:
    """Return what `platform` offers: names of the system and of Python; the machine's own name is left out."""
    import os
    import platform
    import sys

    system = os.uname()
    library = "".join((os.confstr("CS_GNU_LIBC_VERSION") or "").split()) if sys.platform == "linux" else ""
    whole = "-".join([system.sysname, system.release, system.machine, *(["with", library] if library else [])])
    told = {"platform": whole, "release": system.release, "version": system.version, "processor": ""}
    return listed(platform, "python_version system machine python_implementation python_compiler python_build") | {
        name: lambda *_, text=text: text for name, text in told.items()
    }


def _size(filename: object) -> int:
    """Return the bytes of a file that the program wrote. Raises TypeError for an object that is kept as it is."""
    found = 0 if file_tree.is_folder(filename) else file_tree.taken(filename)
    if not isinstance(found, (str, bytes)):
        way = "leave its size out, or run the program on PyTorch: `gradsh trace FILE`"
        raise fail("type", f"'{filename}' has no size: gradsh keeps the object and writes no file", TypeError, way=way)
    return len(found.encode() if isinstance(found, str) else found)


def _copy(src: object, dst: object, **_: object) -> str:
    """Keep a file of the session under a second name, or in a second folder."""
    name = file_tree.into(src, dst)
    file_tree.keep(name, file_tree.taken(src))
    return name


def _move(src: object, dst: object, **_: object) -> str:
    """Give a file or a folder of the session another name, or put it into another folder."""
    return file_tree.move(src, file_tree.into(src, dst))


def _remove_tree(path: object, ignore_errors: bool = False, **_: object) -> None:
    """Forget a folder of the session and what is in it."""
    if file_tree.is_folder(path) or not ignore_errors:
        file_tree.remove_folder(path)


def _walk(top: object, *_: object, **__: object) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give each folder below a name, the folders in it and the session's files in it."""
    if not file_tree.is_folder(top):
        return
    names = file_tree.listed(top)
    folders = [name for name in names if file_tree.is_folder(f"{top}/{name}")]
    yield str(top), folders, [name for name in names if name not in folders]
    for name in folders:
        yield from _walk(f"{top}/{name}")


def load_pickle(_: "Machine") -> Mapping[str, object]:
    """Return what `pickle` offers: objects kept in the session. Bytes are never unpickled: they could run anything."""
    from pickle import PickleError, UnpicklingError

    from gradsh.api.stand_ins import kept, save

    def dumps(obj: object, *_: object, **__: object) -> bytes:
        """Keep a copy and return the name under which `loads` finds it."""
        name = f"/<pickle {len(current().files)}>"
        save(obj, name)
        return name.encode()

    def loads(data: bytes, **_: object) -> object:
        """Return a copy of what `dumps` kept."""
        return kept(bytes(data).decode(errors="replace"))

    return {"dump": save, "load": lambda file, **_: kept(file), "dumps": dumps, "loads": loads, "HIGHEST_PROTOCOL": 5,
            "DEFAULT_PROTOCOL": 5, "UnpicklingError": UnpicklingError, "PickleError": PickleError}  # fmt: skip


def load_shutil(_: "Machine") -> Mapping[str, object]:
    """Return what `shutil` offers: files of the session get other names."""
    return {"copyfile": _copy, "copy": _copy, "copy2": _copy, "move": _move, "rmtree": _remove_tree}


def load_os_path(_: "Machine") -> Mapping[str, object]:
    """Return what `os.path` offers: functions of texts. No path exists but what the program wrote."""
    import posixpath

    def relpath(path: Any, start: Any = ".") -> str:
        """Return the path as seen from a folder."""
        return posixpath.relpath(file_tree.whole(path), file_tree.whole(start))

    names = "join basename dirname split splitext splitdrive normpath normcase isabs commonprefix commonpath sep curdir pardir"
    return listed(posixpath, names) | {
        "relpath": relpath, "getsize": _size, "expandvars": str,
        "getmtime": lambda filename: 0.0, "islink": lambda path: False, "isfile": file_tree.is_file, "isdir": file_tree.is_folder,
        "exists": file_tree.exists, "abspath": file_tree.whole, "realpath": file_tree.whole, "expanduser": str,
    }
