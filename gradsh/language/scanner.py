"""What the lexer's parts share: the `Tokens` that come out, and `Scanner`, the state of one pass over a text."""

from gradsh.language.tokens import CLOSING
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

MOST_ERRORS = 1000
"""How many places that cannot be read a text may have before the rest of it is left."""

_new = tuple.__new__


class Tokens:
    """The tokens of a source, by index: kinds, texts, spans, start and end offsets.

    `problems` holds what is wrong with each ERROR token; `unclosed` the indices of brackets that the text never closes;
    `open_end` is True where the text ends inside a string or a bracket or after a backslash, so that more could follow.
    """

    __slots__ = ("ends", "kinds", "open_end", "problems", "source", "spans", "starts", "texts", "unclosed")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.spans: list[Span] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.problems: dict[int, Problem] = {}
        self.unclosed: list[int] = []
        self.open_end = False


class Broken(Exception):
    """The rest of the text cannot be read; an ERROR token says why."""


class Scanner:
    """A text, the tokens so far, the line now, and the token index of each bracket that is open."""

    def __init__(self, source: Source) -> None:
        self.text = source.text
        self.tokens = Tokens(source)
        self.line = source.first_line
        self.line_start = 0
        self.brackets: list[int] = []

    def add(self, kind: str, start: int, end: int) -> int:
        """Append the token from `start` on the current line to `end`, perhaps on a later one; return `end`."""
        tokens, text = self.tokens, self.text[start:end]
        line, column = self.line, start - self.line_start + 1
        if "\n" in text:
            self.line += text.count("\n")
            self.line_start = start + text.rindex("\n") + 1
        tokens.kinds.append(kind)
        tokens.texts.append(text)
        tokens.spans.append(_new(Span, (line, column, self.line, end - self.line_start + 1)))
        tokens.starts.append(start)
        tokens.ends.append(end)
        return end

    def error(
        self, start: int, end: int, message: str, *help_lines: str, label: str = "", kind: str = "syntax",
        labels: tuple[Label, ...] = (),
    ) -> int:
        """Append an ERROR token, keep its problem, return its end."""
        tokens = self.tokens
        self.add("ERROR", start, end)
        span = tokens.spans[-1]
        if start == end:
            span = span._replace(end_column=span.end_column + 1)
        place = Label("needed", span, label, tokens.source)
        tokens.problems[len(tokens.kinds) - 1] = Problem(kind, message, (*labels, place), help_lines)
        if len(tokens.problems) == MOST_ERRORS:
            self._give_up(end)
        if len(tokens.problems) > MOST_ERRORS:
            raise Broken
        return end

    def _give_up(self, at: int) -> None:
        """End the text here, on a line of its own that the parser cannot pass: this is no program."""
        self.brackets.clear()
        self.add("NEWLINE", at, at)
        end = min(at + 1, len(self.text))
        self.error(at, end, "too many errors: the rest is skipped", "is this a program? look at its first lines")

    def line_end(self, at: int) -> int:
        """Return the offset where the line that holds `at` ends."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def close(self, bracket: str, start: int, floor: int) -> bool:
        """Take the bracket that `bracket` closes off the open ones; add an ERROR and return False if it is another.

        The lowest `floor` of the open brackets stand around an f-string and cannot be closed in it.
        """
        tokens = self.tokens
        if len(self.brackets) <= floor:
            self.error(start, start + 1, f"unmatched '{bracket}'", f"remove it, or open it with {_opening(bracket)}")
            return False
        opener = self.brackets.pop()
        opening = tokens.texts[opener]
        if CLOSING[opening] == bracket:
            return True
        line = tokens.spans[opener].line
        where = "" if line == self.line else f" on line {line}"
        message = f"closing parenthesis '{bracket}' does not match opening parenthesis '{opening}'{where}"
        place = Label("defined", tokens.spans[opener], "opened here", tokens.source)
        self.error(start, start + 1, message, f"close it with {CLOSING[opening]}", labels=(place,))
        return False


def _opening(closing: str) -> str:
    """Return the bracket that `closing` closes."""
    return next(opening for opening, partner in CLOSING.items() if partner == closing)
