"""`set sandbox on` at a real prompt: the walls stand, and the session goes on as before."""

import pytest

from gradsh.process import sandbox
from tests.terminal import Terminal

LACKING = sandbox.lacking()
PLAINLY = [{}, {"NO_COLOR": "1"}]


@pytest.mark.skipif(bool(LACKING), reason=f"this system has no {' and no '.join(LACKING)}")
@pytest.mark.parametrize("environment", PLAINLY, ids=["editor", "plain"])
def test_the_session_goes_on_behind_the_walls(environment: dict[str, str], tmp_path) -> None:
    with Terminal(**environment, HOME=str(tmp_path), XDG_CONFIG_HOME="", XDG_STATE_HOME="") as terminal:
        terminal.until(terminal.at_prompt, "the prompt")
        terminal.enter("x = ones(2, requires_grad=True)")
        terminal.enter("set sandbox on")
        assert "error" not in terminal.shown()
        terminal.enter("y = (x * 2).sum()")
        assert "wrote x.grad" in terminal.run("backward y")
        assert "[2., 2.]" in terminal.run("x.grad")
        assert "cannot be turned off" in terminal.run("set sandbox off")
        assert "undid 2 statements" in terminal.run("undo 2")
        assert "error" not in terminal.run("x")
        terminal.press("quit\r")
        assert terminal.status() == 0
        assert "it is kept in" in terminal.shown()
    histories = [path for path in tmp_path.rglob("*") if path.is_file() and "backward y" in path.read_text(errors="replace")]
    assert histories, "the history is still written"


@pytest.mark.skipif(bool(LACKING), reason=f"this system has no {' and no '.join(LACKING)}")
@pytest.mark.parametrize("environment", PLAINLY, ids=["editor", "plain"])
def test_what_is_loaded_behind_the_walls_is_refused(environment: dict[str, str], tmp_path) -> None:
    (tmp_path / "secret.grad").write_text("print('the secret')\n")
    with Terminal(**environment, HOME=str(tmp_path), columns=240) as terminal:
        terminal.until(terminal.at_prompt, "the prompt")
        terminal.enter("set sandbox on")
        assert "Permission denied" in terminal.run(f"load '{tmp_path}/secret.grad'")
        assert "the secret" not in terminal.last_output()
