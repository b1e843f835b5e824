"""The parser of command lines, by their grammar: arguments, options, tails."""

import re
from typing import NoReturn

from gradsh.language.command_line import CommandGrammar, Option, OptionValue, Positional, ValueKind
from gradsh.language.node import expr, stmt
from gradsh.language.parser_functions import FunctionParser
from gradsh.language.strings import Trouble, string
from gradsh.language.tokens import AUGMENTED
from gradsh.language.tree import Command, Constant, Name
from gradsh.text.span import Span

_ENDS = frozenset({"NEWLINE", ";", "END", "DEDENT"})

_OPTION = re.compile(r"--([A-Za-z][\w-]*)")

_WORDS = {"": re.compile(r"[^\s;,]+"), "statement": re.compile(r"[^\s;,]+"), "colon": re.compile(r"[^\s;:,]+")}

_PATH = re.compile(r"\.{1,2}/|\.\w")

_FILE = re.compile(r"[^\s;]+")

_NO_COMMAND = AUGMENTED | {"=", ".", ",", ":", "==", "!=", "<=", ">=", ":="}
"""What follows a name that is no command's start, even where nothing has bound it."""

_ARGUMENTS = frozenset({"NAME", "NUMBER", "STRING", "FSTART", "None", "True", "False"})
"""What must follow a bound name to make it a command's start."""


class CommandParser(FunctionParser):
    """The rules of command lines."""

    def simple_statement(self) -> stmt:
        """Read a statement that ends on its line: see `StatementParser`."""
        raise NotImplementedError

    def tail_statement(self) -> stmt:
        """Read any one statement: see `StatementParser`."""
        raise NotImplementedError

    def command_here(self) -> CommandGrammar | None:
        """Return the grammar of the command that starts at the next token, or None if none does.

        A name that nothing has bound starts a command unless `=`, `.`, `,`, `:`, a comparison, an augmented assignment
        or an adjoining `(` or `[` follows; a bound name does so only before a name, a number or a string.
        """
        i = self.i
        name = self.texts[i]
        following = self.kinds[i + 1]
        adjoins = self.tokens.starts[i + 1] == self.tokens.ends[i]
        if self.is_bound(name):
            starts = following in _ARGUMENTS
        else:
            starts = following not in _NO_COMMAND and not (adjoins and following in {"(", "["})
        if not starts and not adjoins and following in {".", "..."} and not self.is_bound(name):
            starts = self.path_here()
        return self.grammars[name] if starts else None

    def path_here(self) -> bool:
        """Return whether what follows a command's name is a path, and the command takes one: `load ../a.grad`."""
        first = self.grammars[self.texts[self.i]].positionals[:1]
        return bool(first) and first[0].kind == "file" and bool(_PATH.match(self.tokens.source.text, self.tokens.starts[self.i + 1]))

    def command(self, grammar: CommandGrammar) -> Command:
        """Read a command line.

        command: NAME (argument [','] | option)* [statement | ':' simple_statement]
        """
        start = self.i
        self.i += 1
        marked = self.mark_options()
        arguments: list[expr] = []
        options: dict[str, OptionValue] = {}
        places = _Places(grammar.positionals)
        while self.kinds[self.i] not in _ENDS:
            if self.kinds[self.i] == "OPTION":
                self.option(grammar, options)
                continue
            if (grammar.tail == "colon" and self.kinds[self.i] == ":") or (grammar.tail == "statement" and places.full()):
                break
            arguments.append(self.argument(grammar, places, arguments))
        self.check_count(grammar, places, start)
        tail = self.tail(grammar, marked) if grammar.tail else None
        last = self.i - 1
        while self.kinds[last] in {"NEWLINE", "DEDENT"}:
            last -= 1
        span = self.spans[start].to(self.spans[last])
        text = self.tokens.source.text[self.tokens.starts[start] : self.tokens.ends[last]]
        return Command(span, grammar.name, self.spans[start], arguments, options, tail, text)

    def mark_options(self) -> list[int]:
        """Make OPTION tokens of the line's `--name`, outside brackets and behind a blank; return their indices."""
        tokens, kinds = self.tokens, self.kinds
        text, marked, depth, i = tokens.source.text, [], 0, self.i
        while (kind := kinds[i]) not in {"NEWLINE", "END"} and not (kind == ";" and depth == 0):
            if kind in {"(", "[", "{"}:
                depth += 1
            elif kind in {")", "]", "}"}:
                depth -= 1
            elif kind == "-" and depth == 0 and text[tokens.starts[i] - 1].isspace() and _OPTION.match(text, tokens.starts[i]):
                kinds[i] = "OPTION"
                marked.append(i)
            i += 1
        return marked

    # arguments

    def argument(self, grammar: CommandGrammar, places: "_Places", before: list[expr]) -> expr:
        """Read the next argument and the comma behind it."""
        place = places.next()
        if place is None:
            self.fail_extra(grammar, before)
        value = self.command_value(grammar, place.kind, place.choices, place.name)
        if self.kinds[self.i] == "=" and isinstance(value, Name):
            self.fail(f"{grammar.name} takes no arguments of the form NAME=…",
                      f"options are written --name: {grammar.usage()}", span=self.spans[self.i - 1].to(self.spans[self.i]))
        self.argument_comma(grammar)
        return value

    def argument_comma(self, grammar: CommandGrammar) -> None:
        """Take the comma behind an argument, if there is one; something must follow it."""
        if self.accept(","):
            if self.kinds[self.i] in _ENDS:
                self.unexpected("an argument behind the comma", f"usage: {grammar.usage()}")
        elif self.kinds[self.i] == "~":
            self.fail("an argument that begins with ~ needs a comma before it", "put a comma before it")

    def command_value(self, grammar: CommandGrammar, kind: ValueKind, choices: tuple[str, ...], name: str) -> expr:
        """Read one value of the given kind."""
        start = self.i
        if kind == "expr":
            return self.expression_value(grammar, name)
        if kind == "name":
            if self.kinds[start] != "NAME":
                self.unexpected(f"a name for {name}", f"usage: {grammar.usage()}")
            self.i += 1
            return Name(self.spans[start], self.texts[start])
        value = self.raw_value(kind, grammar)
        if choices and value.value not in choices:
            self.fail_choice(str(value.value), choices, value.span)
        return value

    def expression_value(self, grammar: CommandGrammar, name: str) -> expr:
        """Read an expression; where none begins, say what the command takes."""
        if self.kinds[self.i] in {"OPTION", *_ENDS}:
            self.unexpected(f"an expression for {name}", f"usage: {grammar.usage()}")
        return self.expression()

    def raw_value(self, kind: ValueKind, grammar: CommandGrammar) -> Constant:
        """Read a word, a file name or the rest of the line as text; in quotes it may hold blanks."""
        start, tokens = self.i, self.tokens
        if self.kinds[start] == "STRING" and kind != "text":
            value = string(self.texts[start])
            if isinstance(value, Trouble):
                self.fail(value.message, value.help, span=self.spans[start])
            self.i += 1
            return Constant(self.spans[start], value)
        at = tokens.starts[start]
        if self.kinds[start] == "ERROR" and self.texts[start].startswith(("'", '"')):
            self.fail_broken(start)
        if kind == "text":
            self.i += 1
            if self.kinds[self.i] != ";":  # what goes on behind one word is a sentence, which may have a semicolon
                while self.kinds[self.i] not in _ENDS - {";"} | {"OPTION"}:
                    self.i += 1
            return Constant(self.span_from(start), tokens.source.text[at : tokens.ends[self.i - 1]])
        match = (_FILE if kind == "file" else _WORDS[grammar.tail]).match(tokens.source.text, at)
        if match is None:
            self.unexpected("a word", f"usage: {grammar.usage()}")
        self.skip_to(match.end())
        first = self.spans[start]
        return Constant(Span(first.line, first.column, first.line, first.column + len(match[0])), match[0])

    def skip_to(self, end: int) -> None:
        """Take the tokens up to the offset `end`; a token that goes on beyond it is a quote or a bracket gone wrong."""
        tokens = self.tokens
        while tokens.starts[self.i] < end and self.kinds[self.i] not in {"NEWLINE", "END"}:
            if tokens.ends[self.i] > end:
                self.unexpected("a blank behind the word", "put quotes around a word that holds blanks or quotes")
            self.i += 1

    # options

    def option(self, grammar: CommandGrammar, options: dict[str, OptionValue]) -> None:
        """Read an option and its values.

        option: '--' NAME ['='] [value [','] …]
        """
        start, tokens = self.i, self.tokens
        match = _OPTION.match(tokens.source.text, tokens.starts[start])
        assert match is not None  # mark_options looked
        name = match[1].rstrip("-")
        self.i += 1
        while tokens.starts[self.i] < match.end() and self.kinds[self.i] not in _ENDS:
            self.i += 1
        known = grammar.options.get(name)
        if known is None:
            self.fail_option(grammar, name, self.span_from(start))
        if known.arity in {"flag", "one"} and name in options and known.arity == "one":
            self.fail(f"--{name} is given twice", "give it once", span=self.span_from(start))
        if self.kinds[self.i] == "=":
            if known.arity == "flag":
                self.fail(f"--{name} takes no value", f"write --{name} alone")
            self.i += 1
        value = self.option_value(grammar, name, known, options)
        options[name] = OptionValue(self.span_from(start), value)

    def option_value(
        self, grammar: CommandGrammar, name: str, known: Option, options: dict[str, OptionValue]
    ) -> bool | expr | list[expr]:
        """Read what follows the option's name, and add it to what it was given before."""
        if known.arity == "flag":
            self.accept(",")
            return True
        if self.kinds[self.i] in {"OPTION", *_ENDS}:
            self.fail(f"--{name} needs a value", f"usage: {grammar.usage()}", span=self.spans[self.i - 1])
        values = [self.command_value(grammar, known.kind, known.choices, f"--{name}")]
        self.argument_comma(grammar)
        while known.arity == "many" and self.kinds[self.i] not in {"OPTION", ":", *_ENDS}:
            values.append(self.command_value(grammar, known.kind, known.choices, f"--{name}"))
            self.argument_comma(grammar)
        if known.arity == "one":
            return values[0]
        before = options[name].value if name in options else []
        return [*before, *values] if isinstance(before, list) else values

    # tails

    def tail(self, grammar: CommandGrammar, marked: list[int]) -> stmt:
        """Read the statement that the rest of the line is."""
        for index in marked:
            if index >= self.i:
                self.kinds[index] = "-"
        if grammar.tail == "colon" and not self.accept(":"):
            self.fail(f"{grammar.name} needs a colon and a statement", f"usage: {grammar.usage()}")
        if self.kinds[self.i] in _ENDS:
            self.fail(f"{grammar.name} needs a statement", f"usage: {grammar.usage()}")
        self.deeper()
        statement = self.simple_statement() if grammar.tail == "colon" else self.tail_statement()
        self.depth -= 1
        return statement

    # failing

    def check_count(self, grammar: CommandGrammar, places: "_Places", start: int) -> None:
        """Fail if a place was given fewer arguments than it needs."""
        missing = places.missing()
        if missing is not None:
            what = {"expr": "an expression", "file": "a file name", "word": "a word", "name": "a name", "text": "a text"}
            self.fail(f"{grammar.name} needs {what[missing.kind]} for {missing.name}", f"usage: {grammar.usage()}",
                      span=self.span_from(start))

    def fail_extra(self, grammar: CommandGrammar, before: list[expr]) -> NoReturn:
        """Raise the problem of an argument that no place is left for."""
        count = f"{len(before)} argument{'s' * (len(before) != 1)}" if before else "no arguments"
        if self.kinds[self.i] == "ERROR":
            self.fail_broken(self.i)
        self.fail(f"{grammar.name} takes {count} here", f"usage: {grammar.usage()}")

    def fail_option(self, grammar: CommandGrammar, name: str, span: Span) -> NoReturn:
        """Raise the problem of an option that the command does not have, with the nearest that it has."""
        from difflib import get_close_matches

        word = name.replace("_", "-")
        begins = [option for option in grammar.options if word.startswith(option) or option.startswith(word)]
        near = begins or get_close_matches(word, grammar.options, 1, 0.5)
        known = ", ".join(f"--{option}" for option in grammar.options)
        advice = f"did you mean --{near[0]}?" if near else f"its options are {known}" if known else "it has no options"
        self.fail(f"{grammar.name} has no option --{name}", advice, span=span)

    def fail_choice(self, word: str, choices: tuple[str, ...], span: Span) -> NoReturn:
        """Raise the problem of a word that is none of the choices, with the nearest one."""
        from difflib import get_close_matches

        near = get_close_matches(word, choices, 1, 0.5)
        advice = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(choices)}"
        self.fail(f"'{word}' is not one of {', '.join(choices)}", advice, span=span)


class _Places:
    """The positionals of a grammar while they are filled, from left to right."""

    __slots__ = ("at", "count", "positionals")

    def __init__(self, positionals: tuple[Positional, ...]) -> None:
        self.positionals = positionals
        self.at = 0
        self.count = 0

    def next(self) -> Positional | None:
        """Return the place of the next argument, or None if all are full."""
        while not self.full():
            place = self.positionals[self.at]
            if place.maximum is None or self.count < place.maximum:
                self.count += 1
                return place
            self.at, self.count = self.at + 1, 0
        return None

    def full(self) -> bool:
        """Return whether no place is left."""
        rest = self.positionals[self.at :]
        return not rest or (len(rest) == 1 and rest[0].maximum is not None and self.count >= rest[0].maximum)

    def missing(self) -> Positional | None:
        """Return the first place that has fewer arguments than it needs."""
        for offset, place in enumerate(self.positionals[self.at :]):
            if (self.count if offset == 0 else 0) < place.minimum:
                return place
        return None
