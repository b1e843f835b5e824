"""Threads of OpenBLAS: one at the start, all from the first large tensor on, and what a person says before both."""

import os
import subprocess
import sys

import pytest

from gradsh.process.blas_threads import LARGE, SETTERS, SETTINGS

ASK = """
import ctypes, os, sys
from gradsh.process.blas_threads import SETTERS, hold, let_go
hold()
import gradsh
gradsh.zeros(1)
library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
getters = [name.replace("_set_", "_get_") for name in SETTERS if hasattr(library, name)]
def threads():
    return getattr(library, getters[0])() if getters else 0
told = [threads()]
EXTENT = int((LARGE / 4) ** 0.5)
gradsh.zeros(EXTENT, EXTENT)
told.append(threads())
gradsh.randn(EXTENT + 1, EXTENT + 1)
told.append(threads())
print(*told, any(name in os.environ for name in SETTINGS))
""".replace("EXTENT = int((LARGE", f"EXTENT = int(({LARGE}").replace("SETTINGS)", f"{SETTINGS!r})")


def told(**environment: str) -> list[str]:
    plain = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=False, env={**plain, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def test_the_first_large_tensor_brings_the_threads() -> None:
    first, small, large, held = told()
    if first == "0":
        pytest.skip("this numpy has no OpenBLAS that tells its threads")
    assert (first, small) == ("1", "1")
    assert int(large) == processors()
    assert held == "False"


@pytest.mark.parametrize("name", SETTINGS)
def test_what_a_person_says_counts(name: str) -> None:
    first, small, large, held = told(**{name: "1"})
    assert first == small == large
    assert held == "True"


def test_the_functions_of_openblas() -> None:
    assert SETTERS[0] == "scipy_openblas_set_num_threads64_"
    assert "openblas_set_num_threads" in SETTERS
