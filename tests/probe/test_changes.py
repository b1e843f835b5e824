"""`diff`, `buffers`, `check` and the session's own commands."""

import pytest

from tests.probe.asking import Asked


def test_diff_of_a_forward():
    report = Asked("x = ones(2, requires_grad=True)\ny = (x * x).exp()").report("diff")
    assert [one.node for one in report.made] == ["ExpBackward0", "MulBackward0"]
    assert report.bound == (("y", "(2,) ExpBackward0"),)
    assert report.freed == ()


def test_diff_of_a_backward_and_of_a_write():
    asked = Asked("x = ones(2, requires_grad=True)\ny = (x * x).exp()\nbackward y.sum()")
    report = asked.report("diff")
    assert [name for _, name, _ in report.freed] == ["result", "self", "other"]
    assert report.wrote == ("x.grad",)
    asked.run("with torch.no_grad():\n    x += 1\n    x += 1\n\ngraph y")
    assert asked.report("diff").bumped == (("x", 0, 2),)
    assert asked.report("del y\ndiff").dropped == ("y",)


def test_buffers_share_one_memory():
    report = Asked("x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()").report("buffers z")
    assert [(row.node, row.name, row.memory, row.shared) for row in report.rows] == [
        ("MulBackward0", "self", 1, 3), ("MulBackward0", "other", 1, 3), ("ExpBackward0", "result", 1, 3),
    ]
    assert (report.totals.nbytes, report.totals.unique_bytes, report.totals.variable_bytes) == (24, 8, 8)


@pytest.mark.parametrize(("by", "keys"), [
    ("line", ["line 2", "line 3"]), ("op", ["MulBackward0", "ExpBackward0", "SinBackward0"]), ("variable", ["b", "a"]),
    ("function", ["top level"]),
])
def test_roll_ups_add_up(by, keys):
    asked = Asked("x = ones(2, requires_grad=True)\na = (x * 2).exp().sum()\nb = (x * 2).sin().sum() + a")
    report = asked.report(f"buffers --by {by}")
    assert sorted(group.key for group in report.groups) == sorted(keys)
    if by != "variable":
        assert sum(group.live for group in report.groups) == report.totals.entries
        assert sum(group.nbytes for group in report.groups) == report.totals.nbytes


def test_nothing_saved_is_said():
    assert "nothing is saved" in Asked("x = ones(2, requires_grad=True)\ny = x + 1").shown("buffers y")


def test_check_agrees_and_restores():
    asked = Asked("x = tensor([1., 2.], requires_grad=True)\nw = randn(2, 2, requires_grad=True)")
    before = asked["x"].array
    report = asked.report("check (w @ x).tanh()")
    assert report.ok
    assert report.double
    assert {one.name for one in report.inputs} == {"x", "w"}
    assert asked["x"].array is before
    assert asked["x"].grad is None


def test_check_is_the_same_under_randomness():
    assert Asked("x = ones(8, requires_grad=True)").report("check dropout(x, 0.5) * 2").ok


def test_check_finds_a_wrong_backward_and_its_line():
    asked = Asked(
        "class Wrong(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n        return a * 2\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 3\n\nx = ones(2, requires_grad=True)"
    )
    report = asked.report("check Wrong.apply(x.exp()).sum()")
    assert not report.ok
    assert report.cause == "function"
    assert report.suspects == (("WrongBackward", 1),)


def test_check_finds_a_cut():
    report = Asked("x = ones(2, requires_grad=True)").report("check (x.detach() * x).sum()")
    assert (report.ok, report.cause) == (False, "cut")
    assert report.inputs[0].worst.numeric == pytest.approx(2.0, rel=1e-4)


def test_check_refuses_writes():
    asked = Asked("x = ones(2, requires_grad=True)\nc = ones(2)").run("check (x * c.add_(1)).sum()")
    assert "in place" in asked.failures[0].message


def test_watch_shows_changes_only():
    asked = Asked("x = ones(1, requires_grad=True)\nwatch x.grad")
    from gradsh.contracts.events import Result

    def told(line):
        asked.run(line)
        return [event.report.values for event in asked.events if isinstance(event, Result) and event.command == "watch"]

    assert told("y = x * 2") == []
    assert told("y.backward()") == [(("x.grad", "tensor([2.])"),)]
    assert told("del x") == [(("x.grad", "(name: name 'x' is not defined)"),)]


def test_reset_starts_from_the_seed_again():
    asked = Asked("a = randn(2)")
    first = asked["a"].tolist()
    asked.run("reset\nb = randn(2)")
    assert asked["b"].tolist() == first
    assert "a" not in asked.session.machine.program


def test_save_and_load(tmp_path):
    asked = Asked("x = ones(2)\nfor i in range(2):\n    x = x * 2\n\nx + ones(3)", typed=True)
    file = tmp_path / "session.grad"
    asked.run(f"save {file}")
    assert not asked.failures
    fresh = Asked(typed=True).run(f"load {file}")
    assert fresh["x"].tolist() == [4.0, 4.0]


def test_quit_has_a_status():
    from gradsh.session.session import Session

    assert Session().run("quit 3\nx = 1", lambda _: None).status == 3
