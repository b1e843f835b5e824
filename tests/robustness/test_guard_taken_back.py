"""Two scripts that once broke out of the language, run with the guard's mends taken back: the kernel's walls hold them alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.batch.conftest import _environment
from tests.robustness.test_sandbox import needs_walls

MENDS_TAKEN_BACK = """
import copy, sys
sys.argv[0] = 'gradsh'
from gradsh.session.session import Session

PLAIN = Session.offer_assertions

def offer(self):
    from gradsh.api import copying
    from gradsh.api.function_context import FunctionCtx
    from gradsh.api.nn.module import Module
    from gradsh.api.optim.scheduler_base import LRScheduler
    from gradsh.runtime.guard import Guard

    PLAIN(self)
    Guard.allows = lambda *_: True
    Module.__array_interface__ = property(lambda self: self._buffers['__array_interface__'])
    LRScheduler.load_state_dict = lambda self, state: self.__dict__.update(state)
    FunctionCtx.where = property(lambda self: self.__node__.location)
    copying.deepcopy.__code__ = (lambda x, memo=None: __import__('copy').deepcopy(x)).__code__

Session.offer_assertions = offer
from gradsh.__main__ import main
main()
"""
"""The program as it was when special names were read from tables, states were loaded by force and `ctx` was the engine's node."""
MEMORY = """
import numpy as np
def at(address):
    module = nn.Linear(1, 1)
    module._buffers["__array_interface__"] = {"data": (int(address), False), "shape": (1,), "typestr": "<i8", "version": 3}
    return np.asarray(module)
held = [0]
found = at(id(print) + 24)[0]  # the builtins of a function
at(found)[0] += 1000  # their reference count
at(at(id(held) + 24)[0])[0] = found
held[0]["exec"]("import os; print('got', os.popen('echo the $SECRET_OF_THE_USER').read())")
"""
CODE = """
import copy
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        global kept; kept = ctx
        return x * 2
    @staticmethod
    def backward(ctx, g): return g
x = ones(1, requires_grad=True)
v = print("got", *open("secret.txt")) if isinstance(enumerate, type) else Double.apply(x)
scheduler = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([x], lr=0.1), 1)
scheduler.load_state_dict({"__reduce_ex__": lambda p: (lambda: enumerate, (), (None, {"__code__": kept.where[1]}))})
copy.deepcopy(scheduler)
enumerate()
"""
SCRIPTS = pytest.mark.parametrize("script", [MEMORY, CODE], ids=["memory", "code"])


def run(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "secret.txt").write_text("the secret")
    (folder / "a.grad").write_text(script)
    return subprocess.run(
        [sys.executable, "-c", MENDS_TAKEN_BACK, "run", *arguments, "a.grad"], cwd=folder, capture_output=True, text=True,
        check=False, timeout=120, env={**_environment(), "SECRET_OF_THE_USER": "secret"},
    )


@needs_walls
@SCRIPTS
def test_the_walls_hold_alone(tmp_path: Path, script: str) -> None:
    done = run(tmp_path, script)
    assert "secret\n" not in done.stdout
    assert "error[io]" in done.stderr, done.stdout + done.stderr
    assert "Permission" in done.stderr


@needs_walls
@SCRIPTS
def test_without_them_the_scripts_get_through(tmp_path: Path, script: str) -> None:
    assert "got the secret" in run(tmp_path, script, "--sandbox", "off").stdout


@SCRIPTS
def test_the_guard_holds_alone(tmp_path: Path, script: str) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    (tmp_path / "a.grad").write_text(script)
    done = subprocess.run(
        [sys.executable, "-m", "gradsh", "run", "--sandbox", "off", "a.grad"], cwd=tmp_path, capture_output=True, text=True,
        check=False, timeout=120, env={**_environment(), "SECRET_OF_THE_USER": "secret"},
    )
    assert done.returncode == 1
    assert "got" not in done.stdout
