"""Elementwise work on large arrays by several threads: the same bits for every number of them, and nothing hangs after a failure."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradsh
from gradsh.engine import parallel
from gradsh.engine.ambient import Ambient, enter
from gradsh.session.session import Session
from tests.batch.conftest import _environment

LARGE = parallel.WORTH + 12345
FORMULAS = ("tanh", "sigmoid", "relu", "nn.functional.gelu", "nn.functional.elu", "nn.functional.softplus", "exp")


def _bits(threads: int, formula: str) -> tuple[bytes, bytes]:
    with enter(Ambient()):
        gradsh.set_num_threads(threads)
        x = gradsh.linspace(-9, 9, LARGE).requires_grad_()
        function = gradsh
        for part in formula.split("."):
            function = getattr(function, part)
        result = function(x) * x
        result.backward(gradsh.ones(LARGE))
        return result.detach().numpy().tobytes(), x.grad.numpy().tobytes()


@pytest.fixture(autouse=True)
def one_thread_again():
    yield
    with enter(Ambient()):
        gradsh.set_num_threads(1)


@pytest.mark.parametrize("formula", FORMULAS)
def test_bits_do_not_depend_on_the_number_of_threads(formula: str) -> None:
    assert _bits(1, formula) == _bits(2, formula) == _bits(3, formula)


@pytest.mark.parametrize("function", [gradsh.softmax, gradsh.log_softmax])
def test_rows_are_shared_and_their_bits_stay(function, monkeypatch: pytest.MonkeyPatch) -> None:
    helped: list[int] = []
    helpers = parallel._helpers
    monkeypatch.setattr(parallel, "_helpers", lambda drain: helped.append(1) or helpers(drain))
    given = np.random.default_rng(0).standard_normal((LARGE // 700 + 1, 700)).astype(np.float32)

    def bits(threads: int) -> tuple[bytes, bytes]:
        with enter(Ambient()):
            gradsh.set_num_threads(threads)
            x = gradsh.from_numpy(given.copy()).requires_grad_()
            result = function(x, 1)
            result.backward(gradsh.from_numpy(given[::-1].copy()))
            return result.detach().numpy().tobytes(), x.grad.numpy().tobytes()

    assert bits(1) == bits(2) == bits(3)
    assert len(helped) >= 3


def test_each_block_is_worked_off_once_and_by_the_threads_that_were_asked_for() -> None:
    import threading

    count, barrier, names = np.zeros(LARGE, np.int8), threading.Barrier(3, timeout=60), set()

    def make() -> parallel.Block:
        barrier.wait()  # each thread comes here, or none goes on
        names.add(threading.current_thread().name)

        def block(start: int, stop: int) -> None:
            count[start:stop] += 1

        return block

    with enter(Ambient()):
        gradsh.set_num_threads(3)
        parallel.shared(LARGE, make, parallel.BLOCK)
    assert len(names) == 3
    assert count.min() == count.max() == 1


def test_small_arrays_are_left_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_helpers", lambda drain: pytest.fail("threads were asked for"))
    with enter(Ambient()):
        gradsh.set_num_threads(2)
        gradsh.linspace(0, 1, parallel.WORTH - 1).requires_grad_().sigmoid().sum().backward()


def test_a_failure_in_a_block_is_told_and_the_threads_go_on_to_other_work() -> None:
    def block(start: int, stop: int) -> None:
        if start:
            raise MemoryError("no more")

    with enter(Ambient()):
        gradsh.set_num_threads(2)
        with pytest.raises(MemoryError, match="no more"):
            parallel.shared(LARGE, lambda: block, parallel.BLOCK)
    assert _bits(2, "tanh") == _bits(1, "tanh")


def test_the_context_of_the_caller_goes_with_the_work(recwarn: pytest.WarningsRecorder) -> None:
    with enter(Ambient()), np.errstate(all="ignore"):
        gradsh.set_num_threads(2)
        parallel.spread(np.log, np.zeros(LARGE, np.float32))
    assert not recwarn.list


@pytest.mark.parametrize(("call", "told"), [
    ("0", "set_num_threads expects a positive integer"), ("2.5", "set_num_threads expects an int, but got float"),
    ("True", "set_num_threads expects an int, but got bool"), ("", "takes exactly one argument (0 given)"),
    ("int=2", "takes no keyword arguments"),
])
def test_what_is_no_number_of_threads_is_refused(call: str, told: str) -> None:
    events: list[object] = []
    Session().run(f"import torch\ntorch.set_num_threads({call})", events.append)
    assert any(told in repr(event) for event in events)


SCRIPT = """import torch
for threads in (1, 2, 2):
    torch.set_num_threads(threads)
    x = torch.linspace(-3, 3, 1 << 21).requires_grad_()
    (x.tanh() * x.sigmoid()).sum().backward()
    print(torch.get_num_threads(), x.grad.sum().item())
"""


@pytest.mark.parametrize("options", [[], ["--sandbox", "off"], ["-j", "2"], ["--max-memory", "2G"]])
def test_a_script_works_with_threads_behind_the_walls(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "a.grad").write_text(SCRIPT)
    files = ["a.grad", "a.grad"] if "-j" in options else ["a.grad"]
    done = subprocess.run(
        [sys.executable, "-m", "gradsh", "run", *options, *files], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=_environment(), timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line[:1] in "12"]
    assert [threads for threads, _ in lines] == ["1", "2", "2"] * len(files)
    assert len({total for _, total in lines}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_was_forked_has_threads_of_its_own() -> None:
    assert _bits(2, "tanh")
    child = os.fork()
    if not child:
        os._exit(0 if _bits(2, "tanh") == _bits(1, "tanh") else 1)
    assert os.waitpid(child, 0)[1] == 0
