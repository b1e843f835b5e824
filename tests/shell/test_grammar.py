"""The TextMate grammar colours scripts as the shell does. The reader below knows of the format what the grammar uses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.document import Document

from gradsh.shell.lexer import ShellLexer

ROOT = Path(__file__).parents[2]
GRAMMAR = json.loads((ROOT / "editors/vscode/syntaxes/grad.tmLanguage.json").read_text(encoding="utf-8"))
CLASSES = {
    "comment": "comment", "string": "string", "constant.character": "string", "constant.language": "keyword", "keyword.control": "keyword",
    "variable": "name", "keyword.operator": "operator", "constant.numeric": "number", "support.function": "command",
    "constant.other.option": "option", "invalid": "error",
}
SCRIPTS = sorted((ROOT / "scripts").glob("*.grad"))


def rules(patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The patterns with what they include in its place."""
    for one in patterns:
        if "include" in one:
            yield from rules(GRAMMAR["repository"][one["include"].removeprefix("#")]["patterns"])
        else:
            yield one


def scopes(text: str) -> list[list[str]]:
    """The innermost scope of each character, line by line: at each place the rule that matches first, of those the first one."""
    stack: list[dict[str, Any]] = [GRAMMAR]
    return [_line(line, stack) for line in text.splitlines(keepends=True)]


def _line(line: str, stack: list[dict[str, Any]]) -> list[str]:
    out = [""] * len(line)
    at = 0
    while True:
        top = stack[-1]
        found = [(re.compile(top["end"]).search(line, at), top)] if "end" in top else []
        found += [(re.compile(one.get("match") or one["begin"]).search(line, at), one) for one in rules(top["patterns"])]
        matches = [(match, one) for match, one in found if match is not None and (match.end() > at or one is top)]
        match, rule = min(matches, key=lambda pair: pair[0].start(), default=(None, top))
        inside = top.get("name", "") if top is not GRAMMAR else ""
        out[at : match.start() if match else len(line)] = [inside] * ((match.start() if match else len(line)) - at)
        if match is None:
            return out
        captures = rule.get("beginCaptures") if rule is not top else None
        name = "" if captures else rule.get("name", inside)
        out[match.start() : match.end()] = [name] * (match.end() - match.start())
        for group, scope in (captures or {}).items():
            start, end = match.span(int(group))
            out[start:end] = [scope["name"]] * (end - start)
        at = match.end()
        if rule is top:
            stack.pop()
        elif "begin" in rule:
            stack.append(rule)
        if at >= len(line):
            return out


def classes(text: str) -> list[list[str]]:
    return [[next((kind for scope, kind in CLASSES.items() if one.startswith(scope)), "") for one in line] for line in scopes(text)]


def shown(text: str) -> list[list[str]]:
    """The class of each character at the prompt."""
    line_of = ShellLexer().lex_document(Document(text))
    return [[part[0].removeprefix("class:grad.") for part in line_of(number) for _ in part[1]] for number in range(text.count("\n") + 1)]


def compare(text: str, where: str) -> None:
    for number, (line, mine, wanted) in enumerate(zip(text.split("\n"), classes(text), shown(text), strict=False), 1):
        for column, char in enumerate(line):
            if not char.isspace() and not (char == "\\" and column == len(line) - 1):
                assert mine[column] == wanted[column], f"{where}:{number}:{column + 1} in {line!r}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts(path: Path) -> None:
    compare(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("text", [
    "backward loss --retain  # all of it\n", "graph = 3\ngraph.x\ngraph(z)\ngraph z\n", "if x:\n    buffers --live\n",
    "x = r'a\\'b' + f\"{y!r}\" + b''\n",
    's = """one\n# two\nthree""" + 1.5e-3\n', "print('open\nx = 0x1F + .5 + 3j + 1_000\n", "not'a'if x else'b'\n", "xf'a' 5if x else 0b1\n",
    "x $ y ? z\n", "a <> b != c // d ** -e @ f := g -> h ... i\n", "#> expected 3 'text\n#@ seed=3\n#~1e-3> 1.0\n# plain\n",
    "naïve = 'é'\n",
    "time x = 3\nexpect error freed: z.backward()\nwatch x.grad\n", "'''a''' '' \"\" '''\n'''\n", "x.backward\nbackward: int = 3\n",
])
def test_forms(text: str) -> None:
    compare(text, "text")


def test_the_signs_of_expectations_are_told_apart() -> None:
    for sign in ("#>", "#>>", "#!", "#/", "#*>", "#~1e-3>"):
        assert scopes(f"{sign} text\n")[0][0] == "comment.line.expectation.grad"
    assert scopes("#@ seed=3\n")[0][0] == "comment.line.option.grad"
    assert scopes("# text\n")[0][0] == scopes("x  #> text\n")[0][3] == "comment.line.number-sign.grad"
    assert scopes("grad> graph z\n")[0][:6] == ["punctuation.definition.prompt.grad"] * 5 + [""]
    assert set(scopes("'a\\\nb' x\n")[1][:2]) == {"string.quoted.grad"}, "a backslash continues a string"
    assert scopes("grad> graph z\n")[0][6] == "support.function.command.grad"
