"""A shell with folders of its own, and a way to type at its editor."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from gradsh.cli.dispatch import with_expectations
from gradsh.run.script import RunOptions
from gradsh.shell.editor import Editor
from gradsh.shell.host import Host, loop


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    for name in ("NO_COLOR", "COLORFGBG", "ACCESSIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def host(capsys) -> Host:
    return Host(RunOptions(), with_expectations)


Type = Callable[..., list[str]]
PAUSE = 0.15
"""Seconds between two stretches of keys: what was read before must be in the history, suggestions take a moment."""
LONGEST = 20.0
"""Seconds after which the end of input is sent again and again: a test that waits for more would wait for ever."""


def typing(source, stretches: tuple[str, ...]) -> threading.Thread:
    """Type in a thread: each stretch after a pause, then Ctrl-D on an empty line."""

    def run() -> None:
        with suppress(OSError):  # the shell has left before the last key
            send()

    def send() -> None:
        for number, keys in enumerate((*stretches, "\x04")):
            time.sleep(PAUSE if number else 0)
            source.send_text(keys)
        begun = time.monotonic()
        while not stopped.wait(0.2):
            if time.monotonic() - begun > LONGEST:
                source.send_text("\x03\x04")

    stopped = threading.Event()
    thread = threading.Thread(target=run, daemon=True)
    thread.stop = stopped.set
    thread.start()
    return thread


@pytest.fixture
def read(host: Host) -> Type:
    """Type keys (the last of them ends the input); return the statements that were read, without running them."""

    def typed(*stretches: str) -> list[str]:
        with create_pipe_input() as source, create_app_session(input=source, output=DummyOutput()):
            thread = typing(source, stretches)
            editor = Editor(host)
            found = []
            while (text := editor.read()) is not None:
                found.append(text)
            thread.stop()
            thread.join()
            return found

    return typed


@pytest.fixture
def session(host: Host) -> Callable[..., int]:
    """Type keys at a whole shell, which runs what it reads; return the exit status."""

    def typed(*stretches: str) -> int:
        with create_pipe_input() as source, create_app_session(input=source, output=DummyOutput()):
            thread = typing(source, stretches)
            editor = Editor(host)
            host.start()
            status = loop(host, editor.read)
            thread.stop()
            thread.join()
            return status

    return typed
