"""PyTorch's own tests of autograd, run with either library, each test in a process of its own.

    python -m tests.conformance.autograd_tests FOLDER gradsh            what each test comes to
    python -m tests.conformance.autograd_tests FOLDER torch NAME…       the same of PyTorch, of tests whose name has a word

FOLDER is the folder `test` of PyTorch's source (`apt-get source pytorch`, or its repository). Nothing of it is kept here.
"""

import ast
import importlib
import io
import json
import pathlib
import re
import resource
import signal
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.conformance.cases import Missing, calls, internals
from tests.conformance.imports import FIND, finder, redirected
from tests.conformance.scope import left_out
from tests.processes import aside

FILES = ("test_autograd.py", "autograd/test_functional.py")
LONGEST = 20
"""Seconds of processor time that one test may take."""


class Test(NamedTuple):
    """One call of a test: its name, how it is run, and why it is left out, if it is."""

    name: str
    run: Callable[[], unittest.TestResult] | None
    why: str | None


def tests(folder: pathlib.Path, library: str) -> Iterator[Test]:
    """Load the files and return what they test."""
    for file in FILES:
        text = (folder / file).read_text(encoding="utf-8")
        tree = ast.parse(text)
        sources = {
            (cls.name, one.name): _source(text, one)
            for cls in tree.body if isinstance(cls, ast.ClassDef) for one in cls.body if isinstance(one, ast.FunctionDef)
        }
        why = {key: _why(*key, sources) for key in sources if key[1].startswith("test_")}
        for cls in tree.body:
            if isinstance(cls, ast.ClassDef):  # what is left out is not even defined: its decorators name what is not there
                names = [getattr(one, "name", "") for one in cls.body]
                kept = [name != "tearDown" and why.get((cls.name, name)) is None for name in names]  # each test has its own process
                cls.body = [one for one, keep in zip(cls.body, kept, strict=True) if keep] or [ast.Pass()]
        space = _load(tree, library, str(folder / file))
        for (owner, name), reason in why.items():
            yield from [Test(f"{owner}.{name}", None, reason)] if reason else _runs(space[owner], name)


def _why(owner: str, name: str, sources: dict[tuple[str, str], str]) -> str | None:
    """Return why a test is left out, read from its text and that of the methods that it calls."""
    source = sources[owner, name]
    helpers = [sources.get((owner, one), "") for one in re.findall(r"self\.(\w+)", source) if not one.startswith("test_")]
    return left_out("\n".join([owner, source, *helpers]))


def _source(text: str, function: ast.FunctionDef) -> str:
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : function.end_lineno])


def _load(tree: ast.Module, library: str, path: str) -> dict[str, Any]:
    """Run a test file without its own imports from beside it."""
    torch = importlib.import_module(library)
    inside, found = internals(torch), finder(library)

    def find(module: str, name: str | None = None) -> Any:
        if module.startswith("torch.testing._internal"):
            return inside.get(name or "", Missing(f"{module}.{name}"))
        try:
            return found(module, name)
        except (ImportError, AttributeError):
            return Missing(f"{module}.{name}")

    tree.body = [one for one in tree.body if not (isinstance(one, ast.ImportFrom) and (one.module or "").startswith("autograd."))]
    space: dict[str, Any] = {FIND: find, "__name__": "conformance", "__file__": path}
    sys.modules.setdefault("conformance", sys)  # where classes of the file say that they live
    exec(compile(redirected(tree), path, "exec"), space)
    return space


def _runs(case: Any, name: str) -> Iterator[Test]:
    method = getattr(case, name)
    for called, given, decorators in calls(method):
        if "DeviceType" in case.__name__:
            given["device"] = "cpu"
        title = f"{case.__name__}.{name}{called}".replace(" ", "")

        def run(given: dict[str, Any] = given, decorators: Any = decorators) -> unittest.TestResult:
            def body(self: Any) -> None:
                getattr(self, name)(**given)

            for decorate in decorators:
                body = decorate(body)
            result = unittest.TestResult()
            type(case.__name__, (case,), {"runTest": body})("runTest").run(result)
            return result

        yield Test(title, run, left_out(title))


def outcome(test: Test) -> tuple[str, str]:
    """Return what comes of a test, and the end of its traceback."""
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    signal.alarm(LONGEST * 10)
    sys.stdout = sys.stderr = io.StringIO()
    warnings.resetwarnings()  # tests count what is told
    assert test.run is not None
    result = test.run()
    bad = [*result.errors, *result.failures]
    if result.skipped:
        return "skipped", result.skipped[0][1]
    if result.unexpectedSuccesses:
        return "fails", "unexpected success"
    return ("fails", bad[0][1][-3000:]) if bad else ("passes", "")


def main(folder: str, library: str, *names: str) -> int:
    """Print a line of JSON for each test."""
    if library == "torch":
        importlib.import_module("torch").set_num_threads(1)
    for test in tests(pathlib.Path(folder), library):
        if not names or any(one in test.name for one in names):
            told = (test.why, "") if test.why else aside(lambda test=test: outcome(test), ("dies", ""))  # type: ignore[misc]
            print(json.dumps({"name": test.name, "outcome": told[0], "detail": told[1]}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
