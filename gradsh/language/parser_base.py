"""The cursor that all parts of the parser share: where it stands, spans, the scopes of bound names, and how it fails."""

from collections.abc import Callable, Container, Mapping
from typing import NoReturn

from gradsh.language.command_line import CommandGrammar
from gradsh.language.scanner import Tokens
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Span

MAX_DEPTH = 200
"""How deep expressions and blocks may nest."""

_new = tuple.__new__

_SHOWN = {"NEWLINE": "the end of the line", "END": "the end of the text", "INDENT": "an indentation",
          "DEDENT": "the end of the block"}  # fmt: skip


class IncompleteError(ProblemError):
    """The text ends too early: what follows may still make it right."""


class Cursor:
    """A position in the tokens. `i` is the index of the token that is looked at."""

    advise: Callable[["Cursor", str, str, tuple[str, ...]], Problem]
    """Words a mistake by what was expected, what was found, and the help lines that the rule has; the parser sets it."""

    def __init__(self, tokens: Tokens, grammars: Mapping[str, CommandGrammar], bound: Container[str]) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.spans = tokens.spans
        self.i = 0
        self.depth = 0
        self.statement_start = 0
        self.grammars = grammars
        self.bound = bound
        self.scopes: list[dict[str, bool]] = [{}]
        self.in_function = False
        self.in_loop = False
        self.annotations_are_text = False
        """Whether the text has imported `annotations` from `__future__`."""

    # names that are bound, as far as they matter: those of commands

    def bind(self, name: str, bound: bool = True) -> None:
        """Note that the text binds `name` here (or, with False, deletes it)."""
        if name in self.grammars:
            self.scopes[-1][name] = bound

    def is_bound(self, name: str) -> bool:
        """Return whether `name` is bound here, by the text before or by the session."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name in self.bound

    # spans

    def span_from(self, start: int) -> Span:
        """Return the span from token `start` to the last token that was taken."""
        first, last = self.spans[start], self.spans[self.i - 1]
        return _new(Span, (first[0], first[1], last[2], last[3]))

    # taking tokens

    def accept(self, kind: str) -> bool:
        """Take the next token if it is a `kind`; return whether it was."""
        if self.kinds[self.i] == kind:
            self.i += 1
            return True
        return False

    def expect(self, kind: str, *help_lines: str) -> None:
        """Take the next token, which must be a `kind`."""
        if self.kinds[self.i] != kind:
            self.unexpected(f"'{kind}'", *help_lines)
        self.i += 1

    def name(self, what: str) -> str:
        """Take a name and return it."""
        if self.kinds[self.i] != "NAME":
            self.unexpected(what)
        self.i += 1
        return self.texts[self.i - 1]

    # failing

    def deeper(self) -> None:
        """Count one level of nesting, which `depth -= 1` takes back; fail where there are too many."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message = f"the statement is nested deeper than {MAX_DEPTH} levels"
            self.fail(message, "give inner parts names of their own", kind="limit")

    def fail(
        self, message: str, *help_lines: str, span: Span | None = None, text: str = "", kind: str = "syntax",
        labels: tuple[Label, ...] = (),
    ) -> NoReturn:
        """Raise the problem `message` at `span`, which is the next token's unless given."""
        place = Label("needed", span or self.here(), text, self.tokens.source)
        raise ProblemError(Problem(kind, message, (*labels, place), help_lines))

    def label(self, role: str, span: Span, text: str) -> Label:
        """Return a label in this source."""
        return Label(role, span, text, self.tokens.source)

    def here(self) -> Span:
        """Return the next token's span; for what has no width (a line's end) one column, so that it can be marked."""
        span = self.spans[self.i]
        if span[:2] == span[2:]:
            return Span(span.line, span.column, span.line, span.column + 1)
        return span

    def unexpected(self, expected: str, *help_lines: str) -> NoReturn:
        """Raise the problem that the next token is not what was `expected`."""
        i, kind = self.i, self.kinds[self.i]
        if kind == "ERROR":
            self.fail_broken(i)
        opener = next((index for index in reversed(self.tokens.unclosed) if index < i), None)
        if opener is not None:
            self.fail_unclosed(opener)
        if kind in {"INDENT", "DEDENT"} and self.kinds[i + 1] == "ERROR":
            self.fail_broken(i + 1)
        shown = _SHOWN.get(kind) or f"'{self.texts[i]}'"
        problem = self.advise(self, expected, shown, help_lines)
        goes_on = self.text_ends(i) or (self.tokens.open_end and self.at_end(i))
        raise (IncompleteError if goes_on else ProblemError)(problem)

    def text_ends(self, i: int) -> bool:
        """Return whether no line follows token `i`: the ends of all open blocks stand before that of the text."""
        return self.kinds[i] in {"DEDENT", "END"} and self.at_end(i)

    def at_end(self, i: int) -> bool:
        """Return whether nothing but the ends of lines and blocks stands from token `i` on."""
        return all(kind in {"NEWLINE", "DEDENT", "END"} for kind in self.kinds[i:])

    def fail_broken(self, i: int) -> NoReturn:
        """Raise the problem of the ERROR token `i`."""
        raise (IncompleteError if self.tokens.open_end and self.at_end(i + 1) else ProblemError)(self.tokens.problems[i])

    def fail_unclosed(self, opener: int) -> NoReturn:
        """Raise the problem that the bracket at token `opener` is never closed."""
        bracket = self.texts[opener]
        closing = {"(": ")", "[": "]", "{": "}"}[bracket]
        place = self.label("needed", self.spans[opener], "opened here")
        problem = Problem("syntax", f"'{bracket}' was never closed", (place,), (f"close it with {closing}",))
        raise (IncompleteError if self.at_end(self.i) else ProblemError)(problem)
