"""One table of the modules that programs import: which are real, which stand in, which are refused, and why.

Imports, `gradsh check` and the documents read it. A module that is not in it is refused without a way of its own.
"""

import sys
from types import ModuleType

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
    names: str = ""
    """What it offers of Python's own module of that name, where no loader makes its members."""


def _real(name: str, why: str = "", file: str = "standard") -> Module:
    return Module(REAL, why, f"gradsh.runtime.{file}:load_{name}")


def _listed(names: str, why: str = "") -> Module:
    return Module(REAL, why, names=names)


def _stands_in(why: str, loader: str, *parts: str) -> Module:
    return Module(STANDS_IN, why, f"gradsh.runtime.stand_ins:load_{loader}", parts)


def _refused(why: str) -> Module:
    return Module(REFUSED_MODULE, why)


_BREAK = "put the commands `graph`, `buffers` or `watch` where you want to look"
_ONE_BY_ONE = "statements run one after the other here"
_DATA = "put the numbers into a list or `torch.tensor`, or run the program on PyTorch: `gradsh trace FILE`"
_RECORD = "it accepts every call and does nothing"
_IMAGE = "make the image with `torch.rand`"
OR_TRACE = "or run the program on PyTorch: `gradsh trace FILE`"
_TRACE = f"write it with tensor operations, {OR_TRACE}"

MODULES: dict[str, Module] = {
    **{
        name: _real(name, file="library")
        for name in ("math", "copy", "random", "time", "itertools", "collections", "functools", "typing")
    },
    "typing_extensions": Module(REAL, "what `typing` offers", "gradsh.runtime.library:load_typing"),
    "numpy": _real("numpy", "arrays of numbers, and numpy's own random numbers", "numpy_names"),
    "abc": _real("abc"),
    "argparse": _real("argparse", "the arguments are those of `--args`", "argument_parser"),
    "ast": _real("ast", "values that are written as text"),
    "bisect": _listed("bisect bisect_left bisect_right insort insort_left insort_right"),
    "codecs": _real("codecs", "files that the program wrote"),
    "concurrent": _real("concurrent", "calls run one after the other", "one_thread"),
    "configparser": _real("configparser", "texts, and files that the program wrote", "configurations"),
    "contextlib": _real("contextlib"),
    "csv": _real("csv", "tables in the files that the program wrote"),
    "dataclasses": _real("dataclasses", file="dataclass"),
    "datetime": _real("datetime"),
    "difflib": _real("difflib"),
    "einops": _real("einops", "patterns of axes, with the operations that einops calls", "library"),
    "enum": _real("enum"),
    "errno": _listed("EACCES EAGAIN EBADF EEXIST EINTR EINVAL EIO EISDIR ENOENT ENOMEM ENOSPC ENOTDIR EPERM EPIPE ETIMEDOUT errorcode"),
    "functorch": _real("functorch", "what it shares with `torch.func`, and modules as functions", "library"),
    "gc": _real("gc", "memory is released with its last reference"),
    "glob": _real("glob", "files that the program wrote", "file_modules"),
    **dict.fromkeys(("bz2", "gzip", "lzma"), _real("codecs", "files that the program wrote, which nothing compresses")),
    "hashlib": _real("hashlib"),
    "heapq": _listed("heappush heappop heapify heapreplace heappushpop nlargest nsmallest"),
    "inspect": _real("inspect", "questions about functions and classes; no source, no frames"),
    "io": _real("io", "files in memory"),
    "json": _real("json"),
    "logging": _real("logging", "lines go to the program's own streams", "logger"),
    "multiprocessing": _real("multiprocessing", "a program has one process", "one_thread"),
    "numbers": _listed("Number Complex Real Rational Integral"),
    "operator": _real("operator"),
    "os": _real("os", "paths are values, files and folders are those of the session; nothing of the environment is read", "file_modules"),
    "pathlib": _real("pathlib", "paths are values", "paths"),
    "pickle": _real("pickle", "objects are kept in the session; bytes are never unpickled", "file_modules"),
    "platform": _real("platform", file="file_modules"),
    "pprint": _real("pprint"),
    "queue": _real("queue", "nothing waits: `get` of an empty queue fails", "one_thread"),
    "re": _listed(
        "compile search match fullmatch findall finditer sub subn split escape error Pattern Match "
        "I IGNORECASE M MULTILINE S DOTALL X VERBOSE A ASCII U UNICODE"
    ),
    "shutil": _real("shutil", "files that the program wrote get other names", "file_modules"),
    "signal": _real("signal", "handlers are kept and never called", "one_thread"),
    "statistics": _listed(
        "mean fmean geometric_mean harmonic_mean median median_low median_high median_grouped mode multimode stdev pstdev "
        "variance pvariance quantiles covariance correlation StatisticsError"
    ),
    "string": _listed(
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace capwords",
        "texts; Template and Formatter read attributes by themselves, and are left out",
    ),
    "sys": _real("sys", "`argv` holds the arguments of `--args`"),
    "tempfile": _real("tempfile", "names below which the session keeps files", "session_files"),
    "textwrap": _listed("dedent indent fill wrap shorten"),
    "threading": _real("threading", "locks; a program has one thread", "one_thread"),
    "timeit": _real("timeit", "clocks and repeated calls of functions; no text is run"),
    "traceback": _real("traceback", "the sentence of an exception without Python's frames"),
    "types": _real("types"),
    "unicodedata": _listed("normalize category name lookup combining bidirectional decimal digit numeric"),
    "uuid": _real("uuid", "random names"),
    "warnings": _real("warnings", file="warning_filters"),
    "weakref": _real("weakref"),
    "tqdm": _stands_in("it returns its argument and shows no progress", "tqdm", "tqdm.notebook", "tqdm.autonotebook"),
    "matplotlib": _stands_in(
        _RECORD, "plots", "matplotlib.pyplot", "matplotlib.animation", "matplotlib.ticker"
    ),
    "pylab": _stands_in(f"plots: {_RECORD}; numpy's functions are real", "pylab"),
    "seaborn": _stands_in(_RECORD, "everything"),
    "wandb": _stands_in(_RECORD, "everything"),
    "tensorboardX": _stands_in(_RECORD, "everything"),
    "mlflow": _stands_in(_RECORD, "everything"),
    "mpl_toolkits": _stands_in(_RECORD, "everything", "mpl_toolkits.mplot3d", "mpl_toolkits.axes_grid1"),
    "plotly": _stands_in(_RECORD, "everything", "plotly.express", "plotly.graph_objects"),
    "IPython": _stands_in(_RECORD, "everything", "IPython.display"),
    "PIL": _refused(_IMAGE),
    "atexit": _refused("call the function at the end of the script"),
    "cv2": _refused(_IMAGE),
    "ipdb": _refused(_BREAK),
    "pandas": _refused(_DATA),
    "pdb": _refused(_BREAK),
    "psutil": _refused("`memory` shows memory"),
    "scipy": _refused(_TRACE),
    "sklearn": _refused(f"make the data with `torch.randn`, compute the measure with tensor operations, {OR_TRACE}"),
    "subprocess": _refused("a script starts no other programs"),
    **dict.fromkeys(("asyncio", "ray"), _refused(_ONE_BY_ONE)),
    **dict.fromkeys(("gym", "gymnasium"), _refused(f"write the environment as a class with `reset` and `step`, {OR_TRACE}")),
    **dict.fromkeys(
        ("accelerate", "dgl", "lightning", "pytorch_lightning", "timm", "torch_geometric", "torchtext"),
        _refused(f"write it out with `nn.Module` and a loop, {OR_TRACE}"),
    ),
    **dict.fromkeys(("h5py", "yaml"), _refused(f"write the values into the script, {OR_TRACE}")),
    **dict.fromkeys(("datasets", "requests", "tarfile", "urllib", "zipfile"), _refused(f"a script reads no data: {_DATA}")),
    **dict.fromkeys(("cProfile", "pstats"), _refused("`gradsh run --profile FILE` shows the time of each line")),
    "builtins": _refused("use the names themselves"),
    "unittest": _refused(f"call the test's functions at the end of the script, {OR_TRACE}"),
    "torchaudio": _refused(f"make the data with `torch.randn`, {OR_TRACE}"),
    "torchsummary": _refused("`print(net)` shows the layers, `vars` and `memory` their sizes"),
    "torchvision": _refused(f"make the data with `torch.rand`, write the network out, {OR_TRACE}"),
    "torchviz": _refused("`graph T` draws the graph here"),
    "tracemalloc": _refused("`memory` and `leaks` show memory"),
    "transformers": _refused(f"write the network out, {OR_TRACE}"),
}


def module_of(path: str) -> Module | None:
    """Return the entry of a dotted path's first part, or None where the table has none."""
    return MODULES.get(path.partition(".")[0])


def only_python_has(path: str, name: str) -> bool:
    """Tell whether Python's own module has a function, class or constant that the one of the table does not offer."""
    found = _in_python(path, name)
    return found is not None and not isinstance(found, ModuleType)


def is_python_module(path: str, name: str) -> bool:
    """Tell whether Python's own module has a module of that name, such as `numpy.ma`."""
    return isinstance(_in_python(path, name), ModuleType)


def _in_python(path: str, name: str) -> object:
    entry = module_of(path)
    return getattr(sys.modules.get(path), name, None) if entry is not None and entry.how == REAL and name[:1] != "_" else None
