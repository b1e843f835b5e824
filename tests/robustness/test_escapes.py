"""More ways out of a sandbox: objects of the engine, of numpy and of Python's library, names in disguise, code of the engine's own
that looks names up or calls back. What is there already stands in tests/interpreter/test_guard.py.
"""

from pathlib import Path
from types import (
    CodeType,
    FrameType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
    TracebackType,
)
from typing import Any

import pytest

from gradsh.contracts.events import Failure
from gradsh.session.session import Session

SECTIONS = dict(
    section.split("\n", 1) for section in ("\n" + Path(__file__).with_name("escapes.txt").read_text(encoding="utf-8")).split("\n== ")[1:]
)
"""What is prepared, what is tried on it (`\\n` in a line is a line end), and what looks like a way out and is none."""
ESCAPES = [line.replace("\\n", "\n") for line in SECTIONS["escapes"].split("\n")]
HARMLESS = SECTIONS["harmless"].strip().split("\n")
FORBIDDEN = (ModuleType, FrameType, CodeType, TracebackType, GetSetDescriptorType, MemberDescriptorType, MappingProxyType)


@pytest.fixture(scope="module")
def prepared() -> Session:
    session = Session()
    events: list[Any] = []
    session.run(SECTIONS["prepared"], events.append)
    assert not [event for event in events if isinstance(event, Failure)]
    return session


@pytest.fixture
def failures(prepared: Session) -> Any:
    """Run a line in the prepared session and return how it failed; what it bound is forgotten."""
    program = prepared.machine.program
    before = dict(program)

    def run(line: str) -> list[Failure]:
        events: list[Any] = []
        prepared.run(line, events.append, keep_going=True)
        bound = {name: value for name, value in program.items() if before.get(name) is not value}
        assert not any(isinstance(value, FORBIDDEN) for value in bound.values())
        assert program["__builtins__"] is prepared.machine.builtins
        return [event for event in events if isinstance(event, Failure)]

    yield run
    program.clear()
    program.update(before)


@pytest.mark.parametrize("line", ESCAPES)
def test_leads_nowhere(failures: Any, line: str) -> None:
    found = failures(line)
    assert found, line
    assert found[-1].problem.kind in {"attribute", "name", "type", "syntax", "value", "index", "key", "io"}, found[-1].problem


@pytest.mark.parametrize("line", HARMLESS)
def test_gives_nothing_that_leads_on(failures: Any, line: str) -> None:
    """What looks like a way out and is none: the value is a name, a word, or an object that offers nothing."""
    assert failures(line) == []
    assert failures(f"({line}).__dict__")
    assert failures(f"({line}).__globals__")
    assert failures(f"({line}).__subclasses__()")


@pytest.mark.parametrize("special", [
    "__eq__", "__lt__", "__add__", "__radd__", "__mul__", "__rmul__", "__matmul__", "__getitem__", "__contains__", "__call__",
    "__format__", "__index__", "__iter__", "__len__", "__bool__", "__float__", "__enter__", "__exit__",
])
def test_code_of_ours_hands_a_script_nothing_that_leads_on(prepared: Session, special: str) -> None:
    """An object that takes down what its special methods are given, put wherever a function of ours takes something."""
    events: list[Any] = []
    prepared.run(
        "seen = []\n"
        f"class Spy:\n    def {special}(self, *a, **k):\n        seen.append((a, k))\n"
        "        if len(seen) > 1000: raise IndexError\n        return 1\n"
        "spy = Spy()\n"
        "def tried(function, *a, **k):\n    try: function(*a, **k)\n    except Exception: pass\n"
        "for function in (torch.add, torch.cat, torch.where, torch.stack, torch.sum, torch.tensor, torch.zeros, F.linear, F.mse_loss, "
        "torch.relu, m, x.backward, x.register_hook, x.view, x.expand, x.sum, "
        "torch.autograd.grad, torch.autograd.backward, nn.Linear, nn.Sequential, torch.optim.SGD, o.step, m.load_state_dict, m.apply, "
        "copy.copy, copy.deepcopy, np.array, np.sum, np.ones, math.sqrt, sorted, sum, max, isinstance, getattr, print, str, repr):\n"
        "    tried(function, spy)\n    tried(function, spy, spy)\n    tried(function, x, spy)\n    tried(function, [spy])\n"
        "    tried(function, x, dim=spy)\n",
        events.append, keep_going=True,
    )
    for args, named in prepared.machine.program["seen"]:
        for value in (*args, *named.values()):
            assert not isinstance(value, FORBIDDEN)
            assert value is not prepared.machine.program


def test_no_file_was_touched_and_no_name_left(prepared: Session) -> None:
    assert not [name for name in prepared.machine.program if name.startswith("__") and name not in {"__builtins__", "__name__", "__doc__"}]
