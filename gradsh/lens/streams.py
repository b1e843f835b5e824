"""Standard streams while a program runs: its output as events, and lines that begin with the rank of the process."""

import io
from collections.abc import Callable
from typing import Any

from gradsh.lens.ranks import rank


def ranked(stream: object) -> Any:
    """Return a stream whose lines carry the rank of this process, where it is one of several."""
    number = rank()
    return stream if number is None else Ranked(stream, f"[rank {number}] ")


class Ranked(io.TextIOBase):
    """A stream that begins each line with the rank."""

    def __init__(self, stream: Any, mark: str) -> None:
        self.stream = stream
        self.mark = mark

    def write(self, text: str) -> int:
        """Write whole lines, each with the mark."""
        self.stream.write("".join(self.mark + line for line in text.splitlines(keepends=True)))
        return len(text)

    def flush(self) -> None:
        """Bring out what was written."""
        self.stream.flush()


class Printed(io.TextIOBase):
    """Standard output while a script runs: what is written is told."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.told = tell

        self.begun = ""

    def write(self, text: str) -> int:
        """Tell the lines that are whole."""
        done, end, self.begun = (self.begun + text).rpartition("\n")
        if end:
            self.told(done + end)
        return len(text)

    def flush(self) -> None:
        """Tell a line that is not whole yet."""
        begun, self.begun = self.begun, ""
        if begun:
            self.told(begun)

    def writable(self) -> bool:
        """Return True."""
        return True
