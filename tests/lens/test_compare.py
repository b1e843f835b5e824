"""`gradsh compare`: both engines run a script, and the first statement after which they differ is shown."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")

from gradsh.cli.app import run_cli  # noqa: E402
from tests.lens.traced import Traced, forked  # noqa: E402

SCRIPTS = Path(__file__).parents[2] / "scripts"


def compare(text: str, tmp_path: Path) -> Traced:
    (tmp_path / "s.grad").write_text(text, encoding="utf-8")
    return forked(lambda: run_cli(["compare", "s.grad"]), tmp_path)


@pytest.mark.parametrize("name", ["s01-four-backwards", "s18-modified-before-backward", "g19-hessian-vector-product"])
def test_engines_agree(name: str, tmp_path: Path) -> None:
    ran = compare((SCRIPTS / f"{name}.grad").read_text(encoding="utf-8"), tmp_path)
    assert ran.status == 0, ran.out
    assert ran.out.startswith("s.grad: the engines agree after each of ")


def test_addresses_of_objects_are_no_difference(tmp_path: Path) -> None:
    ran = compare("class F:\n    pass\n\nF()\n", tmp_path)
    assert ran.status == 0, ran.out


@pytest.mark.parametrize(("statement", "what", "ours", "theirs"), [
    ("retain h", "how the statement ends", "it passes", "error[other] on line 4"),
    ("print(torch.__file__ if hasattr(torch, '__file__') else 'none')", "what is shown", "none", ""),
    ("h = x.cos() if hasattr(torch, '__file__') else x.sin()", "the node of h", "SinBackward0", "CosBackward0"),
    ("h = x.exp() * 2 if hasattr(torch, '__file__') else x * x * 2", "the value of h", "[2.0, 2.0]", "[5.43"),
    ("x.grad = x.detach() * (2 if hasattr(torch, '__file__') else 3)", "the gradient of x", "[3.0, 3.0]", "[2.0, 2.0]"),
    ("w = x.detach() + 0 if hasattr(torch, '__file__') else x.detach().clone().zero_().add_(1)", "the version of w", "2", "0"),
    ("h = (x * x).exp() if hasattr(torch, '__file__') else (x ** 2).exp()", "what the graph of h saved", "Pow", "Mul"),
])
def test_the_first_difference(statement: str, what: str, ours: str, theirs: str, tmp_path: Path) -> None:
    ran = compare(f"import torch\nx = torch.ones(2, requires_grad=True)\nh = x.exp()\n{statement}\nx = 3\n", tmp_path)
    assert ran.status == 1
    lines = ran.out.splitlines()
    assert lines[0] == f"s.grad:4: the engines differ in {what}"
    assert lines[-2].startswith("  gradsh:  ")
    assert ours in lines[-2]
    assert theirs in lines[-1]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    ran = forked(lambda: run_cli(["compare", "nothing.grad"]), tmp_path)
    assert (ran.status, ran.out, ran.err) == (2, "", "gradsh: cannot read nothing.grad: No such file or directory\n")
