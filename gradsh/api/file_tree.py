"""The files and folders of a session, by whole names: what a program writes is kept there, and no file of the disk is touched.

Of the disk two things are asked: the name of the working folder, and whether a folder is there in which a program writes.
"""

import errno
import os
import posixpath
import re
from fnmatch import fnmatchcase
from typing import Any

from gradsh.engine.ambient import current
from gradsh.text.fault import fail

FOLDER = object()
"""What the session holds under a folder's name."""
_WORKING = "working folder"
"""The flag that holds the folder which the program went to."""
READ_OWN = "a script reads what it wrote itself: make the data with `torch.randn`, or run it with `gradsh trace FILE`"


def working_folder() -> str:
    """Return the folder from which names start that begin with no `/`."""
    return str(current().flags.get(_WORKING) or os.getcwd())  # noqa: PTH109


def whole(path: object) -> str:
    """Return a name as it is from the root on."""
    return posixpath.normpath(posixpath.join(working_folder(), str(path)))


def is_file(path: object) -> bool:
    """Tell whether the program wrote a file of this name."""
    return current().files.get(whole(path), FOLDER) is not FOLDER


def is_folder(path: object) -> bool:
    """Tell whether the program made a folder of this name or wrote into it, or runs there."""
    name = whole(path)
    return str(path) != "" and (current().files.get(name) is FOLDER or f"{working_folder()}/".startswith(f"{name.rstrip('/')}/"))


def exists(path: object) -> bool:
    """Tell whether the program wrote a file of this name or made a folder."""
    return is_file(path) or is_folder(path)


def parent_exists(path: object) -> bool:
    """Tell whether a file or a folder of this name can be made: its folder is the session's, or is on the disk."""
    parent = posixpath.dirname(whole(path))
    return is_folder(parent) or (not is_file(parent) and _is_on_disk(parent))


def _is_on_disk(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112  (pathlib is a part of the start)


def refused(number: int, path: object, way: str = "", to: object = None) -> Exception:
    """Return Python's error of a number of `errno` for a name, and the one `to` which it was to go; the caller raises it."""
    error = OSError(number, os.strerror(number), str(path), None, None if to is None else str(to))
    return fail("io", str(error), type(error), name=str(path), way=way)


def no_such(path: object) -> Exception:
    """Return the error for a file or folder that the program has not written; the caller raises it."""
    return refused(errno.ENOENT, path, READ_OWN)


def way_to_folder(path: object) -> str:
    """Return the sentence that says how a program makes the folder in which a file is to be."""
    return f"make the folder first: `os.makedirs('{posixpath.dirname(str(path))}', exist_ok=True)`"


def taken(path: object, way: str = READ_OWN) -> Any:
    """Return what the program wrote. Raises FileNotFoundError, with the `way` to do without the file, and IsADirectoryError."""
    if is_folder(path):
        raise refused(errno.EISDIR, path)
    if not is_file(path):
        raise refused(errno.ENOENT, path, way)
    return current().files[whole(path)]


def keep(path: object, content: object) -> None:
    """Write a file. Raises FileNotFoundError where its folder is not there, and IsADirectoryError for a folder."""
    if str(path) == "" or not parent_exists(path):
        raise refused(errno.ENOENT, path, way_to_folder(path))
    if is_folder(path):
        raise refused(errno.EISDIR, path)
    _put(whole(path), content)


def _put(name: str, content: object) -> None:
    """Hold a file or a folder, and with it the folders on the way there."""
    current().files[name] = content
    while (name := posixpath.dirname(name)) not in current().files and name != "/":
        current().files[name] = FOLDER


def make_folder(path: object, exist_ok: bool = False, parents: bool = True) -> None:
    """Make a folder, and those above it. Raises FileExistsError, and without `parents` FileNotFoundError."""
    if is_file(path) or (is_folder(path) and not exist_ok):
        raise refused(errno.EEXIST, path)
    if str(path) == "" or not (parents or parent_exists(path)):
        raise refused(errno.ENOENT, path, way_to_folder(path))
    _put(whole(path), FOLDER)


def enter(path: object) -> None:
    """Make a folder the one from which names start. Raises FileNotFoundError."""
    name = whole(path)
    if not is_folder(name) and not _is_on_disk(name):
        raise refused(errno.ENOTDIR, path) if is_file(name) else refused(errno.ENOENT, path)
    current().flags[_WORKING] = name


def below(path: object) -> list[str]:
    """Return the whole names of all that the session has in a folder and in the folders in it, in their order."""
    start = whole(path).rstrip("/") + "/"
    return sorted(name for name in current().files if name.startswith(start))


def listed(path: object = ".") -> list[str]:
    """Return the names in a folder. Raises FileNotFoundError and NotADirectoryError."""
    if is_file(path):
        raise refused(errno.ENOTDIR, path)
    if not is_folder(path):
        raise no_such(path)
    start = len(whole(path).rstrip("/")) + 1
    return [name[start:] for name in below(path) if "/" not in name[start:]]


def matching(path: object, pattern: str) -> list[str]:
    """Return what is below a folder, as seen from there, and fits a pattern: `*` is of one name, `**` means any folders."""
    start = len(whole(path).rstrip("/")) + 1
    parts = [part for part in re.sub(r"(\*\*/)+", "**/", pattern).split("/") if part != "."]
    return [name[start:] for name in below(path) if _fits(name[start:].split("/"), parts)]


def _fits(names: list[str], parts: list[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_fits(names[skipped:], parts[1:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])


def remove(path: object) -> None:
    """Forget a file. Raises FileNotFoundError and IsADirectoryError."""
    taken(path)
    del current().files[whole(path)]


def remove_folder(path: object, empty: bool = False) -> None:
    """Forget a folder and what is in it. Raises OSError where it must be `empty` and is not."""
    if listed(path) and empty:
        raise refused(errno.ENOTEMPTY, path)
    for name in (*below(path), whole(path)):
        current().files.pop(name, None)


def move(src: object, dst: object) -> str:
    """Give a file, or a folder with what is in it, another name."""
    if not exists(src) or not parent_exists(dst):
        raise refused(errno.ENOENT, src, way_to_folder(dst) if exists(src) else READ_OWN, dst)
    old, new = whole(src), whole(dst)
    for name in [*below(src), old]:
        _put(new + name.removeprefix(old), current().files.pop(name))
    return str(dst)


def into(src: object, dst: object) -> str:
    """Return the name that a file gets which is copied or moved to `dst`: where that is a folder, its own name there."""
    return posixpath.join(str(dst), posixpath.basename(str(src).rstrip("/"))) if is_folder(dst) else str(dst)
