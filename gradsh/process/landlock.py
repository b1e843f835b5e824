"""Landlock, by system calls: the kernel's list of the files that this process may still reach.

What a script needs is decided in sandbox.py. The constants are those of linux/landlock.h, ABI 1 to 7.
"""

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from stat import S_ISDIR

from gradsh.process.libc import checked, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, the same on every architecture."""
ASK_VERSION = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG = 1 << 7, 1 << 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FILES_BY_ABI = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
"""ABI -> the rights to files that a ruleset of this ABI handles in addition."""
NETWORK_ABI, SCOPE_ABI = 4, 6
NETWORK, SCOPE = 0b11, 0b11
"""Bind and connect TCP; abstract sockets and signals. No rule allows any of them."""

READ = READ_FILE | READ_DIR
WRITE = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
OF_A_FILE = READ_FILE | WRITE_FILE | TRUNCATE


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("rights", ctypes.c_uint64), ("handle", ctypes.c_int32))


@cache
def abi() -> int:
    """Return the ABI that the kernel offers; 0 where it has no Landlock, or does not use it."""
    if os.uname().sysname != "Linux":
        return 0
    return max(0, syscall(CREATE_RULESET, None, 0, ASK_VERSION))


def restrict(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Give up all files but these, and folders with all that is below; no new connections; no signals to other processes.

    It binds this thread and those it starts later. The process must have set no-new-privileges. Raises OSError.
    """
    handled = sum(bits for version, bits in FILES_BY_ABI.items() if version <= abi())
    attributes = _Ruleset(handled, NETWORK if abi() >= NETWORK_ABI else 0, SCOPE if abi() >= SCOPE_ABI else 0)
    size = 24 if abi() >= SCOPE_ABI else 16 if abi() >= NETWORK_ABI else 8
    ruleset = checked(syscall(CREATE_RULESET, ctypes.byref(attributes), size, 0), "Landlock")
    try:
        for path in readable:
            _allow(ruleset, path, READ & handled)
        for path in writable:
            _allow(ruleset, path, (READ | WRITE) & handled)
        checked(syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # what cannot be opened need not be allowed
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            mine = rights if S_ISDIR(os.fstat(handle).st_mode) else rights & OF_A_FILE
            rule = ctypes.byref(_Rule(mine, handle))
            checked(syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0), "Landlock")
        finally:
            os.close(handle)
