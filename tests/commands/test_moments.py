"""`diff` between moments and graphs, `mark` and `back`."""

import pytest

from tests.probe.asking import Asked

PROGRAM = """x = ones(2, requires_grad=True)
mark start
a = x.exp().sum()
b = (x * a).sum()
backward a
x.data.mul_(2)
c = x * 3
"""


@pytest.mark.parametrize(("moments", "made", "wrote", "bound"), [
    ("1 5", 4, ("x.grad",), ["a", "b"]), ("5 1", 4, ("x.grad",), ["a", "b"]), ("start", 5, ("x.grad",), ["a", "b", "c"]),
    ("5", 1, (), ["c"]), ("start 3", 2, (), ["a"]), ("", 1, (), ["c"]),
])
def test_what_changed_between_moments(moments, made, wrote, bound):
    report = Asked(PROGRAM).report(f"diff {moments}")
    assert (len(report.made), report.wrote, [name for name, _ in report.bound]) == (made, wrote, bound)
    assert bool(report.freed) == (wrote == ("x.grad",))


def test_two_graphs_are_compared():
    asked = Asked(PROGRAM)
    rows = {row.what: (row.first, row.second) for row in asked.report("diff a b").rows}
    assert rows["nodes"] == (3, 5)
    assert rows["saved tensors"] == (0, 2)
    assert rows["freed"] == (1, 1)
    assert rows["MulBackward0"] == (0, 1)
    assert "ExpBackward0" not in rows
    assert "3 nodes in both graphs" in asked.shown("diff a b")


@pytest.mark.parametrize("moments", ["nowhere", "nowhere a", "1 2 3", "a"])
def test_what_is_no_moment_is_refused(moments):
    asked = Asked(PROGRAM).run(f"diff {moments}")
    assert {one.kind for one in asked.failures} <= {"value", "name"}
    assert "value" in {one.kind for one in asked.failures}


def test_back_to_a_mark_and_on_again():
    asked = Asked(PROGRAM + "mark later\n", typed=True)
    asked.session.asker = lambda _: "y"
    asked.run("d = c * 2")
    asked.run("back start")
    assert asked.failures == []
    assert (asked["x"].grad, "a" in asked.session.machine.program) == (None, False)
    assert dict(asked.report("mark").marks) == {"start": 1}
    asked.run("redo")
    assert asked["d"].tolist() == [12.0, 12.0]
    asked.run("back later")
    assert [one.kind for one in asked.failures] == ["value"]
