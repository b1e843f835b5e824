"""Reads a usage line (`T… [--grad E]… [--retain]`) into the grammar that the parser works by."""

import re

from gradsh.language.command_line import Arity, CommandGrammar, Option, Positional, Tail, ValueKind

FORMATS = ("text", "json", "dot", "svg", "png", "mermaid")
KINDS: dict[str, ValueKind] = {"NAME": "name", "WORD": "word", "FILE": "file", "TEXT": "text", "KIND": "word"}

WORD = re.compile(r"""
    \[--(?P<option>[\w-]+)(?:\ (?P<value>[^\]]+))?\](?P<each>…?)    # [--flag], [--one E], [--each E]…, [--many E…]
    | (?P<opt>\[)?(?P<place>[^\s\[\]:]+)\]?:?                      # T, T…, [T…], a|b, STATEMENT
""", re.VERBOSE)


def grammar_of(name: str, usage: str) -> CommandGrammar:
    """Return the grammar that a usage line describes, with `--format` and `--output` added."""
    positionals: list[Positional] = []
    options: dict[str, Option] = {}
    tail: Tail = ""
    for match in WORD.finditer(usage):
        if match["option"]:
            options[match["option"]] = _option(match["value"] or "", bool(match["each"]))
        elif match["place"] == "STATEMENT":
            tail = "colon" if ": STATEMENT" in usage else "statement"
        elif match["place"]:
            positionals.append(_positional(match["place"], bool(match["opt"])))
    options.setdefault("format", Option("one", "word", FORMATS, "FORMAT"))
    options.setdefault("output", Option("one", "file", (), "FILE"))
    return CommandGrammar(name, positionals, options, tail)


def _option(value: str, each: bool) -> Option:
    if not value:
        return Option("flag")
    many = value.endswith("…")
    value = value.removesuffix("…")
    arity: Arity = "each" if each else "many" if many else "one"
    choices = value.split("|") if "|" in value else []
    return Option(arity, "word" if choices else KINDS.get(value, "expr"), choices, value)


def _positional(text: str, optional: bool) -> Positional:
    many = text.endswith("…")
    value = text.removesuffix("…")
    choices = value.split("|") if "|" in value or value.islower() else []
    kind: ValueKind = "word" if choices else KINDS.get(value, "expr")
    return Positional(value, kind, 0 if optional else 1, None if many else 1, choices)
