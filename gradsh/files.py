"""Writing files so that a crash, a full disk or a kill leaves the old one or the new one, never half of one."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the file, sync, rename over it. Keeps the mode of a file that was there.

    Raises OSError, which names the file itself and not the one beside it.
    """
    try:
        _write(path.resolve() if path.is_symlink() else path, data)
    except OSError as error:
        error.filename = str(path)
        raise


def _write(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
