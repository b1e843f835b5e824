"""The C library of this process, opened once: what Python has no function for."""

import ctypes
import os
from functools import cache


@cache
def libc() -> ctypes.CDLL:
    """Return the C library; functions that fail leave their reason for `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """Return the result of a call. Raises OSError where it is negative."""
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """Make a system call; negative: it failed."""
    call = libc().syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *arguments))
