"""Edits of a text by spans: insertions and replacements, collected first and applied together."""

from gradsh.language.node import SyntaxNode
from gradsh.text.span import Source, Span

_CLOSING, _OPENING, _INSTEAD = range(3)


class Edits:
    """The edits of one source. A replacement swallows those inside it; `rendered` gives it what it needs of them."""

    def __init__(self, source: Source) -> None:
        self.text = source.text
        self._starts = [0]
        for line in source.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._made: list[tuple[int, int, int, str]] = []
        """(start, kind, end, text)"""

    def range(self, span: Span) -> tuple[int, int]:
        """Return where a span begins and ends in the text."""
        return self._starts[span.line - 1] + span.column - 1, self._starts[span.end_line - 1] + span.end_column - 1

    def around(self, span: Span, before: str, after: str) -> None:
        """Insert text before and after what a span covers."""
        start, end = self.range(span)
        self._made += ((start, _OPENING, start, before), (end, _CLOSING, end, after))

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a part of the text, and the edits inside it."""
        self._made = [one for one in self._made if not self._inside(one, start, end)]
        self._made.append((start, _INSTEAD, end, text))

    def of(self, node: SyntaxNode) -> str:
        """Return the text of a node with the edits inside it."""
        return self.rendered(*self.range(node.span))

    def rendered(self, start: int, end: int) -> str:
        """Return a part of the text with the edits inside it."""
        parts: list[str] = []
        at = start
        for first, _, last, text in sorted(one for one in self._made if self._inside(one, start, end)):
            parts += (self.text[at:first], text)
            at = last
        return "".join(parts) + self.text[at:end]

    @staticmethod
    def _inside(edit: tuple[int, int, int, str], start: int, end: int) -> bool:
        first, kind, last, _ = edit
        return start < first <= end if kind == _CLOSING else start <= first < end and last <= end


def indented(text: str) -> str:
    """Return a part of a program, indented by four blanks; lines within a long string stay as they are."""
    import io
    import tokenize

    inside: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            if tokenize.tok_name[token.type] in {"STRING", "FSTRING_MIDDLE"}:
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        pass
    lines = enumerate(text.split("\n"), 1)
    return "\n".join(line if number in inside or not line.strip() else f"    {line}" for number, line in lines)
