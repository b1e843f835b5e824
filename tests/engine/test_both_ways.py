"""Fast paths of operations and of backward steps against the general ones: all that a program shows must be the same.

Each program is run in two processes, one that never writes a fast path and one that writes each at its first use.
"""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

import gradsh as torch
from gradsh.engine.codegen.specialize import STEPS
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import SPECIALIZE_AFTER
from gradsh.session.session import Session

PROGRAMS = {
    "writes after saving": """
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 3
z = y * y
y.detach().add_(1)
z.sum().backward()
y = x.exp()
with torch.no_grad():
    y += 1
y.sum().backward()
y = x.tanh()
y.data.zero_()
y.sum().backward()
print(x.grad, x.grad._version)
y = x * 2
v = y[0]
v.mul_(2)
(y * y).sum().backward()
print(x.grad, y.grad_fn, v.grad_fn, y._version)
""",
    "gradients of the middle": """
x = torch.tensor([1., 2.], requires_grad=True)
u = torch.ones(2, requires_grad=True)
a = x * 2
b = a.exp()
c = a * b + x
print(torch.autograd.grad(c.sum(), [a, b, x], retain_graph=True))
print(torch.autograd.grad(c.sum(), [a, u], allow_unused=True, retain_graph=True))
torch.autograd.grad(c.sum(), [u], retain_graph=True)
torch.autograd.backward([a, a], [torch.ones(2), torch.ones(2)], retain_graph=True)
c.sum().backward(inputs=[a])
print(x.grad, x.grad._version, a.grad)
c.sum().backward()
""",
    "hooks that raise": """
x = torch.tensor([1., 2.], requires_grad=True)
w = torch.tensor([3., 4.], requires_grad=True)
a = x * w
c = a.exp() * a + w
failing = [True]
def hook(g):
    if failing[0]:
        raise ValueError("no")
a.register_hook(hook)
s = c.sum()
s.backward()
print(x.grad, w.grad)
failing[0] = False
s.backward()
""",
    "places of birth": """
x = torch.ones(2, requires_grad=True)
def twice(t):
    return (t * 2
            + t)
kept = []
for i in range(3):
    a = twice(x); b = a * a
    kept += [k.exp() * i for k in (a, b)]
    try:
        c = (lambda t: t / 2)(b)
    finally:
        kept.append(torch.nn.functional.softplus(c) - x)
total = sum(k.sum() for k in kept)
total.backward(retain_graph=True)
total.backward()
total.backward()
""",
    "how results lie": """
x = torch.arange(6.).reshape(2, 3).requires_grad_()
t = x.t()
e = x[:, :1].expand(2, 4)
p = torch.arange(24.).reshape(2, 3, 4).permute(2, 0, 1)
for one in (t * t, t * torch.ones(3, 1), e * e, e.exp(), p * p[:, :1], torch.ones(1, 3) + p, x[:, ::2].exp(), t @ x):
    print(one.stride(), one.sum())
(t * t).sum().backward()
print(x.grad, x.grad.stride())
""",
}
QUESTIONS = "buffers\nmemory\nvars\nleaks\ngraph y\nwhy y\ngraph c\nplan c\ngraph total\nplan total"
NOISE = re.compile(r"0x[0-9a-f]+")


def told(program: str) -> list[str]:
    """Everything that a program and the questions after it show."""
    found: list[str] = []

    def emit(event: Any) -> None:
        found.append(NOISE.sub("", repr(getattr(event, "report", event))))

    Session().run(f"import torch\n{program}\n{QUESTIONS}\n", emit, keep_going=True)
    return found


def answers(few: int) -> dict[str, list[str]]:
    """What all programs show in a process that writes fast paths after so many uses."""
    code = (
        "import gc, json; gc.disable(); import gradsh.engine.schema.overload as record; "
        f"record.SPECIALIZE_AFTER = {few}; from tests.engine import test_both_ways as here; "
        "print(json.dumps({name: here.told(text) for name, text in here.PROGRAMS.items()}))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    found: dict[str, list[str]] = json.loads(made.stdout)
    return found


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The general ways' answers and the fast paths'."""
    return answers(1 << 60), answers(0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_short_ways_show_what_long_ways_show(name: str, both: Any) -> None:
    long, short = both
    assert len(long[name]) > 10
    assert short[name] == long[name]


def test_a_node_is_shown_by_the_name_of_its_operation() -> None:
    shown = told("x = torch.ones(2, requires_grad=True)\nn = (x * 2).grad_fn\nn.nothing")
    assert any("type='MulBackward0'" in one for one in shown)
    assert not any("CompactNode" in one or "OpNode" in one for one in shown)


def test_hooks_can_be_set_on_one_saved_tensor_by_a_script() -> None:
    shown = told(
        "x = torch.tensor([1., 2.], requires_grad=True)\ny = x * x\n"
        "y.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t * 10)\ny.sum().backward()\nprint(x.grad.tolist())"
    )
    assert any("[11.0, 22.0]" in one for one in shown)


def test_a_leaf_takes_its_gradient_over_also_where_a_step_is_just_written(monkeypatch: pytest.MonkeyPatch) -> None:
    for record in find("sub").records:
        monkeypatch.setattr(record, "steps", 0)
        monkeypatch.setattr(record, "compact_step", STEPS["compact_step"])
    versions = []
    for _ in range(SPECIALIZE_AFTER + 3):
        x = torch.ones(3, requires_grad=True)
        (x - torch.ones(3)).mean().backward()
        versions.append(x.grad._version)
    assert versions == [0] * len(versions)
