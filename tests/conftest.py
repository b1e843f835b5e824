"""What holds for all tests.

Fast paths of operations are written at their first use here, so that every test takes them. Scripts, situations and whatever else
runs in a process of its own take the general way first, as programs do. Random cases are a quarter of those of a sweep, and the
same ones in each run.
"""

import os
import sys

import pytest
from hypothesis import settings

from gradsh.engine.schema import overload
from tests.processes import default_signals
from tests.sweep import SWEEP, draws

overload.SPECIALIZE_AFTER = 0
default_signals()
for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "FORCE_HYPERLINK"):  # what CI sets reaches no program that a test starts
    os.environ.pop(name, None)
settings.register_profile("quarter", max_examples=draws(100), derandomize=True)
if not SWEEP:
    settings.load_profile("quarter")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: a quarter of the time tests wait for processes that they started."""
    return (os.cpu_count() or 1) * 3 // 2 or 1


def pytest_runtest_setup() -> None:
    """PyTorch's compiler turns off the checks of distributions for the whole process; the next test starts with them."""
    if distributions := sys.modules.get("torch.distributions"):
        distributions.Distribution.set_default_validate_args(__debug__)
