"""What the machine promises beside meaning: places, memory that goes at once, limits, commands, imports, bare names."""

import gc
import re
import threading
import weakref

import pytest

HEAD = "import torch\n"


def where_of_graph(script, name: str):
    """The places of all nodes below a variable, nearest first."""
    found, node = [], script.machine.program[name].grad_fn
    while node is not None and node.next_functions:
        found.append(script.machine.locate(node.location))
        node = node.next_functions[0][0]
    return found


def text_of(place) -> str:
    return place.source.line(place.span.line)[place.span.column - 1 : place.span.end_column - 1]


def test_a_node_knows_its_expression(script):
    script.run(HEAD + "x = torch.ones(2, requires_grad=True)\nz = (x * 2 + 1).exp().sum()\n")
    assert [text_of(place) for place in where_of_graph(script, "z")] == [
        "(x * 2 + 1).exp().sum()", "(x * 2 + 1).exp()", "x * 2 + 1", "x * 2",
    ]


def test_a_node_knows_its_calls_and_passes(script):
    script.run(
        HEAD + "x = torch.ones(2, requires_grad=True)\n"
        "def g(v):\n    return v * 2\n"
        "def f(v):\n    for i in range(3):\n        v = g(v)\n    return v\n"
        "for k in range(2):\n    y = f(x)\nz = y.sum()\n"
    )
    places = where_of_graph(script, "z")
    assert places[0].calls == ()
    assert places[0].iteration == 0
    last = places[1]
    assert [(call.span.line, call.iteration, call.function) for call in last.calls] == [(10, 2, "f"), (7, 3, "g")]
    assert (last.span.line, last.statement.line) == (4, 4)
    assert [place.calls[-1].iteration for place in places[1:]] == [3, 2, 1]


@pytest.mark.parametrize("body", [
    "try:\n    for i in range(3):\n        raise ValueError\nexcept ValueError: pass\n",
    "def f():\n    for i in range(3):\n        for j in range(3):\n            return 1\nf()\n",
    "for i in range(3):\n    while True:\n        break\n    continue\n",
    "def g():\n    for i in range(3):\n        yield i\nit = g()\nnext(it)\nfor v in g(): break\nlist(g())\n",
    "def r(n): return n if n == 0 else r(n - 1)\nr(5)\n[r(k) for k in range(3)]\nsorted([1, 2], key=lambda v: r(v))\n",
    "def bad():\n    for i in range(2): nope\nbad()\n",
    "with torch.no_grad():\n    for i in range(2): pass\n",
])
def test_the_activation_is_right_after_anything(script, body):
    script.run(HEAD + body + "x = torch.ones(2, requires_grad=True)\nz = x * 2\n")
    (place,) = where_of_graph(script, "z")
    assert place.calls == ()
    assert place.passes == ()


def test_a_place_inside_a_comprehension_a_lambda_and_a_generator(script):
    script.run(
        HEAD + "x = torch.ones(2, requires_grad=True)\n"
        "a = [x * k for k in range(3)][2]\nb = (lambda v: v * 3)(x)\n"
        "def g():\n    for k in range(2): yield x * k\n"
        "c = list(g())[1]\nd = sum(x * k for k in range(2))\n"
    )
    assert [text_of(where_of_graph(script, name)[-1]) for name in "abcd"] == ["x * k", "v * 3", "x * k", "x * k"]


@pytest.fixture(scope="module")
def collected():
    gc.collect()  # a second where many tests ran before


@pytest.fixture
def without_collector(collected):
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("text", [
    "del t", "t = 0", "t\nt = None", "(t + 1).nope\ndel t", "t.view(7)\ndel t", "print(t)\ndel t",
    "def f(v):\n    w = v\n    raise ValueError(w)\nf(t)\ndel t",
    "try:\n    raise ValueError(t)\nexcept ValueError as e:\n    pass\ndel t",
    "for v in [t]: pass\ndel v, t", "def f():\n    u = t\n    u.nope\nf()\ndel t", "[v for v in [t]]\ndel t",
    "class A:\n    def __init__(self): self.v = t\na = A()\na.v.nope\ndel a, t", "f'{t}'\ndel t", "t @ t @ t\ndel t",
    "def g():\n    yield t\nfor v in g(): pass\ndel v, t", "backward t\ndel t", "def f(v):\n    vars\n    return 1\nf(t)\ndel t",
    "a, b = t, t\ndel a, b, t", "x = [t]\nx.clear()\ndel t", "t.grad = 3\ndel t", "for i in range(2):\n    t.nope\ndel t",
])
def test_memory_goes_with_the_last_name(script, without_collector, text):
    script.command = lambda invocation: invocation.values()
    script.values = []
    script.machine.on_value = lambda _statement, _value: None
    script.run(HEAD + "t = torch.ones(100, 100)\n")
    watched = weakref.ref(script.machine.program["t"])
    script.run(text)
    assert watched() is None


def test_a_name_in_a_running_function_lets_go(script, without_collector):
    script.command = lambda invocation: seen.append(sorted(invocation.local))
    seen = []
    script.run(HEAD + "alive = []\ndef f():\n    t = torch.ones(3)\n    vars\n    check_it(t)\n    del t\n    check_it()\n")
    watched = []

    def check_it(*tensors):
        if tensors:
            watched.append(weakref.ref(tensors[0]))
        else:
            assert watched[0]() is None

    script.machine.program["check_it"] = check_it
    script.run("f()\n")
    assert not script.failures
    assert seen == [["t"]]


# --- limits -----------------------------------------------------------------------------------------------------

ENDLESS = [
    "while True: pass", "while 1:\n    try:\n        x = 1\n    except Exception: pass", "for i in iter(int, 1): pass",
    "def f():\n    while True: yield 1\nfor v in f(): pass", "sum(1 for _ in iter(int, 1))", "[0 for _ in iter(int, 1) if False]",
    "import itertools\nmax(itertools.count())", "import itertools\nfor k in itertools.cycle([1]): pass",
    "any(0 for _ in iter(int, 1))",
    "import time\ntime.sleep(1000)", "sum(range(10 ** 12))", "def f():\n    while True:\n        g()\ndef g(): pass\nf()",
    "while True:\n    try:\n        while True: pass\n    except: pass",
]


@pytest.mark.parametrize("text", ENDLESS)
def test_what_does_not_end_is_stopped(script, text):
    *before, text = re.split(r"\n(?=\S)", text)
    for statement in before:
        script.run(statement)
    timer = threading.Timer(0.15, script.machine.stop, ["it ran too long"])
    timer.start()
    script.run(text)
    timer.cancel()
    assert script.failure.problem.kind == "limit"
    assert script.failure.problem.message == "it ran too long"
    script.machine.resume()
    script.failures.clear()
    script.run("print('alive')")
    assert script.printed == ["alive\n"]


def test_an_interrupt_ends_the_statement(script):
    script.machine.program["strike"] = script.machine.interrupt
    script.run("n = 0\nwhile True:\n    n += 1\n    if n == 1000: strike()\n")
    assert script.failure.problem.kind == "interrupt"
    assert script.failure.line == 2
    assert script.machine.program["n"] > 0


def test_a_script_may_catch_an_interrupt_by_name(script):
    script.machine.program["soon"] = threading.Timer(0.1, script.machine.interrupt).start
    script.run(
        "try:\n    soon()\n    while True:\n        pass\n"
        "except KeyboardInterrupt:\n    print('stopped')\n    for i in range(3):\n        print(i)\n"
    )
    assert not script.failures
    assert script.output == "stopped\n0\n1\n2\n"


# --- commands, imports, bare names ------------------------------------------------------------------------------


def test_commands_evaluate_where_they_stand(script):
    seen = []

    def command(invocation):
        seen.append((invocation.command.name, invocation.values(), invocation.local))
        if invocation.tail is not None:
            invocation.tail()

    script.command = command
    script.run(
        "t = 1\ngraph t + 1\ndef f(v):\n    w = 2\n    for i in range(2):\n        graph v, w + i\n    time u = v + w\n    return u\n"
        "f(5)\ntime s = t + 1\nprint(s)\nfor k in range(2):\n    time total = k\nprint(total)\n"
    )
    assert not script.failures
    assert seen[0] == ("graph", [2], None)
    assert seen[1][1] == [5, 2]
    assert seen[1][2] == {"v": 5, "w": 2, "i": 0}
    assert seen[2][1] == [5, 3]
    assert [name for name, _, _ in seen[3:]] == ["time", "time", "time", "time"]
    assert script.values == ["7"]
    assert script.output == "2\n1\n"


def test_an_argument_can_be_evaluated_again(script):
    seen = []
    script.command = lambda invocation: seen.append([invocation.arguments[0]() for _ in range(3)])
    script.run("n = [0]\ndef f():\n    n[0] += 1\n    return n[0]\ngraph f()\n")
    assert seen == [[1, 2, 3]]


def test_an_error_in_an_argument_marks_the_argument(script):
    script.command = lambda invocation: invocation.values()
    script.run("graph (1 / 0)\n")
    assert script.marked("needed") == ["1 / 0"]
    assert script.lines("called") == []


def test_imports(script):
    script.run(
        "import torch.nn.functional as F, math\nfrom torch import nn, ones as o\nfrom torch.nn import *\nimport torch.optim\n"
        "from __future__ import annotations\nimport matplotlib.pyplot as plt\nfrom torchvision import datasets, transforms as T\n"
        "from typing import List, Optional\nimport numpy as np\nfrom math import *\n"
        "print(F is nn.functional, math.pi == pi, o(1), torch.optim.SGD.__name__, Linear is nn.Linear)\n"
    )
    assert not script.failures
    assert script.output == "True True tensor([1.]) SGD True\n"
    script.run("T.Compose([])")
    assert script.failure.problem.kind == "name"
    assert "torchvision" in script.failure.problem.message


def test_functorch_is_the_older_name_of_what_torch_func_has(script):
    script.run("import functorch as ft\nfrom functorch import jvp\nimport functorch\n")
    script.run("print(ft.grad is torch.func.grad, functorch is ft, jvp is ft.jvp)")
    assert script.output == "True True True\n"


def test_bare_names_are_looked_up_in_their_order(script):
    script.run(
        "print(ones(2), relu(ones(1) - 2), Linear(1, 1).bias.shape, sum([1, 2]), max(1, 2), mse_loss(ones(1), ones(1)), SGD.__name__)\n"
        "ones = 3\nprint(ones)\ndel ones\ndef f(zeros): return zeros\nprint(f(1), zeros(1))\n"
    )
    assert not script.failures
    assert script.output.splitlines()[1:] == ["3", "1 tensor([0.])"]
    script.run("ones(1)")  # what a program bound and deleted means nothing, as in Python
    assert script.failure.problem.kind == "name"


def test_the_sum_of_a_tensor_hints_once(script):
    script.run("x = ones(2, 2)\nsum(x)\nsum(x)\nsum([1])\n")
    assert len(script.warnings) == 1
    assert "x.sum()" in script.warnings[0]


def test_what_is_echoed(script):
    script.run("1\n'text'\nNone\nx = 2\nx\nif True:\n    x\nf'{x}'\nprint(3)\n'a' 'b'\n(x := 5)\n")
    assert script.values == ["1", "2", "'2'", "5"]
    assert script.output == "3\n"


def test_reset_forgets(script):
    script.run("a = 1\ndef f(): return a\n")
    script.machine.reset()
    script.run("print(len([1]))\na\n")
    assert script.failure.problem.kind == "name"
    assert script.machine.variables() == {}


def test_variables_are_the_programs_own(script):
    script.run("a = 1\nfor i in range(2): pass\nclass K: pass\nimport torch\n" + "x = " + "+".join(["1"] * 400) + "\n")
    assert list(script.machine.variables()) == ["a", "i", "K", "torch", "x"]
