"""Where a shell's events go: the terminal, as wide as it is now; a command's long text through a pager."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from gradsh.contracts.events import Event, Result
from gradsh.render.style import Style, style_for
from gradsh.run.sinks import TextSink


class ShellSink(TextSink):
    """Writes events to the terminal. `paged` says whether long results may go through a pager."""

    def __init__(self, plain: bool, paged: Callable[[], bool] = lambda: False) -> None:
        super().__init__(sys.stdout, sys.stderr, Style(), Style())
        self.plain = plain
        self.colour = True
        self.paged = paged
        self.refresh()

    def refresh(self) -> None:
        """Look at the terminal anew: it may have been resized, or the streams replaced."""
        self.out, self.err = sys.stdout, sys.stderr
        self.style, self.err_style = (self._style(stream) for stream in (sys.stdout, sys.stderr))

    def _style(self, stream: object) -> Style:
        style = style_for(stream, plain=self.plain)
        return style if self.colour else style._replace(colour=False)

    def write(self, event: Event) -> None:
        """Write an event; a command's result that is longer than the screen is paged."""
        if type(event) is Result and self.paged() and sys.stdout.isatty():
            shown = self._text(event, self.style)
            if shown is not None:
                self.show(shown[1])
            return
        super().write(event)

    def show(self, text: str) -> None:
        """Write a text, through a pager where it is longer than the screen."""
        self.refresh()
        self.out.flush()
        rows = shutil.get_terminal_size((100, 24)).lines
        if text.count("\n") < rows or not self.paged() or not sys.stdout.isatty() or not page(text):
            self.out.write(text)
            self.out.flush()


def page(text: str) -> bool:
    """Show a text through the pager; return whether there is one. Ctrl-C is the pager's while it runs."""
    import signal

    words = os.environ.get("PAGER", "").split() or ["less"]
    if shutil.which(words[0]) is None:
        return False
    environment = {**os.environ, "LESS": os.environ.get("LESS", "-FRX")}
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: whoever owns that answers interrupts
        return False
    try:
        subprocess.run(words, input=text.encode("utf-8", "replace"), env=environment, check=False)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
