"""Programs that fail as people's do (`failing.txt`): each right line is named, and each fix works in PyTorch as it does here.

A program names the lines of its story: `#@saved`, `#@freed`, `#@modified`, `#@built`.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradsh.contracts.events import Event, Failure
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.modules import is_module, parameters_of
from gradsh.session.session import Session
from gradsh.text.fix import applied

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
TEXT = (Path(__file__).parent / "failing.txt").read_text(encoding="utf-8")
PROGRAMS = {part.partition("\n")[0]: HEAD + part.partition("\n")[2] for part in TEXT.split("=== ")[1:]}
MOST = 3
"""Fixes of a program that PyTorch runs."""


def ran(text: str) -> tuple[Session, list[Failure]]:
    """Run a program here."""
    session, found = Session(), []

    def emit(event: Event) -> None:
        if isinstance(event, Failure):
            found.append(event)

    session.run(text, emit, name="program")
    return session, found


def gradients(session: Session) -> dict[str, Any]:
    """The gradients of a program's variables."""
    tensors = {}
    for name, value in session.machine.variables().items():
        if isinstance(value, Tensor):
            tensors[name] = value
        elif is_module(value):
            tensors.update((f"{name}.{path}", one) for path, one in parameters_of(value))
    return {name: None if one.meta is None or one.meta.grad is None else one.meta.grad.array for name, one in tensors.items()}


def theirs(text: str) -> dict[str, Any]:
    """The same in PyTorch, which has to run the program without an error."""
    names: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), names)
    tensors = {}
    for name, value in names.items():
        if isinstance(value, torch.Tensor):
            tensors[name] = value
        elif isinstance(value, torch.nn.Module):
            tensors.update((f"{name}.{path}", one) for path, one in value.named_parameters())
    return {name: one.grad.numpy() if one.is_leaf and one.grad is not None else None for name, one in tensors.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_fix_works_in_pytorch(name: str) -> None:
    marked = PROGRAMS[name].split("\n")
    text = re.sub(r"\s*#@.*", "", PROGRAMS[name])
    session, failures = ran(text)
    problem = failures[0].problem
    for role in ("saved", "freed", "modified", "built"):
        lines = {number for number, line in enumerate(marked, 1) if f"#@{role}" in line}
        assert not lines or lines & {label.span.line for label in problem.labels if label.role == role}, role
    assert session.state.failed is not None
    fixes = [fix for fix in session.tried(session.state.failed).problem.fixes if fix.tried and not fix.here]
    assert fixes
    for fix in fixes[:MOST]:
        new = "\n".join(applied(text.split("\n"), fix.edits)[0])
        mine, failed = ran(new)
        assert not failed, new
        expected, found = theirs(new), gradients(mine)
        for one in found.keys() & expected.keys():
            assert (found[one] is None) is (expected[one] is None), (one, fix.words)
            assert found[one] is None or np.allclose(found[one], expected[one], 1e-3, 1e-5, equal_nan=True), (one, fix.words)
