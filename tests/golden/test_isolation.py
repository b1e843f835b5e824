"""Nothing of one script reaches the next, though many run in one process."""

from pathlib import Path

import pytest

from gradsh.contracts.events import Event
from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance
from gradsh.golden.report import failure_lines
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.run.read import Script
from gradsh.run.script import RunOptions
from gradsh.session.session import Session

PROBE = """
print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.initial_seed())
print(torch.rand(2), torch.tensor(1 / 3))
x = ones(2, requires_grad=True)
h = x.exp()
h.sum().backward()
print(h.grad_fn.name(), x.grad, freed(h), live_bytes())
import random, numpy as np
print(random.random(), np.random.rand())
print(sum(torch.ones(2)))
"""

SPOILERS = {
    "variables": "x = 3\nh = 4\nones = 5\nprint = 6\ntorch = 7\nlen = 8\n",
    "grad mode": "torch.set_grad_enabled(False)\n",
    "grad mode of a block that never ends": "torch.no_grad().__enter__()\nnonsense\n",
    "seed": "torch.manual_seed(9)\nrandn(1000)\n",
    "Python's seed": "import random\nrandom.seed(5)\nrandom.random()\nimport numpy as np\nnp.random.seed(3)\nnp.random.rand()\n",
    "file's seed": "#@ seed=4\nrand(2)\n",
    "print options": "torch.set_printoptions(precision=2, sci_mode=True, linewidth=20)\n",
    "default dtype": "torch.set_default_dtype(torch.float64)\n",
    "pins": "x = ones(2, requires_grad=True)\nh = x.exp()\nretain h\n",
    "settings": "set atomic on\nset timing on\nset account on\nset cuda ignore\n",
    "watches": "x = ones(2)\nwatch x\n",
    "Python's random state, drawn": "import random\nrandom.shuffle([1, 2, 3])\n",
    "random state set": "torch.set_rng_state(torch.get_rng_state())\ntorch.rand(3)\n",
    "saved-tensor hooks": "torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 0).__enter__()\n",
    "inference mode": "torch.inference_mode().__enter__()\n",
    "an attribute of a tensor's class": "try:\n    torch.Tensor.sum = 3\nexcept Exception:\n    pass\n",
    "warnings told once": "sum(torch.ones(2))\n",
    "anomaly": "torch.autograd.set_detect_anomaly(True)\n",
    "a changed namespace": "import torch.nn.functional as F\ntry:\n    F.relu = 3\nexcept Exception:\n    pass\n",
    "a changed module class": "try:\n    nn.Linear.forward = 3\nexcept Exception:\n    pass\n",
    "a failure": "def f():\n    raise ValueError('x')\nf()\n",
    "recursion": "def f():\n    f()\nf()\n",
    "hooks": "x = ones(2, requires_grad=True)\nx.register_hook(lambda g: g * 0)\n(x * x).sum().backward()\n",
}


def said(text: str) -> str:
    """What a script in a session of its own says."""
    out: list[str] = []

    def emit(event: Event) -> None:
        shown = event_text(event, Style())
        if shown is not None:
            out.append(shown[1])

    Session().run(text, emit, keep_going=True)
    return "".join(out)


@pytest.fixture(scope="module")
def clean() -> str:
    text = said(PROBE)
    assert "error" not in text
    return text


@pytest.mark.parametrize("what", SPOILERS)
def test_nothing_leaks(what: str, clean: str) -> None:
    said(SPOILERS[what])
    assert said(PROBE) == clean


def test_a_golden_run_leaks_nothing(clean: str, tmp_path: Path) -> None:
    lines = "".join(f"#> {line}\n" for line in clean.splitlines() if not line.startswith("warning"))
    text = "def probe():\n" + "".join(f"    {line}\n" for line in PROBE.strip().splitlines()) + f"probe()\n{lines}"
    for spoiler in SPOILERS.values():
        check_script(Script(str(tmp_path / "spoil.grad"), spoiler), RunOptions(), Tolerance())
        checked = check_script(Script(str(tmp_path / "probe.grad"), text), RunOptions(), Tolerance())
        assert checked.passed, "\n".join(failure_lines(checked, Style()))


def test_the_bytes_of_a_pass_are_the_same_each_time() -> None:
    text = "x = ones(2, requires_grad=True)\ny = (2 * x / 4).pow(2).sum()\nbackward y\n"
    told = {said(text) for _ in range(60)}
    assert len(told) == 1
    assert told.pop().endswith("releasing 24 B; wrote x.grad\n")


def test_the_library_is_left_as_it_was() -> None:
    import gradsh

    said("torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float64)\n")
    assert gradsh.is_grad_enabled()
    assert gradsh.ones(1).dtype is gradsh.float32
