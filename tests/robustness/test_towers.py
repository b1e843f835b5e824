"""Objects that pile up until dropping them would take more stack than there is: the script ends, the process does not."""

import itertools
from collections import deque

import pytest

from gradsh.process import nesting
from gradsh.process.nesting import is_tower
from tests.robustness.test_bounds import kinds, run
from tests.sweep import part

DEEP = 3_000_000


@pytest.mark.parametrize("step", part([
    "x = (x,)", "x = slice(x)", "x = property(x)", "x = deque([x])", "x = K()[x:]", "x = functools.cmp_to_key(print)(x)",
    "x = iter(int, x)",
    "x = functools.reduce(slice, [0] * 1000, x)", "x = (x, 1)", "x = P(x)", "x = list[x]", "x = list[x] | None",
], 6))
def test_a_tower_ends_its_script_and_not_the_process(step: str) -> None:
    before = "import functools\nfrom collections import deque, namedtuple\nP = namedtuple('P', 'a')\n"
    before += "class K:\n    def __getitem__(self, key): return key\nx = int\n"
    events = run(f"{before}for _ in range({DEEP}): {step}\nx = 0\n1 + 1")
    assert kinds(events) == ["limit"]
    assert events[-2].text == "2"  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [slice, staticmethod, lambda x: deque([x]), itertools.repeat, lambda x: slice(x, x)])
def test_the_storeys_of_a_tower_are_counted(make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "_stack", [100 * nesting.STOREY])
    low = high = 1
    for _ in range(99):
        low = make(low)
    for _ in range(101):
        high = make(high)
    assert not is_tower(low, {})
    assert is_tower(high, {})
    depths: dict[int, int] = {}
    assert not is_tower(low, depths)
    assert is_tower(make(make(low)), depths)


def test_what_is_wide_is_no_tower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "_stack", [100 * nesting.STOREY])
    assert not is_tower(deque(slice(one) for one in range(1000)), {})
    ring: deque = deque()
    ring.append(ring)
    assert not is_tower(ring, {})
    assert not is_tower(tuple((one, (one,)) for one in range(1000)), {})


@pytest.mark.parametrize("expression", [
    "np.ones(1) * [A(1)]", "np.array([A(1)])", "np.multiply(np.ones(1), A(1))", "[A(1)] + np.ones(1)", "np.float64(1) + [A(1)]",
    "x = np.int64(2) + [10**30]; x * x", "x = np.int64(2) + [10**30]; x **= x", "x = np.int64(2) + [10**30]; 3 << x",
])
def test_no_array_holds_objects(expression: str) -> None:
    before = "import numpy as np\nclass A:\n    def __init__(self, v): self.v = v\n    def __rmul__(self, other): return self.v\n"
    assert kinds(run(f"{before}{expression}")) == ["type"]


def test_the_operators_of_a_class_work_beside_arrays() -> None:
    before = "import numpy as np\nclass A:\n    def __radd__(self, other): return 5\n"
    events = run(before + "np.ones(2) + A()")
    assert events[-2].text == "5"  # type: ignore[attr-defined]
