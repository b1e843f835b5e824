"""Reads a usage line (`T… [--grad E]… [--retain]`) into the grammar that the parser works by."""

from collections.abc import Iterator

from gradsh.language.command_line import Arity, CommandGrammar, Option, Positional, Tail, ValueKind

FORMATS = ("text", "json")
PICTURES = {"graph": ("dot", "svg", "png", "mermaid"), "memory": ("svg", "png")}
"""By command, the further formats in which its report is drawn."""
KINDS: dict[str, ValueKind] = {"NAME": "name", "WORD": "word", "SIZE": "word", "FILE": "file", "TEXT": "text", "KIND": "word"}


def formats_of(name: str) -> tuple[str, ...]:
    """Return what `--format` takes at a command."""
    return (*FORMATS, *PICTURES.get(name, ()))


def grammar_of(name: str, usage: str) -> CommandGrammar:
    """Return the grammar that a usage line describes, with `--format` and `--output` added."""
    positionals: list[Positional] = []
    options: dict[str, Option] = {}
    tail: Tail = ""
    for part in _parts(usage):
        if part.startswith("[--"):  # [--flag], [--one E], [--each E]…, [--many E…]
            option, _, value = part[3 : part.index("]")].partition(" ")
            options[option] = _option(value, part.endswith("]…"))
        elif part == "STATEMENT":
            tail = "colon" if ": STATEMENT" in usage else "statement"
        else:  # T, T…, [T…], a|b
            positionals.append(_positional(part.strip("[]:"), part.startswith("[")))
    options.setdefault("format", Option("one", "word", formats_of(name), "FORMAT"))
    options.setdefault("output", Option("one", "file", (), "FILE"))
    return CommandGrammar(name, positionals, options, tail)


def _parts(usage: str) -> Iterator[str]:
    """Yield the arguments and options of a usage line; a blank within brackets separates none."""
    part = ""
    for word in usage.split():
        part = f"{part} {word}" if part else word
        if part.count("[") == part.count("]"):
            yield part
            part = ""


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
