"""PyTorch's own tests of autograd pass here, as a library and as scripts, those of `known_autograd.txt` and `known_scripts.txt` aside.

GRADSH_PYTORCH_TESTS names the folder `test` of PyTorch's source; without it there is nothing to run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = os.environ.get("GRADSH_PYTORCH_TESTS")
HERE = Path(__file__).parent


def outcomes(module: str, library: str) -> dict[str, str]:
    """What each test comes to with a library."""
    command = [sys.executable, "-W", "ignore", "-m", f"tests.conformance.{module}", str(FOLDER), library]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {one["name"]: one["outcome"] for one in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parity
@pytest.mark.skipif(FOLDER is None, reason="GRADSH_PYTORCH_TESTS names no folder of PyTorch's tests")
@pytest.mark.parametrize(("module", "known"), [("autograd_tests", "known_autograd.txt"), ("scripts", "known_scripts.txt")])
def test_autograd_tests(module: str, known: str) -> None:
    pytest.importorskip("torch")
    here, there = outcomes(module, "gradsh"), outcomes(module, "torch")
    fails = {name for name, told in here.items() if told in {"fails", "dies"} and there.get(name) == "passes"}
    assert sorted(fails) == sorted((HERE / known).read_text(encoding="utf-8").split())
