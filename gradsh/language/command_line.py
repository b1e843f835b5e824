"""What the language knows of a command: `CommandGrammar`, its positionals and options. `commands/` fills them in.

A command line is `name argument… --option value…`; the parser reads it by the grammar that the session hands to
`parse`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from gradsh.language.node import expr
from gradsh.text.span import Span
from gradsh.text.tuples import NamedTuple

ValueKind = Literal["expr", "name", "word", "file", "text"]
"""What a value is: an expression; a bare name (a Name node); one word, up to a blank; a file name, bare or quoted; the
rest of the line as it stands. The last three become Constants of their text."""

Arity = Literal["flag", "one", "each", "many"]
"""How many values an option takes: none (True); one, given once; one each time it is given; all up to the next option.
`one` is stored as a value, `each` and `many` as a list."""

Tail = Literal["", "statement", "colon"]
"""Whether the rest of the line is a statement: no; yes, right after the options (`time x = f(y)`); yes, a simple one
after a colon (`expect error freed: backward z`)."""


class Positional:
    """A place for arguments: its name in the usage line, what it holds, and how many (maximum None: any number)."""

    __slots__ = ("choices", "kind", "maximum", "minimum", "name")

    def __init__(
        self, name: str, kind: ValueKind = "expr", minimum: int = 1, maximum: int | None = 1,
        choices: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.kind = kind
        self.minimum = minimum
        self.maximum = maximum
        self.choices = tuple(choices)

    def usage(self) -> str:
        """Return the place as a usage line shows it: `T`, `[T]`, `T…` or `[T…]`."""
        text = self.name if self.maximum == 1 else f"{self.name}…"
        return f"[{text}]" if self.minimum == 0 else text


class Option:
    """An option: how many values it takes, what they are, and the words it chooses from (none: any)."""

    __slots__ = ("arity", "choices", "kind", "metavar")

    def __init__(
        self, arity: Arity = "flag", kind: ValueKind = "expr", choices: Sequence[str] = (), metavar: str = "E"
    ) -> None:
        self.arity = arity
        self.kind = kind
        self.choices = tuple(choices)
        self.metavar = metavar

    def usage(self, name: str) -> str:
        """Return the option as a usage line shows it: `[--retain]`, `[--grad E]…`, `[--inputs E…]`."""
        if self.arity == "flag":
            return f"[--{name}]"
        value = "|".join(self.choices) if self.choices else self.metavar
        if self.arity == "many":
            return f"[--{name} {value}…]"
        return f"[--{name} {value}]" + ("…" if self.arity == "each" else "")


class CommandGrammar:
    """How one command's line is read. The positionals are filled from left to right, each up to its maximum."""

    __slots__ = ("name", "options", "positionals", "tail")

    def __init__(
        self, name: str, positionals: Sequence[Positional] = (), options: Mapping[str, Option] | None = None,
        tail: Tail = "",
    ) -> None:
        self.name = name
        self.positionals = tuple(positionals)
        self.options = dict(options or {})
        self.tail = tail

    def usage(self) -> str:
        """Return the command's usage line."""
        parts = [self.name, *(place.usage() for place in self.positionals)]
        if self.tail == "colon":
            parts[-1] += ":"
        options = [option.usage(name) for name, option in self.options.items()]
        if self.tail:
            return " ".join([parts[0], *options, *parts[1:], "STATEMENT"])
        return " ".join([*parts, *options])


class OptionValue(NamedTuple):
    """What a command line gave for an option: where (the option with its values), and True, one value, or all of them.

    A word or a file name is a Constant of its text.
    """

    span: Span
    value: bool | expr | list[expr]
