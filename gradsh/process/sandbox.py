"""The kernel's wall around a script's process: what it gives up for good before the first statement, and what it keeps.

The guard of the language (runtime/guard.py) lets no script ask for files, processes or the network. The wall holds when the
guard fails: it binds the whole process, whatever code runs in it. Landlock holds files, seccomp everything else.
"""

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from gradsh.process import landlock, seccomp
from gradsh.process.blas_threads import SETTINGS
from gradsh.process.gc_policy import kept_open
from gradsh.process.libc import checked, libc

MODES = ("auto", "on", "off")
"""`auto`: the walls that this kernel has; `on`: both of them, or nothing is run."""
VARIABLES = frozenset({
    "TERM", "COLORTERM", "COLUMNS", "LINES", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE",
    "ACCESSIBLE", "GRADSH_DEBUG", *SETTINGS,
})  # fmt: skip
"""Environment variables that a script's process keeps, beside those of `LC_*`: how text is shown, how many threads there are."""
READABLE = (
    "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/dev/urandom", "/etc/fonts", "/usr/share/fonts", "/usr/local/share/fonts",
)
NOTHING = os.devnull
OPEN_FILES = 256
PR_SET_NO_NEW_PRIVS = 38
PATIENCE = 2.0
"""Seconds in which threads may end that stand in the way of a wall."""

_standing: list[str] = []
"""Names of the walls that stand in this process."""
_kept: set[int] = {0, 1, 2}
"""Open files that the process goes on with."""


_own: set[str] = set()
"""Folders that the program itself writes to: the shell's history."""


def own(folder: str) -> None:
    """Let the program go on writing to a folder of its own behind the wall."""
    _own.add(folder)


def keep(*handles: int) -> None:
    """Let open files stay open behind the wall."""
    _kept.update(handles)


def standing() -> tuple[str, ...]:
    """Return the names of the walls that stand in this process."""
    return tuple(_standing)


def lacking() -> list[str]:
    """Return what this system lacks of the walls that `--sandbox on` asks for."""
    return [
        *(() if landlock.abi() else ("Landlock (Linux 5.13 or newer, not switched off)",)),
        *(() if seccomp.available() else ("seccomp filters (Linux on x86_64 or aarch64)",)),
    ]


def insist() -> None:
    """Raise OSError where the walls would not hold in this process."""
    missing = " and ".join(lacking())
    if missing:
        raise OSError(f"this system has no {missing}")
    end = time.monotonic() + PATIENCE
    while threads() > 1 and time.monotonic() < end:  # one that is ending, as the editor's are
        time.sleep(0.01)
    if threads() > 1:
        raise OSError(
            "threads are running (of numpy or of `set timeout`), and a sandbox does not cover running threads: "
            "start gradsh with --sandbox on"
        )


def threads() -> int:
    """Return how many threads the process has: the wall binds the one that raises it and those it starts later."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208  # importing pathlib costs more than the wall
    except OSError:
        return 1


def enter(
    writable: Iterable[str] = (), seconds: float | None = None, *, readable: Iterable[str] = (), keep_input: bool = False
) -> None:
    """Give up, for good, all that a script does not need; does nothing where the walls stand already.

    The process keeps reading Python's own folders and the `readable` files, reading and writing the `writable` folders, its
    standard streams, and what `keep` was told of. `seconds` is the time it may take: the kernel ends it at a multiple of
    that. Raises OSError.
    """
    if _standing:
        return
    forget_environment()
    if not keep_input:
        close_files(_kept | {*kept_open()})
    bound_resources(seconds)
    checked(libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no-new-privileges")
    if landlock.abi():
        landlock.restrict((*python_folders(), *READABLE, *readable), (*writable, *_own, NOTHING))
        _standing.append("landlock")
    if seccomp.available():
        seccomp.restrict(at_a_prompt=keep_input)
        _standing.append("seccomp")


def python_folders() -> list[str]:
    """Return the folders that modules, compiled ones too, and the libraries of the system are loaded from, also long after the start."""
    import gradsh

    packages = (path for path in sys.path if path.rstrip("/").endswith(("site-packages", "dist-packages", "lib-dynload", ".zip")))
    own = [os.path.dirname(os.__file__), *packages, *(gradsh.__path__)]  # noqa: PTH120
    compiled = [sys.pycache_prefix + folder for folder in own] if sys.pycache_prefix else []
    return list(dict.fromkeys([*own, *compiled, *_library_folders()]))


def _library_folders() -> list[str]:
    """Folders of the shared libraries in use; further ones come from the same places."""
    with suppress(OSError), open("/proc/self/maps", "rb") as told:  # noqa: PTH123  # see above
        lines = {line.rstrip(b"\n").rpartition(b" ")[2] for line in told if b".so" in line}
        folders = {os.path.dirname(os.fsdecode(path)) for path in lines}  # noqa: PTH120
        return [folder for folder in folders if any(part.startswith("lib") for part in folder.split("/"))]
    return []


def forget_environment() -> None:
    """Drop environment variables that no script needs, also from the memory that the process began with."""
    import ctypes

    dropped = [name for name in os.environ if name not in VARIABLES and not name.startswith("LC_")]
    prefixes = tuple(os.fsencode(name) + b"=" for name in dropped)
    entries = []
    with suppress(ValueError):
        table = ctypes.POINTER(ctypes.c_void_p).in_dll(libc(), "environ")
        place = 0
        while table and table[place]:
            text = ctypes.string_at(table[place])
            if text.startswith(prefixes):
                entries.append((table[place], len(text)))
            place += 1
    for name in dropped:
        del os.environ[name]
    for address, length in entries:
        ctypes.memset(address, 0, length)


def close_files(kept: set[int]) -> None:
    """Close what whoever started the process left open, and let standard input be at its end."""
    handle = os.open(NOTHING, os.O_RDWR)
    os.dup2(handle, 0)
    low = 0
    for number in sorted(kept):
        if low < number:  # an empty range would be taken for all
            os.closerange(low, number)
        low = number + 1
    os.closerange(low, 1 << 20)


def bound_resources(seconds: float | None) -> None:
    """Leave no image of the memory behind, hold few files open, and take no processor for ever where time is limited."""
    import resource

    bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: OPEN_FILES}
    if seconds is not None:
        bounds[resource.RLIMIT_CPU] = int(seconds + 10) * (os.cpu_count() or 1)
    for kind, wanted in bounds.items():
        hard = resource.getrlimit(kind)[1]
        most = wanted if hard < 0 else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
