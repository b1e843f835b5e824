"""Reads scripts: files, pipes and standard input, which may hold anything."""

import errno
import sys
from typing import TYPE_CHECKING, BinaryIO

from gradsh.text.tuples import NamedTuple

if TYPE_CHECKING:
    import os

LARGEST = 256 << 20
"""Bytes of the largest script that is read at all."""
PIECE = 1 << 20
PATIENCE = 2.0
"""Seconds that a pipe is waited for until somebody opens it to write."""


class Script(NamedTuple):
    """A script's name and text, or, where it could not be read, the reason."""

    name: str
    text: str
    unreadable: str = ""


def code_script(code: str) -> Script:
    """Return the script of `-c CODE`; bytes of the command line that are no UTF-8 arrive as lone surrogates."""
    try:
        code.encode()
    except UnicodeEncodeError:
        return Script("<code>", "", "it is not UTF-8")
    return Script("<code>", code)


def _bytes_of(name: str) -> bytes:
    """Read a file, or standard input; no more than tells that it is too large (a device may never end)."""
    if name == "-":
        return _beginning(sys.stdin.buffer)
    handle, piped = _opened(name)
    with open(handle, "rb") as file:  # noqa: PTH123  # importing pathlib costs as much as the lexer, parser and compiler
        return _piped(handle) if piped else _beginning(file)


def _opened(name: str) -> tuple[int, bool]:
    """Open what a name leads to for reading, without waiting; return whether it is a pipe, too.

    Raises OSError, also for a device that is no terminal and not the empty one: none of the others ends.
    """
    import os
    import stat

    handle = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(handle)
        _check_readable(found, os.isatty(handle))
        piped = stat.S_ISFIFO(found.st_mode)
        os.set_blocking(handle, not piped)
    except BaseException:
        os.close(handle)
        raise
    return handle, piped


def _check_readable(found: "os.stat_result", terminal: bool) -> None:
    import os
    import stat

    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    empty = stat.S_ISCHR(found.st_mode) and os.path.samestat(found, os.stat(os.devnull))  # noqa: PTH116
    if stat.S_ISBLK(found.st_mode) or (stat.S_ISCHR(found.st_mode) and not terminal and not empty):
        raise OSError(errno.EINVAL, "it is a device")


def _piped(handle: int) -> bytes:
    """Read a pipe to its end, once somebody has it open for writing; raises OSError if nobody does for a while."""
    import os
    import select
    import time

    parts: list[bytes] = []
    left, written, end = LARGEST + 1, False, time.monotonic() + PATIENCE
    while left > 0:
        try:
            part = os.read(handle, min(left, PIECE))
        except BlockingIOError:
            written = True
            select.select([handle], [], [])
            continue
        if part:
            written = True
            parts.append(part)
            left -= len(part)
        elif written:
            break
        elif time.monotonic() > end:
            raise OSError(errno.EPIPE, "no process writes to this pipe")
        else:
            time.sleep(0.02)
    return b"".join(parts)


def _beginning(file: BinaryIO) -> bytes:
    """Read in pieces: one call would take the largest script's memory for each, and count it as the process's own."""
    parts, left = [], LARGEST + 1
    while left > 0 and (part := file.read(min(left, PIECE))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_script(name: str) -> Script:
    """Read a script from a file, or from standard input for `-`; never raises for what a file may hold."""
    shown = "<stdin>" if name == "-" else name
    try:
        data = _bytes_of(name)
    except OSError as error:
        return Script(shown, "", error.strerror or str(error))
    except ValueError as error:  # a NUL byte in the name
        return Script(shown, "", str(error))
    if len(data) > LARGEST:
        return Script(shown, "", f"it has more than {LARGEST:,} bytes")
    try:
        return Script(shown, data.decode("utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Script(shown, "", f"line {line} is not UTF-8 (byte 0x{data[error.start]:02x})")
