"""What an import binds for a module that gradsh does not have: a name that explains itself when it is used."""

import os.path
import sys
from typing import NoReturn

from gradsh.compiler.special import SPECIAL_METHODS
from gradsh.engine.ambient import current
from gradsh.runtime.modules import OR_TRACE, REFUSED_MODULE, is_python_module, module_of, only_python_has
from gradsh.runtime.pytorch_names import only_pytorch_has
from gradsh.text.fault import fail

ON_PYTORCH = "run the program on PyTorch: `gradsh trace FILE`; `gradsh check FILE` lists everything that gradsh does not have"
_ONE = "gradsh computes in one process on the CPU: use the module itself"
_PRECISION = "remove it: gradsh computes on the CPU"
_WRITE = f"write it with tensor operations, {OR_TRACE}"
_REMOVE = "name the folder that holds it with `--path {}`, or remove what needs it"
SYS_PATH = "sys.path"
"""The flag that holds the list which a program has as `sys.path`."""
_LEAVE = f"leave out what needs it, {OR_TRACE}"
_PLAIN = "remove it: call the function or the module itself"
_TORCH = {
    "torch.fx": _PLAIN,
    "torch._dynamo": _PLAIN, "torch.onnx": _PLAIN, "torch.export": _PLAIN, "torch.distributed": _ONE,
    "torch.multiprocessing": _ONE, "torch.nn.parallel": _ONE,
    "torch.cuda.Stream": _PRECISION, "torch.cuda.Event": _PRECISION,
    "torch.hub": "write the network out, or keep its weights with `torch.save`",
    "torch.cuda.nvtx": _PRECISION,
    "torch.profiler": "`time STATEMENT` times a statement, `memory` shows memory",
    "torch.autograd.profiler": "`time STATEMENT` times a statement, `memory` shows memory",
    **dict.fromkeys(("torch.utils.bottleneck", "torch.utils.benchmark"), "`time STATEMENT` times a statement"),
    "torch.utils.cpp_extension": "write the operation as a Function",
    "torch.sparse": "use dense tensors", "torch.sparse_coo_tensor": "use dense tensors",
    "torch.quantization": "gradsh has no quantized numbers", "torch.ao": "gradsh has no quantized numbers",
    **dict.fromkeys(
        ("torch.fft", "torch.complex", "torch.polar", "torch.view_as_complex", "torch.view_as_real", "torch.stft", "torch.istft",
         "torch.Tensor.imag", "torch.Tensor.cfloat", "torch.Tensor.cdouble", "torch.Tensor.stft", "torch.linalg.eig",
         "torch.linalg.eigvals", "torch.conj", "torch.imag"),
        "gradsh has no complex numbers: keep the real and the imaginary part apart",
    ),
    **dict.fromkeys(
        ("torch.Tensor.to_sparse", "torch.Tensor.to_sparse_csr", "torch.Tensor.to_sparse_coo", "torch.Tensor.coalesce",
         "torch.Tensor.indices", "torch.Tensor.values", "torch.sparse_csr_tensor", "torch.smm", "torch.hspmm"),
        "use dense tensors",
    ),
    "torch.nested": "pad the tensors to one length with `pad_sequence`",
    "torch.Tensor.map_": "write the operation for the whole tensor",
    "torch.Tensor.apply_": "write the operation for the whole tensor",
    "torch.futures": _ONE,
    **dict.fromkeys(
        ("threading.Thread", "threading.Timer", "threading.Event", "threading.Condition", "threading.local",
         "multiprocessing.Process", "multiprocessing.Queue", "multiprocessing.Manager"),
        f"statements run one after the other here: call the function itself, {OR_TRACE}",
    ),
    **dict.fromkeys(
        ("multiprocessing.Pool", "multiprocessing.pool", "multiprocessing.get_context", "concurrent.futures.ProcessPoolExecutor"),
        f"there is one process here: write `map(function, items)`, {OR_TRACE}",
    ),
    "typing.get_type_hints": f"annotations are texts here, which nothing evaluates: write the types into a dictionary, {OR_TRACE}",
    "signal.alarm": "`--timeout` bounds a run's time",
    "sys.modules": "put what you look up into a dictionary, as in `{'Net': Net}[name]`",
    "dataclasses.make_dataclass": "write the class under `@dataclass`",
    "numpy.lib.stride_tricks.as_strided": "write `sliding_window_view(array, length)`",
    "gc.get_referrers": "`holders` shows what holds memory",
    "torch.distributions": "write the density with tensor operations",
    "torch.backends.mps": "gradsh computes on the CPU",
    "torch.optim.SparseAdam": "use Adam: gradients are dense here",
}  # fmt: skip
"""What PyTorch has and gradsh has not -> the way to do without it."""


def way_without(path: str) -> str:
    """Return the way to do without what PyTorch calls `path` (or what holds it), or "" for what PyTorch has not either."""
    if path.rpartition(".")[2] in {"__file__", "__path__"}:
        return "leave it out: no file holds it here"
    while path:
        if path in _TORCH:
            return _TORCH[path]
        path = path.rpartition(".")[0]
    return ""


def is_held_elsewhere(space: str, name: str) -> bool:
    """Tell whether PyTorch or Python has a name of a namespace that gradsh has not, so that importing it binds an `Absent`."""
    return only_pytorch_has(space, name) or only_python_has(space, name) or bool(way_without(f"{space}.{name}"))


def holder(space: str, name: str) -> str:
    """Return who has a name of a namespace that gradsh has not, such as "PyTorch", or "" where nobody has."""
    if not (is_held_elsewhere(space, name) or is_python_module(space, name)):
        return ""
    return {"torch": "PyTorch", "numpy": "numpy"}.get(space.partition(".")[0], "Python")


def _added_folder() -> str:
    """Return a folder that the program has added to `sys.path`, where gradsh does not look by itself, or ""."""
    found = current().flags.get(SYS_PATH, [])
    added = [one for one in found if one != "."] or found[1:]
    return os.path.normpath(str(added[0])) if added else ""


class Absent:
    """A module, or a name of one, that gradsh does not have: importing it is allowed, using it says what to do instead."""

    __slots__ = ("_member", "_module")

    def __init__(self, module: str, member: bool = False) -> None:
        self._module = module
        self._member = member
        """Whether a program asked for it as a name of a module."""

    def explain(self, *_: object, **__: object) -> NoReturn:
        """Raise ModuleNotFoundError with the way to do without the module."""
        space, _dot, name = self._module.rpartition(".")
        known = module_of(self._module)
        what = "" if self._member or only_pytorch_has(space, name) else "module "
        top = self._module.partition(".")[0]
        of_python = only_python_has(space, name) or top in sys.stdlib_module_names
        otherwise = _LEAVE if of_python else _WRITE if top == "torch" else _REMOVE.format(_added_folder() or "DIR")
        way = way_without(self._module) or (known.why if known and known.how == REFUSED_MODULE else otherwise)
        raise fail(
            "name", f"gradsh has no {what}'{self._module}'; {way}", ModuleNotFoundError, name=self._module, way=way
        )

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"<module '{self._module}', which gradsh does not have>"


for _name in SPECIAL_METHODS - {"__init__", "__doc__", "__repr__", "__str__", "__hash__", "__eq__", "__ne__", "__exit__"}:
    setattr(Absent, _name, Absent.explain)
