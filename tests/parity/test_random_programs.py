"""Random programs, written by `writer.py`, do the same here and in PyTorch after every statement.

GRADSH_PROGRAMS=2000 in the environment runs so many instead of the usual few; `python -m tests.parity.duel` tells more about them.
"""

import os

import pytest

pytest.importorskip("torch")

from tests.parity.duel import CRASHED, judged, verdict
from tests.parity.writer import write

pytestmark = pytest.mark.parity
COUNT = int(os.environ.get("GRADSH_PROGRAMS", "80"))
KNOWN: dict[int, str] = {}
"""Programs that differ, and by what; a listed one that agrees fails."""


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_program_does_what_pytorch_does(seed):
    found = judged(seed)
    if seed in KNOWN and found not in (None, CRASHED):
        pytest.xfail(KNOWN[seed])
    assert seed not in KNOWN, "it agrees: take it out of KNOWN"
    assert found in (None, CRASHED), found[1]


@pytest.mark.parametrize("seed", range(1000, 1000 + COUNT // 4))
def test_random_program_of_reduced_precision_does_what_pytorch_does(seed):
    found = judged(seed, 0.6)
    assert found in (None, CRASHED), found[1]


def test_same_seed_writes_same_program():
    assert write(3) == write(3) != write(4)


def test_differences_are_found_and_shortened():
    agrees = ["import torch", "x = torch.ones(2, requires_grad=True)", "y = x * 2", "y.sum().backward()"]
    assert verdict(agrees) is None
    kind, text = verdict([*agrees, "print('half' + str(torch.ones(1).cfloat().dtype))"])
    assert kind.startswith("error")
    assert "backward" not in text
