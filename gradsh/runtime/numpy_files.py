"""What numpy reads and writes files with, over the files that the program wrote: numpy itself opens none."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradsh.api import file_tree
from gradsh.engine.ambient import standing_in, tell
from gradsh.runtime.object_arrays import numbers_only
from gradsh.runtime.session_files import OpenFile, open
from gradsh.text.fault import fail

_READING = "dtype comments delimiter skiprows skip_header skip_footer usecols unpack ndmin max_rows converters filling_values names"


def numpy_files() -> Mapping[str, object]:
    """Return numpy's functions that read and write files."""
    return {
        "loadtxt": _reader(np.loadtxt), "genfromtxt": _reader(np.genfromtxt), "savetxt": savetxt, "save": save, "load": load,
        "savez": savez, "savez_compressed": savez, "frombuffer": frombuffer,
    }


def _reader(function: Callable[..., object]) -> Callable[..., object]:
    """Return a reader of tables: it hands numpy the lines of a file, never its name."""
    read = numbers_only(function)

    def reader(fname: object, dtype: object = float, **options: object) -> object:
        given = {name: value for name, value in options.items() if name in _READING.split()}
        return read(_lines(fname), dtype=dtype, **given)

    return reader


def _lines(fname: object) -> list[str]:
    if isinstance(fname, (list, tuple)):
        return [str(line) for line in fname]
    if isinstance(fname, (OpenFile, io.StringIO)):
        return fname.readlines()
    if not file_tree.is_file(fname):
        raise fail("io", f"{fname} not found.", FileNotFoundError, name=str(fname), way=file_tree.READ_OWN)
    return open(fname).readlines()


def savetxt(fname: Any, X: Any, fmt: Any = "%.18e", delimiter: str = " ", newline: str = "\n", header: str = "") -> None:
    """Keep an array in the session as the text of a file."""
    text = io.StringIO()
    np.savetxt(text, np.asarray(X), fmt=fmt, delimiter=delimiter, newline=newline, header=header)
    open(fname, "w").write(text.getvalue())


@standing_in("np.save", "it keeps a copy in the session and writes no file")
def save(file: object, arr: object, *_: object, **__: object) -> None:
    """Keep a copy of an array in the session, under a file's name."""
    tell(save, f", '{file}'")
    file_tree.keep(_ending(file, ".npy"), numbers_only(np.array)(arr))


def savez(file: object, *args: object, **kwds: object) -> None:
    """Keep copies of several arrays in the session, under a file's name."""
    tell(save, f", '{file}'")
    arrays = {f"arr_{place}": one for place, one in enumerate(args)} | kwds
    file_tree.keep(_ending(file, ".npz"), {name: numbers_only(np.array)(one) for name, one in arrays.items()})


def load(file: object, *_: object, **__: object) -> object:
    """Return a copy of what `save` or `savez` kept. Raises FileNotFoundError."""
    held = file_tree.taken(file)
    if isinstance(held, dict):
        return {name: one.copy() if isinstance(one, np.ndarray) else one for name, one in held.items()}
    if not isinstance(held, np.ndarray):
        raise file_tree.no_such(file)
    return held.copy()


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> object:
    """Return the numbers that bytes stand for."""
    return np.frombuffer(bytes(buffer), dtype, count, offset).copy()


def _ending(file: object, ending: str) -> str:
    return str(file) if str(file).endswith(ending) else f"{file}{ending}"
