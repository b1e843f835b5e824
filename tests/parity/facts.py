"""Everything that can be asked of a program's values, here and of PyTorch: two walks side by side, up to the first difference.

Values, flags, versions, strides, gradients, the graph with its names, edges, saved tensors and saved arguments, modules,
optimizers, containers. A question that raises must raise the same.
"""

import contextlib
import math
import re
import warnings

import numpy as np
import torch as pytorch

from gradsh.engine.graph.node import Node, behind
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.reduced import BFLOAT16, REDUCED

ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,}")
RTOL = {"float32": 2e-4, "float64": 1e-9, ">f4": 2e-2, "float16": 2.5e-3}
FAINT = {"float32": 1e-4, "float64": 1e-10, ">f4": 1e-2, "float16": 1.5e-3}
FRAGILE = {"ro", "al", "old_dirs", "old_stps", "H_diag"}
"""What L-BFGS knows of curvature: quotients of differences, of which rounding decides."""
MANY = 12
"""Longest container that is walked."""


class Difference(Exception):
    """Where two programs part: what was asked, and both answers."""


def answer(ask):
    """Return what asking gives, or the error as text."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  (compared as text)
        return spoken(error)


def spoken(error):
    """Return an error's class and text as both libraries can be compared by it."""
    return f"{type(error).__name__}: {ADDRESS.sub('0x0', str(error)).partition(chr(10) + 'Exception raised')[0].strip()}"


def settled(value):
    """Return an answer as plain data that compares: tensors aside."""
    if isinstance(value, (list, tuple)):
        return [settled(one) for one in value]
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if isinstance(value, (pytorch.Size, pytorch.dtype, pytorch.device)) or value is None or isinstance(value, (bool, int, float, str)):
        return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
    return ADDRESS.sub("0x0", str(value))


def same(path, mine, theirs):
    """Raise where two plain answers differ."""
    if mine == theirs and type(mine) is type(theirs):
        return
    if isinstance(mine, float) and isinstance(theirs, float) and math.isclose(mine, theirs, rel_tol=2e-4, abs_tol=1e-6):
        return
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            same(f"{path}[{place}]", one, other)
        return
    if mine != theirs:
        raise Difference(f"{path}: PyTorch {theirs!r}, here {mine!r}")


def same_array(path, mine, theirs, tight=False):
    """Raise where values differ by more than rounding may explain."""
    same(f"{path}.shape", list(mine.shape), list(theirs.shape))
    same(f"{path}.dtype", str(mine.dtype), str(theirs.dtype))
    if mine.dtype.kind != "f":
        if not np.array_equal(mine, theirs):
            raise Difference(f"{path} values: PyTorch {brief(theirs)}, here {brief(mine)}")
        return
    name = str(mine.dtype) if mine.dtype in REDUCED else "float64" if tight else "float32"
    one, other = mine.astype(float), theirs.astype(float)
    finite = np.abs(other[np.isfinite(other)])
    scale = max(float(finite.max()), 1.0) if finite.size else 1.0
    with np.errstate(all="ignore"):
        if not np.allclose(one, other, rtol=RTOL[name], atol=FAINT[name] * scale, equal_nan=True):
            raise Difference(f"{path} values: PyTorch {brief(theirs)}, here {brief(mine)}")


def brief(array):
    return np.array2string(array, precision=7, threshold=24).replace("\n", "")


def numbers(tensor):
    """Return PyTorch's tensor as an array."""
    with pytorch.no_grad():
        copy = tensor.detach().clone()
        if copy.dtype == pytorch.bfloat16:
            return copy.float().numpy().astype(BFLOAT16)
        return copy.numpy()  # of a copy: PyTorch resizes no memory that numpy looks at


class Walk:
    """One comparison of all that two programs have bound."""

    def __init__(self, *, saved=True):
        self.saved = saved
        self.tight = False
        self.nodes = {}
        self.partners = {}
        self.todo = []
        self.tensors = {}

    def names(self, mine, theirs):
        """Compare two programs' variables: to the last digits where all is computed in float64."""
        kinds = {value.dtype for value in theirs.values() if isinstance(value, pytorch.Tensor) and value.is_floating_point()}
        modules = any(isinstance(value, pytorch.nn.Module) for value in theirs.values())
        self.tight = kinds == {pytorch.float64} and not modules
        for name in theirs:
            self.value(name, mine.get(name), theirs[name])
        self.drain()
        self.aliases()

    def drain(self):
        """Compare the nodes reached so far, and those behind them."""
        while self.todo:
            self.node(*self.todo.pop())

    def aliases(self):
        """Compare which names are one tensor, and which tensor is whose base."""
        items = [(path, one, other) for path, (one, other) in self.tensors.items() if "." not in path]
        for path, one, other in items:
            base, bases = answer(lambda: one._base), answer(lambda: other._base)
            for again, mine, theirs in items:
                if (one is mine) != (other is theirs):
                    raise Difference(f"{path} is {again}: PyTorch {other is theirs}")
                known = isinstance(answer(lambda: mine._base), Tensor) == isinstance(answer(lambda: theirs._base), pytorch.Tensor)
                if known and (base is mine) != (bases is theirs):  # expanded gradients are views in PyTorch only
                    raise Difference(f"{path}._base is {again}: PyTorch {bases is theirs}")

    def value(self, path, mine, theirs):
        """Compare one value of a program."""
        if isinstance(theirs, pytorch.Tensor):
            if not isinstance(mine, Tensor):
                raise Difference(f"{path}: PyTorch a tensor, here {mine!r}"[:300])
            self.tensor(path, mine, theirs)
        elif isinstance(theirs, pytorch.autograd.graph.Node):
            self.follow(path, mine, theirs)
        elif isinstance(theirs, pytorch.nn.Module):
            self.module(path, mine, theirs)
        elif isinstance(theirs, (pytorch.optim.Optimizer, pytorch.optim.lr_scheduler.LRScheduler)):
            self.value(f"{path}.state_dict()", answer(mine.state_dict), answer(theirs.state_dict))
        elif isinstance(theirs, dict):
            self.mapping(path, mine, theirs)
        elif isinstance(theirs, (list, tuple)) and len(theirs) <= MANY:
            same(f"len({path})", len(mine) if isinstance(mine, (list, tuple)) else repr(mine), len(theirs))
            for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
                self.value(f"{path}[{place}]", one, other)
        elif theirs is None or isinstance(theirs, (bool, int, float, str)):
            same(path, settled(mine), settled(theirs))

    def mapping(self, path, mine, theirs):
        if not hasattr(mine, "keys"):
            raise Difference(f"{path}: PyTorch a mapping, here {mine!r}")
        plain = [key for key in theirs if isinstance(key, (str, int))]
        same(f"{path}.keys()", [key for key in mine if isinstance(key, (str, int))], plain)
        for key in plain[:40]:
            if key not in {"fused", "foreach", "capturable", "differentiable", "decoupled_weight_decay", *FRAGILE}:
                self.value(f"{path}[{key!r}]", mine[key], theirs[key])

    def module(self, path, mine, theirs):
        same(f"{path}.training", mine.training, theirs.training)
        for kind in ("named_parameters", "named_buffers"):
            ours, others = dict(getattr(mine, kind)()), dict(getattr(theirs, kind)())
            same(f"{path}.{kind}()", list(ours), list(others))
            for name, one in ours.items():
                self.tensor(f"{path}.{name}", one, others[name])

    def tensor(self, path, mine, theirs):
        """Compare everything about a tensor."""
        known = self.tensors.get(path)
        if known is not None and known[0] is mine and known[1] is theirs:
            return
        self.tensors[path] = mine, theirs
        same(f"type({path})", type(mine).__name__, type(theirs).__name__)
        same_array(path, mine.array, numbers(theirs), self.tight)
        for ask in ("requires_grad", "is_leaf", "_version", "retains_grad", "output_nr", "is_inference()"):
            name = ask.removesuffix("()")
            got = answer(lambda: getattr(mine, name)() if ask.endswith(")") else getattr(mine, name))
            expected = answer(lambda: getattr(theirs, name)() if ask.endswith(")") else getattr(theirs, name))
            same(f"{path}.{ask}", settled(got), settled(expected))
        self.geometry(path, mine, theirs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, expected = answer(lambda: mine.grad), answer(lambda: theirs.grad)
        if isinstance(expected, pytorch.Tensor) and isinstance(got, Tensor):
            self.tensor(f"{path}.grad", got, expected)
        else:
            same(f"{path}.grad", settled(got), settled(expected))
        got, expected = answer(lambda: mine.grad_fn), answer(lambda: theirs.grad_fn)
        if isinstance(got, str) or isinstance(expected, str):
            same(f"{path}.grad_fn", settled(got), settled(expected))
        else:
            self.follow(f"{path}.grad_fn", got, expected)

    def geometry(self, path, mine, theirs):
        same(f"{path}.stride()", steps(mine), steps(theirs))
        same(f"{path}.is_contiguous()", mine.is_contiguous(), theirs.is_contiguous())
        if theirs.numel() and ".grad" not in path:  # PyTorch's gradient may be a part of another one's memory
            same(f"{path}.storage_offset()", mine.storage_offset(), theirs.storage_offset())

    def follow(self, path, mine, theirs):
        """Note that two nodes must be each other's; they are compared later."""
        node = behind(mine)
        if (mine is None) != (theirs is None) or (mine is not None and not isinstance(node, Node)):
            raise Difference(f"{path}: PyTorch {settled(theirs)}, here {settled(mine)}")
        if mine is None:
            return
        if theirs in self.nodes or node in self.partners:
            if self.nodes.get(theirs) is not node:
                raise Difference(f"{path}: shared with another path: PyTorch {settled(theirs)}, here {settled(mine)}")
            return
        self.nodes[theirs] = node
        self.partners[node] = theirs
        self.todo.append((path, mine, theirs))

    def node(self, path, mine, theirs):
        """Compare two nodes: name, edges, what they saved."""
        same(f"{path}.name()", mine.name(), theirs.name())
        path = f"{path.partition(':')[0]}:{theirs.name()}"
        edges, others = mine.next_functions, theirs.next_functions
        same(f"{path} edges", [[e and e.name(), n] for e, n in edges], [[e and e.name(), n] for e, n in others])
        if self.saved:
            self.saved_by(path, mine, theirs)
        if hasattr(theirs, "variable"):
            self.tensor(f"{path}.variable", mine.variable, theirs.variable)
        for (one, _), (other, _) in zip(edges, others, strict=True):
            self.follow(path, one, other)

    def saved_by(self, path, mine, theirs):
        names = [name for name in dir(theirs) if name.startswith("_saved_")]
        if hasattr(type(theirs), "saved_tensors") and not names:
            names = ["saved_tensors"]
        for name in names:
            if name == "_saved_result3" and theirs.name().startswith("MkldnnRnn"):
                continue  # bytes of oneDNN's own
            got, expected = answer(lambda: getattr(mine, name)), answer(lambda: getattr(theirs, name))
            sized = answer(lambda: theirs._saved_size)
            if name in {"_saved_stride", "_saved_storage_offset"} and isinstance(sized, tuple) and 0 in sized:
                continue  # where a tensor without elements begins means nothing
            if name.endswith("_sym_strides"):  # a step over one element means nothing
                sizes = answer(lambda: getattr(theirs, name.replace("_sym_strides", "_sym_sizes")))
                if not isinstance(sizes, str) and len(sizes) == len(got) == len(expected):
                    got, expected = ([step for step, extent in zip(steps, sizes, strict=True) if extent > 1] for steps in (got, expected))
            if theirs.name() == "SortBackward0" and name == "_saved_indices" and isinstance(expected, pytorch.Tensor):
                # which of equal keys comes first depends on the width of the processor's vectors
                dim = theirs._saved_dim if theirs._saved_dim < expected.ndim else -1
                same_array(f"{path}.{name} sorted", np.sort(np.atleast_1d(got.array), dim), np.sort(np.atleast_1d(numbers(expected)), dim))
                continue
            self.saved_value(f"{path}.{name}", got, expected)
        extra = {f"_saved_{name}" for name in behind(mine).saved_names()} - set(names)
        held = [name for name in sorted(extra) if names != ["saved_tensors"] and answer(lambda: getattr(mine, name)) is not None]
        if held and "CopySlices" not in theirs.name():
            raise Difference(f"{path}: saves {held} beyond PyTorch's {names}")

    def saved_value(self, path, got, expected):
        if isinstance(expected, pytorch.Tensor):
            if not isinstance(got, Tensor):
                raise Difference(f"{path}: PyTorch a tensor, here {got!r}"[:300])
            same_array(path, got.array, numbers(expected), self.tight)
            same(f"{path}.stride()", steps(got), steps(expected))
            for ask in ("requires_grad", "is_leaf", "_version"):
                same(f"{path}.{ask}", settled(answer(lambda: getattr(got, ask))),
                     settled(answer(lambda: getattr(expected, ask))))
            one, other = answer(lambda: got.grad_fn), answer(lambda: expected.grad_fn)
            if not isinstance(one, str) and not isinstance(other, str):
                self.follow(f"{path}.grad_fn", one, other)
        elif isinstance(expected, (tuple, list)) and expected and isinstance(got, (tuple, list)):
            same(f"len({path})", len(got), len(expected))
            for place, (one, other) in enumerate(zip(got, expected, strict=True)):
                self.saved_value(f"{path}[{place}]", one, other)
        else:
            same(path, settled(got), settled(expected))


def steps(tensor):
    """Return the strides that mean something."""
    if not tensor.numel():
        return []
    return [step for step, extent in zip(tensor.stride(), tensor.shape, strict=True) if extent > 1]


@contextlib.contextmanager
def unheard():
    """Silence the warnings that asking makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
