"""What is tested in the sandbox's walls, for `gradsh --version --verbose`, the documents and the tests: nothing of it may succeed."""

import ctypes
import mmap
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gradsh.process import sandbox
from gradsh.process.libc import checked, libc, syscall

CALLS = {"x86_64": {"ptrace": 101, "io_uring_setup": 425, "shmget": 29}, "aarch64": {"ptrace": 117, "io_uring_setup": 425, "shmget": 194}}
SECRET = "GRADSH_TRIAL"  # the name of a variable


class Breakout(NamedTuple):
    """What a process tries that has broken out of the language: it raises where a wall holds. `wall` holds it."""

    what: str
    wall: str
    attempt: Callable[[str], object]
    """Takes the path of a file outside of what may be read."""


class Tried(NamedTuple):
    """How a trial went: `held`, and in which words."""

    what: str
    wall: str
    held: bool
    words: str


def _execute(_: str) -> None:
    os.execv(sys.executable, [sys.executable, "-c", "raise SystemExit(1)"])


def _execute_from_memory(_: str) -> None:
    handle = os.memfd_create("program")
    os.write(handle, b"#!/bin/false\n")
    os.execve(handle, ["program"], {})


def _send(_: str) -> None:
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("127.0.0.1", 9))


def _connect_locally(_: str) -> None:
    import socket

    socket.socket(socket.AF_UNIX).close()


def _type(_: str) -> None:
    import fcntl

    fcntl.ioctl(1, 0x5412, b"x")  # TIOCSTI


def _call(name: str, *arguments: int) -> Callable[[str], object]:
    return lambda _: checked(syscall(CALLS[os.uname().machine][name], *arguments), name)


def _environment(_: str) -> None:
    table = ctypes.POINTER(ctypes.c_char_p).in_dll(libc(), "environ")
    place = 0
    while text := table[place]:
        if SECRET.encode() in text:
            return
        place += 1
    if SECRET not in os.environ:
        raise OSError(0, "it is gone")


def _inherited(_: str) -> None:
    os.fstat(_open_before[0])


_open_before = [-1]

TRIALS = (
    Breakout("read a file of the user's", "Landlock", lambda path: open(path, "rb").read()),  # noqa: PTH123, SIM115
    Breakout("list a folder", "Landlock", lambda path: os.listdir(os.path.dirname(path))),  # noqa: PTH120, PTH208
    Breakout("read /proc/self/environ", "Landlock", lambda _: open("/proc/self/environ", "rb")),  # noqa: PTH123, SIM115
    Breakout("write a file", "Landlock", lambda path: open(path, "ab")),  # noqa: PTH123, SIM115
    Breakout("make a file", "Landlock", lambda path: open(path + "x", "wb")),  # noqa: PTH123, SIM115
    Breakout("delete a file", "Landlock", os.unlink),
    Breakout("make a folder", "Landlock", lambda path: os.mkdir(path + "y")),  # noqa: PTH102
    Breakout("change a file's rights", "seccomp", lambda path: os.chmod(path, 0o777)),  # noqa: PTH101
    Breakout("link to a file", "seccomp", lambda path: os.link(path, path + "z")),
    Breakout("run a program", "both", _execute),
    Breakout("run a program from memory", "seccomp", _execute_from_memory),
    Breakout("start a process", "seccomp", lambda _: os.fork() or os._exit(1)),
    Breakout("send over the network", "seccomp", _send),
    Breakout("connect to a local service", "seccomp", _connect_locally),
    Breakout("signal another process", "both", lambda _: os.kill(os.getppid(), signal.SIGCONT)),
    Breakout("signal a process group", "both", lambda _: os.killpg(0, signal.SIGCONT)),
    Breakout("trace another process", "both", _call("ptrace", 16, os.getpid())),
    Breakout("share memory with other processes", "seccomp", _call("shmget", 0, 4096, 0o1600)),
    Breakout("ask the kernel through io_uring", "seccomp", _call("io_uring_setup", 0, 0)),
    Breakout("type into the terminal", "seccomp", _type),
    Breakout("read the environment's secrets", "environment", _environment),
    Breakout("use a file that was left open", "closing", _inherited),
)


def tried() -> Iterator[Tried]:
    """Try everything, each in a process of its own behind the walls of this system."""
    with _prey() as path:
        for trial in TRIALS:
            held, words = _behind_the_walls(lambda trial=trial: trial.attempt(path))  # type: ignore[misc]
            yield Tried(trial.what, trial.wall, held, words)


def _behind_the_walls(attempt: Callable[[], object]) -> tuple[bool, str]:
    """Make an attempt in a process that has entered the sandbox; return whether it was refused, and how."""
    told = mmap.mmap(-1, 256)
    process = os.fork()
    if process == 0:
        try:
            sandbox.enter()
            attempt()
            os._exit(1)
        except OSError as error:
            told.write((error.strerror or str(error)).encode()[:250])
            os._exit(0)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    words = told[:].rstrip(b"\0").decode()
    return status == 0 and bool(words), words or f"it went through (status {status})"


@contextmanager
def _prey() -> Iterator[str]:
    """A file, an open file and a variable that a script has no business with."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
        _open_before[0] = os.dup(file.fileno())
        os.environ[SECRET] = "secret"
        try:
            yield file.name
        finally:
            del os.environ[SECRET]
            os.close(_open_before[0])
