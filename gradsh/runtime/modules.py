"""One table of the modules that programs import: which are real, which stand in, which are refused, and why.

Imports, `gradsh check` and the documents read it. A module that is not in it is refused without a way of its own.
"""

from gradsh.text.tuples import NamedTuple

REAL = "real"
STANDS_IN = "stands in"
REFUSED_MODULE = "refused"


class Module(NamedTuple):
    """A module: `how` it is here, `why` (as what it stands in, or what to write instead), where its members are made."""

    how: str
    why: str
    loader: str = ""
    parts: tuple[str, ...] = ()
    """Dotted names under it that stand for the module itself."""


def _real(name: str, why: str = "", file: str = "standard") -> Module:
    return Module(REAL, why, f"gradsh.runtime.{file}:load_{name}")


def _stands_in(why: str, loader: str, *parts: str) -> Module:
    return Module(STANDS_IN, why, f"gradsh.runtime.stand_ins:load_{loader}", parts)


def _refused(why: str) -> Module:
    return Module(REFUSED_MODULE, why)


_BREAK = "put the commands `graph`, `buffers` or `watch` where you want to look"
_ONE_BY_ONE = "statements run one after the other here"
_DATA = "put the numbers into a list or `torch.tensor`"
_RECORD = "as an object that accepts everything and keeps nothing"
_IMAGE = "make the image with `torch.rand`"
_TRACE = "write it with tensor operations, or run the program on PyTorch: `gradsh trace FILE`"

MODULES: dict[str, Module] = {
    **{
        name: _real(name, file="library")
        for name in ("math", "copy", "random", "time", "itertools", "collections", "functools", "typing", "numpy")
    },
    "abc": _real("abc"),
    "argparse": _real("argparse", "the arguments are those of `--args`", "argument_parser"),
    "bisect": _real("bisect"),
    "contextlib": _real("contextlib"),
    "dataclasses": _real("dataclasses", file="dataclass"),
    "datetime": _real("datetime"),
    "enum": _real("enum"),
    "gc": _real("gc", "memory goes with its last reference, so there is nothing to collect"),
    "heapq": _real("heapq"),
    "io": _real("io", "files in memory"),
    "json": _real("json"),
    "logging": _real("logging", "lines go to standard error", "logger"),
    "operator": _real("operator"),
    "os": _real("os", "paths are values; nothing of the disk or the environment is read"),
    "pathlib": _real("pathlib", "paths are values", "paths"),
    "pprint": _real("pprint"),
    "re": _real("re"),
    "statistics": _real("statistics"),
    "string": _real("string"),
    "sys": _real("sys", "`argv` holds the arguments of `--args`"),
    "textwrap": _real("textwrap"),
    "traceback": _real("traceback", "the sentence of an exception without Python's frames"),
    "types": _real("types"),
    "warnings": _real("warnings"),
    "weakref": _real("weakref"),
    "tqdm": _stands_in("as its argument", "tqdm", "tqdm.auto", "tqdm.notebook", "tqdm.autonotebook"),
    "matplotlib": _stands_in(_RECORD, "plots", "matplotlib.pyplot", "matplotlib.animation", "matplotlib.ticker"),
    "seaborn": _stands_in(_RECORD, "everything"),
    "wandb": _stands_in(_RECORD, "everything"),
    "tensorboardX": _stands_in(_RECORD, "everything"),
    "mlflow": _stands_in(_RECORD, "everything"),
    "IPython": _stands_in(_RECORD, "everything", "IPython.display"),
    "PIL": _refused(_IMAGE),
    "cv2": _refused(_IMAGE),
    "ipdb": _refused(_BREAK),
    "multiprocessing": _refused(_ONE_BY_ONE),
    "pandas": _refused(_DATA),
    "pdb": _refused(_BREAK),
    "pickle": _refused("a script writes no files; the command `save` keeps the session"),
    "psutil": _refused("`memory` tells about memory"),
    "scipy": _refused(_TRACE),
    "sklearn": _refused("make the data with `torch.randn`, and compute the measure with tensor operations"),
    "subprocess": _refused("a script starts no other programs"),
    "threading": _refused(_ONE_BY_ONE),
    "torchaudio": _refused("make the data with `torch.randn`, or run the program on PyTorch: `gradsh trace FILE`"),
    "torchsummary": _refused("`print(net)` shows the layers, `vars` and `memory` their sizes"),
    "torchvision": _refused("make the data with `torch.rand`, write the network out, or run the program on PyTorch: `gradsh trace FILE`"),
    "torchviz": _refused("`graph T` draws the graph here"),
    "tracemalloc": _refused("`memory` and `leaks` tell about memory"),
    "transformers": _refused("write the network out, or run the program on PyTorch: `gradsh trace FILE`"),
}


def module_of(path: str) -> Module | None:
    """Return the entry of a dotted path's first part, or None where the table has none."""
    return MODULES.get(path.partition(".")[0])
