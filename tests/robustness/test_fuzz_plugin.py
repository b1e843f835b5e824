"""Fuzz of pytest's collector: folders of hostile scripts give tests that pass or fail with words, and no internal error."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness.hostile import Hostile
from tests.sweep import TIMES


@pytest.mark.parametrize("seed", range(TIMES))
def test_pytest_collects_any_folder_of_scripts(tmp_path: Path, seed: int) -> None:
    hostile = Hostile(random.Random(seed))
    for number in range(25):
        text = hostile.golden() if number % 2 else hostile.mutated(hostile.piece_of_corpus())
        (tmp_path / f"s{number}.grad").write_bytes(text.encode("utf-8", "surrogatepass"))
    (tmp_path / "bytes.grad").write_bytes(b"\xff\x00\xfe")
    (tmp_path / "folder.grad").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--rootdir", str(tmp_path)]
    loaded = [] if _is_installed() else ["-p", "gradsh.pytest_plugin"]
    done = subprocess.run([*command, *loaded, "."], cwd=tmp_path, env=environment, capture_output=True, timeout=110, check=False)
    told = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert done.returncode in {0, 1}, told[-3000:]
    assert "INTERNALERROR" not in told
    assert "Traceback (most" not in told
    assert " passed" in told


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(one.value == "gradsh.pytest_plugin" for one in entry_points(group="pytest11"))
