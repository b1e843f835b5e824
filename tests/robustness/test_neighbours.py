"""Scripts of one process know nothing of each other: each prints what it prints alone, whatever ran before it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradsh.contracts.events import Failure, Print
from gradsh.session.session import Session

PARTS = dict(
    part.split("\n", 1) for part in ("\n" + Path(__file__).with_name("neighbours.txt").read_text(encoding="utf-8")).split("\n== ")[1:]
)
"""What tells of shared state, and scripts that try to change it."""
TELLER = PARTS.pop("teller")


def run(script: str) -> str:
    """Run a script in a session of its own, and return what it printed and how it failed."""
    events: list[Any] = []
    Session().run(script, events.append, keep_going=True)
    told = [event.text if isinstance(event, Print) else event.problem.message for event in events if isinstance(event, (Print, Failure))]
    return "\n".join(one.rstrip("\n") for one in told)


@pytest.fixture(scope="module")
def alone() -> str:
    """What the teller prints in a process of its own."""
    found = subprocess.run([sys.executable, "-m", "gradsh", "-c", TELLER], capture_output=True, text=True, check=True, timeout=120)
    return found.stdout.strip()


@pytest.mark.parametrize("name", PARTS)
def test_both_orders_print_what_each_prints_alone(alone: str, name: str) -> None:
    first = run(PARTS[name])
    assert run(TELLER) == alone
    assert run(PARTS[name]) == first


def test_each_pair_in_both_orders() -> None:
    """What a script does shows in its own output, so two that change the same thing would show it, too."""
    single = {name: run(script) for name, script in PARTS.items()}
    for name, script in PARTS.items():
        for other, following in PARTS.items():
            assert run(script) == single[name], (name, other)
            assert run(following) == single[other], (name, other)
