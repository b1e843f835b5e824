"""Forward mode over the recorded calls (saved_tensors.json): the tangents of their results, here and in PyTorch.

    python tests/ops/forward_mode_walk.py [op ...]     every difference
    python tests/ops/forward_mode_walk.py --opinfo [name ...]     the same over PyTorch's own samples

Each call runs with a tangent at all floating inputs, then at each alone, in float64. A refusal must be the same refusal.
"""

import sys

import numpy as np
import torch as pytorch
from oracle_walk import data, load
from torch_compare import HERE, THERE, close, outputs_of

SYMMETRIC = ("cholesky", "eigh", "eigvalsh")
"""What reads one triangle of a symmetric matrix: the libraries read the tangent of one that is not differently."""


def tangents_of(side, code, arrays, followed):
    """Return the values and tangents of a call's results, or the error, with tangents at the inputs of these names."""
    forward_ad = side.namespace.autograd.forward_ad
    with forward_ad.dual_level():
        names = {}
        for place, (name, array) in enumerate(arrays.items()):
            names[name] = side.tensor(array, False)
            if name in followed:
                direction = np.asarray(np.random.default_rng(place).normal(size=array.shape))
                if direction.ndim > 1 and direction.shape[-1] == direction.shape[-2] and any(word in code for word in SYMMETRIC):
                    direction = direction + np.swapaxes(direction, -1, -2)
                names[name] = forward_ad.make_dual(names[name], side.tensor(direction, False))
        side.namespace.manual_seed(0)
        try:
            value = side.evaluate(code, names)
        except Exception as error:  # noqa: BLE001  (the error itself is compared)
            return error
        found = [forward_ad.unpack_dual(one) for one in outputs_of(side, value)[0]]
        return [tuple(None if one is None else np.array(side.array(one)) for one in pair) for pair in found]


def differences(call):
    """Return the differences of one recorded call."""
    arrays = {spec["name"]: data(spec, call["call"], place) for place, spec in enumerate(call["inputs"])}
    return compared(call["call"].replace("float32", "float64"), arrays)


def compared(code, arrays):
    """Return the differences of a call on these arrays."""
    arrays = {name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in arrays.items()}
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    problems = []
    for followed in dict.fromkeys([tuple(floats), *((name,) for name in floats)]):
        expected, got = (tangents_of(side, code, arrays, followed) for side in (THERE, HERE))
        told = _difference(expected, got)
        if told and followed:
            problems.append(f"{code} along {', '.join(followed)}: {told}")
    return problems


def _difference(expected, got):
    if isinstance(expected, Exception) or isinstance(got, Exception):
        sides = [f"{type(one).__name__}: {one}" if isinstance(one, Exception) else "none" for one in (expected, got)]
        same = sides[0].split("\n")[0] == sides[1].split("\n")[0]
        return "" if same else f"error\n  PyTorch {sides[0][:300]}\n  here    {sides[1][:300]}"
    for what, place in (("value", 0), ("tangent", 1)):
        for one, other in zip(expected, got, strict=True):
            a, b = one[place], other[place]
            if (a is None) != (b is None) and not (a is None and not b.any()) and not (b is None and not a.any()):
                return f"{what}: PyTorch {a}, here {b}"
            if a is not None and b is not None and (a.shape != b.shape or not close(b, a, 10)):
                return f"{what}:\n  PyTorch {a.tolist()}\n  here    {b.tolist()}"
    return ""


def samples(names):
    """Return PyTorch's own samples as calls."""
    from opinfo_walk import Unwritable, calls, chosen, database

    for info in database():
        if info.supports_forward_ad and (not names or chosen(info, names, False)):
            for sample in list(info.sample_inputs("cpu", pytorch.float64, requires_grad=True))[:12]:
                try:
                    yield from ((code, writer.arrays) for code, writer in calls(info, sample)[:1])
                except Unwritable:
                    continue


def main(names):
    """Print every difference."""
    pytorch.set_num_threads(1)
    if names[:1] == ["--opinfo"]:
        found = (compared(*call) for call in samples(names[1:]))
    else:
        found = (differences(call) for call in load() if not names or call["op"] in names)
    for problems in found:
        for told in problems:
            print(told, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
