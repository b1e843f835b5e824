"""What the tests of the language share: grammars of commands (the language knows none), and ways to parse."""

import pytest

from gradsh.language.command_line import CommandGrammar, Option, Positional
from gradsh.language.parser import parse
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source

GRAMMARS = {
    grammar.name: grammar
    for grammar in [
        CommandGrammar(
            "backward",
            [Positional("T", "expr", 1, None)],
            {
                "grad": Option("each"), "retain": Option(), "create-graph": Option(), "inputs": Option("many"),
                "format": Option("one", "word", ("text", "json"), "FORMAT"), "output": Option("one", "file", (), "FILE"),
            },
        ),
        CommandGrammar("graph", [Positional("T", "expr", 0, None)], {"depth": Option("one")}),
        CommandGrammar("release", [Positional("NAME", "name", 0, None)], {"free": Option()}),
        CommandGrammar("load", [Positional("FILE", "file")]),
        CommandGrammar("set", [Positional("NAME", "word", 0), Positional("VALUE", "text", 0)]),
        CommandGrammar("time", (), {"repeat": Option("one")}, "statement"),
        CommandGrammar(
            "expect",
            [Positional("error", "word", 1, 1, ("error",)), Positional("KIND", "word", 0, 1, ("freed", "shape"))],
            {}, "colon",
        ),
        CommandGrammar("memory"),
    ]
}


def statements(text, bound=()):
    """Parse a text and return its statements."""
    return parse(Source("test", text), GRAMMARS, bound).body


def problem_of(text, bound=()):
    """Return the problem that parsing a text raises."""
    with pytest.raises(ProblemError) as caught:
        parse(Source("test", text), GRAMMARS, bound)
    return caught.value.problem
