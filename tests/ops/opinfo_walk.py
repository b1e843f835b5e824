"""Run PyTorch's own sample inputs (its OpInfo database) here and in PyTorch, and list every difference.

    python tests/ops/opinfo_walk.py [--dtype=NAME] [--most=N] [--only] [--keywords] NAME ...   `add`, `nn.functional.relu`, `linalg.`

A name that ends in a dot or star means all that begin so; `--oracle` takes every operation of saved_tensors.json. For
each sample: the function, the method and the in-place form where there are; values, graph, saved, gradients of both
orders, as in `torch_compare`.
"""



import json
import operator
import sys
import types
import unittest
from pathlib import Path

import numpy as np
from torch_compare import array_of, compare, ours, pytorch

_SKIPPED = (pytorch.memory_format, pytorch.layout, pytorch.Generator)


def database():
    """Return PyTorch's OpInfo entries. Its test helpers import `expecttest`, which they do not need for samples."""
    if "expecttest" not in sys.modules:
        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        stub.assert_expected_inline = None
        sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


class Unwritable(Exception):
    """A sample with something that gradsh does not offer (complex numbers, memory formats)."""


class Writer:
    """Writes a call as code, giving names to its tensors."""

    def __init__(self):
        self.arrays = {}
        self.needing = []

    def write(self, value):
        if isinstance(value, pytorch.Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)):
            inner = ", ".join(self.write(one) for one in value)
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, pytorch.dtype):
            if value.is_complex:
                raise Unwritable
            return str(value)
        if isinstance(value, pytorch.device):
            return "'cpu'"
        if isinstance(value, slice):
            return f"slice({self.write(value.start)}, {self.write(value.stop)}, {self.write(value.step)})"
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            return f"float('{value}')"
        if value is Ellipsis:
            return "..."
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        raise Unwritable

    def tensor(self, value):
        if value.dtype.is_complex or value.layout != pytorch.strided:
            raise Unwritable
        name = f"x{len(self.arrays)}"
        array = array_of(value)
        self.arrays[name] = array if isinstance(array, np.ndarray) else np.asarray(array)
        if value.requires_grad:
            self.needing.append(name)
        return name


def calls(info, sample):
    """Return (code, writer) for the function, the method and the in-place form of one sample."""
    found = []
    forms = [("function", info.name)]
    if info.method_variant is not None:
        forms.append(("method", info.method_variant.__name__))
    if info.inplace_variant is not None:
        forms.append(("inplace", getattr(info.inplace_variant, "__name__", "")))
    for form, name in forms:
        writer = Writer()
        first = writer.write(sample.input)
        rest = [writer.write(one) for one in sample.args]
        rest += [f"{key}={writer.write(value)}" for key, value in sample.kwargs.items()]
        if name == "einsum":  # its samples name the operands first
            first, rest = rest[0], [first]
        if form == "function":
            code = f"torch.{name}({', '.join([first, *rest])})"
        elif not isinstance(sample.input, pytorch.Tensor):
            continue
        elif form == "method":
            code = f"{first}.{name}({', '.join(rest)})"
        else:
            if sample.broadcasts_input or not name or not hasattr(pytorch.Tensor, name):
                continue
            code = f"{first} = {first}.clone(); {first}.{name}({', '.join(rest)}); out = {first}"
        found.append((code, writer))
    return found


def keyword_call(info, sample):
    """Return (code, writer) with every argument by its name; None where the names are not known."""
    writer = Writer()
    values = [writer.write(one) for one in (sample.input, *sample.args)]
    names = next((found for found in parameters(info.name) if len(found) >= len(values)), None)
    if names is None or info.name == "einsum":
        return None
    given = [f"{key}={value}" for key, value in zip(names, values)]
    given += [f"{key}={writer.write(value)}" for key, value in sample.kwargs.items()]
    return f"torch.{info.name}({', '.join(given)})", writer


def parameters(name):
    """Return the names of the parameters of each overload that takes them one by one."""
    operation = operator.attrgetter(name)(ours)
    signatures = [record.signature for record in getattr(operation, "records", ())]
    return [["input" if one.name == "self" else one.name for one in each.params] for each in signatures if not each.variadic]


def walk(info, dtype, most, only, keywords=False):
    """Return (samples compared, [(code, problems)]) of one entry."""
    count, bad = 0, []
    pytorch.manual_seed(0)
    needs = info.supports_autograd
    samples = list(info.sample_inputs("cpu", dtype, requires_grad=needs))
    for sample in samples[:most]:
        try:
            pairs = calls(info, sample)
            pairs = pairs[:1] if only else pairs
            if keywords:
                pairs += [one for one in [keyword_call(info, sample)] if one is not None]
        except Unwritable:
            continue
        for code, writer in pairs:
            count += 1
            shapes = {name: tuple(array.shape) for name, array in writer.arrays.items()}
            found = compare(code, quiet=True, needs=[writer.needing], seed=0, **writer.arrays)
            if any(" error:\n" in one and "PyTorch none" not in one for one in found):
                continue  # PyTorch has no such function: the entry calls a method, or wraps something
            if found:
                bad.append((f"{code} {shapes}", found))
    return count, bad


def oracle_names():
    path = Path(__file__).parent.parent / "oracle" / "saved_tensors.json"
    with path.open(encoding="utf-8") as file:
        return {call["op"].rstrip("_") for call in json.load(file)["calls"]}


def chosen(info, names, oracle):
    plain = info.name.removeprefix("nn.functional.").removeprefix("linalg.").removeprefix("special.")
    if oracle and plain in oracle:
        return True
    return any(
        info.name == name or (name[-1] in ".*" and info.name.startswith(name.rstrip("*"))) for name in names
    )


def main(arguments):
    names = [one for one in arguments if not one.startswith("--")]
    options = {one.partition("=")[0]: one.partition("=")[2] for one in arguments if one.startswith("--")}
    dtype = getattr(pytorch, options.get("--dtype") or "float64")
    most = int(options.get("--most") or 1000)
    oracle = oracle_names() if "--oracle" in options else set()
    total = 0
    for info in database():
        if not chosen(info, names, oracle) or dtype not in info.supported_dtypes("cpu"):
            continue
        label = info.name + (f" ({info.variant_test_name})" if info.variant_test_name else "")
        try:
            count, bad = walk(info, dtype, most, "--only" in options, "--keywords" in options)
        except Exception as error:  # noqa: BLE001  (a broken sample generator concerns this entry only)
            print(f"{label}: no samples ({type(error).__name__}: {error})")
            continue
        total += len(bad)
        print(f"{label}: {count - len(bad)} of {count}")
        for code, problems in bad[: int(options.get("--show") or 3)]:
            print(f"    {code[:300]}")
            for problem in problems[:2]:
                print(f"      {problem[:500]}")
    print(f"{total} calls differ")


if __name__ == "__main__":
    main(sys.argv[1:])
