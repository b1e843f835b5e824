"""A call that nothing can stop, typed under a time limit: the process ends, and what was typed is kept."""

import sys
from pathlib import Path

import pytest

from tests.terminal import Terminal

SOON = (sys.executable, "-c", (
    "from gradsh.process import limits\nlimits.GRACE = limits.IMPATIENCE = 0.3\n"
    "import sys\nsys.argv[0] = 'gradsh'\nfrom gradsh.__main__ import main\nmain()"
))  # fmt: skip
"""The program with little patience."""
NESTED = "[[[[[0] * 999] * 999] * 999] * 999]"
ENDLESS = {"holds the interpreter": f"{NESTED} == {NESTED}"}


@pytest.mark.parametrize("line", ENDLESS.values(), ids=list(ENDLESS))
@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}], ids=["editor", "plain"])
def test_what_was_typed_is_kept(environment: dict[str, str], line: str, tmp_path: Path) -> None:
    kept = tmp_path / "state" / "gradsh" / "last.grad"
    with Terminal(columns=200, program=SOON, **environment) as shell:
        shell.see("grad>")
        shell.run("x = ones(2)")
        shell.run("set timeout 0.5")
        shell.press(f"{line}\r")
        assert shell.status() == 1
        shown = shell.shown()
    assert "error[limit]: the script ran longer than 0.5 seconds" in shown
    assert "call that cannot be interrupted" in shown
    assert f"the session was not saved; it is kept in {kept} (`load` restores it)" in shown
    assert "x = ones(2)\n" in kept.read_text()
