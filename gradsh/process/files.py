"""Reading and writing files that a person names: writing so that a crash, a full disk or a kill leaves the old one or the new
one, never half of one; reading no more than a file can sensibly hold, and never waiting for a pipe.
"""

import errno
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

PART = ".gradsh-part"
"""How the names of files end that are being written; they begin with a dot, so that nothing else picks them up."""
FORGOTTEN = 60.0
"""Seconds after which such a file that nobody holds is taken away: the process that wrote it was killed."""
OPEN_ALREADY = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
LARGEST = 256 << 20
"""Bytes of the largest file that is read."""


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the file, sync, rename over it. Keeps the mode of a file that was there, and the link that led to it.

    A device or a pipe is written to as it is. Raises OSError, which names the file itself and not the one beside it.
    """
    try:
        if _is_stream(path):
            _pour(path, data)
        else:
            _write(Path(os.path.realpath(path)), data)
    except OSError as error:
        error.filename = str(path)
        raise


def read_text(path: Path) -> str:
    """Return a file's text. Raises OSError, also for what is no ordinary file or too large; UnicodeDecodeError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if found.st_size > LARGEST:
            raise OSError(errno.EFBIG, f"it has more than {LARGEST:,} bytes", str(path))
        return file.read(LARGEST).decode("utf-8")


def _is_stream(path: Path) -> bool:
    """Whether a path leads to a device or a pipe, or to what the process has open (`/dev/stdout`). Raises OSError for a folder."""
    if str(path).startswith(OPEN_ALREADY):
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _pour(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY)  # a pipe that nobody reads: an error
    with os.fdopen(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.write(data)


def _write(path: Path, data: bytes) -> None:
    before = path.stat() if path.exists() else None
    if before is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    _tidy(path.parent)
    part = path.parent / f".{path.name[:60]}.{secrets.token_hex(6)}{PART}"
    handle = _created(part, None if before is None else stat.S_IMODE(before.st_mode))
    try:
        with os.fdopen(handle, "wb") as file:
            _hold(handle)
            file.write(data)
            file.flush()
            if before is not None and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(OSError):
                    os.fchown(handle, before.st_uid, before.st_gid)
            os.fsync(handle)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _tidy(folder: Path) -> None:
    """Take away what a killed process has left in the folder; what another one is writing is held by it."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(PART) and entry.name[0] == ".":
                _take_away(Path(entry.path))


def _take_away(part: Path) -> None:
    with suppress(OSError):
        if time.time() - part.lstat().st_mtime < FORGOTTEN:
            return
        handle = os.open(part, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _hold(handle):
                part.unlink()
        finally:
            os.close(handle)


def _hold(handle: int) -> bool:
    """Lock a file while this process has it open; False where another one does."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return True
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _created(part: Path, mode: int | None) -> int:
    """Open a new file that has exactly this mode from its birth, or the usual one for None."""
    mask = os.umask(0)
    try:
        return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666 & ~mask if mode is None else mode)
    finally:
        os.umask(mask)
