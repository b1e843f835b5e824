"""Runs one piece of code against PyTorch and against gradsh, and compares what it notes, in order.

The code finds `torch`, `nn`, `F`, `optim`, `note(value)` and `fails(function)`. A tensor is compared by shape, dtype,
requires_grad, version, values, and the names of the nodes behind it with what each saves; anything else by equality,
floats within rounding.
"""

import re
import warnings
from typing import Any

import numpy as np
import pytest

from gradsh.api.torch import NAMESPACES

real = pytest.importorskip("torch")


class Box(list[Any]):
    """What one run noted."""

    def __call__(self, *values: Any) -> None:
        self.extend(values)


def attempt(function: Any) -> Any:
    """Return what the function returns, or its error's class and text."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - whatever either of them raises is compared
        return type(error).__name__, re.sub(r"0x[0-9a-f]+", "0x", str(error))


def run(code: str, torch: Any, lr_scheduler: Any) -> list[Any]:
    """Run code against one of the two and return its notes."""
    box = Box()
    scope = {
        "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim, "note": box,
            "fails": lambda f: box(attempt(f)),
        "schedulers": lr_scheduler,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        exec(code, scope)
    return list(box)


def graph(node: Any, seen: set[Any], depth: int = 0) -> Any:
    """Return the names of a node and those below it, each node once."""
    if node is None:
        return None
    if node in seen or depth > 60:
        return "seen"
    seen.add(node)
    return node.name(), [graph(below, seen, depth + 1) for below, _ in node.next_functions]


def outline(value: Any) -> Any:
    """Return a tensor as plain data, other values as they are."""
    if isinstance(value, (list, tuple)):
        return [outline(one) for one in value]
    if isinstance(value, dict):
        return {str(key): outline(one) for key, one in value.items()}
    if hasattr(value, "grad_fn"):
        data = value.detach()
        return (
            "tensor", list(value.shape), str(value.dtype), value.requires_grad, graph(value.grad_fn, set()),
            np.asarray(data.tolist(), float),
        )
    return value


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return where two outlines differ."""
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        same = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
        return [] if same else [f"{path}: {ours} is not {theirs}"]
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            return [f"{path}: {ours} is not {theirs}"]
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [found for place, (a, b) in pairs for found in differences(a, b, f"{path}.{place}")]
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return [f"{path}: keys {list(ours)} are not {list(theirs)}"]
        return [found for key in ours for found in differences(ours[key], theirs[key], f"{path}.{key}")]
    if isinstance(ours, float) and isinstance(theirs, float):
        same = ours == theirs or abs(ours - theirs) <= 1e-4 * max(1.0,
            abs(theirs)) or (ours != ours and theirs != theirs)
        return [] if same else [f"{path}: {ours} is not {theirs}"]
    return [] if ours == theirs else [f"{path}: {ours!r} is not {theirs!r}"]


def twin(code: str) -> None:
    """Fail with the differences between gradsh and PyTorch in what the code notes."""
    real.set_num_threads(1)
    theirs = run(code, real, real.optim.lr_scheduler)
    ours = run(code, NAMESPACES["torch"], NAMESPACES["torch.optim.lr_scheduler"])
    found = differences(outline(ours), outline(theirs))
    assert not found, "\n".join(found[:20])
