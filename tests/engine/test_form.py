"""What a tensor remembers of its shape and dtype (`form`) is true after every statement, whatever was done to it in place.

An operation on two tensors of one form looks at neither, so a form that is not forgotten in time gives wrong results.
"""

import gc
from pathlib import Path

import pytest

from gradsh.contracts.events import Done, Event
from gradsh.engine.graph.node import intern_descriptor
from gradsh.engine.graph.tensor import Tensor
from gradsh.session.session import Session

ROOT = Path(__file__).parents[2]
PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "scripts").glob("g*.grad"))[:10]}
PROGRAMS |= {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/oracle/real").glob("*.py"))[::3]}
PROGRAMS["geometry"] = """
x = torch.randn(3, 4)
y = torch.randn(3, 4)
z = x * y
x.t_()
x * y.t()
x.transpose_(0, 1)
x * y
x.unsqueeze_(0)
x * y
x.squeeze_(0)
x.resize_(2, 6)
x * torch.ones(2, 6)
x.resize_(12)
x * torch.ones(12)
x.data = torch.randn(3, 4)
x * y
x.data = torch.randn(4, 3).t()
x * y
x.set_(torch.randn(5))
x * torch.ones(5)
torch.add(y, y, out=x)
x * y
p = torch.nn.Parameter(torch.randn(3, 4))
p * y
p.data = p.data.double()
p * y.double()
q = y * 2
q.t_()
q * torch.ones(4, 3)
h = y * 2
h.detach_()
h * y
h.swapaxes_(0, 1)
h * torch.ones(4, 3)
net = torch.nn.Linear(4, 4)
net.weight * torch.ones(4, 4)
net.double()
net.weight * torch.ones(4, 4).double()
e = torch.empty(0)
e * e
s = torch.tensor(2.)
s * s
s * y
w = y[:, ::2]
w * w
w.exp()
y.t() * y.t()
y.t().exp() * torch.ones(4, 3)
b = torch.ones(1, 4).expand(3, 4)
b * y
b.exp() * y
"""


def what_is_wrong(tensor: Tensor) -> str:
    array = tensor.array
    lies = array.ndim and (array.flags.c_contiguous or array.ndim == 1)
    right = lies and tensor.descriptor == intern_descriptor(array.shape, array.dtype)
    return "" if right else f"{array.shape} {array.dtype} {array.strides} is said to be {tensor.descriptor}"


def formed() -> list[Tensor]:
    return [one for one in gc.get_objects() if issubclass(type(one), Tensor) and getattr(one, "descriptor", None) is not None]


@pytest.mark.parametrize("name", PROGRAMS)
def test_forms_are_true_after_each_statement(name: str) -> None:
    wrong: list[str] = []

    def look(event: Event) -> None:
        if isinstance(event, Done):
            wrong.extend(map(str, filter(None, map(what_is_wrong, formed()))))

    session = Session()
    gc.freeze()  # what is older is not looked through
    try:
        session.run(PROGRAMS[name], look, keep_going=True)
    finally:
        gc.unfreeze()
    assert wrong == []


def test_forms_are_remembered() -> None:
    """Else the test above would find nothing wrong with anything."""
    session = Session()
    session.run("x = torch.ones(3, 4)\nfor _ in range(5): y = x * x", lambda _: None)
    x, y = (session.machine.program[name] for name in "xy")
    assert x.descriptor is y.descriptor is intern_descriptor((3, 4), x.array.dtype)
