"""Runs the program as a person does: as a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Run(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def gradsh(tmp_path: Path) -> Callable[..., Run]:
    def run(*args: str, text: str | bytes = "", env: dict[str, str] | None = None) -> Run:
        data = text.encode() if isinstance(text, str) else text
        done = subprocess.run(
            [sys.executable, "-m", "gradsh", *args], input=data, capture_output=True, cwd=tmp_path, timeout=60,
            env={**_environment(), **(env or {})}, check=False,
        )
        return Run(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run


def _environment() -> dict[str, str]:
    import os

    root = str(Path(__file__).parents[2])
    keep = {name: value for name, value in os.environ.items() if name not in {"CI", "GITHUB_ACTIONS", "NO_COLOR"}}
    return {**keep, "PYTHONPATH": root, "OPENBLAS_NUM_THREADS": "1"}
