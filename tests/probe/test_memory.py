"""Bytes by owner are those of the memories that are really alive; holders hold; the peak is where it says."""

import gc
import weakref

import pytest
from hypothesis import HealthCheck, given, settings

from gradsh.engine.graph.node import Node
from gradsh.engine.values.storage import memory_bytes, memory_key, owner_of
from gradsh.probe.given import kept_in
from tests.probe.asking import Asked
from tests.probe.test_plan import programs
from tests.sweep import draws


def alive_in_nodes(session):
    """Bytes of the memories of all live saved tensors that exist in a session, found without any name."""
    found = {}
    for one in gc.get_objects():
        if issubclass(type(one), Node) and one.location is not None and session.owns(one.location):
            found.update((memory_key(kept.array), memory_bytes(kept.array)) for kept in kept_in(one))
    return sum(found.values())


@settings(max_examples=draws(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_saved_bytes_are_those_that_exist(lines):
    gc.disable()
    try:
        asked = Asked()
        for line in lines:
            if "lambda" not in line and "hidden" not in line:
                asked.run(line)
        assert asked.report("memory").now.saved == alive_in_nodes(asked.session)
    finally:
        gc.enable()


def test_owners_add_up():
    asked = Asked("w = ones(100, requires_grad=True)\nx = ones(50)\ny = w.exp()\nz = (y * 2).sin().sum()")
    now = asked.report("memory").now
    # x, y and z are held by variables; of the saved tensors only `y * 2` and the number 2 are the graph's alone
    assert (now.leaves, now.gradients, now.variables, now.graph) == (400, 0, 200 + 400 + 4, 400 + 8)
    asked.run("z.backward()")
    now = asked.report("memory").now
    assert (now.leaves, now.gradients, now.variables, now.graph) == (400, 400, 604, 0)
    assert now.total == 1404


def test_peak_is_before_the_backward_inside_a_loop():
    asked = Asked()
    report = asked.report(
        "w = ones(1000, requires_grad=True)\nfor i in range(3):\n    loss = w.exp().sin().sum()\n    loss.backward()\n\nmemory"
    )
    assert report.peak_line == 4
    assert report.peak.graph == 2 * 0 + 4000  # exp's result, which sin saved, too
    assert report.now.graph == 0
    assert ("w", 4000) in report.peak_held


def test_peak_bytes_for_assertions():
    asked = Asked("w = ones(10, requires_grad=True)\nw.exp().sum().backward()\nassert peak_bytes() == 40\nassert live_bytes() == 0")
    assert not asked.failures


def test_keepers_name_the_variable():
    asked = Asked("w = ones(10, requires_grad=True)\nouts = [w.exp() for i in range(3)]\nx = 1")
    keepers = {one.name: one for one in asked.report("memory").keepers}
    assert (keepers["outs"].nodes, keepers["outs"].saved, keepers["outs"].tensors) == (4, 120, 3)
    assert set(keepers) == {"w", "outs"}


def test_letting_go_of_all_holders_frees_the_memory():
    asked = Asked(
        "x = ones(10, requires_grad=True)\ny = x.exp()\nk = {'a': [y]}\nv = y[2:]\nd = y.detach()\nz = (y * y).sum()\n"
        "class Box:\n    pass\n\nbox = Box()\nbox.inner = y"
    )
    report = asked.report("holders y")
    kinds = {(one.kind, one.name) for one in report.holders}
    assert kinds == {
        ("variable", "y"), ("item", "k['a'][0]"), ("view", "v"), ("variable", "d"), ("item", "box.inner"),
        ("saved", "ExpBackward0.result"), ("saved", "MulBackward0.self"), ("saved", "MulBackward0.other"),
    }
    assert report.others == 0
    memory = weakref.ref(owner_of(asked["y"].array))
    gc.disable()
    try:
        asked.run("del y, v, d\nk.clear()")
        assert memory() is not None
        asked.run("box.inner = None")
        assert memory() is not None
        asked.run("z.backward()")
        assert memory() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("hidden", "others"), [("", 0), ("x.register_hook(lambda g, y=y: g * y.sum())", 2), ("q = y.view(10)", 0)])
def test_references_without_a_name_are_counted(hidden, others):
    asked = Asked(f"x = ones(10, requires_grad=True)\ny = x * 2\nv = y[1:]\nz = (v * v.t()).sum()\n{hidden}")
    report = asked.report("holders y")
    assert report.others == 0  # a hook holds the tensor, which y names
    assert asked.report("v = 1\ndel y\nholders z").others == 0
    if hidden.startswith("x."):
        # the tensor in the hook, and what its node saved
        asked.run("k = [x.exp()]\nx.register_hook(lambda g, t=k[0]: g)\nd = k[0].detach()\nk.clear()")
        assert asked.report("holders d").others == others


def test_gradient_is_a_holder():
    asked = Asked("x = ones(3, requires_grad=True)\nx.sum().backward()\ng = x.grad")
    assert {(one.kind, one.name) for one in asked.report("holders g").holders} == {("variable", "g"), ("gradient", "x.grad")}


def test_retained_graphs_in_a_list_are_named():
    text = asked_text = Asked(
        "w = ones(5, requires_grad=True)\nouts = []\nfor i in range(4):\n    o = (w * w).exp()\n    o.sum().backward(retain_graph=True)\n"
        "    outs.append(o)\n"
    ).shown("memory")
    assert text == asked_text
    assert "outs" in text


def test_packed_tensors_are_told_as_such():
    asked = Asked(
        "x = ones(100, requires_grad=True)\nwith torch.autograd.graph.saved_tensors_hooks(lambda t: t.double(), lambda t: t.float()):\n"
        "    z = x.exp().sum()\n"
    )
    report = asked.report("buffers z")
    assert [row.state for row in report.rows] == ["packed"]
    assert (report.totals.packed, report.totals.nbytes) == (1, 0)
    assert asked.report("memory").now.saved == 800  # what the hook put in its place
    plan = asked.report("plan z")
    assert plan.would == asked.report("backward z")
    assert asked.report("memory").now.saved == 0


def test_what_a_custom_function_puts_on_its_ctx_counts():
    asked = Asked(
        "class Keep(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.kept = x.exp()\n"
        "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * ctx.kept\n\n"
        "x = torch.ones(50, requires_grad=True)\ny = Keep.apply(x)\n"
    )
    node = asked["y"].grad_fn
    memory = weakref.ref(node.kept.array)
    del node
    assert asked.report("memory").now.graph == 200
    asked.run("y.sum().backward()")  # as in PyTorch, ctx is not freed by a pass
    assert memory() is not None
    assert asked.report("memory").now.graph == 200
    asked.run("del y")
    assert memory() is None
    assert asked.report("memory").now.graph == 0


def test_rows_that_are_alike_are_stored_once():
    asked = Asked("w = ones(3, requires_grad=True)\nz = w * 1\nfor i in range(50):\n    z = (z * w).tanh()\n\nk = z.sum()")
    rows = asked.report("buffers k").rows
    assert len(rows) == 1 + 3 * 50
    assert len(rows.kinds) < 10
    assert list(rows) == [rows[place] for place in range(len(rows))] == list(rows[:])
    assert {row.shared for row in rows if row.held_by == ("w",)} == {50}
    assert sorted(row.memory for row in rows if row.name == "result") == sorted({row.memory for row in rows if row.name == "result"})
    by_bytes = asked.report("buffers k --sort bytes --live").rows
    assert [row.nbytes for row in by_bytes] == sorted((row.nbytes for row in rows), reverse=True)
    (line,) = [group for group in asked.report("buffers k --by line").groups if group.key == "line 4"]
    assert (line.live, line.unique_bytes) == (150, 12 * 52)
