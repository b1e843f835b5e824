"""A command that looks at many nodes says how far it is, on a terminal alone, and Ctrl-C ends it and nothing else."""

import sys

import pytest

from gradsh.process import pace
from gradsh.session.session import Session
from tests.terminal import Terminal

GRAPH = "h = ones(2, requires_grad=True)\nfor i in range(3000):\n    h = (h * 2).tanh()\n"
COMMANDS = ("graph h", "buffers h", "memory", "plan h --grad ones(2)", "leaks", "holders h")
SLOW = """
import runpy, time
from gradsh.process import pace
pace.EVERY, pace.PATIENCE, pace.OFTEN = {every}, 0.0, 0.0
step = pace.Pace.step
pace.Pace.step = lambda *told: (step(*told), time.sleep({wait}))
runpy.run_module("gradsh", run_name="__main__")
"""


def terminal(every: int, wait: float) -> Terminal:
    """The shell with a clock in which a look at some thousand nodes is a long one."""
    return Terminal(program=(sys.executable, "-c", SLOW.format(every=every, wait=wait)))


def test_the_line_is_rewritten_and_wiped() -> None:
    with terminal(1024, 0.0) as shell:
        shell.feed(GRAPH.rstrip())
        for command in COMMANDS:
            shown = shell.run(command)
            assert "\r\x1b[K" + command.split()[0] + ": " in shell.raw.decode()
            assert "nodes found" not in shown, "the line stays"
        told = shell.raw.decode()
    assert "graph: 1,024 of 6,001 nodes found" in told
    assert "plan: 1,024 of 6,000 nodes planned" in told


def test_ctrl_c_ends_the_command_alone() -> None:
    with terminal(16, 0.05) as shell:  # in all more than a quarter of a minute
        shell.feed(GRAPH.rstrip())
        for command in ("graph h", "plan h --grad ones(2)"):
            shell.until(shell.at_prompt, "a prompt")
            shell.press(command + "\r")
            shell.until(lambda: f"{command.split()[0]}: " in shell.shown(), "how far it is")
            shell.press("\x03")
            assert "error[interrupt]: interrupted" in shell.see("when it was interrupted")
            shell.until(shell.at_prompt, "a prompt after Ctrl-C")
            assert " of 6,001 nodes" not in shell.last_output()
            assert shell.run("h.shape") == "torch.Size([2])"


def test_nothing_is_told_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pace, "PATIENCE", 0.0)
    session = Session(typed=True)
    assert session.run(GRAPH + "\n" + "\n".join(COMMANDS), lambda _: None).status == 0
    assert capfd.readouterr() == ("", "")
