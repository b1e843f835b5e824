"""PyTorch's own tests of autograd pass here, those of `known_autograd.txt` aside.

GRADSH_PYTORCH_TESTS names the folder `test` of PyTorch's source; without it there is nothing to run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = os.environ.get("GRADSH_PYTORCH_TESTS")
KNOWN = (Path(__file__).parent / "known_autograd.txt").read_text(encoding="utf-8").split()


def outcomes(library: str) -> dict[str, str]:
    """What each test comes to with a library."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.autograd_tests", str(FOLDER), library]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {one["name"]: one["outcome"] for one in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parity
@pytest.mark.skipif(FOLDER is None, reason="GRADSH_PYTORCH_TESTS names no folder of PyTorch's tests")
def test_autograd_tests() -> None:
    pytest.importorskip("torch")
    here, there = outcomes("gradsh"), outcomes("torch")
    fails = {name for name, told in here.items() if told in {"fails", "dies"} and there.get(name) == "passes"}
    assert sorted(fails) == sorted(KNOWN)
