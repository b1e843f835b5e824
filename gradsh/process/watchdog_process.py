"""The last resort against a script that nothing can stop: one call of C code that keeps the interpreter for itself.

Neither a thread nor a signal handler of Python runs then. So a small process, forked before, tells what happened, and
`faulthandler`, whose thread needs no interpreter, ends the process. Used only where a time limit was set and the process
may be ended.
"""

import faulthandler
import json
import mmap
import os
import select
import signal
import struct
from typing import Any

from gradsh.process import sandbox
from gradsh.process.files import write_whole

_made: "list[Guardian | LineCell | None]" = []


def guardian() -> "Guardian | LineCell | None":
    """Return this process's guardian, forked on first use; None where processes cannot be forked."""
    if not _made:
        try:
            _made.append(Guardian())
        except (AttributeError, OSError):
            _made.append(None)
    return _made[0]


def stand_in(cell: "LineCell") -> None:
    """Let this process have no guardian but its parent, which looks at `cell`."""
    _made[:] = [cell]


class LineCell:
    """The line of the top-level statement that runs, in memory that other processes see."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    def at(self, line: int) -> None:
        """Note the line of the top-level statement that begins."""
        struct.pack_into("q", self._memory, 0, line)

    def line(self) -> int:
        """Return the line that was noted last."""
        return int(struct.unpack_from("q", self._memory, 0)[0])

    def arm(self, seconds: float, name: str, message: str, *, as_json: bool, rescue: tuple[str, str] | None = None) -> None:
        """Do nothing: whoever looks at the cell watches over the time."""

    def disarm(self) -> None:
        """Do nothing."""


class Guardian(LineCell):
    """A process that waits for a time and then writes a message."""

    def __init__(self) -> None:
        super().__init__()
        self._silent = os.open(os.devnull, os.O_WRONLY)
        reader, self._writer = os.pipe()
        parent = os.getpid()
        if os.fork() == 0:
            try:
                os.close(self._writer)
                _wait(reader, self, parent)
            finally:
                os._exit(0)
        os.close(reader)
        sandbox.keep(self._writer, self._silent)

    def arm(self, seconds: float, name: str, message: str, *, as_json: bool, rescue: tuple[str, str] | None = None) -> None:
        """After so many seconds, have `rescue` (path, text) written, the message told and this process ended, with status 1."""
        self._say([seconds, name, message, as_json, rescue])
        faulthandler.dump_traceback_later(seconds + 0.5, exit=True, file=self._silent)

    def disarm(self) -> None:
        """Forget what was armed."""
        faulthandler.cancel_dump_traceback_later()
        self._say([None])

    def _say(self, what: list[object]) -> None:
        try:
            os.write(self._writer, json.dumps(what).encode() + b"\n")
        except OSError:
            return


def _wait(reader: int, cell: LineCell, parent: int) -> None:
    """Do the guardian's work: wait until the time of the latest order is over, or until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order: list[Any] = [None]
    held = b""
    while True:
        if not select.select([reader], [], [], order[0])[0]:
            _tell(order, cell.line())
            os._exit(0)
        data = os.read(reader, 65536)
        if not data:
            os._exit(0)
        *orders, held = (held + data).split(b"\n")
        if orders:
            order = json.loads(orders[-1])


def _tell(order: list[Any], line: int) -> None:
    _, name, message, as_json, rescue = order
    if as_json:
        event = {"event": "error", "line": line, "top": line, "kind": "limit", "message": message, "spans": [], "help": []}
        os.write(1, json.dumps(event).encode() + b"\n")
    else:
        text = f"error[limit]: {message}\n  {name}:{line}\n{rescued(*rescue) if rescue else ''}"
        os.write(2, text.encode(errors="backslashreplace"))


def rescued(path: str, text: str) -> str:
    """Write what would be lost, and return the line that says where it is."""
    from pathlib import Path

    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(Path(path), text.encode())
    except (OSError, ValueError) as error:
        return f"the session was not saved, and could not be written to {path}: {error}\n"
    return f"the session was not saved; it is kept in {path} (`load` restores it)\n"
