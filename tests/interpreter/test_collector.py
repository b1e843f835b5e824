"""The collector looks for garbage when memory has grown, and not in between: knots go, graphs are not looked through."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradsh.process.gc_policy import Governor, governor, resident_memory
from gradsh.session.session import Session
from tests.processes import BOUND, program

pytestmark = pytest.mark.skipif(not resident_memory(), reason="the system does not tell how much memory is used")

KNOTS = """
class Knot:
    def __init__(self):
        self.me = self
        self.data = ones(50000)

for i in range(400):
    k = Knot()
    more = [[i] for j in range(20)]
"""


@pytest.fixture
def governed() -> Iterator[Governor]:
    before = governor.slack, governor.ask, gc.get_threshold()
    gc.collect()
    gc.set_threshold(200, 10, 10)
    governor.base = resident_memory()
    gc.callbacks.append(governor)
    yield governor
    gc.callbacks.remove(governor)
    governor.slack, governor.ask = before[:2]
    gc.set_threshold(*before[2])
    gc.unfreeze()


def knots() -> int:
    gc.unfreeze()
    return sum(type(one).__name__ == "Knot" for one in gc.get_objects())


GROWING = f"""
import gc
from gradsh.process.gc_policy import governor, resident_memory
from gradsh.session.session import Session
from tests.interpreter.test_collector import knots

gc.set_threshold(200, 10, 10)
governor.slack, governor.base = 8 << 20, resident_memory()
gc.callbacks.append(governor)
session = Session()
session.run({KNOTS!r}, lambda event: None)
print(knots())
"""


def test_knots_are_found_once_memory_has_grown(tmp_path: Path) -> None:
    """In a process of its own: one that has freed much memory before grows by none when it makes the knots."""
    with program(["-c", GROWING], tmp_path) as process:
        alive = int(process.communicate(timeout=BOUND)[0])
    assert alive < 250, "80 MB of knots were made; the look that 8 MB ask for comes with the next collection"


def test_nothing_is_looked_through_while_memory_stays(governed: Governor) -> None:
    governed.slack = 1 << 40
    session = Session()
    session.run(KNOTS, lambda event: None)
    alive = knots()
    del session
    gc.collect()
    assert alive >= 400, "only a governor that looks when nothing has grown would have found them"


def test_leaks_finds_what_the_governor_passes_over(governed: Governor) -> None:
    governed.slack = 1 << 40
    shown: list[object] = []
    session = Session()
    session.run("x = ones(3, requires_grad=True)\nloss = (x * x).sum()\nloss.backward(create_graph=True)\ndel loss, x", shown.append)
    gc.freeze()
    session.run("leaks", shown.append)
    assert "unreachable" in str([getattr(event, "report", None) for event in shown])
