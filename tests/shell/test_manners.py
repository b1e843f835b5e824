"""Leaving, what is kept, `_`, interrupts, paths and pasted errors, typed at a real terminal."""

import re
from pathlib import Path

import pytest

from gradsh.cli.dispatch import start
from gradsh.session.session import Session
from gradsh.shell.asked import asked, is_unfinished
from tests.sweep import SWEEP
from tests.terminal import Terminal

PROMPTS = pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}], ids=["editor", "plain"])
LEAVING = {
    "quit": 0, "exit": 0, "exit()": 0, "quit()": 0, "exit 3": 3, "exit(4)": 4, "sys.exit(5)": 5, "import sys; sys.exit()": 0,
    "raise SystemExit(4)": 4, "raise SystemExit": 0, "sys.exit('a reason')": 1, "def f():\n    exit(7)\nf()": 7,
    "try:\n    exit(6)\nfinally:\n    x = 1": 6, "expect error: 1/0; exit(2)": 2, "time exit(3)": 3, "exit(256 + 9)": 9,
}  # fmt: skip


@pytest.mark.parametrize("text", LEAVING)
def test_leaving_in_a_script(text: str) -> None:
    shown: list = []
    session = Session()
    outcome = session.run(f"{text}\nprint('no further')", shown.append)
    assert (outcome.status, session.left) == (LEAVING[text], LEAVING[text])
    assert not any(getattr(event, "text", "") == "no further" for event in shown)


def test_what_is_caught_does_not_leave() -> None:
    session = Session()
    assert session.run("try:\n    exit(3)\nexcept SystemExit as e:\n    code = e.code\nassert code == 3", lambda _: None).status == 0
    assert session.left is None
    assert session.run("try:\n    exit(3)\nexcept Exception:\n    pass", lambda _: None).status == 3


def test_a_script_that_is_loaded_ends_itself_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.grad"
    file.write_text("a = 1\nexit(3)\na = 2\n")
    session = Session(typed=True)
    session.run(f"load {file}\nb = a", lambda _: None)
    assert (session.left, session.machine.program["b"]) == (None, 1)


@PROMPTS
@pytest.mark.parametrize(("keys", "status"), [("\x04", 0), ("exit\r", 0), ("raise SystemExit(4)\r", 4)], ids=["ctrl-d", "exit", "raise"])
def test_leaving_keeps_what_is_not_saved(environment, keys, status, tmp_path: Path) -> None:
    kept = tmp_path / "state" / "gradsh" / "last.grad"
    with Terminal(columns=200, **environment) as shell:
        shell.see("grad>")
        shell.run("x = ones(2)")
        shell.press(keys)
        assert shell.status() == status
        assert f"the session was not saved; it is kept in {kept} (`load` restores it)" in shell.shown()
    assert "x = ones(2)\n" in kept.read_text()


@PROMPTS
def test_confirm_asks_before_it_leaves(environment) -> None:
    with Terminal(**environment) as shell:
        shell.see("grad>")
        shell.run("set confirm on")
        shell.run("x = ones(2)")
        shell.press("\x04")
        shell.see("1 statement is not saved; quit? [Y/n]")
        shell.press("n\r")
        shell.until(shell.at_prompt, "the prompt")
        assert shell.run("x.sum()") == "tensor(2.)"
        shell.press("exit(3)\r")
        shell.until(lambda: shell.row().rstrip().endswith("[Y/n]"), "the question")
        shell.press("\r")
        assert shell.status() == 3


def test_nothing_is_kept_of_a_session_that_was_saved_or_bound_nothing(tmp_path: Path) -> None:
    with Terminal(TERM="dumb") as shell:
        shell.see("grad>")
        shell.run("1 + 1")
        shell.run("x = ones(2)")
        shell.run(f"save {tmp_path}/mine.grad")
        shell.run("x")
        shell.press("\x04")
        assert shell.status() == 0
        assert "kept in" not in shell.shown()


@PROMPTS
def test_ctrl_c_right_behind_enter_interrupts_what_was_typed(environment) -> None:
    with Terminal(**environment) as shell:
        shell.see("grad>")
        shell.run("x = 1")
        for _ in range(100 if SWEEP else 3):
            shell.press("while True: x += 1\r")
            shell.until(lambda: shell.row().startswith("....>"), "the next line")
            shell.press("\r\x03")
            shell.until(lambda: shell.row().rstrip() == "grad>", "the prompt")
        assert "x" not in shell.run("y = 1")


def test_the_last_value_shown() -> None:
    session = Session(typed=True)
    shown: list = []
    session.run("1 + 2\n_ * 2\nx = ones(2, requires_grad=True)\ny = x * 2\ny\n_ is y\n[y, 3]\n_[0] is y\nones(2)\n_ + 1", shown.append)
    values = [event.text for event in shown if type(event).__name__ == "Value"]
    assert [values[at] for at in (1, 3, 5, 7)] == ["6", "True", "True", "tensor([2., 2.])"]
    shown.clear()
    session.run("(x * x).sum()\n_", shown.append)
    failure = shown[-2]
    assert failure.problem.kind == "name"
    assert "it was the only reference to the tensor that line 1 showed (`(x * x).sum()`)" in failure.problem.message
    session.run("1\n2\nd = [__, _]\n3\ne = [___, __, _]", lambda _: None)
    assert (session.machine.program["d"], session.machine.program["e"]) == ([1, 2], [1, 2, 3])
    session.run("for _ in range(3): pass\nz = _", lambda _: None)
    assert session.machine.program["z"] == 2


def test_modules_are_there_from_the_start_and_give_way() -> None:
    session = Session()
    assert session.run("F.relu(ones(1)); np.zeros(2); math.pi; optim.SGD; nn.Linear; torch.ones", lambda _: None).status == 0
    assert session.machine.variables() == {}
    session.run("F = 3; math = 4\nz = F + math", lambda _: None)
    assert session.machine.program["z"] == 7


@PROMPTS
def test_paths_are_arguments(environment, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.grad").write_text("print('a was run')\n")
    (tmp_path / "below" / "b.grad").write_text("print('b was run')\n")
    with Terminal(folder=tmp_path / "below", **environment) as shell:
        shell.see("grad>")
        for path, said in (("./b.grad", "b was run"), ("../a.grad", "a was run"), ("../below/./b.grad", "b was run")):
            assert shell.run(f"load {path}") == said
        assert "wrote" in shell.run("save ./c-1.grad")


@PROMPTS
def test_up_goes_to_what_begins_as_was_typed(environment) -> None:
    with Terminal(**environment) as shell:
        shell.see("grad>")
        for statement in ("alpha = 1", "beta = 2", "alpha = 3", "gamma = 4"):
            shell.run(statement)
        for typed, entry in (("al", "alpha = 3"), ("", "alpha = 1"), ("\x15be", "beta = 2"), ("\x15", "gamma = 4")):
            shell.press(typed)
            if typed.strip("\x15"):
                shell.until(lambda text=typed: shell.row().endswith(text.strip("\x15")), "what is typed")
            shell.press("\x1b[A")
            shell.until(lambda entry=entry: shell.screen.line(shell.screen.cursor.y).rstrip() == f"grad> {entry}", entry)


def test_tab_behind_an_old_name_writes_nothing_across_the_prompt() -> None:
    with Terminal() as shell:
        shell.see("grad>")
        shell.run("x = ones(2, requires_grad=True)")
        shell.press("x.v\t")
        shell.see("volatile")
        shell.press("iew(1, 2)\r")
        shell.until(shell.at_prompt, "the prompt")
        assert "arning" not in shell.text()


@PROMPTS
def test_time_repeats_and_changes_the_session_once(environment) -> None:
    with Terminal(columns=160, **environment) as shell:
        shell.see("grad>")
        for statement in ("x = ones(2, requires_grad=True)", "z = (x * x).sum()", "seen = []"):
            shell.run(statement)
        spread = r"took .+; \d+ more runs from the same state: median .+, middle half .+ to .+"
        told = [shell.run("%timeit -n 10 seen.append(x * 2)")]
        while not re.fullmatch(spread, told[-1]) and len(told) < 30:  # a busy machine gives the further runs no time
            told.append(shell.run("%timeit -n 10 seen.append(x * 2)"))
        assert re.fullmatch(spread, told[-1])
        assert shell.run("len(seen)") == str(len(told))
        assert "took" in shell.run("%time backward z")
        assert shell.run("x.grad") == "tensor([2., 2.])"


def test_help_knows_the_words_of_errors_and_what_options_do() -> None:
    shown: list = []
    session = Session()
    session.run("help leaf\nhelp Tensor.backward\nhelp Tensor.grad_fn\nhelp backward", shown.append)
    texts = ["\n".join(event.view().lines) for event in shown if type(event).__name__ == "Result"]
    assert texts[0].startswith("leaf: A tensor that no recorded operation computed")
    assert texts[1].startswith("Tensor.backward(self, gradient")
    assert texts[2].startswith("Tensor.grad_fn: The node that computed a tensor")
    assert "--retain        free nothing" in texts[3]


def test_every_option_is_explained() -> None:
    from gradsh.commands import GRAMMARS
    from gradsh.commands.options import OPTIONS

    assert {option for grammar in GRAMMARS.values() for option in grammar.options} <= set(OPTIONS)


TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    loss.backward()
  File "torch/_tensor.py", line 525, in backward
    torch.autograd.backward(
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: \
[torch.FloatTensor [2]], which is output 0 of MulBackward0, is at version 1; expected version 0 instead."""


@PROMPTS
def test_a_pasted_traceback_is_explained(environment) -> None:
    with Terminal(columns=240, **environment) as shell:
        shell.see("grad>")
        shell.press(TRACEBACK.replace("\n", "\r") + "\r" if environment else f"\x1b[200~{TRACEBACK}\x1b[201~\r")
        shell.until(lambda: "version: a tensor that the backward needs was modified in place" in shell.text(), "the explanation")


@pytest.mark.parametrize(("text", "meant"), [
    (TRACEBACK, "explain version"), ("RuntimeError: grad can be implicitly created only for scalar outputs", "explain scalar"),
    ("element 0 of tensors does not require grad and does not have a grad_fn", "explain no_grad"), ("KeyError: 'a'", "KeyError: 'a'"),
    ("error[freed]: backward needs PowBackward0.self, which an earlier backward freed", "explain freed"),
    ("Traceback (most recent call last):\n  x\nKeyError: 'a'", "explain key"), ("x = 1", "x = 1"), ("x?", "help x"), ("?", "help"),
    ("?x", "help x"), ("F.relu??", "help F.relu"), ("help(net[0])", "help(net[0])"), ("help( x )", "help x"), ("help()", "help"),
    ("%who", "vars"), ("%history -n", "history"), ("%debug", "explain"), ("%pinfo x", "help x"), ("%reset -f", "reset"),
    ("%run a.grad", "load a.grad"), ("%whoever", "%whoever"), ("x ? y", "x ? y"),
    ("what is this", "what is this"),
    ("-------------\nRuntimeError    Traceback (most recent call last)\nx\nIndexError: a", "explain index"),
])  # fmt: skip
def test_what_is_asked(text: str, meant: str) -> None:
    assert asked(text) == meant


def test_a_traceback_ends_with_its_error() -> None:
    lines = TRACEBACK.split("\n")
    assert [is_unfinished("\n".join(lines[:count])) for count in (1, 3, len(lines))] == [True, True, False]
    assert not is_unfinished("x = 1")


def test_status_of_code_on_the_command_line(capsys) -> None:
    from gradsh.run.script import RunOptions

    assert start(RunOptions(code="print(1); sys.exit(7)")) == 7
    assert re.fullmatch(r"1\n", capsys.readouterr().out)
