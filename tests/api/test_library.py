"""gradsh as Python programs import it: names, modules, threads, and the classes of nodes."""

import os
import platform
import subprocess
import sys
import threading

import gradsh.nn as nn
import gradsh.nn.functional as F
import pytest
from gradsh.optim import SGD

import gradsh


def run(code: str) -> str:
    """What a program prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_name_hides_what_others_need() -> None:
    ask = "import gradsh as torch\nfor name in dir(torch): getattr(torch, name)\nprint(len(dir(torch)) > 500)\n"
    part = "from gradsh.process import files\nprint(torch.ones(2).sum(), files.__name__)"
    assert run(f"{ask}{ask}{part}") == "True\nTrue\ntensor(2.) gradsh.process.files\n"


def test_namespaces_are_modules() -> None:
    assert gradsh.nn is nn
    assert nn.functional is F
    assert gradsh.optim.SGD is SGD
    assert "Linear" in dir(nn)
    code = (
        "import gradsh.autograd, gradsh.nn.modules, gradsh.utils.data as data, gradsh.nn.utils.rnn\n"
        "from gradsh.autograd.functional import jacobian\nprint(gradsh.autograd.grad.__name__, data.DataLoader.__name__, gradsh.nn.Linear)"
    )
    assert run(code) == "grad DataLoader <class 'torch.nn.modules.linear.Linear'>\n"


@pytest.mark.parametrize("name", ["gradsh.nothing", "gradsh.nn.nothing", "gradsh.pi", "gradsh.nn.Linear"])
def test_what_is_no_namespace_is_no_module(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        __import__(name)


def test_each_thread_has_modes_of_its_own() -> None:
    x = gradsh.ones(2, requires_grad=True)
    told: list[object] = []

    def look() -> None:
        told.append((gradsh.is_grad_enabled(), gradsh.is_inference_mode_enabled(), (x * 2).requires_grad, gradsh.get_default_dtype()))
        gradsh.set_grad_enabled(False)

    before = gradsh.get_default_dtype()
    gradsh.set_default_dtype(gradsh.float64)
    try:
        with gradsh.inference_mode():
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
    finally:
        gradsh.set_default_dtype(before)
    assert told == [(True, False, True, gradsh.float64)]
    assert gradsh.is_grad_enabled()


NODES = """
class MyFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        told.append(type(ctx).__name__)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
told = []
x = torch.ones(2, 2, requires_grad=True)
for i in range(4):
    y = x * 2
    told.append(type(y.grad_fn).__name__)
z = MyFn.apply(x)
u = torch.zeros(2, 2)
u[0] = y[0]
v = y.view(4)
y.mul_(2)
for t in (y, z, u, v, y[0], y.sum(), x @ x, torch.cat([x, x])):
    told += [str(type(t.grad_fn)), repr(t.grad_fn).split()[0]] + [type(f).__name__ for f, _ in t.grad_fn.next_functions]
    told.append(isinstance(t.grad_fn, torch.autograd.graph.Node))
(z.sum() + u.sum() + v.sum()).backward()
told.append(x.grad.tolist())
"""


def test_a_node_is_of_the_class_that_pytorch_names() -> None:
    from gradsh.session.session import Session

    names: dict[str, object] = {"torch": gradsh}
    exec(NODES, names)
    assert str(names["told"]).startswith("['MulBackward0', 'MulBackward0', 'MulBackward0', 'MulBackward0', 'MyFnBackward', \"<class 'MulB")
    session = Session()
    session.run(NODES, lambda _: None)
    assert session.machine.program["told"] == names["told"]


@pytest.mark.parity
def test_pytorch_names_the_same_classes() -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = ({"torch": library} for library in (gradsh, torch))
    exec(NODES, ours)
    exec(NODES, theirs)
    assert ours["told"] == theirs["told"]


KEPT = """
import numpy, gradsh
kept = gradsh.keep_memory()
def resident():
    return int(open("/proc/self/statm").read().split()[1])
before = resident()
array = numpy.ones(1 << 23)
full = resident()
del array
print(kept, resident() - before > (full - before) // 2)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
@pytest.mark.parametrize(("more", "told"), [({}, "True True"), ({"MALLOC_ARENA_MAX": "1"}, "False False")])
def test_memory_is_kept_where_it_is_asked_for(more: dict[str, str], told: str) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    ran = subprocess.run([sys.executable, "-c", KEPT], env=own | more, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == told
