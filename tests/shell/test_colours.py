"""The editor's colours fall on the tokens that they mean, wherever on the line they stand."""

import pytest

from gradsh.shell.lexer import coloured


@pytest.mark.parametrize(("line", "state", "expected"), [
    ("x = f(2, a=True)", "", {"name": ["x", "f", "a"], "number": ["2"], "keyword": ["True"]}),
    ("backward y --grad ones(2)", "", {"command": ["backward"], "option": ["--grad"], "name": ["y", "ones"], "number": ["2"]}),
    ('end""" + g(3)', '"""', {"string": ['end"""'], "name": ["g"], "number": ["3"]}),
])
def test_colours_fall_on_their_tokens(line: str, state: str, expected: dict[str, list[str]]) -> None:
    found = coloured(line, state)
    assert "".join(text for _, text in found) == line
    for kind, words in expected.items():
        mine = [text for name, text in found if name == f"class:grad.{kind}"]
        assert ("".join(mine) if kind == "option" else mine) == ("".join(words) if kind == "option" else words)
