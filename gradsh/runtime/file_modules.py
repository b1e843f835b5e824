"""Python's modules about files, over those that the program wrote: the session keeps them, and nothing of a disk is looked at."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current, standing_in, tell
from gradsh.runtime.library import Library, listed
from gradsh.runtime.session_files import with_no_such_file
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


def load_glob(_: "Machine") -> Mapping[str, object]:
    """Return what `glob` offers: the files that the program wrote, by pattern."""
    from fnmatch import fnmatchcase

    def glob(pathname: object, **_: object) -> list[str]:
        """Return the names of the session's files that fit a pattern."""
        return sorted(name for name in current().files if fnmatchcase(name, str(pathname)))

    return {"glob": glob, "iglob": lambda pathname, **_: iter(glob(pathname))}


def load_os(machine: "Machine") -> Mapping[str, object]:
    """Return what `os` offers: paths as values, and an environment without variables."""
    environment: dict[str, str] = {}

    @standing_in("os.makedirs", "it does not create a folder")
    def makedirs(name: object, mode: int = 0o777, exist_ok: bool = False) -> None:
        """Make no folder: what a program saves is kept in the session."""
        del mode, exist_ok
        tell(makedirs, f" '{name}'")

    @standing_in("os.system", "it runs nothing and returns 0")
    def system(command: object) -> int:
        """Start nothing and return 0."""
        del command
        tell(system)
        return 0

    @standing_in("os.chdir", "it changes nothing: the session keeps the files that a program writes")
    def chdir(path: object) -> None:
        """Stay where the program is."""
        del path
        tell(chdir)

    return {
        "system": system, "chdir": chdir, "path": Library("os.path", lambda: load_os_path(machine)),
        "sep": "/", "linesep": "\n", "name": "posix",
        "environ": environment, "getenv": environment.get, "makedirs": makedirs, "mkdir": makedirs,
        "getcwd": lambda: ".", "cpu_count": lambda: 1, "getpid": lambda: 1, "listdir": _listdir,
        "remove": remove, "unlink": remove, "rename": move, "replace": move, "rmdir": remove_folder, "removedirs": remove_folder,
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


def _held(path: object) -> str:
    """Return the name of a file that the program wrote. Raises FileNotFoundError."""
    if not is_file(path):
        raise with_no_such_file(f"[Errno 2] No such file or directory: '{path}'", str(path))
    return str(path)


def _size(filename: object) -> int:
    """Return the bytes of a file that the program wrote. Raises TypeError for an object that is kept as it is."""
    found = current().files[_held(filename)]
    if not isinstance(found, (str, bytes)):
        way = "leave its size out, or run the program on PyTorch: `gradsh trace FILE`"
        raise fail("type", f"'{filename}' has no size: gradsh keeps the object and writes no file", TypeError, way=way)
    return len(found.encode() if isinstance(found, str) else found)


def remove(path: object) -> None:
    """Forget a file of the session."""
    del current().files[_held(path)]


def move(src: object, dst: object) -> str:
    """Give a file of the session another name."""
    current().files[str(dst)] = current().files.pop(_held(src))
    return str(dst)


def copy_file(src: object, dst: object, **_: object) -> str:
    """Keep a file of the session under a second name."""
    current().files[str(dst)] = current().files[_held(src)]
    return str(dst)


def remove_folder(path: object, *_: object, **__: object) -> None:
    """Forget the session's files below a name."""
    for name in [name for name in current().files if name.startswith(f"{path}/")]:
        del current().files[name]


def listed_folder(path: object = ".") -> list[str]:
    """Return the names of the session's files and folders in a folder."""
    start = "" if str(path) == "." else f"{path}/"
    return sorted({name.removeprefix(start).partition("/")[0] for name in current().files if name.startswith(start)})


def _listdir(path: object = ".") -> list[str]:
    """Return the names of the session's files and folders in a folder. Raises FileNotFoundError."""
    found = listed_folder(path)
    if not found and str(path) != ".":
        raise with_no_such_file(f"[Errno 2] No such file or directory: '{path}'", str(path))
    return found


def _walk(top: object, *_: object, **__: object) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give each folder below a name, the folders in it and the session's files in it."""
    listed = listed_folder(top)
    folders = [name for name in listed if is_folder(f"{top}/{name}")]
    if listed:
        yield str(top), folders, [name for name in listed if name not in folders]
    for name in folders:
        yield from _walk(f"{top}/{name}")


def load_pickle(_: "Machine") -> Mapping[str, object]:
    """Return what `pickle` offers: objects kept in the session. Bytes are never unpickled: they could run anything."""
    from pickle import PickleError, UnpicklingError

    from gradsh.api.stand_ins import kept, save

    def dumps(obj: object, *_: object, **__: object) -> bytes:
        """Keep a copy and return the name under which `loads` finds it."""
        name = f"<pickle {len(current().files)}>"
        save(obj, name)
        return name.encode()

    def loads(data: bytes, **_: object) -> object:
        """Return a copy of what `dumps` kept."""
        return kept(bytes(data).decode(errors="replace"))

    return {"dump": save, "load": lambda file, **_: kept(file), "dumps": dumps, "loads": loads, "HIGHEST_PROTOCOL": 5,
            "DEFAULT_PROTOCOL": 5, "UnpicklingError": UnpicklingError, "PickleError": PickleError}  # fmt: skip


def load_shutil(_: "Machine") -> Mapping[str, object]:
    """Return what `shutil` offers: files of the session get other names."""
    return {"copyfile": copy_file, "copy": copy_file, "copy2": copy_file, "move": move, "rmtree": remove_folder}


def is_file(path: object) -> bool:
    """Tell whether the program wrote a file of this name."""
    return str(path) in current().files


def is_folder(path: object) -> bool:
    """Tell whether the program wrote a file below this name."""
    return any(name.startswith(f"{path}/") for name in current().files)


def load_os_path(_: "Machine") -> Mapping[str, object]:
    """Return what `os.path` offers: functions of texts. No path exists but what the program wrote."""
    import posixpath

    def relpath(path: Any, start: Any = ".") -> str:
        """Return the path as seen from a folder; the program's own folder is the root."""
        return posixpath.relpath(posixpath.join("/", path), posixpath.join("/", start))

    names = "join basename dirname split splitext splitdrive normpath normcase isabs commonprefix commonpath sep curdir pardir"
    return listed(posixpath, names) | {
        "relpath": relpath, "getsize": _size, "expandvars": str,
        "getmtime": lambda filename: 0.0, "islink": lambda path: False, "isfile": is_file, "isdir": is_folder,
        "exists": lambda path: is_file(path) or is_folder(path),
        "abspath": lambda path: str(path), "expanduser": lambda path: str(path), "realpath": lambda path: str(path),
    }
