"""How much of a long series of cases is tried: a part, evenly drawn, or with GRADSH_SWEEP=1 (`make sweep`) all of it."""

import os
from collections.abc import Sequence
from typing import TypeVar

SWEEP = bool(os.environ.get("GRADSH_SWEEP"))
Case = TypeVar("Case")


def part(cases: Sequence[Case], every: int) -> Sequence[Case]:
    """Return each `every`-th case, in a sweep all of them."""
    return cases if SWEEP else cases[::every]
