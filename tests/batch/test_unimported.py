"""Names that gradsh offers and Python does not find: told once for a program that imports torch, at its end and by `gradsh check`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.run.check import check_script
from gradsh.run.read import Script

PROGRAM = """
import torch
import torch.nn as nn
def helper(dropout, relu):
    softmax = 2
    return [tanh for tanh in (dropout, relu, softmax)]
def late():
    return log_softmax(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = Linear(2, 2)
    def forward(self, x):
        return F.relu(self.fc(x))
def log_softmax(x):
    return x
sigmoid = lambda x: x
helper(1, 2), late(), sigmoid(2)
Net()(torch.ones(1, 2))
"""
MISSING = "`Linear` on line 12 (write `nn.Linear`), `F` on line 14 (write `import torch.nn.functional as F`)"


def said(text: str) -> list[str]:
    found: list[str] = []
    assert check_script(Script("script", text), found.append)[1] == []
    return found


def test_the_run_and_the_check_tell_the_same(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PROGRAM)
    done = gradsh("net.py")
    assert (done.status, done.out) == (0, "")
    (line,) = said(PROGRAM)
    assert line == f"Python raises NameError for what this program does not import: {MISSING}"
    assert done.err == f"warning: {line}\n  --> net.py:12:1\n"


@pytest.mark.parametrize("text", [
    "x = ones(2)\nprint(nn.Linear(1, 1))",  # a script of gradsh's own
    "import torch\nx = ones(2, requires_grad=True)\ny = x * 2\ngraph y",
    "from torch.nn.functional import *\nimport torch\nrelu(torch.ones(1))",
    "import torch\nfrom torch import nn, optim\ntensor = torch.ones(1)\ndef f():\n    return tensor",
    "import torch\nprint(len([]), abs(-1), sum([1]))",
])  # fmt: skip
def test_nothing_else_is_told(gradsh: Callable, text: str) -> None:
    assert gradsh("-c", text).err == ""
    assert said(text) == []


def test_a_file_beside_the_program_is_left_alone(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("def f():\n    return ones(2)\n")
    (tmp_path / "main.py").write_text("import torch\nfrom part import f\nprint(f())\n")
    assert gradsh("main.py").err == ""
