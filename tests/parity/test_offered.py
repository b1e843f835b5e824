"""The names that gradsh offers, and the spellings of their arguments, are PyTorch's."""

import importlib
import re
from typing import Any

import pytest

import gradsh
from gradsh.api.torch import NAMESPACES
from gradsh.engine.graph.tensor import make
from gradsh.engine.registry import every_operation, method
from gradsh.runtime.pytorch_names import ONLY_PYTORCH
from gradsh.runtime.tensors import tensor_offers
from tests.engine.call_forms import Form, caught, forms

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", NAMESPACES)
def test_every_name_is_pytorchs(name: str) -> None:
    theirs: Any = torch
    try:
        theirs = importlib.import_module(name)  # not by attributes: `torch.autograd.gradcheck` is a function there
    except ModuleNotFoundError as missing:
        if name.startswith(str(missing.name)):  # no file of PyTorch's, but an attribute of one
            for part in name.split(".")[1:]:
                theirs = getattr(theirs, part)
        else:
            pytest.skip(f"PyTorch's {name} needs {missing.name}")
    space = NAMESPACES[name]
    offered = [one for one in {*space.names(), *every_operation()} if one in space and not hasattr(theirs, one)]
    assert [one for one in offered if not is_file(f"{name}.{one}")] == []


def test_every_module_stands_in_the_file_where_pytorch_keeps_it() -> None:
    classes = {name: kind.__module__ for name, kind in vars(torch.nn).items() if isinstance(kind, type) and name in NAMESPACES["torch.nn"]}
    found = {name: home for name, home in classes.items() if home.startswith("torch.nn.modules.")}
    assert len(found) > 100
    assert [name for name, home in found.items() if home not in NAMESPACES or name not in NAMESPACES[home]] == []


def is_file(name: str) -> bool:
    """Whether PyTorch has a file of that name: its own `torch.optim` drops the attributes that importing its files has left."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def test_every_method_is_pytorchs() -> None:
    own = {"_number"}
    assert [name for name in every_operation() if name not in own and method(name) and not hasattr(torch.Tensor, name)] == []


LENIENT = re.compile(r"torch\.nn\.functional\.\w+\(.*\b(x|a|x1|axis)=|torch\.(sum|prod)\(a0, out=o\)|a0\.unflatten\(axis=")
"""Functions of `torch` and of `F` are one here, so that those which PyTorch writes in Python take numpy's spellings, too; and
all overloads of one name take `out`."""


def test_every_spelling_is_pytorchs() -> None:
    found = [(form.text, *told(form)) for form in forms()]
    differ = [one for one in found if (one[1] == "taken") is not (one[2] == "taken") and not LENIENT.match(one[0])]
    assert differ == []
    assert sum(one[1] != one[2] for one in found) < 120  # in other words than PyTorch's


def told(form: Form) -> tuple[str, str]:
    """What a form is refused with, here and there, or "taken"."""
    found = []
    for library, tensor in ((gradsh, lambda array: make(array.copy())), (torch, lambda array: torch.from_numpy(array.copy()))):
        given = caught(form.text, {"torch": library, **form.given(tensor)})
        refused = isinstance(given, tuple) and given[:1] == ("TypeError",)
        found.append(given[1].partition("\n")[0] if refused else "taken")
    return found[0], found[1]


@pytest.mark.parametrize("space", ONLY_PYTORCH)
def test_what_is_said_to_be_pytorchs_alone_is(space: str) -> None:
    theirs: Any = torch.Tensor if space == "torch.Tensor" else importlib.import_module(space)
    here = tensor_offers if space == "torch.Tensor" else NAMESPACES[space].__contains__
    assert [name for name in ONLY_PYTORCH[space] if not hasattr(theirs, name) and not is_file(f"{space}.{name}")] == []
    assert [name for name in ONLY_PYTORCH[space] if here(name)] == []
