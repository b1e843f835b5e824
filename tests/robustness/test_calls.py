"""Single calls of Python's own that could run for ever, and what gradsh looks at by itself: neither escapes the limits of a script."""

import pytest

from gradsh.contracts.events import Event, Failure, Print, Value, Warn
from gradsh.process.limits import Limits
from gradsh.session.session import Session
from tests.robustness.test_bounds import kinds, run

IMPORTS = "import math, random, itertools, functools, collections\n"
ENDLESS = """
math.prod(range(1, 10**7))
functools.reduce(lambda a, b: a * b % 7, range(10**12))
functools.reduce(max, itertools.count())
math.lcm(*range(1, 10**6))
sum([[1] * 1000] * 10**5, [])
range(10**18).index(0.5)
range(10**18).count(0.5)
0.5 in iter(int, 1)
set(iter(int, 1))
list(iter(int, 1))
dict(iter(lambda: (1, 2), 1))
collections.deque(iter(int, 1), maxlen=0)
next(filter(None, iter(int, 1)))
[1, 2].extend(iter(int, 1))
x = list(range(10**6)); x.sort(key=lambda v: [0] * 10000)
max([1] * 10**7, key=lambda v: [0] * 1000)
collections.deque(map(lambda v: [0] * 1000 and None, [1] * 10**7), maxlen=0)
x = 0.; [x := [x, x] for _ in range(60)]; torch.tensor(x)
""".strip().split("\n")
LARGE = """
pow(3, 10**100000, 10**10000 + 1)
random.getrandbits(10**9)
""".strip().split("\n")


@pytest.mark.parametrize("line", ENDLESS)
def test_a_call_can_be_stopped(line: str) -> None:
    assert kinds(run(IMPORTS + line, Limits(timeout=0.3))) == ["limit"]


@pytest.mark.parametrize("line", LARGE)
def test_what_grows_too_large_is_refused(line: str) -> None:
    assert kinds(run(IMPORTS + line)) == ["limit"]


def test_long_ranges_are_sequences() -> None:
    events = run("import random\nlen(random.sample(range(10**12), 3)), 10**11 in range(10**12), 0.5 in range(10**12)\n"
                 "range(10**12).index(7), range(10**12).count(7.0 + 0.5 - 0.5 == 7)\nfloat('nan') in range(10**12)")
    assert [event.text for event in events if isinstance(event, Value)] == ["(3, True, False)", "(7, 1)", "False"]


@pytest.mark.parametrize("text", [
    "'x' * 10**6", "[0] * 10**6", "while True: print('x')", "x = ones(1)\nwhile True: torch.tensor(x)",
    "x = ones(3, requires_grad=True)\ny = x * 2\nwhile True:\n    buffers y", "while True:\n    expect error: 1/0",
    "while True:\n    graph", "def g():\n    try: yield\n    finally: 1/0\nwhile True: next(g())",
])
def test_all_that_is_shown_counts(text: str) -> None:
    events = run(text, Limits(max_output=20_000, timeout=30))
    failure = next(event for event in events if isinstance(event, Failure) and not event.expected)
    assert "--max-output" in failure.problem.message
    shown = sum(len(event.text) for event in events if isinstance(event, Print | Value))
    assert shown + sum(len(event.message) for event in events if isinstance(event, Warn)) < 40_000


def test_a_long_message_is_cut() -> None:
    failure = next(event for event in run("raise ValueError('a' * 10**7)") if isinstance(event, Failure))
    assert 1000 < len(failure.problem.message) < 200_000
    assert failure.problem.message.endswith("(10,000,000 characters)")
    failure = next(event for event in run("raise ValueError('a' * 10**4)", Limits(max_output=100)) if isinstance(event, Failure))
    assert len(failure.problem.message) < 200


@pytest.mark.parametrize("raised", [
    "class A(ValueError):\n    def __str__(self):\n        while True: pass\nraise A()",
    "class A(ValueError):\n    def __str__(self): 1/0\nraise A()",
    "class A(ValueError):\n    def __str__(self): return 5\nraise A()",
    "class A:\n    def __repr__(self):\n        while True: pass\nraise KeyError(A())",
    "class A:\n    def __repr__(self):\n        while True: pass\n{}[A()]",
    "x = 1\nfor i in range(10**5): x = [x]\nraise ValueError(x)",
    "e = None\nfor i in range(10**5):\n    try: raise ValueError from e\n    except ValueError as x: e = x\nraise e",
])
def test_an_exception_whose_words_are_hostile_is_told(raised: str) -> None:
    events = run(f"{raised}\n1 + 1", Limits(timeout=0.5 if "while" in raised else 30))
    assert len(kinds(events)) == 1
    session = Session()
    assert kinds(run("1 + 1", session=session)) == []


HASHED = "class A:\n    def __hash__(self): return 1\n"
LOOKED_AT = [
    "class A:\n    def named_parameters(self):\n        while True: pass\na = A()",
    "class A(nn.Module):\n    def named_parameters(self):\n        while True: pass\na = A()",
    "class A(nn.Module):\n    def named_modules(self, *a, **k):\n        while True: pass\na = A()",
    "class A:\n    def named_parameters(self): return [('a', 5), 3]\na = A()",
    "m = nn.Linear(2, 2)\nm._parameters = 5", "m = nn.Linear(2, 2)\nm._parameters['x'] = 3",
    "m = nn.Linear(2, 2)\nm._modules['m'] = m",
    HASHED + "    def __repr__(self):\n        while True: pass\nd = {A(): ones(2, requires_grad=True) * 2}",
    HASHED + "    def __eq__(self, other): 1/0\n    def __len__(self): 1/0\nd = {A(): ones(2)}\nl = [A()]",
    "x = [0] * 10**7\ny = {i: i for i in range(10**5)}",
    "x = []\nx.append(x)\nd = {}\nd['d'] = d",
]


@pytest.mark.parametrize("text", LOOKED_AT)
def test_looking_runs_nothing_of_a_script(text: str) -> None:
    """The state, the memory's account and the names of tensors, all of them read after the statement is over."""
    session = Session(typed=True, limits=Limits(timeout=120))
    assert kinds(run(text, session=session)) == []
    assert kinds(run("memory\nbuffers\nvars\nleaks\nset account on\nx1 = ones(2)", session=session)) == []
    session.snapshot()


def test_a_state_too_large_to_tell_is_an_error() -> None:
    session = Session()
    run("x = ones(1).expand(10**12)", session=session)
    with pytest.raises(MemoryError, match="1,000,000,000,000 elements"):
        session.snapshot()


def test_what_is_watched_has_the_limits_of_its_statement() -> None:
    events: list[Event] = run("watch (lambda: [0 for i in range(10**12) if i < 0])()\nx = 1", Limits(timeout=0.3))
    assert set(kinds(events)) == {"limit"}


def test_what_a_dropped_generator_raises_is_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    events = run("def g():\n    try: yield 1\n    finally: 1/0\nx = g()\ny = next(x)\ndel x\nprint(2)")
    assert kinds(events) == []
    warnings = [event for event in events if isinstance(event, Warn)]
    assert [(event.line, event.message.split(",")[0]) for event in warnings] == [(3, "ZeroDivisionError was ignored")]
    assert capfd.readouterr() == ("", "")


def test_a_loaded_text_shares_the_limits(tmp_path) -> None:
    (tmp_path / "a.grad").write_text("x = 1\n")
    limits = Limits(timeout=0.5, allow_files=str(tmp_path))
    assert kinds(run("while True: load 'a.grad'", limits))[0] == "limit"
