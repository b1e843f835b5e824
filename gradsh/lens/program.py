"""Runs a Python program as `python` would: the same `__main__`, arguments, path, output, tracebacks and exit status."""

import ast
import builtins
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator
from types import CodeType, ModuleType, TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH100, PTH120
_FUTURE = 0x1FF0000  # the flags of `from __future__` statements


class PythonProgram:
    """A program: its file, its module `__main__`, and its code. `module` names it as `python -m` does."""

    def __init__(self, name: str, arguments: list[str], *, module: bool) -> None:
        self.main = ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        if module:
            self._as_module(name)
        else:
            self.file = os.path.abspath(name)  # noqa: PTH100
            self.main.__file__ = self.file
            self.main.__dict__["__cached__"] = None
            self.main.__dict__["__spec__"] = None
            self.main.__dict__["__loader__"] = importlib.machinery.SourceFileLoader("__main__", self.file)
            sys.path[0] = os.path.dirname(os.path.realpath(name))  # noqa: PTH120
        sys.argv[:] = [self.file if module else name, *arguments]
        sys.modules["__main__"] = self.main

    def _as_module(self, name: str) -> None:
        sys.path[0] = os.getcwd()  # noqa: PTH109
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
        if spec is None or spec.origin is None:
            raise OSError(f"No module named {name}")
        self.file = spec.origin
        self.main.__file__ = spec.origin
        self.main.__spec__ = spec
        self.main.__package__ = spec.parent

    def read(self) -> bytes:
        """Return the program's text. Raises OSError."""
        with open(self.file, "rb") as stream:  # noqa: PTH123
            return stream.read()

    def run(self, text: bytes) -> None:
        """Run it; what it raises passes through."""
        exec(compile(text, self.file, "exec", dont_inherit=True), self.main.__dict__)

    def statements(self, text: bytes) -> Iterator[tuple[int, CodeType]]:
        """Yield (line, code) of each top-level statement. Raises SyntaxError."""
        flags = 0
        for node in ast.parse(text, self.file).body:
            code = compile(ast.Module([node], []), self.file, "exec", flags, dont_inherit=True)
            flags |= code.co_flags & _FUTURE
            yield node.lineno, code


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of gradsh."""
    kept: list[TracebackType] = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(trace)
        trace = trace.tb_next
    following = None
    for one in reversed(kept):
        following = TracebackType(following, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return following


def strip(error: BaseException) -> None:
    """Take the frames of gradsh out of the tracebacks of an exception and of those that led to it."""
    seen: set[int] = set()
    stack: list[BaseException | None] = [error]
    while stack:
        one = stack.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = without_ours(one.__traceback__)
        stack += [one.__cause__, one.__context__]


def show(error: BaseException) -> None:
    """Show an exception that nobody caught, as Python does."""
    strip(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.excepthook(type(error), error, error.__traceback__)


def end_by_interrupt() -> None:
    """End the process as Python ends after a KeyboardInterrupt that nobody caught."""
    import atexit
    import signal

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
