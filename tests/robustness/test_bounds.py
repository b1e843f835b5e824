"""Nothing that a script asks for ends the session: each of these is an error of kind `limit`, and work goes on after it."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.contracts.events import Event, Failure, Value
from gradsh.process.limits import Limits, bytes_of, changed
from gradsh.session.session import Session
from tests.batch.conftest import gradsh  # noqa: F401  (a fixture)
from tests.processes import BOUND
from tests.sweep import part

LARGE = """
zeros(10**12)
torch.empty(2**62)
torch.empty(2**40, 2**40)
arange(10**13)
ones(3).repeat(10**12)
torch.linspace(0, 1, 10**13)
torch.nn.functional.pad(ones(3), (10**12, 0))
torch.nn.functional.one_hot(tensor([10**12]))
torch.combinations(arange(10**5), 5)
ones(3).view(*[1] * 70, 3)
2 ** (10**10)
pow(3, 10**10)
1 << 10**12
x = 3; x **= 10**10
x = 1; x <<= 10**12
"a" * 10**12
[0] * 10**11
[1, 2] * 10**11
x = "ab"; x *= 10**12
x = [1]; x *= 10**12
list(range(10**12))
f"{1:1000000000000}"
"%1000000000000d" % 1
"{:1000000000000}".format(1)
format(1, "1000000000000d")
"a".center(10**12)
str(10**5000)
int("1" * 10**5)
import math; math.factorial(10**7)
def f(n): return f(n + 1)
def f(n): return [f(n) for _ in range(2)]
class A: __repr__ = lambda self: repr(self)
""".strip().splitlines()
CALLS = {"def": "f(0)", "class": "A()"}

TOWERS = [
    "for _ in range(100000): x = [x]\nprint(x)",
    "for _ in range(100000): x = {'a': x}\nx",
    "for _ in range(100000): x = map(abs, x)\nlist(x)",
    "for _ in range(100000): x = zip(x)\nlist(x)",
    "for _ in range(100000): x = filter(None, x)\nlist(x)",
    "for _ in range(100000): x = enumerate(x)\nlist(x)",
    "import itertools\nfor _ in range(100000): x = itertools.chain(x)\nlist(x)",
    "import copy\nfor _ in range(100000): x = [x]\ncopy.deepcopy(x)",
    "m = nn.Sequential()\nfor _ in range(5000): m = nn.Sequential(m)\nprint(m)",
    "m = nn.Sequential()\nm.add_module('x', m)\nprint(m)",
]


def run(text: str, limits: Limits | None = None, session: Session | None = None) -> list[Event]:
    events: list[Event] = []
    session = session or Session(limits=limits or Limits())
    session.run(text, events.append, keep_going=True)
    return events


def kinds(events: list[Event]) -> list[str]:
    return [event.problem.kind for event in events if isinstance(event, Failure)]


@pytest.mark.parametrize("line", LARGE)
def test_what_is_too_large_is_refused_and_the_session_lives(line: str) -> None:
    call = CALLS.get(line.split()[0], "")
    events = run(f"{line}\n{call}\n1 + 1")
    assert kinds(events) == ["limit"], events
    failure = next(event for event in events if isinstance(event, Failure))
    assert failure.problem.labels
    assert failure.top == (2 if call else 1)
    assert isinstance(events[-2], Value)
    assert events[-2].text == "2"


@pytest.mark.parametrize("text", part(TOWERS, 4))
def test_towers_end_nothing(text: str) -> None:
    events = run(f"x = [1]\n{text}\n1 + 1")
    assert kinds(events) == ["limit"]
    assert events[-2].text == "2"  # type: ignore[attr-defined]


@pytest.mark.parametrize("loop", [
    "while True: pass",
    "for i in range(10**15): pass",
    "sum(range(10**15))",
    "max(range(10**15))",
    "[0 for i in range(10**15) if i < 0]",
    "from itertools import count\nany(x < 0 for x in count())",
    "from itertools import product\nsum(1 for _ in product(range(1000), repeat=6))",
    "from collections import deque\nfrom itertools import permutations\ndeque(permutations(range(20)), maxlen=0)",
    "import time\ntime.sleep(1000)",
    "def f():\n    try:\n        while True: pass\n    finally:\n        while True: pass\nf()",
    "while True:\n    try:\n        while True: pass\n    except Exception: pass",
    "x = ones(2, requires_grad=True)\nwhile True: x = x * 1",
    "class A:\n    def __len__(self):\n        while True: pass\nlen(A())",
])
def test_an_endless_loop_ends(loop: str) -> None:
    begun = time.monotonic()
    events = run(loop, Limits(timeout=0.3))
    assert kinds(events) == ["limit"]
    assert time.monotonic() - begun < BOUND


def test_time_that_runs_out_in_one_long_call_is_told() -> None:
    session = Session(limits=Limits(timeout=0.05))
    text = "x = sorted(list(range(1000)) * 3000, key=lambda v: -v)\nprint(1)"
    assert kinds(run(text, session=session)) == ["limit"]


def test_reading_a_long_text_takes_its_time_from_the_limit() -> None:
    failures = [event for event in run("x = 1\n" * 1_500_000, Limits(timeout=0.1)) if isinstance(event, Failure)]
    assert [one.problem.kind for one in failures] == ["limit"]
    assert failures[0].problem.message.startswith("reading the script took longer")
    assert failures[0].problem.labels


@pytest.mark.parametrize("text", [
    "x = [1]\nfor _ in range(60): x = [x, x]\nprint(x)", "x = [1]\nfor _ in range(60): x = [x, x]\nraise ValueError(x)",
    "sum([[1]] * 10**6, [])", "import random\nrandom.choices([1], k=10**12)",
])
def test_what_no_tick_reaches_is_interrupted(text: str) -> None:
    session = Session(limits=Limits(timeout=0.3))
    begun = time.monotonic()
    assert len(kinds(run(text, session=session))) == 1
    assert session.exhausted
    assert time.monotonic() - begun < BOUND


def test_nodes_are_bounded() -> None:
    text = "x = ones(1, requires_grad=True)\ny = x\nfor i in range(10**6): y = y * x\n"
    assert kinds(run(text, Limits(max_nodes=1000))) == ["limit"]
    assert kinds(run(text.replace("10**6", "100"), Limits(max_nodes=1000))) == []


def test_output_is_bounded() -> None:
    assert kinds(run("while True: print('x' * 100)", Limits(max_output=10_000))) == ["limit"]


def test_a_person_sets_limits_and_a_script_does_not() -> None:
    session = Session(typed=True)
    assert kinds(run("set timeout 0.2\nset max_output 50\nset", session=session)) == []
    assert (session.limits.timeout, session.limits.max_output) == (0.2, 50)
    assert kinds(run("while True: pass", session=session)) == ["limit"]
    assert kinds(run("print('x' * 100)", session=session)) == ["limit"]
    assert kinds(run("set timeout off\nset max_output off\nprint('x' * 100)", session=session)) == []
    assert kinds(run("set timeout soon", session=session)) == ["value"]
    assert kinds(run("set timeout 1000", Limits(timeout=5))) == ["limit"]


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("500M", 500 << 20), ("2G", 2 << 30), ("1.5k", 1536), ("3 GiB", 3 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1e400", "nan", "1X", "M"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="a size is"):
        bytes_of(text)
    with pytest.raises(ValueError, match="number"):
        changed(Limits(), "max_memory", text)


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "nan", "inf"])
@pytest.mark.parametrize("name", ["timeout", "max_nodes"])
def test_what_is_no_limit(name: str, text: str) -> None:
    with pytest.raises(ValueError, match="positive number"):
        changed(Limits(), name, text)


def test_memory_that_is_filled_is_given_back(gradsh: Callable) -> None:  # noqa: F811
    ran = gradsh("run", "--max-memory", "100M", "--keep-going", "-c",
                 "x = ones(1000)\ny = []\nwhile True: y.append(x * 2)\ny = []\nones(10**6).sum()")
    assert "error[limit]" in ran.err
    assert ran.out == "tensor(1000000.)\n"
    assert ran.status == 1


def test_a_call_that_nothing_can_stop_ends_the_process_with_a_word(gradsh: Callable) -> None:  # noqa: F811
    text = "from collections import deque\nx = 'ab' * 10**8\ndeque(map(x.count, ['ab' * 10**7 + 'c'] * 100), maxlen=0)"
    ran = gradsh("run", "--timeout", "1", "-c", text)
    assert ran.status == 1
    assert ran.err.startswith("error[limit]: the script ran longer than 1 seconds")
    assert "Traceback" not in ran.err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_a_device_that_never_ends_is_no_script(gradsh: Callable) -> None:  # noqa: F811
    ran = gradsh("run", "/dev/zero")
    assert ran.status == 2
    assert "it is a device" in ran.err
    assert gradsh("run", "/dev/null") == (0, "", "")


@pytest.mark.parametrize("text", [
    "x = " + "(" * 10_000 + "1" + ")" * 10_000, "x = " + "-" * 10_000 + "1", "x = " + "[" * 10_000, "x = y" + ".a" * 10_000,
    "x = f" + "(1)" * 10_000, "x = 1" + "**1" * 10_000, "x = " + "not " * 10_000 + "1", "x = " + "lambda: " * 10_000 + "1",
    "x = " + "1 if 1 else " * 10_000 + "1", "\n".join(" " * i + "if 1:" for i in range(2000)), "x = " + "9" * 1_000_000,
    "# " + "#" * 11_000_000,
])
def test_depths_of_text(text: str) -> None:
    assert kinds(run(text)) in (["limit"], ["syntax"])
