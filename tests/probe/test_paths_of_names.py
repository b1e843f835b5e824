"""Names lead to every tensor that a program holds, wherever it keeps it; asking holds nothing."""

import gc
import weakref

import pytest

from gradsh.probe.names import named_tensors, top_name
from tests.probe.asking import Asked

WAYS = [
    ("y = x * 2", "y"),
    ("y = [1, [x * 2]]", "y[1][0]"),
    ("y = {'a': (x * 2,)}", "y['a'][0]"),
    ("y = {x * 2}", "an item of y"),
    ("class A:\n    pass\n\ny = A()\ny.t = x * 2", "y.t"),
    ("def f():\n    t = x * 2\n    return lambda: t\n\ny = f()", "y's t"),
    ("y = lambda t=x * 2: t", "a default of y"),
    ("def g():\n    t = x * 2\n    yield 1\n    yield t\n\ny = g()\nprint(next(y))", "y's t"),
    ("import functools\ny = functools.partial(print, x * 2)", "an argument of y"),
    ("from collections import deque\ny = deque([x * 2])", "y[0]"),
    ("net = nn.Sequential(nn.Linear(2, 2))\nnet.register_buffer('y', x * 2)", "net.y"),
    ("x.grad = x.detach() * 2", "x.grad"),
]


@pytest.mark.parametrize(("text", "path"), WAYS)
def test_every_way_is_named_and_counted(text, path):
    asked = Asked(f"x = ones(100, requires_grad=True)\n{text}")
    assert not asked.failures
    report = asked.report("memory")
    assert report.now.total >= 800
    assert {one.name for one in report.keepers} >= {top_name(path)}
    if not path.endswith(".grad"):
        assert path in dict(named_tensors(asked.session.machine.variables()))


@pytest.mark.parametrize("command", [
    "memory", "graph", "buffers", "leaks", "vars", "why y", "holders y", "plan y", "diff", "graph y --to x",
])
def test_asking_keeps_nothing_alive(command):
    asked = Asked("x = ones(3, requires_grad=True)\ny = (x * x).sum()\ndef g():\n    t = y * 2\n    yield t\n\nit = g()\nz = next(it)")
    gc.disable()
    try:
        asked.run(command)
        assert not asked.failures
        node = weakref.ref(asked["y"].grad_fn)
        array = weakref.ref(asked["z"].array)
        asked.run("del z, it")
        assert array() is None
        asked.run("del y")
        assert node() is None
    finally:
        gc.enable()
