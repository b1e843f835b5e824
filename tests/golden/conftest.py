"""Runs `gradsh test` in this process, in a folder of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.golden.runner import GoldenOptions, run_tests

Golden = Callable[..., tuple[int, str, str]]


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Golden:
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def run(*paths: str, **options: object) -> tuple[int, str, str]:
        status = run_tests(GoldenOptions(paths=paths or (".",), **options))  # type: ignore[arg-type]
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def script(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
