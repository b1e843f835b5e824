"""What of PyTorch stands in here: files of tensors that stay in the session, plots and writers, one process.

None of it changes a number. Each says once per session that it stands in, and as what.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import ContextDecorator, contextmanager
from io import BytesIO
from posixpath import dirname
from typing import Any

from gradsh.api import file_tree
from gradsh.api.copying import saved_copy
from gradsh.api.nn.module import Module
from gradsh.engine.ambient import current, standing_in, tell
from gradsh.engine.attribute_names import ScriptBase
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.device import Device
from gradsh.engine.values.dtype import DType
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class Nothing(ScriptBase):
    """Takes every call and every attribute, and answers with itself: a plot, an experiment's run, a writer."""

    __script_silent__ = True

    def __init__(self, *_: object, **__: object) -> None:
        return

    def __call__(self, *_: object, **__: object) -> "Nothing":
        """Return the object itself."""
        return self

    def __getattr__(self, name: str) -> "Nothing":
        if name[:2] == "__" == name[-2:]:
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        return

    def __getitem__(self, key: object) -> "Nothing":
        return self

    def __setitem__(self, key: object, value: object) -> None:
        return

    def __iter__(self) -> Iterator["Nothing"]:
        return iter(())

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __bool__(self) -> bool:
        return False

    def __add__(self, other: object) -> "Nothing":
        return self if isinstance(other, Nothing) else NotImplemented  # transforms of a plot are added; with a number it is an error

    def __repr__(self) -> str:
        return "<a stand-in that keeps nothing>"


NOTHING = Nothing()


@standing_in("SummaryWriter", "it accepts every call and does nothing")
class SummaryWriter(Nothing):
    """TensorBoard's writer, which keeps nothing here."""

    def __init__(self, *_: object, **__: object) -> None:
        tell(SummaryWriter)


@standing_in("torch.profiler", "it measures nothing; `gradsh run --profile FILE` shows the time of each line")
class profile(Nothing):
    """PyTorch's profiler, which measures nothing here; `key_averages`, `table` and the others answer with nothing."""

    __module__ = "torch.profiler.profiler"

    def __init__(self, *_: object, **__: object) -> None:
        tell(profile)


autograd_profile = type("profile", (profile,), {"__module__": "torch.autograd.profiler", "__doc__": profile.__doc__})


class record_function(ContextDecorator):
    """A part of a program with a name in the profiler's tables: a block, or a function that it decorates."""

    __module__ = "torch.autograd.profiler"
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> "record_function":
        return self

    def __exit__(self, *_: object) -> None:
        return


@standing_in("torch.save", "it keeps a copy in the session and writes no file")
def save(obj: object, f: object, pickle_module: object = None, pickle_protocol: int = 2, **_: object) -> None:
    """Keep a copy of an object under a file's name, for `load` in the same session."""
    del pickle_module, pickle_protocol
    tell(save, f", '{f}'")
    name = _name(f)
    if not file_tree.parent_exists(name):
        message = f"Parent directory {dirname(name)} does not exist."
        raise fail("io", message, name=name, way=file_tree.way_to_folder(name))
    if file_tree.is_folder(name):
        raise fail("io", "[enforce fail at inline_container.cc:747] . open file failed with strerror: Is a directory", name=name)
    file_tree.keep(name, saved_copy(obj))


def load(
    f: object, map_location: object = None, pickle_module: object = None, *, weights_only: bool | None = None,
    **_: object,
) -> object:
    """Return a copy of what `save` kept. Raises FileNotFoundError, and UnpicklingError for what is not made of weights alone."""
    del map_location
    found = kept(f)
    if weights_only or (weights_only is None and pickle_module is None):
        _check_weights(found)
    return found


def add_safe_globals(safe_globals: Iterable[object]) -> None:
    """Let `load` give objects of these classes too, where it gives weights only."""
    current().flags[_SAFE] = [*get_safe_globals(), *safe_globals]


def get_safe_globals() -> list[object]:
    """Return the classes that `add_safe_globals` named."""
    return list(current().flags.get(_SAFE, ()))


def clear_safe_globals() -> None:
    """Forget the classes that `add_safe_globals` named."""
    current().flags.pop(_SAFE, None)


@contextmanager
def safe_globals(safe_globals: Iterable[object]) -> Iterator[None]:
    """Name classes for a block."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        current().flags[_SAFE] = before


_SAFE = "safe_globals"


def _check_weights(found: Any) -> None:
    """Refuse what PyTorch's loader of weights refuses: objects of other classes than tensors, numbers, texts and their containers."""
    safe = get_safe_globals()
    pending, seen = [found], set()
    while pending:
        one = pending.pop()
        kind = type(one)
        if id(one) in seen or isinstance(one, Tensor):
            continue
        seen.add(id(one))
        if kind in _TABLES:
            pending += [*one, *one.values()]
        elif kind in _ROWS:
            pending += one
        elif kind in safe:
            pending += getattr(one, "__dict__", {}).values()
        elif kind not in _PLAIN:
            import pickle

            name = f"{kind.__module__}.{kind.__qualname__}"
            way = "give `weights_only=False` if you trust the file, or save `state_dict()` instead of the module"
            raise fail("value", _NOT_WEIGHTS.format(name=name), pickle.UnpicklingError, way=way)


_NOT_WEIGHTS = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only if you trust the "
    "source of the checkpoint.\nWeightsUnpickler error: Unsupported global: GLOBAL {name} was not an allowed global by default. "
    "Please use `torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` context "
    "manager to allowlist this global if you trust this class/function."
)
"""The first and the last part of PyTorch's message; the way out is the one between them."""


_TABLES = frozenset({dict, OrderedDict, Counter})
_ROWS = frozenset({list, tuple, set, Size})
_PLAIN = frozenset({int, float, bool, str, bytes, type(None), DType, Device})


def kept(f: object) -> object:
    """Return a copy of what `save` kept, whatever it is. Raises FileNotFoundError."""
    name = _name(f)
    way = "torch.load returns what torch.save kept in this session; for a file of the disk run `gradsh trace FILE`"
    return saved_copy(file_tree.taken(name, way))


def _name(f: Any) -> str:
    if isinstance(f, (str, int)) or hasattr(type(f), "as_posix"):
        return str(f)
    if isinstance(f, BytesIO):
        return f"/<BytesIO {id(f):#x}>"
    if isinstance(getattr(f, "name", None), str) and hasattr(type(f), "readlines"):
        return str(f.name)
    way = "give the name of a file: gradsh keeps the object in the session under it"
    raise fail("type", f"torch.save and torch.load take a file's name here, not {type(f).__name__}: {way}", TypeError, way=way)


@standing_in("torch.compile", "it returns the function or module unchanged")
def compile(model: object = None, **_: object) -> object:
    """Return the function or the module itself: nothing is compiled."""
    tell(compile)
    return (lambda function: function) if model is None else model


class DataParallel(Module):
    """A module around another one: on the CPU, PyTorch's calls that one and nothing else."""

    def __init__(self, module: Module, device_ids: object = None, output_device: object = None, dim: int = 0, **_: object) -> None:
        super().__init__()
        del device_ids, output_device, dim
        self.module = module

    def forward(self, *inputs: object, **kwargs: object) -> object:
        """Call the module."""
        return self.module(*inputs, **kwargs)


def memory_allocated(device: object = None) -> int:
    """Return the bytes that the session's tensors and graphs hold now: there is no GPU whose memory could be counted."""
    return _bytes_held(device)[0]


def max_memory_allocated(device: object = None) -> int:
    """Return the most bytes that the session's tensors and graphs held: after each statement, and before each backward pass."""
    return _bytes_held(device)[1]


def memory_stats(device: object = None) -> OrderedDict[str, int]:
    """Return the session's counts under PyTorch's names: the bytes held now, and the most that were held."""
    held = dict(zip(("current", "peak"), _bytes_held(device), strict=True))
    return OrderedDict((f"{what}_bytes.all.{when}", held[when]) for what in ("allocated", "reserved") for when in held)


def memory_summary(device: object = None, abbreviated: bool = False) -> str:
    """Return the session's counts as lines of text."""
    del abbreviated
    now, peak = _bytes_held(device)
    rows = (("held by tensors and graphs now", now), ("at the peak", peak))
    return "\n".join([*(f"{name:<32}{size:>16,} B" for name, size in rows), "`memory` lists what holds them; there is no GPU"])


def _bytes_held(_device: object) -> tuple[int, int]:
    count = current().bytes_held
    return (0, 0) if count is None else count()
