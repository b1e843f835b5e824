"""Colours line by line, the pygments lexer, themes."""

import pytest
from prompt_toolkit.document import Document
from prompt_toolkit.styles import Style
from pygments import highlight
from pygments.formatters import NullFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import Generic, Keyword

from gradsh.shell.lexer import ShellLexer, coloured
from gradsh.shell.pygments_lexer import GradLexer
from gradsh.shell.theme import DARK, LIGHT, NONE, background, rules


def shown(text: str) -> list[list[tuple[str, str]]]:
    line = ShellLexer().lex_document(Document(text))
    return [list(line(number)) for number in range(text.count("\n") + 1)]


@pytest.mark.parametrize("text", ["x = ones(2) # c", "backward z --retain", "a = '''x\ny = 1\n''' + 1", "\tx", "é = §", "'open", ""])
def test_no_character_is_lost(text: str) -> None:
    assert ["".join(part for _, part in line) for line in shown(text)] == text.split("\n")


def test_a_string_over_several_lines_is_a_string() -> None:
    lines = shown("a = '''x\nfor y in z\n''' + for_")
    assert lines[1] == [("class:grad.string", "for y in z")]
    assert lines[2][0] == ("class:grad.string", "'''")


def test_commands_and_options_are_marked() -> None:
    assert ("class:grad.command", "backward") in coloured("backward z --retain")
    assert any(kind == "class:grad.option" for kind, _ in coloured("backward z --retain"))
    for text in ("graph = 3", "graph.x", "graph(z)", "graph += 1", "x = graph"):
        assert ("class:grad.command", "graph") not in coloured(text)


def test_a_line_changed_in_5000_is_coloured_at_once() -> None:
    lines = [f"y{i} = (x * {i}).sum() + {i}  # {i}" for i in range(5000)]
    shown("\n".join(lines))
    lines[2500] += "+ 1"
    before = coloured.cache_info().misses
    line = ShellLexer().lex_document(Document("\n".join(lines)))
    for number in range(2480, 2520):
        line(number)
    assert coloured.cache_info().misses == before + 1


def test_pygments_loses_nothing_and_knows_commands() -> None:
    text = "x = ones(2)  # leaf\nbackward x --retain\ngraph = 'a'\n"
    assert highlight(text, GradLexer(), NullFormatter()) == text
    tokens = list(GradLexer().get_tokens(text))
    assert (Keyword.Pseudo, "backward") in tokens
    assert (Keyword.Pseudo, "graph") not in tokens


def test_pygments_reads_transcripts() -> None:
    tokens = list(GradLexer().get_tokens("grad> x\ntensor(1.)\nerror[freed]: it\n"))
    assert tokens[0] == (Generic.Prompt, "grad> ")
    assert (Generic.Output, "tensor(1.)\n") in tokens
    assert (Generic.Error, "error[freed]: it\n") in tokens


def test_pygments_finds_the_lexer_where_the_package_is_installed() -> None:
    from importlib.metadata import entry_points

    if not entry_points(group="pygments.lexers", name="grad"):
        pytest.skip("gradsh is not installed, only imported")
    assert get_lexer_by_name("grad").name == "gradsh"


@pytest.mark.parametrize("theme", [DARK, LIGHT, NONE])
def test_themes_are_styles(theme: dict[str, str]) -> None:
    Style.from_dict(theme)
    assert theme.keys() >= {"grad.command", "bottom-toolbar", "signature.here"}


def test_the_terminals_background_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert rules("auto") is LIGHT
    monkeypatch.setenv("COLORFGBG", "15;0")
    assert rules("auto") is DARK
    monkeypatch.setenv("NO_COLOR", "1")
    assert background() == "none"
    assert rules("none") is NONE
    assert not any("ansi" in style or "#" in style for style in NONE.values())
