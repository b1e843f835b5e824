"""Writes the TextMate grammar of scripts (`editors/vscode/syntaxes/`) from the lexer's token table and the list of commands.

VS Code, Sublime Text and GitHub's linguist read such grammars. `tests/shell/test_grammar.py` holds it to what the shell colours.
"""

import json
from pathlib import Path
from typing import Any

from gradsh.commands import USAGE
from gradsh.language import tokens

FOLDER = Path(__file__).parents[1] / "editors/vscode/syntaxes"
CONSTANTS = frozenset({"True", "False", "None"})
PLAIN_PREFIX, FORMAT_PREFIX = r"(?:[rR][bB]|[bB][rR]|[rRuUbB])?", r"(?:[fF][rR]?|[rR][fF])"
EXPECTATION = r"^#(?:>>|>|!|/|\*>|~[0-9.eE+-]+>)"
COMMAND = r"(?!\s*(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=))(?![.,:(\[])(?=\s|$)"


def grammar() -> dict[str, Any]:
    """Return the grammar of scripts."""
    return {
        "name": "gradsh", "scopeName": "source.grad", "fileTypes": ["grad"], "firstLineMatch": r"^#!.*\bgradsh\b",
        "patterns": [_named("punctuation.definition.prompt", r"^(?:grad>|\.\.\.\.>|>>>)(?= |$)"), _command(), {"include": "#code"}],
        "repository": {"code": {"patterns": [*_comments(), *_strings(), *_words()]}},
    }


def _named(name: str, pattern: str) -> dict[str, Any]:
    return {"name": f"{name}.grad", "match": pattern}


def _command() -> dict[str, Any]:
    """A line that begins with a command's name: the name, and options among its arguments."""
    names = "|".join(sorted(USAGE, key=lambda name: (-len(name), name)))
    return {
        "begin": rf"(?:(?<=grad> )|(?<=>>> )|^\s*)({names})(?!\w){COMMAND}", "end": r"$",
        "beginCaptures": {"1": {"name": "support.function.command.grad"}},
        "patterns": [_named("constant.other.option", r"(?<=\s)--[A-Za-z][\w-]*"), {"include": "#code"}],
    }


def _comments() -> list[dict[str, Any]]:
    sign = {"1": {"name": "punctuation.definition.comment.grad"}}
    return [
        {"name": "comment.line.expectation.grad", "match": rf"({EXPECTATION}).*$", "captures": sign},
        {"name": "comment.line.option.grad", "match": r"(^#@) .*$", "captures": sign},
        _named("comment.line.number-sign", r"#.*$"),
    ]


def _strings() -> list[dict[str, Any]]:
    """Strings over several lines, then those of one, which end with their line unless a backslash continues it."""
    out = []
    for prefix, kind in ((PLAIN_PREFIX, "quoted"), (FORMAT_PREFIX, "interpolated")):
        for quote in ('"""', "'''", '"', "'"):
            end = quote if len(quote) == 3 else rf"{quote}|(?<!\\)\n"
            escape = _named("constant.character.escape", r"\\(?:.|\n)")
            out.append({"name": f"string.{kind}.grad", "begin": prefix + quote, "end": end, "patterns": [escape]})
    return out


def _words() -> list[dict[str, Any]]:
    keywords = "|".join(sorted(tokens.KEYWORDS - CONSTANTS, key=lambda word: (-len(word), word)))
    return [
        _named("constant.language", rf"(?:{'|'.join(sorted(CONSTANTS))})(?!\w)"), _named("keyword.control", rf"(?:{keywords})(?!\w)"),
        _named("variable.other", r"[^\W\d]\w*"), _named("keyword.operator", tokens.OPERATORS),
        _named("constant.numeric", tokens.NUMBERS), _named("constant.character.escape.continuation", r"\\$"),
        _named("invalid.illegal", r"[^\s\w]"),
    ]


def injection() -> dict[str, Any]:
    """Return the grammar that puts the one above into the fences of Markdown."""
    return {
        "scopeName": "markdown.grad.codeblock", "fileTypes": [], "injectionSelector": "L:text.html.markdown",
        "patterns": [{
            "name": "markup.fenced_code.block.markdown", "begin": r"(^|\G)(\s*)(`{3,}|~{3,})\s*(?i:grad)(?=\s|$)[^`\n]*$",
            "end": r"(^|\G)(\2|\s{0,3})(\3)\s*$",
            "patterns": [{
                "begin": r"(^|\G)(\s*)(.*)", "while": r"(^|\G)(?!\s*([`~]{3,})\s*$)", "contentName": "meta.embedded.block.grad",
                "patterns": [{"include": "source.grad"}],
            }],
        }],
    }


def grammar_files() -> dict[Path, str]:
    """Return the files and their texts."""
    made = {"grad.tmLanguage.json": grammar(), "markdown.json": injection()}
    return {FOLDER / name: json.dumps(found, indent=1) + "\n" for name, found in made.items()}
