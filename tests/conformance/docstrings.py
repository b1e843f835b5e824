"""The examples of PyTorch's docstrings, read off the installed package and run in both libraries, statement by statement.

    python -m tests.conformance.docstrings            those that differ, with the first difference, and the counts
    python -m tests.conformance.docstrings NAME…      these alone
"""

import ast
import collections
import contextlib
import importlib
import inspect
import io
import math
import random
import re
import resource
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch as pytorch

import gradsh
from gradsh.api.torch import NAMESPACES
from tests.conformance.imports import FIND, finder, redirected
from tests.conformance.scope import UNWRITTEN, left_out
from tests.oracle import compare
from tests.parity.duel import CRASHED
from tests.parity.facts import ADDRESS, Difference, Walk, spoken, unheard
from tests.processes import aside

PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.) ?")
LONGEST = 3
"""Seconds of processor time after which an example is given up: those are whole trainings."""


class Example(NamedTuple):
    """What one docstring shows: the name that it documents, its statements, and why it is left out, if it is."""

    name: str
    text: str
    statements: tuple[ast.stmt, ...]
    why: str | None


def examples() -> Iterator[Example]:
    """Find each docstring with statements once, under the first name that has it."""
    seen: set[str] = set()
    with warnings.catch_warnings(action="ignore"):  # of names that PyTorch retires
        found = list(documented())
    for name, doc in found:
        if doc in seen:
            continue
        seen.add(doc)
        text = "\n".join(PROMPT.sub("", line, count=1) for line in doc.splitlines() if PROMPT.match(line))
        statements = parsed(text)
        if statements:
            yield Example(name, text, statements, left_out(f"{name}\n{text}", UNWRITTEN))


def parsed(text: str) -> tuple[ast.stmt, ...]:
    """Return the statements of an example; none where it is only meant to be read."""
    try:
        return tuple(ast.parse(inspect.cleandoc(text)).body)
    except SyntaxError:
        return ()


def documented() -> Iterator[tuple[str, str]]:
    """Return the public names under PyTorch's namespaces that gradsh has, with their docstrings."""
    for path in NAMESPACES:
        with contextlib.suppress(ImportError):
            space = importlib.import_module(path) if path != "torch.functional" else None
            yield from ((f"{path}.{name}", doc) for name, doc in members(space))
    yield from ((f"torch.Tensor.{name}", doc) for name, doc in members(pytorch.Tensor))


def members(owner: Any) -> Iterator[tuple[str, str]]:
    """Return what an object offers, with docstrings, and the methods of its classes."""
    for name in sorted(dir(owner)):
        value = None if name.startswith("_") else getattr(owner, name, None)
        if value is None or isinstance(value, ModuleType) or not isinstance(getattr(value, "__doc__", None), str):
            continue
        yield name, value.__doc__
        if inspect.isclass(value) and value.__module__.startswith("torch"):
            inside = ((one, getattr(held, "__doc__", None)) for one, held in vars(value).items() if not one.startswith("_"))
            yield from ((f"{name}.{one}", doc) for one, doc in inside if isinstance(doc, str))


def offered(name: str) -> bool:
    """Whether gradsh has the documented name."""
    value: Any = gradsh
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


class Program:
    """An example's variables in one library."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        nn, autograd = torch.nn, torch.autograd
        self.space: dict[str, Any] = {
            "torch": torch, "nn": nn, "F": nn.functional, "np": np, "numpy": np, "math": math, "optim": torch.optim,
            "autograd": autograd, "Tensor": torch.Tensor, "tensor": torch.tensor, "random": random, "__name__": "__main__",
            "warnings": warnings, "Variable": autograd.Variable, FIND: finder(torch.__name__),
            "Function": autograd.Function, "init": nn.init,
        }
        self.given = set(self.space)
        random.seed(0)
        torch.manual_seed(0)

    def step(self, statement: ast.stmt) -> tuple[str | None, str]:
        """Run a statement as the prompt does; return its error and what it shows."""
        out, error = io.StringIO(), None
        tree = redirected(ast.Interactive(body=[statement]))
        with warnings.catch_warnings(), contextlib.redirect_stdout(out):
            warnings.simplefilter("ignore")
            try:
                exec(compile(tree, "<example>", "single"), self.space)
            except Exception as raised:  # noqa: BLE001  (it is what is compared)
                error = spoken(raised)  # type: ignore[no-untyped-call]
        return error, ADDRESS.sub("0x0", out.getvalue()).replace("gradsh.", "torch.")

    def variables(self) -> dict[str, Any]:
        """Return what the example has bound."""
        return {name: value for name, value in self.space.items() if name not in self.given and name[:2] != "__"}


def difference(example: Example) -> str | None:
    """Return where an example parts, None where it holds; raises LookupError where PyTorch cannot run it whole."""
    here, there = Program(gradsh), Program(pytorch)
    found = None
    for statement in example.statements:
        copied = ast.parse(ast.unparse(statement)).body[0]
        failed, expected = there.step(statement)
        if failed is not None and failed.partition(":")[0] in {"NameError", "ModuleNotFoundError", "ImportError"}:
            raise LookupError(failed)  # it presumes what a reader would have
        if found is None:
            found = parting(ast.unparse(copied), here.step(copied), (failed, expected)) or walked(here, there)
    return found


def parting(source: str, got: tuple[str | None, str], expected: tuple[str | None, str]) -> str | None:
    """Compare the errors and the texts of one statement."""
    if got[0] != expected[0]:
        return f"{source}: PyTorch {expected[0]}, here {got[0]}"
    lines, others = got[1].split("\n"), expected[1].split("\n")
    if len(lines) == len(others) and all(map(compare.same_line, others, lines)):  # type: ignore[no-untyped-call]
        return None
    return f"{source}: PyTorch {expected[1]!r}, here {got[1]!r}"


def walked(here: Program, there: Program) -> str | None:
    """Compare the variables."""
    state = pytorch.get_rng_state()
    with unheard(), contextlib.redirect_stdout(io.StringIO()):
        try:
            Walk(saved=False).names(here.variables(), there.variables())  # type: ignore[no-untyped-call]
        except Difference as parted:
            return str(parted)
        except Exception as error:  # noqa: BLE001
            return f"not comparable: {error!r}"
        finally:
            pytorch.set_rng_state(state)
    return None


def told(example: Example) -> tuple[str, str]:
    """Return what comes of an example, and a detail: holds, differs, missing, presumes, or why it is left out."""
    if example.why is not None:
        return example.why, ""
    try:
        found = difference(example)
    except LookupError as presumed:
        return "presumes names or packages", str(presumed)
    if found is None:
        return "holds", ""
    return ("differs" if offered(example.name) else "missing"), found


def judged(example: Example) -> tuple[str, str]:
    """Return `told`, asked in a process of its own."""
    pytorch.set_num_threads(1)

    def ask() -> tuple[str, str]:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        return told(example)

    found = aside(ask, CRASHED)
    return ("too long, or crashes PyTorch", "") if found == CRASHED else found


def main(names: list[str]) -> int:
    """Print what differs, and count."""
    counts: collections.Counter[str] = collections.Counter()
    for example in examples():
        if names and example.name not in names:
            continue
        verdict, detail = judged(example)
        counts[verdict] += 1
        if verdict in {"differs", "missing"} or names:
            print(f"{verdict} {example.name}: {detail[:400]}", flush=True)
    for verdict, times in counts.most_common():
        print(f"{times:5} {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
