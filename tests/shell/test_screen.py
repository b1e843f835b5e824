"""What stands on the screens of narrow and wide terminals: wrapping, clipping, walks through a pass, long values, the line below."""

import pytest

from gradsh.render.style import width_of
from tests.terminal import Terminal

STORY = ("x = ones(2, 3, requires_grad=True)", "z = x.mean(dim=1).squeeze().pow(2).mean()", "backward z")
LONG = "a = x.reshape(3, 2) @ ones(5, 7) + torch.nn.functional.relu(x * 3).exp().sum() * torch.nn.functional.relu(x)"


@pytest.mark.parametrize(("columns", "term"), [(40, "xterm-256color"), (44, "dumb"), (63, "xterm-256color"), (120, "dumb")])
def test_output_is_wrapped_at_words_and_carets_stand_under_their_text(columns: int, term: str) -> None:
    with Terminal(columns=columns, rows=60, TERM=term) as shell:
        shell.see("grad>")
        for line in STORY:
            shell.run(line)
        told = shell.run("backward z").split("\n")
        assert max(map(width_of, told)) <= columns
        assert marked(told) == "x.mean(dim=1).squeeze().pow(2)"
        words = " ".join(row.strip() for row in told)
        assert "directly access saved tensors after they have already been freed" in words
        assert "`backward z --retain`" in "\n".join(told)
        shell.press(LONG + "\r")
        shell.until(lambda: "second to last of" in shell.shown() and shell.at_prompt(), "the failure")
        assert marked(shell.shown().rpartition("error[")[2].split("\n")) == "x.reshape(3, 2)"


def marked(rows: list[str]) -> str:
    """Return the text above the first carets."""
    caret = next(at for at, row in enumerate(rows) if "^" in row)
    return rows[caret - 1][rows[caret].index("^") : rows[caret].rindex("^") + 1]


@pytest.mark.parametrize("arguments", [(), ("--plain",)])
def test_infinities_are_results_at_the_prompt(arguments: tuple[str, ...]) -> None:
    with Terminal(*arguments) as shell:
        shell.see("grad>")
        assert shell.run("zeros(2) / 0") == "tensor([nan, nan])"
        shell.run("x = zeros(2, requires_grad=True)")
        assert "warning" not in shell.run("x.log().sqrt().sum().backward()")


def test_a_resize_counts_from_the_next_statement_on() -> None:
    with Terminal(columns=100) as shell:
        shell.see("grad>")
        assert max(map(len, shell.run("list(range(60))").split("\n"))) > 80
        shell.resize(50)
        assert max(map(len, shell.run("list(range(60))").split("\n"))) <= 50


def test_a_long_value_is_cut_and_a_long_result_is_not_lost() -> None:
    with Terminal(columns=80, rows=24) as shell:
        shell.see("grad>")
        rows = shell.run("list(range(3000))").split("\n")
        assert len(rows) == 51
        assert "more characters; print() shows all" in rows[-1]
        assert "2999" in shell.run("print(list(range(3000)))")


def test_the_line_below_fits() -> None:
    with Terminal(columns=40, rows=20) as shell:
        shell.see("grad>")
        shell.run("x = ones(2, requires_grad=True); z = x.exp().sum()")
        shell.see("1 buffer 8 B")
        row = next(row for row in shell.shown().split("\n") if "1 buffer 8 B" in row)
        assert row == " 3 nodes | 1 buffer 8 B | peak 20 B"


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_walk_is_aborted_by_its_keys_and_says_its_words(term: str) -> None:
    prompt = "step (next, until WHERE, back, quit, help)>"

    with Terminal(columns=80, rows=60, TERM=term) as shell:

        def answer(keys: str, then: str) -> None:
            """Press keys at the step prompt; wait until `then` stands before the cursor."""
            before = shell.lines_so_far()
            shell.press(keys)
            shell.until(lambda: shell.lines_so_far() > before and shell.row().rstrip() == then, f"{then} after {keys!r}")

        shell.see("grad>")
        shell.run("x = ones(2, requires_grad=True)")
        abort = "\x04" if term == "dumb" else "\x03"  # Python's own `input` may miss a Ctrl-C that comes as soon as its prompt
        for keys, sentence in ((abort, "interrupted"), ("\x04", "interrupted"), ("quit\r", "stopped with `quit`")):
            shell.run("z = (x * x).exp().sum()")
            answer("backward z --step\r", prompt)
            answer(keys, "grad>")
            assert f"backward was {sentence}" in " ".join(shell.shown().split())
            assert shell.run("print(x.grad)") == "None"
        shell.run("z = (x * x).exp().sum()")
        answer("backward z --step\r", prompt)
        for keys in ("help\r", "\r", "grad_in * 7\r", "back\r", "x.grad\r", "until x\r"):
            answer(keys, prompt)
        answer("\r", "grad>")
        text = shell.text().rpartition("backward z --step")[2]
        steps = [row.split()[0] for row in text.split("\n") if row[:2] in {"1.", "2.", "3."}]
        assert steps == ["1.", "2.", "1.", "3."]
        assert "until WHERE (u)" in text
        assert "tensor([7." in text
        assert text.count("ran 4 nodes") == 1
        shell.run("x.grad = None; z = (x * x).exp().sum()")
        answer("backward z --step\r", prompt)
        answer("\r", prompt)
        answer("abort\r", "grad>")
        assert "backward was aborted" in " ".join(shell.shown().split())
        assert "would run 4 nodes, free 3 buffers" in " ".join(shell.run("plan z").split())
