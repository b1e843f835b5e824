"""Runs `gradsh trace`, gradsh and Python programs in a forked process, so that PyTorch is imported once for many programs."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Traced(NamedTuple):
    """What a run wrote, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


def trace(*words: str, folder: Path | None = None) -> Traced:
    """Run `gradsh trace` with these words, in a folder."""
    from gradsh.lens.tracing import main

    return forked(lambda: main(list(words)), folder)


def run_python(path: Path) -> Traced:
    """Run a Python program as `python` does."""
    import runpy

    return forked(lambda: runpy.run_path(str(path), run_name="__main__") and 0, path.parent)


def forked(action: Callable[[], int], folder: Path | None = None) -> Traced:
    """Run `action` in a process of its own, with streams of its own."""
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run(action, out, err, folder)
        _, status = os.waitpid(child, 0)
        return Traced(os.waitstatus_to_exitcode(status), out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


def _run(action: Callable[[], int], out: Path, err: Path, folder: Path | None) -> None:
    """Run in the child, which never returns."""
    status = 0
    try:
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        import threading
        import warnings

        threading.excepthook = threading.__excepthook__  # pytest has put its own there
        warnings.resetwarnings()
        if folder is not None:
            os.chdir(folder)
        try:
            status = action()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001
        import traceback

        traceback.print_exc()
        status = 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)
