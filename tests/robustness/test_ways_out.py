"""Ways out of the guard, one a line in `ways_out.txt`: each is tried, and leaves nothing dangerous in a script's hands."""

from pathlib import Path
from typing import Any

import pytest

from gradsh.api.distributions import constraints
from gradsh.api.torch import NAMESPACES
from gradsh.contracts.events import Failure
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.dtype import DTYPES
from gradsh.session.session import Session
from tests.robustness.held import harmless

SECTIONS = dict(
    section.split("\n", 1) for section in ("\n" + Path(__file__).with_name("ways_out.txt").read_text(encoding="utf-8")).split("\n== ")[1:]
)
"""What is prepared, what has to fail, and what may succeed (`\\n` in a line is a line end)."""
SHARED = [
    kind for space in ("torch", "torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.distributions", "torch.utils.data")
    for kind in map(NAMESPACES[space].get, NAMESPACES[space].names()) if isinstance(kind, type) and not issubclass(kind, Tensor)
]
"""Classes that all scripts of a process share."""


def lines(section: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in SECTIONS[section].strip().split("\n")]


@pytest.fixture(scope="module")
def prepared() -> Session:
    session = Session()
    events: list[Any] = []
    session.run(SECTIONS["prepared"], events.append)
    assert not [event.problem.message for event in events if isinstance(event, Failure)]
    return session


@pytest.fixture
def failures(prepared: Session) -> Any:
    """Run a line, look at what the script has in hand then, and return how it failed; what it bound is forgotten."""
    program = prepared.machine.program
    before = dict(program)
    program["got"].clear()
    shared = fingerprint()

    def run(line: str) -> list[Failure]:
        events: list[Any] = []
        prepared.run(line, events.append, keep_going=True)
        for name, value in program.items():
            if before.get(name) is not value or name == "got":
                harmless(value, line)
        assert program["__builtins__"] is prepared.machine.builtins
        assert fingerprint() == shared
        return [event for event in events if isinstance(event, Failure)]

    yield run
    program.clear()
    program.update(before)


def fingerprint() -> list[Any]:
    """Tell everything that scripts share, to see whether one has changed it. (Python makes `__annotations__` when they are read.)"""
    classes = [(kind, name, id(entry)) for kind in SHARED for name, entry in vars(kind).items() if name != "__annotations__"]
    values = [vars(one) for one in (constraints.positive, constraints.real, constraints.simplex, constraints.unit_interval)]
    dtypes = [(one.name, one.numpy, one.category, one.title, one.is_floating_point) for one in DTYPES]
    return [classes, [(name, id(value)) for one in values for name, value in one.items()], dtypes]


@pytest.mark.parametrize("line", lines("refused"))
def test_is_refused(failures: Any, line: str) -> None:
    assert failures(line), line


@pytest.mark.parametrize("line", lines("harmless"))
def test_does_no_harm(failures: Any, line: str) -> None:
    failures(line)


def test_there_are_many() -> None:
    assert len(lines("refused")) > 300
    assert len(lines("harmless")) > 60
