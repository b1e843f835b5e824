"""Run PyTorch's own sample inputs (its OpInfo database) here and in PyTorch, and list the differences.

    python tests/ops/opinfo_walk.py [--float32] [--first N] [--full] NAME ...      (no name: every operation that exists here)

Each sample becomes one expression for `torch_compare`. An operation that has no record here is counted as missing. Samples
of complex numbers, other layouts and such are left out.
"""

import sys
import types
import unittest
import warnings

import numpy as np

_stub = types.ModuleType("expecttest")  # PyTorch's test helpers import it; nothing here uses it
_stub.TestCase = unittest.TestCase
sys.modules.setdefault("expecttest", _stub)
warnings.filterwarnings("ignore")

import torch as pytorch  # noqa: E402
from ops_namespace import absent  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch_compare import Comparison  # noqa: E402

DTYPES = (pytorch.float32, pytorch.float64, pytorch.int64, pytorch.int32, pytorch.uint8, pytorch.bool, pytorch.int16, pytorch.int8)


class Left(Exception):
    """A sample that cannot be written as an expression."""


class Call:
    """A sample as an expression over named arrays."""

    def __init__(self, name, sample):
        self.arrays = {}
        self.needing = []
        parts = [self.render(value) for value in (sample.input, *sample.args)]
        parts += [f"{key}={self.render(value)}" for key, value in sample.kwargs.items()]
        self.code = f"{name}({', '.join(parts)})"

    def render(self, value):
        if isinstance(value, pytorch.Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)):
            inner = ", ".join(self.render(one) for one in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if value else "()"
        if isinstance(value, pytorch.dtype):
            if value not in DTYPES:
                raise Left
            return str(value)
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if np.isfinite(value) else f"float('{value}')"
        if value is Ellipsis:
            return "..."
        if isinstance(value, slice):
            return f"slice({value.start}, {value.stop}, {value.step})"
        raise Left

    def tensor(self, value):
        if value.dtype not in DTYPES or value.layout != pytorch.strided or value.is_conj():
            raise Left
        name = f"x{len(self.arrays)}"
        data = value.detach().numpy()
        self.arrays[name] = data
        if value.requires_grad:
            self.needing.append(name)
        return name


def path_of(info):
    """Return the name under which an operation is called."""
    name = info.name
    if name.startswith("__"):
        raise Left
    return f"torch.{name}" if not hasattr(pytorch.Tensor, name) or hasattr(pytorch, name) else f"torch.Tensor.{name}"


def walk(info, dtype, limit, full):
    """Return (samples compared, differences, a missing name or None) of one operation."""
    count, problems = 0, []
    needs = info.supports_autograd and dtype.is_floating_point
    for number, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=needs)):
        if limit and number >= limit:
            break
        try:
            call = Call(path_of(info), sample)
        except Left:
            continue
        comparison = Comparison(call.code, call.arrays, call.needing, {"double": info.supports_gradgrad, "saved": True})
        _names, _value, error = comparison.attempt(__import__("torch_compare").HERE)
        if error is not None and absent(error):
            return count, problems, str(error)
        count += 1
        try:
            comparison.run()
        except Exception as crash:  # noqa: BLE001  (a crash is a difference to report)
            comparison.problems.append(f"crash {type(crash).__name__}: {crash}")
        if comparison.problems:
            shapes = {name: (tuple(array.shape), array.dtype.name) for name, array in call.arrays.items()}
            shown = comparison.problems if full else comparison.problems[:2]
            problems.append(f"{call.code}  {shapes}\n    " + "\n    ".join(one[:600] for one in shown))
    return count, problems, None


def main(arguments):
    """Compare the operations named on the command line."""
    dtype, limit, names, full = pytorch.float64, 0, [], False
    rest = iter(arguments)
    for word in rest:
        if word == "--float32":
            dtype = pytorch.float32
        elif word == "--int64":
            dtype = pytorch.int64
        elif word == "--first":
            limit = int(next(rest))
        elif word == "--full":
            full = True
        else:
            names.append(word)
    total = wrong = 0
    for info in op_db:
        if (names and info.name not in names) or dtype not in info.dtypes:
            continue
        count, problems, missing = walk(info, dtype, limit, full)
        label = f"{info.name}{'.' + info.variant_test_name if info.variant_test_name else ''}"
        total += count
        wrong += len(problems)
        if missing is not None:
            print(f"missing  {label}: {missing[:100]}")  # noqa: T201
        elif problems:
            print(f"DIFFERS  {label}: {len(problems)} of {count}")  # noqa: T201
            for problem in problems if full else problems[:3]:
                print("   " + problem)  # noqa: T201
        elif names:
            print(f"same     {label}: {count}")  # noqa: T201
    print(f"{total} samples, {wrong} differ")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
