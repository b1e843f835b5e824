"""How much of a long series of cases is tried: a part, evenly drawn, or with GRADSH_SWEEP=1 (`make sweep`) all of it."""

import os
from collections.abc import Sequence
from typing import TypeVar

TIMES = int(os.environ.get("GRADSH_FUZZ", "1"))
"""How often the draws of a sweep are made."""
SWEEP = TIMES > 1 or bool(os.environ.get("GRADSH_SWEEP"))
Case = TypeVar("Case")


def part(cases: Sequence[Case], every: int) -> Sequence[Case]:
    """Return each `every`-th case, in a sweep all of them."""
    return cases if SWEEP else cases[::every]


def draws(number: int) -> int:
    """Return how many of a number of random cases are drawn: a quarter, in a sweep all, as often as GRADSH_FUZZ says."""
    return number * TIMES if SWEEP else -(-number // 4)
