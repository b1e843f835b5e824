"""`gradsh -i FILE` and `gradsh debug FILE`: the prompt over the state of a script, typed in a real terminal."""

from pathlib import Path

import pytest

from tests.terminal import Terminal

SCRIPT = """# a script that fails at its second backward
x = ones(2, requires_grad=True)
total = 0
for i in range(3):
    total = total + (x * i).sum()

backward total
backward total
y = 5
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "twice.grad"
    file.write_text(SCRIPT)
    return str(file)


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_the_prompt_stays_after_the_first_failure(script: str, term: str) -> None:
    with Terminal("-i", script, TERM=term) as shell:
        shell.see("grad>")
        assert "error[freed]" in shell.text()
        assert "Paste a snippet" not in shell.text()
        assert shell.run("x.grad") == "tensor([3., 3.])"
        assert "is not defined" in shell.run("y")
        assert "y = 5" not in shell.run("plan total")
        shell.press("quit\r")
        assert shell.status() == 0


def test_a_code_and_its_parameters(tmp_path: Path) -> None:
    file = tmp_path / "steps.grad"
    file.write_text("steps = 3  #@param\nprint(steps * 2)\n")
    with Terminal("run", "-i", str(file), "--set", "steps=7", TERM="dumb") as shell:
        shell.see("grad>")
        assert "14" in shell.text()
        assert shell.run("steps") == "7"


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_script_is_run_statement_by_statement(script: str, term: str) -> None:
    prompt = "debug (next, until WHERE, quit, help)>"

    with Terminal("debug", script, columns=90, rows=60, TERM=term) as shell:

        def answer(keys: str, shown: str, then: str = prompt) -> None:
            before = shell.lines_so_far()
            shell.press(keys)
            shell.until(lambda: shell.lines_so_far() > before and shell.row().rstrip() == then, f"{then} after {keys!r}")
            assert shown in shell.text()

        shell.until(lambda: shell.row().rstrip() == prompt, "the first stop")
        assert "   2 | x = ones(2, requires_grad=True)" in shell.text()
        answer("help\r", "until WHERE (u)")
        answer("\r", "   3 | total = 0")
        answer("x * 7\r", "tensor([7., 7.]")
        answer("until line 5\r", "   5 |     total = total + (x * i).sum()")
        answer("break i > 1\r", "stops at i > 1")
        answer("c\r", "   5 |     total = total + (x * i).sum()")
        answer("100 + i\r", "102")
        answer("break off\r", "no stop is kept")
        answer("until line 7\r", "   7 | backward total")
        answer("plan total\r", "would run 10 nodes")
        answer("c\r", "error[freed]", "grad>")
        assert shell.run("x.grad") == "tensor([3., 3.])"


def test_a_script_is_left_and_its_state_stays(script: str) -> None:
    with Terminal("debug", script, TERM="dumb") as shell:
        shell.until(lambda: shell.row().startswith("debug"), "the first stop")
        shell.press("n\r")
        shell.see("   3 | total = 0")
        shell.press("q\r")
        shell.see("grad>")
        assert "is not defined" in shell.run("total")
        assert shell.run("x.sum().item()") == "2.0"


TRAINING = """import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)

    def forward(self, x):
        h = self.a(x).relu()
        return h * 2


def train(net, steps):
    total = 0
    for step in range(steps):
        out = net(torch.ones(3, 2))
        loss = (out
                ** 2).mean()
        loss.backward()
        total += 1
    return total


net = Net()
h = "the program's own"
print(train(net, 3))
"""


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_loops_and_functions_are_gone_through(tmp_path: Path, term: str) -> None:
    file = tmp_path / "training.py"
    file.write_text(TRAINING)
    prompt = "debug (next, until WHERE, quit, help)>"

    with Terminal("debug", str(file), columns=200, rows=70, TERM=term) as shell:

        def answer(keys: str, shown: str, then: str = prompt) -> None:
            before = shell.lines_so_far()
            shell.press(keys + "\r")
            shell.until(lambda: shell.lines_so_far() > before and shell.row().rstrip() == then, f"{then} after {keys!r}")
            assert shown in "\n".join([line for line in shell.text().splitlines() if line][-12:])

        shell.until(lambda: shell.row().rstrip() == prompt, "the first stop")
        answer("until line 28", "  28 | print(train(net, 3))")
        answer("s", "  16 |     total = 0")
        answer("until line 18", "  18 |         out = net(torch.ones(3, 2))")
        answer("s", "  11 |         h = self.a(x).relu()")
        answer("n", "  12 |         return h * 2")
        answer("h.shape", "torch.Size([3, 2])")
        answer("buffers h", "ReluBackward0")
        answer("n", "  20 |                 ** 2).mean()")
        answer("n", "  21 |         loss.backward()")
        answer("n", "  22 |         total += 1")
        answer("step", "0")
        answer("break step == 2", "stops at step == 2")
        answer("c", "  18 |         out = net(torch.ones(3, 2))")
        answer("total, step", "(2, 2)")
        answer("break off", "no stop is kept")
        answer("until nowhere", "training.py has ended before reaching nowhere", "grad>")
        assert "\n3\n" in shell.text()
        assert "the program's own" in shell.run("h")


def test_a_script_is_left_within_a_function(tmp_path: Path) -> None:
    file = tmp_path / "training.py"
    file.write_text(TRAINING)
    with Terminal("debug", str(file), TERM="dumb") as shell:
        shell.until(lambda: shell.row().startswith("debug"), "the first stop")
        shell.press("until line 21\r")
        shell.see("  21 |         loss.backward()")
        shell.press("q\r")
        shell.see("grad>")
        assert shell.run("net.a.weight.grad is None") == "True"
