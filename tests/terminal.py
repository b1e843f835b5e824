"""A real pseudo-terminal with a program in it: keys go in one by one, and the screen is read as a person sees it.

Nothing here waits for a time: every wait is for what the screen shows, with a bound that only a hang reaches.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[1]
BOUND = 60.0
"""Seconds after which a condition that does not come true fails the test."""
PROMPT, MORE = "grad>", "....>"


class Screen(pyte.Screen):
    """A screen that keeps what scrolled off, and answers the questions that programs ask of a terminal."""

    def __init__(self, columns: int, rows: int, reply: Callable[[str], None]) -> None:
        super().__init__(columns, rows)
        self.reply = reply
        self.scrolled: list[str] = []

    def line(self, y: int) -> str:
        """Return a row, with its blanks."""
        row = self.buffer[y]
        return "".join([row[x].data for x in range(self.columns)])

    def index(self) -> None:
        """Go down a row; on the last one, scroll."""
        if self.cursor.y == self.lines - 1:
            self.scrolled.append(self.line(0).rstrip())
        super().index()

    def write_process_input(self, data: str) -> None:
        """Send an answer (the cursor's place) to the program."""
        self.reply(data)


class Terminal:
    """A program in a pseudo-terminal (gradsh with `arguments`, unless `program` says another)."""

    def __init__(
        self, *arguments: str, columns: int = 100, rows: int = 40, program: tuple[str, ...] = (sys.executable, "-m", "gradsh"),
        folder: Path = ROOT, **environment: str,
    ) -> None:
        self.screen = Screen(columns, rows, self.press)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        """All that the program has written."""
        self._status: int | None = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self._become([*program, *arguments], folder, environment, (rows, columns))

    @staticmethod
    def _become(command: list[str], folder: Path, environment: dict[str, str], size: tuple[int, int]) -> None:
        """Turn the child into the program, with default signals and an environment of its own; `OUTPUT` names a file for its output."""
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "XDG_CONFIG_HOME", "XDG_STATE_HOME") if name in os.environ}
            os.chdir(folder)
            if log := environment.pop("OUTPUT", ""):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 1)
            given = {"TERM": "xterm-256color", "PAGER": "cat", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **environment}
            os.execvpe(command[0], command, kept | given)
        finally:
            os._exit(127)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        """End the program if it has not ended."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    # what is typed

    def press(self, keys: str) -> None:
        """Press keys, whatever the screen shows."""
        data = keys.encode()
        while data:
            if not select.select([], [self.fd], [], 0)[1]:
                self._take(BOUND)
                continue
            data = data[os.write(self.fd, data[:512]) :]

    def type(self, text: str) -> None:
        """Type a text and wait until it stands before the cursor (or its end does, where the row is too short)."""
        self.press(text)
        shown = text.strip()[-20:]
        self.until(lambda: self.before_cursor().endswith(shown), f"{text!r} before the cursor")

    def enter(self, line: str = "") -> None:
        """Type a line behind whatever margin stands there, and Enter; wait for the next prompt."""
        self.until(lambda: self.row().startswith((PROMPT, MORE)), f"a prompt for {line!r}")
        row = self.lines_so_far()
        self.press(line + "\r")
        self.until(lambda: self.lines_so_far() > row and self.at_prompt(), f"a prompt after {line!r}")

    def feed(self, text: str) -> None:
        """Type one statement, line by line, as a person does, with an empty line behind a block; wait for the prompt."""
        first, *more = text.split("\n")
        self.enter(first)
        for line in more:
            self.indent(len(line) - len(line.lstrip(" ")))
            self.enter(line.strip())
        while self.row().startswith(MORE):
            self.enter()

    def run(self, text: str) -> str:
        """Type one statement; return what it showed."""
        self.feed(text)
        return self.last_output()

    def indent(self, wanted: int) -> None:
        """Bring the cursor of a continued line to a column: the prompt may have indented it already."""
        margin = self.screen.cursor.x - len(MORE) - 1
        if margin != wanted:
            self.press("\x7f" * -(min(0, wanted - margin) // 4) + " " * max(0, wanted - margin))
            self.until(lambda: self.screen.cursor.x == len(MORE) + 1 + wanted, f"a margin of {wanted}")

    def resize(self, columns: int, rows: int = 40) -> None:
        """Give the terminal another size, as a person who pulls at the window's corner."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    # what is seen

    def row(self) -> str:
        """Return the row of the cursor, up to the cursor."""
        return self.screen.line(self.screen.cursor.y)[: self.screen.cursor.x]

    def before_cursor(self) -> str:
        """Return the rows of the input up to the cursor, joined where they wrap."""
        y = self.screen.cursor.y
        return (self.screen.line(y - 1) if y else "") + self.row()

    def at_prompt(self) -> bool:
        """Whether the cursor stands behind a prompt with nothing typed behind it."""
        row = self.row()
        return row.endswith(" ") and row.rstrip() in {PROMPT, MORE}

    def drawn(self) -> bool:
        """Whether the editor is not in the midst of a drawing: it hides the cursor, which walks over the screen then."""
        return not self.screen.cursor.hidden

    def lines_so_far(self) -> int:
        """Return the number of the cursor's row, counted from the beginning of the session."""
        return len(self.screen.scrolled) + self.screen.cursor.y

    def text(self) -> str:
        """Return everything the terminal shows and has scrolled off."""
        return "\n".join([*self.screen.scrolled, self.shown()])

    def shown(self) -> str:
        """Return the screen."""
        return "\n".join(row.rstrip() for row in self.screen.display).rstrip()

    def last_output(self) -> str:
        """Return what stands between the last input and the prompt."""
        rows = self.text().split("\n")[: self.lines_so_far()]
        start = max((at for at, row in enumerate(rows) if row.startswith((PROMPT, MORE))), default=-1)
        return "\n".join(rows[start + 1 :])

    def see(self, text: str) -> str:
        """Wait until the terminal shows `text`; return the screen."""
        self.until(lambda: text in self.shown(), repr(text))
        return self.shown()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Read what the program writes until a condition of the screen holds, with the screen drawn to its end."""
        end = time.monotonic() + BOUND
        while not (self.drawn() and condition()):
            if not self._take(end - time.monotonic()):
                raise AssertionError(f"waited for {what}; the terminal shows:\n{self.shown()}")

    def status(self) -> int:
        """Wait for the program's end; return its exit status."""
        end = time.monotonic() + BOUND
        while self._take(end - time.monotonic()):
            continue
        assert time.monotonic() < end, f"the program did not end:\n{self.shown()}"
        self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def _take(self, seconds: float) -> bool:
        """Take what the program writes within some seconds; return False if nothing comes, or it has ended."""
        if seconds <= 0 or not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:  # Linux: nobody has the other end any more
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)
