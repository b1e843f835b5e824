"""Saved-tensor hooks are called as often as in PyTorch and in its order, for every call and pattern of the recorded answers."""

import warnings

import numpy as np
import pytest
from oracle_walk import data, load

import gradsh
from gradsh.engine.values.storage import memory_key

pytestmark = pytest.mark.parity
CALLS = load()
NAMES = list(dict.fromkeys(call["op"] for call in CALLS))


def calls_of_hooks(torch, call, pattern, address):
    """Return what the hooks were given, in order, while a call and its backward ran: what it is, and its shape and dtype."""
    tensors = {
        spec["name"]: torch.tensor(data(spec, call["call"], place)).requires_grad_(spec["name"] in pattern)
        for place, spec in enumerate(call["inputs"])
    }
    seen, kept = [], []

    def pack(tensor):
        kept.append(tensor.detach())
        seen.append(("pack", len(kept) - 1))
        return len(kept) - 1

    def unpack(number):
        seen.append(("unpack", number))
        return kept[number]

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        value = run_call(call["call"], torch, tensors)
    outputs = [one for one in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(one, torch.Tensor)]
    roots = [one for one in outputs if one.requires_grad]
    try:
        torch.autograd.backward(roots, [torch.ones_like(one) for one in roots])
    except RuntimeError as error:
        seen.append(("error", str(error).split("\n")[0]))
    named = {address(one): name for name, one in tensors.items()}
    if isinstance(value, torch.Tensor):
        named.setdefault(address(value), "result")

    def shown(what, number):
        if what == "error":
            return what, number
        one = kept[number]
        return what, named.get(address(one), "own"), tuple(one.shape), str(one.dtype)

    return [shown(*one) for one in seen]


def run_call(code, torch, tensors):
    names = {"torch": torch, "F": torch.nn.functional, "np": np, **tensors}
    if code.startswith("x = ") or "; out = " in code:
        exec(code, names)
        return names["out"]
    return eval(code, names)


def differences(name):
    """Return what differs between PyTorch's calls and ours over all recorded calls of an operation."""
    import torch

    warnings.simplefilter("ignore")
    found = []
    for call in CALLS:
        if call["op"] != name:
            continue
        for pattern in call["patterns"]:
            needs = pattern["pattern"]
            theirs = calls_of_hooks(torch, call, needs, lambda one: one.untyped_storage().data_ptr())
            ours = calls_of_hooks(gradsh, call, needs, lambda one: memory_key(one.array))
            if ours != theirs:
                found.append((call["call"], needs, theirs, ours))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_hooks_are_called_as_in_pytorch(name):
    pytest.importorskip("torch")
    found = differences(name)
    assert not found, "\n".join(f"{code} {needs}\n  PyTorch {theirs}\n  here    {ours}" for code, needs, theirs, ours in found)
