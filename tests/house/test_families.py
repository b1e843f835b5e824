"""The index of the operations: what it says of a file holds whichever file is imported first."""

import subprocess
import sys

import pytest

from gradsh.engine.registry import every_operation, find, lookup, operations
from gradsh.ops import homes
from gradsh.ops.families import FAMILIES

ALONE = """
import os, sys
import gradsh.engine.autograd.backward, gradsh.engine.dispatch.call, gradsh.engine.codegen.forward_elementwise, gradsh.engine.rng.generator
from gradsh.engine import registry
from gradsh.ops.families import FAMILIES

for family, names in FAMILIES.items():
    sys.stdout.flush()
    if os.fork() == 0:
        __import__(f"gradsh.ops.{family}")
        held = {*registry.REGISTRY, *registry.OPERATORS}
        missing = sorted(set(names.split()) - held)
        if missing:
            print(family, "lacks", missing)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
print("asked", len(FAMILIES))
"""
FEW = """
import sys
import gradsh
x = gradsh.ones(2, requires_grad=True)
(x * 2).sum().backward()
print(sum(name.startswith("gradsh.ops.") for name in sys.modules))
"""


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_family_declares_its_operations_when_imported_alone() -> None:
    assert python(ALONE) == f"asked {len(FAMILIES)}\n"


def test_the_index_names_every_operation() -> None:
    assert sorted(every_operation()) == operations() == sorted(name for name in homes() if not name.startswith("__"))


def test_a_program_loads_few_families() -> None:
    assert int(python(FEW)) < len(FAMILIES) / 3


def test_a_name_of_no_operation_is_none() -> None:
    assert lookup("no_such_operation") is None
    assert lookup("no_such_operation", "F") is None
    with pytest.raises(KeyError, match="no_such_operation"):
        find("no_such_operation")
