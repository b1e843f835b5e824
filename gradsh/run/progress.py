"""One line on standard error that says how far a run over many scripts is; silent where no terminal shows it."""

import os
import sys
import time


class ProgressLine:
    """Counts what is done and what failed, and redraws at most ten times a second."""

    def __init__(self, total: int, *, plain: bool) -> None:
        self.total = total
        self.done = self.failed = 0
        self.shown = sys.stderr.isatty() and not plain and os.environ.get("TERM") != "dumb"
        self._last = 0.0

    def step(self, *, failed: bool) -> None:
        """Count a script."""
        self.done += 1
        self.failed += failed
        now = time.monotonic()
        if self.shown and now - self._last > 0.1:
            self._last = now
            words = f", {self.failed} failed" if self.failed else ""
            sys.stderr.write(f"\r\x1b[K{self.done}/{self.total}{words}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, before anything else is written."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._last = 0.0
