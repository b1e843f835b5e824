"""One line on standard error that says how far a run over many scripts is; silent where no terminal shows it."""

from gradsh.process.pace import StatusLine


class ProgressLine(StatusLine):
    """Counts what is done and what failed."""

    def __init__(self, total: int, *, plain: bool) -> None:
        super().__init__(plain=plain)
        self.total = total
        self.done = self.failed = 0

    def step(self, *, failed: bool) -> None:
        """Count a script."""
        self.done += 1
        self.failed += failed
        self.say(f"{self.done}/{self.total}" + (f", {self.failed} failed" if self.failed else ""))
