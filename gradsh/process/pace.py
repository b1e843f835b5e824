"""How far a long look at a graph is: told on the terminal's standard error after a second; there Ctrl-C can end it, too.

A command is given its `Pace`. What goes through many nodes takes them from `paced`, or calls `step` now and then.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, TypeVar

EVERY = 4096
"""Nodes from one step to the next: they take some milliseconds."""
PATIENCE = 1.0
"""Seconds after which it is told how far a command is."""
OFTEN = 0.1
"""Seconds from one drawing of the line to the next."""
One = TypeVar("One")


def is_redrawn(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which a line can be drawn anew."""
    return stream.isatty() and os.environ.get("TERM") not in {"dumb", ""}


class StatusLine:
    """A line on standard error, rewritten now and then; silent where no terminal shows it."""

    def __init__(self, *, plain: bool = False, wait: float = 0.0) -> None:
        self.shown = not plain and is_redrawn(sys.stderr)
        self._next = time.monotonic() + wait
        self._drawn = False

    def say(self, text: str) -> None:
        """Show a text in the place of the last one."""
        now = time.monotonic()
        if self.shown and now >= self._next:
            self._next = now + OFTEN
            self._drawn = True
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, before anything else is written."""
        if self._drawn:
            self._drawn = False
            self._next = 0.0
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Pace:
    """How far a command is; `check` lets an interrupt or a limit take effect, `alive` is how many nodes there are (0: unknown)."""

    def __init__(self, title: str, check: Callable[[], None], alive: int, *, plain: bool) -> None:
        self.title = title
        self.check = check
        self.alive = alive
        self.line = StatusLine(plain=plain, wait=PATIENCE)

    def step(self, done: int, total: int, what: str) -> None:
        """Take note that so many nodes have been gone through; may raise."""
        self.check()
        of = f" of {total:,}" if total >= done else ""
        self.line.say(f"{self.title}: {done:,}{of} nodes {what}")


_now: list[Pace] = []
"""The pace of the command that runs, and of those that it runs within."""


@contextmanager
def keeping(pace: Pace) -> Iterator[None]:
    """Have steps within the block told as a command's."""
    _now.append(pace)
    try:
        yield
    finally:
        _now.pop()
        pace.line.clear()


@contextmanager
def hushed() -> Iterator[None]:
    """Have nothing told within the block, in which a prompt or a full screen stands where the line would."""
    lines = [one.line for one in _now if one.line.shown]
    for line in lines:
        line.clear()
        line.shown = False
    try:
        yield
    finally:
        for line in lines:
            line.shown = True


def found(number: int) -> None:
    """Take note that a walk has found so many nodes."""
    if _now:
        _now[-1].step(number, _now[-1].alive, "found")


def paced(nodes: Sequence[One], what: str) -> Iterable[One]:
    """Return the nodes, to be gone through step by step; `what` says what is done to them."""
    return _steps(nodes, what) if _now and len(nodes) > EVERY else nodes


def _steps(nodes: Sequence[One], what: str) -> Iterator[One]:
    for start in range(0, len(nodes), EVERY):
        _now[-1].step(start, len(nodes), what)
        yield from nodes[start : start + EVERY]
