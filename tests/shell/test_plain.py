"""The plain prompt, and the shell in a real terminal, as a person sees it."""

import sys
import types
from pathlib import Path

import pytest

from gradsh.shell import is_plain
from gradsh.shell.output import ShellSink, page
from gradsh.view.shapes import Lines
from tests.terminal import Terminal


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [((), {"TERM": "dumb"}), (("--plain",), {"TERM": "xterm"}), ((), {"TERM": "xterm", "ACCESSIBLE": "1"})],
)
def test_the_plain_prompt_has_no_escapes_and_no_drawing(arguments, environment) -> None:
    with Terminal(*arguments, **environment) as shell:
        shell.see("grad>")
        for statement in ("x = ones(2, requires_grad=True)", "z = (x * x).sum()"):
            assert shell.run(statement) == ""
        assert "AccumulateGrad" in shell.run("graph z")
        assert shell.run("for i in range(2):\n    print('p', i)") == "p 0\np 1"
        assert "divided by zero;" in shell.run("1/0")
        shell.press("quit\r")
        assert shell.status() == 0
    assert b"\x1b" not in shell.raw
    assert shell.raw.isascii()


def test_a_pipe_behind_the_shell_gets_output_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Terminal(TERM="xterm", OUTPUT=str(log)) as shell:
        shell.see("grad>")
        shell.enter("1 + 41")
        shell.press("quit 3\r")
        assert shell.status() == 3
    assert log.read_text() == "42\n"


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}], ids=["editor", "plain"])
def test_ctrl_c_ends_a_loop_and_not_the_session(environment) -> None:
    with Terminal(**environment) as shell:
        shell.see("grad>")
        shell.run("x = 1")
        shell.press("while True:\rx = x + 1\rif x == 10: print('at ten')\r\r" if not environment else
                    "while True:\r  x = x + 1\r  if x == 10: print('at ten')\r\r")
        shell.until(lambda: "\nat ten" in shell.shown(), "the loop at work")
        shell.press("\x03")
        shell.until(shell.at_prompt, "the prompt")
        assert "interrupt" in shell.last_output()
        assert shell.run("print('x is', x > 9)") == "x is True"
        shell.press("quit 4\r")
        assert shell.status() == 4


PASTED = """class Net(nn.Module):
    def __init__(self):
        super().__init__()

        self.line = nn.Linear(2, 1)

    def forward(self, x):
        return self.line(x)

net = Net()
print('sizes', net(ones(3, 2)).shape)
"""


def test_empty_lines_of_a_pasted_class_do_not_end_it() -> None:
    with Terminal(TERM="dumb") as shell:
        shell.see("grad>")
        shell.press(PASTED.replace("\n", "\r"))
        shell.until(lambda: "\nsizes torch.Size([3, 1])" in shell.shown(), "the result")
        shell.until(shell.at_prompt, "the prompt")
        assert "error" not in shell.text()
        assert shell.run("for i in range(2):\n    print('p', i)") == "p 0\np 1"


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}], ids=["editor", "plain"])
def test_a_line_behind_the_empty_line_that_ended_its_block_says_so(environment) -> None:
    said = "help: an empty line ended the block above"
    with Terminal(**environment) as shell:
        shell.see("grad>")
        shell.feed("def f(q):\n    a = q")
        assert said in " ".join(shell.run("    return a").split())
        assert said in " ".join(shell.run("    a = q").split())
        shell.run("a = 1")
        assert said not in shell.run("    a = q")


def test_what_makes_a_terminal_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert is_plain()  # no terminal is there
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(isatty=lambda: True))
    assert not is_plain()
    assert is_plain(True)
    monkeypatch.setenv("TERM", "dumb")
    assert is_plain()


def test_long_results_go_through_the_pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {seen}\n")
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    assert page("a\n" * 100)
    assert seen.read_text() == "a\n" * 100
    monkeypatch.setenv("PAGER", str(tmp_path / "none"))
    assert not page("a\n" * 100)


def test_results_are_not_paged_without_a_terminal(capsys) -> None:
    from gradsh.contracts.events import Result

    sink = ShellSink(False, lambda: True)
    sink(Result(1, "help", None, lambda: Lines(("line",) * 500)))
    assert capsys.readouterr().out.count("line\n") == 500


def test_a_screen_of_60_columns() -> None:
    with Terminal(columns=60, rows=20) as shell:
        greeting = shell.see("grad>").split("\n")
        assert greeting[0].startswith("gradsh")
        assert greeting[2].startswith("grad>")
        shell.press("x = ones(2, requires_grad=True)\r")
        shell.see("1 tensor")
        shell.press("x.requires_g")
        shell.see("requires_grad_")
        shell.press("\x03")
        shell.press("mse_loss(x, ")
        shell.see("mse_loss(input, target")
        shell.press("\x03")
        shell.press("help\r")
        assert "tour" in shell.see("New here?")
        shell.press("quit 5\r")
        assert shell.status() == 5
