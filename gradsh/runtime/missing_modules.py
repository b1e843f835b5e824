"""What an import binds for a module that gradsh does not have: a name that explains itself when it is used."""

from typing import Any, NoReturn

from gradsh.text.fault import fail

_WAYS = {
    "matplotlib": "print the numbers, or save the graph with `graph T --format svg --output FILE`",
    "torchvision": "write the transform with tensor operations, or make the data with `torch.randn`",
    "torchviz": "`graph T` draws the graph here",
    "os": "a script here reads no files and no environment",
    "gc": "memory goes at once when the last reference does; `memory` and `leaks` tell what is held",
    "pandas": "put the numbers into a list or `torch.tensor`",
    "tqdm": "iterate over the values themselves",
    "argparse": "assign the values to names at the top of the script",
    "pdb": "put the commands `graph`, `buffers` or `watch` where you want to look",
    "ipdb": "put the commands `graph`, `buffers` or `watch` where you want to look",
    "warnings": "leave it out; warnings come with their line",
    "logging": "use `print`",
    "pickle": "a script writes no files; the command `save` keeps the session",
    "json": "write the data as Python's lists and dicts",
    "datetime": "use `time.time()`",
    "scipy": "write the function with tensor operations",
    "sklearn": "make the data with `torch.randn`, and compute the measure with tensor operations",
    "PIL": "make the image with `torch.rand`",
    "cv2": "make the image with `torch.rand`",
    "torchsummary": "`print(net)` shows the layers, `vars` and `memory` their sizes",
    "psutil": "`memory` tells about memory",
    "tracemalloc": "`memory` and `leaks` tell about memory",
    "dataclasses": "write a class with an `__init__`",
    "abc": "leave the base and the decorators out",
    "enum": "use a class whose attributes are the values",
    "multiprocessing": "statements run one after the other here",
    "threading": "statements run one after the other here",
}
_FILES = "a script reads and writes no files; the commands `save` and `load` keep and run a session"
_ONE = "gradsh computes in one process on the CPU: use the module itself"
_PRECISION = "leave it out: gradsh computes on the CPU, in float32 or float64"
_PLAIN = "leave it out: call the function or the module itself"
_TORCH = {
    "torch.save": _FILES, "torch.load": _FILES, "torch.compile": _PLAIN, "torch.jit": _PLAIN, "torch.fx": _PLAIN,
    "torch._dynamo": _PLAIN, "torch.onnx": _PLAIN, "torch.export": _PLAIN, "torch.distributed": _ONE,
    "torch.multiprocessing": _ONE, "torch.nn.parallel": _ONE, "torch.nn.DataParallel": _ONE, "torch.cuda.amp": _PRECISION,
    "torch.amp": _PRECISION, "torch.autocast": _PRECISION, "torch.cuda.Stream": _PRECISION, "torch.cuda.Event": _PRECISION,
    "torch.utils.tensorboard": "print the numbers, or `--output FILE` a result", "torch.hub": _FILES,
    "torch.profiler": "`time STATEMENT` times a statement, `memory` tells about memory",
    "torch.autograd.profiler": "`time STATEMENT` times a statement, `memory` tells about memory",
    "torch.utils.bottleneck": "`time STATEMENT` times a statement", "torch.utils.cpp_extension": "write the operation as a Function",
    "torch.sparse": "use dense tensors", "torch.sparse_coo_tensor": "use dense tensors",
    "torch.quantization": "gradsh computes in float32 or float64", "torch.ao": "gradsh computes in float32 or float64",
    "torch.fft": "gradsh has no complex numbers", "torch.distributions": "write the density with tensor operations",
    "torch.backends.mps": "gradsh computes on the CPU",
}  # fmt: skip
"""What PyTorch has and gradsh has not -> the way to do without it."""


def way_without(path: str) -> str:
    """Return the way to do without what PyTorch calls `path` (or what holds it), or "" for what PyTorch has not either."""
    while path:
        if path in _TORCH:
            return _TORCH[path]
        path = path.rpartition(".")[0]
    return ""


class Absent:
    """A module that gradsh does not have: importing it is allowed, using it says what to do instead."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def explain(self, *_: Any, **__: Any) -> NoReturn:
        """Raise ModuleNotFoundError with the way to do without the module."""
        top = self._module.partition(".")[0]
        way = way_without(self._module) or _WAYS.get(top, "remove what needs it; `torch`, `math`, `numpy` and a few more can be imported")
        raise fail(
            "name", f"gradsh has no module '{self._module}'; {way}", ModuleNotFoundError, name=self._module, way=way
        )

    __call__ = __iter__ = __getitem__ = __len__ = __bool__ = __enter__ = __add__ = __mul__ = explain

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"<module '{self._module}', which gradsh does not have>"
