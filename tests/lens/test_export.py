"""`gradsh export`: every script, written as PyTorch, prints on PyTorch what gradsh's engine prints, and fails as it does."""

import re
from pathlib import Path
from typing import Any

import pytest

from gradsh.contracts.events import Failure, Print, Value
from gradsh.language.tree import Command
from gradsh.run.export import exported
from gradsh.run.export_commands import CATCH
from gradsh.session.session import Session
from gradsh.text.span import Source
from tests.lens.traced import run_python
from tests.oracle import compare

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.grad"))
BYTES_DIFFER = {
    "g03-lstm": "oneDNN's workspace of an LSTM is larger than the gates that gradsh's engine keeps",
    "g11-checkpointed-deep-net": "what a checkpoint of PyTorch's holds stands in its own frame, where live_bytes does not look",
}
SITUATIONS = sorted((ROOT / "tests" / "oracle" / "real").glob("*.py"))


def python(text: str, name: str = "x.grad") -> str:
    return exported(Source(name, text))[0]


def body(text: str) -> str:
    """What follows the head."""
    return python(text).partition("torch.manual_seed(0)\n")[2].rpartition("print(repr(value))\n\n")[2]


def test_bare_names_get_their_module() -> None:
    assert python("x = ones(2)\ny = relu(x)\nl = Linear(2, 2)\no = SGD(l.parameters(), 0.1)\nz = np.ones(2)") == (
        "import torch\nfrom torch import nn\nimport torch.nn.functional as F\nfrom torch import optim\nimport numpy as np\n"
        "torch.manual_seed(0)\nx = torch.ones(2)\ny = F.relu(x)\nl = nn.Linear(2, 2)\no = optim.SGD(l.parameters(), 0.1)\nz = np.ones(2)\n"
    )


def test_names_of_the_program_stay() -> None:
    assert body("cat = cat([ones(1)])\nh, cat = cat, 1") == "cat = torch.cat([torch.ones(1)])\nh, cat = cat, 1\n"
    assert body("def f(ones):\n    return ones(2)\n[exp for exp in (1, 2)]\nlambda exp: exp") == (
        "def f(ones):\n    return ones(2)\nprint([exp for exp in (1, 2)])\nshow(lambda exp: exp)\n"
    )
    assert "torch.nn.functional.relu(x)" in python("F = 3\nx = ones(2)\ny = relu(x)")


@pytest.mark.parity
def test_last_values_are_kept_where_they_are_read(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "x.py"
    path.write_text(python("x = ones(2)\nx\nx + _\ny = _ if _ is x else __\ny, 1\n_[1]"), encoding="utf-8")
    assert run_python(path).out == "tensor([1., 1.])\ntensor([2., 2.])\n(tensor([1., 1.]), 1)\n1\n"
    assert "global" not in python("_ = 3\n_")


def test_the_program_s_own_imports_and_seed_are_enough() -> None:
    text = "import torch\nfrom torch import nn\ntorch.manual_seed(3)\nx = torch.ones(2)\nl = nn.Linear(2, 2)\n"
    assert python(text) == text
    assert python("#@ seed=4\nx = randn(2)") == "#@ seed=4\nimport torch\ntorch.manual_seed(4)\nx = torch.randn(2)\n"


@pytest.mark.parametrize(("command", "code"), [
    ("backward z", "z.backward()"),
    ("backward z --retain", "z.backward(retain_graph=True)"),
    ("backward x * 2 --grad ones(2) --create-graph", "(x * 2).backward(torch.ones(2), create_graph=True)"),
    ("backward z --inputs x w", "z.backward(inputs=[x, w])"),
    ("backward z w --grad ones(2) --grad x", "torch.autograd.backward([z, w], [torch.ones(2), x])"),
    ("backward z --plan", "# backward z --plan"),
    ("retain --grad x", "x.retain_grad()"),
    ("graph z --depth 2", "# graph z --depth 2"),
    ("time y = ones(3)", "y = torch.ones(3)  # time y = ones(3)"),
])
def test_commands(command: str, code: str) -> None:
    assert body(f"x = w = z = ones(2)\n{command}\n") == f"x = w = z = torch.ones(2)\n{code}\n"


def test_commands_in_blocks_leave_them_whole() -> None:
    assert body("for i in range(2):\n    graph z\n    vars\nif 1: vars\nx = 1; vars; x = 2") == (
        "for i in range(2):\n    pass  # graph z\n    # vars\nif 1: pass\nx = 1; pass; x = 2\n"
    )


def test_values_are_shown_as_at_a_prompt() -> None:
    assert body("x = ones(2)\nx\nx.grad\nx.sum() * 2\nx, 1\n'text'\nx.sum().backward()") == (
        "x = torch.ones(2)\nprint(x)\nshow(x.grad)\nprint(x.sum() * 2)\nprint((x, 1))\n'text'\nx.sum().backward()\n"
    )


def test_announced_failures_are_caught() -> None:
    assert body("z.backward()\n#! error[freed]\nexpect error freed: backward z\n") == (
        f"try:\n    z.backward()\n{CATCH}\n#! error[freed]\n"
        f'try:\n    z.backward()\n{CATCH}\nelse:\n    raise AssertionError("expected a failure")\n'
    )


def test_what_has_no_counterpart_is_noted() -> None:
    notes = exported(Source("x", "h = ones(2)\nretain h\nundo\ngraph h"))[1]
    assert [note.partition(" is not exported")[0] for note in notes] == ["line 2: `retain h`", "line 3: `undo`"]


@pytest.mark.parametrize("path", [*SCRIPTS, *SITUATIONS], ids=lambda path: path.stem)
def test_every_program_exports_to_python(path: Path) -> None:
    text = python(path.read_text(encoding="utf-8"), path.name)
    compile(text, path.name, "exec")


def told(path: Path) -> tuple[list[str], list[str]]:
    """What gradsh's engine prints and shows, and PyTorch's sentences of its failures."""
    lines: list[str] = []
    failures: list[str] = []

    def emit(event: Any) -> None:
        if isinstance(event, Print | Value):
            lines.extend(event.text.split("\n"))
        elif isinstance(event, Failure):
            failures.append(event.problem.kind)

    Session().run(path.read_text(encoding="utf-8"), emit, name=str(path))
    return lines, failures


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", [*SCRIPTS, *SITUATIONS], ids=lambda path: path.stem)
def test_on_pytorch_it_does_the_same(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from gradsh.commands import GRAMMARS
    from gradsh.language.parser import parse

    text = path.read_text(encoding="utf-8")
    pinned = any(isinstance(one, Command) and one.name == "retain" for one in parse(Source("", text), GRAMMARS).body)
    (tmp_path / "program.py").write_text(python(text, path.name), encoding="utf-8")
    ran = run_python(tmp_path / "program.py")
    lines, failures = told(path)
    if pinned:  # PyTorch keeps all or nothing
        return
    loose = "rng" in compare.tags_of(str(path)) and "manual_seed" not in text
    expected = {"prints": [re.sub(r"0x[0-9a-f]{5,}", "0x0", line) for line in lines]}
    got = [re.sub(r"0x[0-9a-f]{5,}", "0x0", line) for line in ran.out.removesuffix("\n").split("\n")] if ran.out else []
    differences = compare.facet_prints(expected, {"prints": got}, loose)
    assert bool(differences) == (path.stem in BYTES_DIFFER), (differences, ran.err)
    errors = [line for line in ran.err.splitlines() if re.match(r"[A-Za-z.]*(Error|Exception)\b.*:", line)]
    assert len(errors) - ran.err.count("During handling of the above exception") == len(failures), ran.err
