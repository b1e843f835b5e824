"""A shell with folders of its own, and a way to type at its editor."""

import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.application.current import AppSession
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from gradsh.golden.anew import anew
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
    return Host(RunOptions(), anew)


Type = Callable[..., list[str]]
LONGEST = 60.0
"""Seconds that a wait may take: only a hang reaches them."""
_STEADY = 3
"""How often in a row the editor must be found idle: between two looks it may take up what was typed last."""


def _idle(app: Application | None, source: PipeInput) -> bool:
    """Whether the editor stands and waits: all keys are taken, all candidates and suggestions found."""
    if app is None or not app.is_running or select.select([source.fileno()], [], [], 0)[0]:
        return False
    keys = app.key_processor
    if keys.input_queue or keys.key_buffer:
        return False
    timers = {"_poll_output_size", "wait"}  # of the terminal; for the rest of a sequence of keys, where there is none
    busy = {task.get_coro().__name__ for task in list(app._background_tasks) if not task.done()} - timers
    history = app.current_buffer._load_history_task
    return not busy and (history is None or history.done())


def typing(source: PipeInput, current: AppSession, stretches: tuple[str, ...]) -> threading.Thread:
    """Type in a thread: each stretch where the editor waits for it, then Ctrl-D on an empty line."""

    def run() -> None:
        with suppress(OSError):  # the shell has left before the last key
            for number, keys in enumerate((*stretches, "\x04")):
                if number:
                    settle()
                source.send_text(keys)
            begun = time.monotonic()
            while not stopped.wait(0.2):
                if time.monotonic() - begun > LONGEST:
                    source.send_text("\x03\x04")

    def settle() -> None:
        end, steady = time.monotonic() + LONGEST, 0
        while steady < _STEADY and time.monotonic() < end and not stopped.wait(0.01):
            steady = steady + 1 if _idle(current.app, source) else 0

    stopped = threading.Event()
    thread = threading.Thread(target=run, daemon=True)
    thread.stop = stopped.set
    thread.start()
    return thread


@pytest.fixture
def read(host: Host) -> Type:
    """Type keys (the last of them ends the input); return the statements that were read, without running them."""

    def typed(*stretches: str) -> list[str]:
        with create_pipe_input() as source, create_app_session(input=source, output=DummyOutput()) as current:
            thread = typing(source, current, stretches)
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
        with create_pipe_input() as source, create_app_session(input=source, output=DummyOutput()) as current:
            thread = typing(source, current, stretches)
            editor = Editor(host)
            host.start()
            status = loop(host, editor.read)
            thread.stop()
            thread.join()
            return status

    return typed
