"""The user's own files: which they are, their text, and the loops of each function in them."""

import ast
import linecache
import os
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH100, PTH120


class Loop(NamedTuple):
    """A `for` or `while` statement: the lines of its header and its last line."""

    first: int
    header: int
    last: int


Loops = dict[int, Loop]
"""Each line of a loop's header -> the loop."""


@cache
def _library_folders() -> tuple[str, ...]:
    """Folders of the standard library and of installed packages."""
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    for name in ("torch", "numpy", "IPython", "ipykernel"):
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin:
            found.add(os.path.dirname(os.path.dirname(origin)))  # noqa: PTH120
    return (_PACKAGE, *(os.path.join(path, "") for path in sorted(found) if path))  # noqa: PTH118


class UserFiles:
    """Tells the user's files from libraries. `own` are files that count as the user's wherever they lie."""

    def __init__(self) -> None:
        self.own: set[str] = set()
        self._known: dict[str, bool] = {}
        self._scopes: dict[str, dict[tuple[str, int], Loops]] = {}
        self.plans: dict[int, Loops | None] = {}
        """id of a code object (whose hash costs microseconds) -> the loops of its scope, None where the code is not the user's"""
        self._codes: list[Any] = []
        """The code objects of `plans`, kept so that no other gets the id of one"""
        self.outs: set[str] = set()
        """Names of the functions that the user's files call with `out=`"""
        self.on_out: Callable[[set[str]], None] | None = None
        """Told the names of a further file."""

    def is_own(self, filename: str) -> bool:
        """Tell whether a file is the user's: a program, a module beside it, a cell of a notebook."""
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = filename in self.own or self._lies_outside(filename)
        return known

    @staticmethod
    def _lies_outside(filename: str) -> bool:
        if filename.startswith("<"):
            return filename.startswith(("<ipython-input", "<stdin", "<gradsh "))
        return not os.path.abspath(filename).startswith(_library_folders())  # noqa: PTH100

    def loops_of(self, code: Any) -> Loops | None:
        """Return the loops of a code object's own scope; None where the code is not the user's."""
        try:
            return self.plans[id(code)]
        except KeyError:
            self._codes.append(code)
            found = self.plans[id(code)] = self._find_loops(code) if self.is_own(code.co_filename) else None
            return found

    def _find_loops(self, code: CodeType) -> Loops:
        scopes = self._scopes.get(code.co_filename)
        if scopes is None:
            self.learn(code.co_filename, _parsed("".join(linecache.getlines(code.co_filename))))
            scopes = self._scopes[code.co_filename]
        key = ("<module>", 0) if code.co_name == "<module>" else (code.co_name, code.co_firstlineno)
        return scopes.get(key, {})

    def learn(self, filename: str, module: ast.Module) -> None:
        """Take the loops of a text from its tree, and what it calls with `out=`."""
        self._scopes[filename] = _loops_by_scope(module)
        outs = _called_with_out(module) - self.outs
        self.outs |= outs
        if outs and self.on_out is not None:
            self.on_out(outs)

    def forget(self, filename: str) -> None:
        """Read a file anew when it is next asked for: its text changed."""
        self._scopes.pop(filename, None)
        for code in self._codes:
            if code.co_filename == filename:
                self.plans.pop(id(code), None)
        self._codes = [code for code in self._codes if code.co_filename != filename]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _loops_by_scope(module: ast.Module) -> dict[tuple[str, int], Loops]:
    """Return the loops of each scope of a text, by the scope's name and first line."""
    found: dict[tuple[str, int], Loops] = {}
    stack: list[tuple[ast.AST, tuple[str, int]]] = [(module, ("<module>", 0))]
    while stack:
        node, scope = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = (node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)]))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            header = node.test if isinstance(node, ast.While) else node.iter
            loop = Loop(node.lineno, header.end_lineno or node.lineno, node.end_lineno or node.lineno)
            found.setdefault(scope, {}).update(dict.fromkeys(range(loop.first, loop.header + 1), loop))
        stack.extend((child, scope) for child in ast.iter_child_nodes(node))
    return found


def _called_with_out(module: ast.Module) -> set[str]:
    """Return the names of the functions that a text calls with `out=`."""
    called = (
        node.func for node in ast.walk(module) if isinstance(node, ast.Call) and any(one.arg == "out" for one in node.keywords)
    )
    return {one.attr if isinstance(one, ast.Attribute) else one.id for one in called if isinstance(one, ast.Attribute | ast.Name)}
