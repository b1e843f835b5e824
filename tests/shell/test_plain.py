"""The plain prompt, and the shell in a real terminal (tmux), as a person sees it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradsh.shell import is_plain
from gradsh.shell.output import ShellSink, page
from gradsh.view.shapes import Lines

ROOT = Path(__file__).parents[2]


class Terminal:
    """A shell in a pseudo-terminal: what is typed, what is shown."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(environment)
            os.chdir(ROOT)
            if "GRADSH_LOG" in environment:
                os.dup2(os.open(environment["GRADSH_LOG"], os.O_WRONLY | os.O_CREAT), 1)
            os.execv(sys.executable, [sys.executable, "-m", "gradsh", *arguments])
        self.shown = ""

    def see(self, text: str, seconds: float = 40.0) -> str:
        """Wait until `text` is shown after what was seen before; return what came."""
        end = time.monotonic() + seconds
        found = b""
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    found += os.read(self.fd, 65536)
                except OSError:
                    break
            if text.encode() in found:
                return found.decode(errors="replace")
        raise AssertionError(f"{text!r} was not shown: {found[-2000:]!r}")

    def type(self, text: str) -> None:
        """Type keys."""
        os.write(self.fd, text.encode())

    def status(self) -> int:
        """Wait for the end; return the exit status."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(self.pid, 9)
        raise AssertionError("the shell did not end")


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [((), {"TERM": "dumb"}), (("--plain",), {"TERM": "xterm"}), ((), {"TERM": "xterm", "ACCESSIBLE": "1"})],
)
def test_the_plain_prompt_has_no_escapes_and_no_drawing(arguments, environment) -> None:
    shell = Terminal(*arguments, **environment)
    shown = shell.see("grad> ")
    shell.type("x = ones(2, requires_grad=True)\rz = (x * x).sum()\rgraph z\rfor i in range(2):\r    print('p', i)\r\r1/0\r")
    shown += shell.see("divided by zero;")
    shell.type("quit\r")
    assert shell.status() == 0
    assert "\x1b" not in shown
    assert shown.isascii()
    assert "AccumulateGrad" in shown
    assert "p 1" in shown


def test_a_pipe_behind_the_shell_gets_output_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    shell = Terminal(TERM="xterm", GRADSH_LOG=str(log))
    shell.see("grad> ")
    shell.type("1 + 41\r")
    shell.see("grad> ")
    shell.type("quit 3\r")
    assert shell.status() == 3
    assert log.read_text() == "42\n"


def test_ctrl_c_ends_a_loop_and_not_the_session() -> None:
    shell = Terminal(TERM="dumb")
    shell.see("grad> ")
    shell.type("x = 1\rwhile True: x = x + 1\r\r")
    time.sleep(2.5)
    begun = time.monotonic()
    shell.type("\x03")
    shell.see("interrupt")
    assert time.monotonic() - begun < 1.0
    shell.type("print('x is', x > 1)\r")
    shell.see("x is True")
    shell.type("quit 4\r")
    assert shell.status() == 4


def test_what_makes_a_terminal_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert is_plain()  # no terminal is there
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(isatty=lambda: True))
    assert not is_plain()
    assert is_plain(True)
    monkeypatch.setenv("TERM", "dumb")
    assert is_plain()


def test_long_results_go_through_the_pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {seen}\n")
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    assert page("a\n" * 100)
    assert seen.read_text() == "a\n" * 100
    monkeypatch.setenv("PAGER", str(tmp_path / "none"))
    assert not page("a\n" * 100)


def test_results_are_not_paged_without_a_terminal(capsys) -> None:
    from gradsh.events import Result

    sink = ShellSink(False, lambda: True)
    sink(Result(1, "help", None, lambda: Lines(("line",) * 500)))
    assert capsys.readouterr().out.count("line\n") == 500


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[list[str]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    command = ["tmux", "-L", f"gradsh-{os.getpid()}", "-f", "/dev/null"]
    start = [*command, "new-session", "-d", "-s", "a", "-x", "60", "-y", "20", f"cd {ROOT} && {sys.executable} -m gradsh; sleep 60"]
    environment = {name: value for name, value in os.environ.items() if name != "PROMPT_TOOLKIT_NO_CPR"}
    environment["TERM"] = "xterm-256color"
    subprocess.run(start, check=True, env=environment)
    yield command
    subprocess.run([*command, "kill-session", "-t", "a"], check=False)


def screen(tmux: list[str], text: str) -> str:
    """Wait until the screen shows `text`; return it."""
    shown = ""
    for _ in range(200):
        shown = subprocess.run([*tmux, "capture-pane", "-p", "-t", "a"], capture_output=True, text=True, check=True).stdout
        if text in shown:
            return shown
        time.sleep(0.1)
    raise AssertionError(f"{text!r} is not on the screen:\n{shown}")


def keys(tmux: list[str], *pressed: str) -> None:
    subprocess.run([*tmux, "send-keys", "-t", "a", *pressed], check=True)


def test_a_screen_of_60_columns(tmux: list[str]) -> None:
    greeting = screen(tmux, "grad>").split("\n")
    assert greeting[0].startswith("gradsh")
    assert greeting[2].startswith("grad>")
    keys(tmux, "x = ones(2, requires_grad=True)", "Enter")
    screen(tmux, "1 tensor")
    keys(tmux, "x.requires_g")
    screen(tmux, "requires_grad_")
    keys(tmux, "C-c")
    keys(tmux, "mse_loss(x, ")
    screen(tmux, "mse_loss(input, target")
    keys(tmux, "C-c")
    keys(tmux, "help", "Enter")
    shown = screen(tmux, "New here?")
    assert "tour" in shown
    keys(tmux, "quit 5", "Enter")
