"""Typing at the editor through a pipe: what Enter does, indentation, pasting, history, interrupts, questions."""

from pathlib import Path

import pytest

from gradsh.shell.host import Host
from gradsh.shell.keys import KEYS
from tests.terminal import Terminal

PASTE, END = "\x1b[200~", "\x1b[201~"
UP, ALT_UP = "\x1b[A", "\x1b\x1b[A"


def test_enter_runs_what_is_complete(read) -> None:
    assert read("x = ones(2)\rx.sum()\r") == ["x = ones(2)", "x.sum()"]


def test_a_block_goes_on_until_an_empty_line_and_is_indented(read) -> None:
    assert read("for i in range(2):\rprint(i)\r\r") == ["for i in range(2):\n    print(i)"]


def test_return_takes_the_indentation_back(read) -> None:
    assert read("def f():\rreturn 1\rx = 2\r\r")[0] == "def f():\n    return 1\nx = 2"


def test_an_open_bracket_goes_on(read) -> None:
    assert read("x = ones(\r2)\r") == ["x = ones(\n    2)"]


def test_a_statement_of_several_lines_goes_on_at_its_first_lines_margin(read) -> None:
    assert read("def f():\rx = max(1,\r2)\rreturn x\r\r") == ["def f():\n    x = max(1,\n    2)\n    return x"]
    assert read("def f():\rif (1 and\r    2):\rreturn x\r\r") == ["def f():\n    if (1 and\n        2):\n        return x"]


def test_backspace_in_the_margin_takes_back_one_stop(read) -> None:
    assert read("if 1:\r\x7fx = 1\r")[0] == "if 1:\nx = 1"


def test_tab_at_a_lines_start_indents(read) -> None:
    assert read("if 1:\r\x7f\tpass\r\r") == ["if 1:\n    pass"]


def test_pasting_inserts_and_waits_for_enter(read) -> None:
    assert read(f"{PASTE}a = 1\r\nb = 2\r\nc = a + b{END}\r") == ["a = 1\nb = 2\nc = a + b"]


def test_a_pasted_transcript_loses_its_prompts_and_outputs(read) -> None:
    text = "grad> x = ones(2)\ngrad> x\ntensor([1., 1.])\ngrad> for i in range(2):\n....>     print(i)\n....>\n0\n1\n"
    assert read(f"{PASTE}{text}{END}\r") == ["x = ones(2)\nx\nfor i in range(2):\n    print(i)"]


def test_a_pasted_python_transcript_too(read) -> None:
    assert read(f"{PASTE}>>> a = 1\n>>> a\n1\n{END}\r") == ["a = 1\na"]


def test_five_thousand_pasted_lines_stay_whole(read) -> None:
    lines = [f"y{i} = {i} + 1  # {i}" for i in range(5000)]
    text = "\n".join(lines)
    assert read(f"{PASTE}{text}{END}z\r") == [text + "z"]


def test_ctrl_c_drops_the_line(read) -> None:
    assert read("x = \x03y = 1\r") == ["", "y = 1"]


def test_up_brings_the_statement_before_back_as_a_whole(read) -> None:
    assert read("for i in x:\rpass\r\r", "y = 1\r", UP + UP, "\r")[-1] == "for i in x:\n    pass"


def test_alt_up_searches_by_what_is_typed(read) -> None:
    assert read("alpha = 1\rbeta = 2\r", "al", ALT_UP, "\r") == ["alpha = 1", "beta = 2", "alpha = 1"]


def test_alt_enter_runs_as_it_is(read) -> None:
    assert read("x = (\x1b\r") == ["x = ("]


def test_a_question_mark_is_complete(read) -> None:
    assert read("nn.Linear?\r") == ["nn.Linear?"]


def test_vi_keys(host: Host, read) -> None:
    host.config.values["keys"] = "vi"
    assert read("x = 12\x1b", "xa3\r") == ["x = 13"]


def test_a_session_runs_and_leaves_with_its_status(session, capsys) -> None:
    assert session("x = ones(2)\rx * 2\rquit 3\r") == 3
    assert "tensor([2., 2.])" in capsys.readouterr().out


def test_an_error_ends_nothing(session, capsys) -> None:
    assert session("1 / 0\rprint('still', 'here')\r") == 0
    out, err = capsys.readouterr()
    assert "error[arithmetic]" in err
    assert "still here" in out


def test_lines_are_counted_over_the_session(session, capsys) -> None:
    session("x = 1\r\rfor i in range(1):\rx = i\r\r1 / 0\r")
    assert "4 | 1 / 0" in capsys.readouterr().err


def test_help_for_a_name(session, capsys) -> None:
    session("x = ones(2)\rx?\r?\r")
    out = capsys.readouterr().out
    assert "x: tensor of shape (2,)" in out
    assert "Type or paste" in out


def test_tour_takes_enter_and_what_is_typed_instead(session, capsys) -> None:
    session("tour\r\rx.shape\r\rq\rundo\rvars\r")
    out = capsys.readouterr().out
    assert "torch.Size([2, 3])" in out
    assert "ended after 1 of 7" in out
    assert "no variables yet" in out


def test_init_and_settings_are_followed(host: Host, session, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "config" / "gradsh"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('timing = true\nprompt = "> "\n')
    (folder / "init.grad").write_text("w = ones(3)\n")
    fresh = Host(host.options)
    fresh.start()
    fresh.run("w.sum()")
    out, err = capsys.readouterr()
    assert "tensor(3.)" in out
    assert "took" in err
    assert fresh.setting("prompt") == "> "


def test_set_shows_and_changes_the_shells_settings(host: Host, session, capsys) -> None:
    session("set theme light\rset prompt 'g> '\rset theme purple\rundo\r")
    assert host.setting("theme") == "light"
    assert host.setting("prompt") == "g> "
    assert "theme can be auto or dark or light or none, not purple" in capsys.readouterr().err


def test_settings_of_the_shell_outlive_undo_and_reset(host: Host, session) -> None:
    session("set theme light\rx = 1\rundo\rreset\r")
    assert host.setting("theme") == "light"
    assert host.session.state.settings.known()["theme"].choices


@pytest.mark.parametrize("key", [key for key, _ in KEYS])
def test_help_keys_lists_every_key(host: Host, key: str, session, capsys) -> None:
    session("help keys\r")
    assert key in capsys.readouterr().out


def test_f1_shows_help_for_the_name_at_the_cursor(session, capsys) -> None:
    session("y = 1\r", "mean\x1bOP", "\x03")
    assert "MeanBackward0" in capsys.readouterr().out


def test_f2_opens_the_editor(tmp_path: Path) -> None:
    script = tmp_path / "ed"
    script.write_text('#!/bin/sh\necho "y = 5" > "$1"\n')
    script.chmod(0o755)
    with Terminal(VISUAL=str(script)) as shell:
        shell.see("grad>")
        shell.press("x = 1\x1bOQ")
        shell.see("grad> y = 5")
        shell.press("\r")
        shell.until(shell.at_prompt, "the prompt")
        assert shell.run("y") == "5"


def test_a_line_feed_is_enter(read) -> None:
    assert read("x = 1\ny = 2\n") == ["x = 1", "y = 2"]


def test_ctrl_o_begins_a_line(read) -> None:
    assert read("x = 1\x0fy = 2\r") == ["x = 1\ny = 2"]


@pytest.mark.parametrize("key", ["\x1b[C", "\x05"])
def test_a_suggestion_is_taken(key: str) -> None:
    with Terminal() as shell:
        shell.see("grad>")
        shell.run("alpha = 1 + 1")
        shell.press("al")
        shell.until(lambda: shell.screen.line(shell.screen.cursor.y).rstrip() == "grad> alpha = 1 + 1", "the suggestion")
        shell.press(key)
        shell.until(lambda: shell.row() == "grad> alpha = 1 + 1", "the cursor behind it")


def test_one_word_of_a_suggestion(read) -> None:
    assert read("alpha beta gamma\x1b\r", "al", "\x1bf", "\x1b\r")[-1].strip() == "alpha"


def test_what_failed_is_not_suggested(host: Host, read) -> None:
    host.history.append("alpha = beta + 1")
    host.history.mark_failed("alpha = beta + 1")
    assert read("al", "\x1b[C", "\r") == ["al"]


def test_ctrl_r_searches(read) -> None:
    assert read("alpha = 1\rbeta = 2\r", "\x12alp", "\r", "\r")[-1] == "alpha = 1"


def test_ctrl_underscore_takes_typing_back(read) -> None:
    assert read("x = 1", "\x15", "\x1f", "\r") == ["x = 1"]


def test_ctrl_x_ctrl_e_opens_the_editor(read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "ed"
    script.write_text('#!/bin/sh\ncase "$1" in *.grad) echo "y = 6" > "$1";; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    assert read("x = 1\x18\x05", "\r") == ["y = 6"]


def test_tab_completes(session, capsys) -> None:
    session("value = 41\r", "val", "\t", "\r", " + 1\r")
    assert "42" in capsys.readouterr().out


def test_history_is_kept_for_the_next_session(host: Host, read) -> None:
    read("alpha = 1\r", "beta = 2\r")
    assert Host(host.options).history.load() == ["alpha = 1", "beta = 2"]
