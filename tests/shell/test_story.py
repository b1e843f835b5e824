"""Undo and redo, saving, loading, transcripts, settings files: the session as something to go back in and to keep."""

from pathlib import Path

import pytest

from gradsh.contracts.events import Failure, Note, Result
from gradsh.golden.anew import anew
from gradsh.golden.documents import check_file
from gradsh.run.script import RunOptions
from gradsh.session.session import Session
from gradsh.shell.config import read_config
from gradsh.shell.keys import unprompted
from gradsh.shell.status import status_of


class Talk:
    """A typed session, and what it said last."""

    def __init__(self, seed: int | None = 0) -> None:
        self.session = Session(seed, typed=True)
        self.session.writer = anew
        self.events: list = []

    def __call__(self, text: str) -> str:
        self.events = []
        self.session.run(text, self.events.append, name="<shell>")
        return "\n".join("\n".join(e.view().lines) for e in self.events if isinstance(e, Result) and hasattr(e.view(), "lines"))

    def value(self, expression: str) -> str:
        out: list = []
        self.session.run(expression, out.append, name="<probe>")
        self.session.state.history.pop()
        return next(e.text for e in out if hasattr(e, "text"))


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_undo_brings_gradients_versions_buffers_and_random_state_back(talk: Talk) -> None:
    talk("x = randn(3, requires_grad=True)")
    talk("y = (x * x).sum()")
    talk("backward y --retain")
    before = talk.value("x.grad"), talk.value("x._version"), talk.value("freed(y)")
    talk("backward y\nwith no_grad(): x.add_(1)")
    talk("r = rand(2)")
    drawn = talk.value("r")
    assert talk("undo").startswith("undid line 1: r = rand(2)")
    talk("undo")
    talk("undo")
    assert (talk.value("x.grad"), talk.value("x._version"), talk.value("freed(y)")) == before
    for _ in range(3):
        talk("redo")
    assert talk.value("r") == drawn
    assert talk("redo") == "nothing to redo"


def test_another_statement_ends_redo(talk: Talk) -> None:
    talk("a = 1")
    talk("a = 2")
    talk("undo")
    talk("b = 1")
    assert talk("redo") == "nothing to redo"
    assert talk.value("a") == "1"


def test_a_variable_named_as_a_command_is_a_statement(talk: Talk) -> None:
    talk("diff = 3")
    talk("graph = 4")
    talk("undo")
    assert talk.value("diff") == "3"


def test_looking_is_not_undone(talk: Talk) -> None:
    talk("x = ones(2, requires_grad=True)\ny = x * 2")
    talk("graph y")
    talk("print(y)\nx.grad\nwatch")
    assert talk("undo") == "undid line 2: y = x * 2\n  y is gone"


def test_undo_of_several_statements_says_what_came_back(talk: Talk) -> None:
    talk("x = ones(2, requires_grad=True)\ny = (x * x).sum()\na = 1\nbackward y\na = 2\nx.grad")
    assert talk("undo 2") == (
        "undid 2 statements, lines 4 to 5\n  a is again 1; x.grad is None again; 2 buffers restored (16 B)"
    )
    talk("a")
    assert talk("redo") == "redid 2 statements, lines 4 to 5"
    assert talk.value("a") == "2"
    talk("undo 100")
    assert talk("undo") == "nothing to undo"
    talk("undo 0")
    assert any(isinstance(event, Failure) for event in talk.events)


def test_views_that_became_invalid_are_told(talk: Talk) -> None:
    talk("v = torch.ones(2, requires_grad=True) * 2\na, b = v.unbind()\nwith no_grad():\n    v.mul_(2)\n")
    assert talk("help a").startswith("a: tensor of shape (), torch.float32, made by UnbindBackward0, requires grad, version 1")
    assert talk("undo").endswith("a is back at version 0; b is back at version 0")


def test_a_command_that_failed_is_not_undone(talk: Talk) -> None:
    talk("x = 1")
    for failing in ("retain nothing", "release nothing", "set colour on", "watch x --of", "back nowhere"):
        talk(failing)
    assert talk("undo") == "undid line 1: x = 1\n  x is gone"


def test_what_was_cut_short_is_not_run_again(talk: Talk, tmp_path: Path) -> None:
    talk("x = 1")
    talk("for i in range(9):\n    x += 1\n    if i == 4: ones(1 << 50)\n")
    assert talk.value("x") == "6"
    talk("y = 2")
    talk("z = 3")
    told = "line 1 is not run again (Ctrl-C or a limit ended it): what it did is gone"
    assert talk("undo") == f"undid line 1: z = 3\n  x is again 1; i, z are gone\n  {told}"
    assert talk("undo") == f"undid line 1: y = 2\n  y is gone\n  {told}"
    assert talk("redo") == "redid line 1: y = 2"
    assert talk(f"save {tmp_path}/s.grad --expect") == f"wrote 2 statements to {tmp_path}/s.grad; 1 failed, not written"
    assert "range" not in (tmp_path / "s.grad").read_text()


def test_lines_of_a_story_are_told_once_after_undo(talk: Talk) -> None:
    talk("x = ones(2, requires_grad=True)\nz = (x * x).sum()\nz.backward()\nundo\nredo\nz.backward()")
    (failed,) = [event.problem for event in talk.events if isinstance(event, Failure)]
    assert any("repeat line 2 before line 6" in line for line in failed.help), failed.help


def test_undo_asks_before_a_long_replay(talk: Talk) -> None:
    talk("a = 1")
    talk("b = 2")
    asked: list[str] = []
    history = talk.session.state.history
    history[0] = history[0]._replace(seconds=5.0)
    talk.session.asker = lambda prompt: asked.append(prompt) or "n"
    assert talk("undo") == "nothing undone"
    assert "5 s" in asked[0]
    assert talk.value("b") == "2"


def test_what_was_loaded_is_undone_as_one(talk: Talk, tmp_path: Path) -> None:
    file = tmp_path / "s.grad"
    file.write_text("a = 1\nb = 2\n")
    talk("c = 3")
    talk(f"load {file}")
    assert talk.value("b") == "2"
    assert talk("undo") == f"undid the 2 statements of {file}\n  a, b are gone"
    talk("redo")
    assert talk.value("a + b + c") == "6"


def test_save_writes_a_script_that_runs(talk: Talk, tmp_path: Path) -> None:
    file = tmp_path / "s.grad"
    talk("x = ones(2, requires_grad=True)\nfor i in range(2):\n    x = x * 2\n\n")
    talk("1/0")
    talk("help")
    assert talk(f"save {file}") == f"wrote 2 statements to {file}; 1 failed, not written"
    other = Talk()
    assert other.session.run(file.read_text(), lambda _: None).status == 0
    assert other.value("x") == talk.value("x")


@pytest.mark.parametrize("seed", [0, 7])
def test_save_expect_writes_a_golden_test_that_passes(tmp_path: Path, seed: int) -> None:
    talk = Talk(seed)
    file = tmp_path / "s.grad"
    talk("x = randn(2, requires_grad=True)\nx\ny = (x * x).sum()\nbackward y")
    talk("backward y")
    talk("for i in range(2):\n    print(i)\n\nprint('a')\n")
    talk(f"save {file} --expect")
    text = file.read_text()
    assert talk.value("x") in text.replace("#> ", "")
    assert "#! error[freed]" in text
    assert check_file(str(file), RunOptions()).mismatches == ()


def test_a_saved_file_is_whole_or_the_old_one(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.grad"
    file.write_text("old = 1\n")
    talk("x = 1")

    def killed(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", killed)
    talk(f"save {file}")
    assert isinstance(talk.events[-2], Failure)
    assert file.read_text() == "old = 1\n"
    assert list(tmp_path.iterdir()) == [file]


def test_an_exported_history_can_be_pasted(talk: Talk, tmp_path: Path) -> None:
    file = tmp_path / "h.txt"
    talk("a = 1\nfor i in range(3):\n    a = a + i\n\nb = a\n")
    talk(f"history --export {file}")
    assert "....>     a = a + i" in file.read_text()
    other = Talk()
    other(unprompted(file.read_text()))
    assert other.value("b") == "4"
    direct = Talk()
    direct(file.read_text())
    assert direct.value("b") == "4"


def test_account_tells_what_a_statement_changed(talk: Talk) -> None:
    talk("set account on")
    talk("x = ones(2, requires_grad=True)")
    assert not [e for e in talk.events if isinstance(e, Note)]
    talk("y = (x * x).sum()")
    assert [e.text for e in talk.events if isinstance(e, Note)] == ["+2 nodes, saving 2 tensors (16 B)"]
    talk("backward y")
    assert [e.text for e in talk.events if isinstance(e, Note)] == ["freed 2 buffers (16 B); wrote x.grad"]


def test_timing_is_told(talk: Talk) -> None:
    talk("set timing on")
    talk("x = 1")
    assert [e.text.split()[0] for e in talk.events if isinstance(e, Note)] == ["took"]


def test_what_is_wrong_with_the_configuration_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "gradsh"
    folder.mkdir()
    (folder / "config.toml").write_text('theme = "pink"\nkyes = "vi"\npager = false\naccount = true\nprompt = 3\n')
    config = read_config()
    assert [one.partition(": ")[2] for one in config.problems] == [
        "theme can be auto or dark or light or none, not pink", "there is no setting kyes; did you mean keys?",
        "prompt must be a string, on or off",
    ]  # fmt: skip
    assert config.values["pager"] is False
    assert config.shared == {"account": "on"}
    (folder / "config.toml").write_text("theme = \n")
    assert len(read_config().problems) == 1
    (folder / "init.grad").write_bytes(b"\xff\xff")
    assert any("UTF-8" in one for one in read_config().problems)


def test_the_status_line(talk: Talk) -> None:
    assert status_of(talk.session).startswith("0 tensors | 0 nodes | 0 buffers 0 B")
    talk("x = ones(2, requires_grad=True)\ny = (x * x).sum()\nretain y\nset_grad_enabled(False)")
    status = status_of(talk.session)
    assert "2 tensors | 3 nodes | 2 buffers 8 B | peak" in status
    assert status.endswith("grad off | 1 pin")


def test_the_status_line_follows_a_long_chain(talk: Talk) -> None:
    talk("y = ones(2, requires_grad=True)\nfor i in range(6000): y = y * 2\n\n")
    assert "| 6,001 nodes |" in status_of(talk.session)
    talk("del y")
    assert "| 0 nodes |" in status_of(talk.session)
