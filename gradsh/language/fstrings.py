"""The tokens of f-strings: FSTART, FMIDDLE for the literal parts, the tokens of the fields, FEND.

A field is `{`, the tokens of an expression, perhaps `=`, `! NAME`, `:` and the parts of a format spec, `}`. The quotes
of the string may be used again within a field, as in Python from 3.12 on.
"""

import re

from gradsh.language.scanner import Broken, Scanner

MAX_NESTED = 20
"""How deep f-strings may stand in each other."""

_CONVERSION = re.compile(r"!(\w*)[ \t]*")

_Patterns = dict[tuple[str, str], re.Pattern[str]]
_patterns: _Patterns = {}


def _pattern(quote: str, part: str) -> re.Pattern[str]:
    """Return the pattern of what is literal, for a part that is `text`, `raw` or `spec`; made on first use.

    Nothing follows its repetition, which therefore never gives anything back: it needs no possessive quantifier. (Python 3.11.2
    matches a possessive repetition of alternatives wrongly.)
    """
    pattern = _patterns.get((quote, part))
    if pattern is None:
        q = quote[0]
        plain = rf"[^{q}\\{{}}\n]+" if len(quote) == 1 else rf"[^{q}\\{{}}]+|{q}(?!{q}{q})"
        escapes = r"|\\(?![{}]).|\\(?=[{}])"
        doubled = "" if part == "spec" else r"|\{\{|\}\}"
        named = r"|\\N\{[^{}]*\}" if part == "text" else ""
        pattern = _patterns[quote, part] = re.compile(f"(?:{plain}{named}{escapes}{doubled})*", re.DOTALL)
    return pattern


class FStringScanner(Scanner):
    """The part of the lexer that reads f-strings; `run` reads the expressions in them."""

    nested = 0
    many_lines = False

    def run(self, at: int, floor: int) -> int:
        """Read the tokens of an expression, with `floor` brackets open around it; return where it ends."""
        raise NotImplementedError

    def fstring(self, start: int, at: int) -> int:
        """Read the f-string whose opening stands from `start` to `at`; return where it ends.

        fstring: FSTART (FMIDDLE | field)* FEND
        """
        opening = self.text[start:at]
        quote = opening.lstrip("fFrR")
        outer, opened = self.many_lines, len(self.brackets)
        self.nested += 1
        self.many_lines = len(quote) == 3
        try:
            self.add("FSTART", start, at)
            return self.fstring_body(at, quote, "raw" if len(opening) - len(quote) == 2 else "text")
        except Broken:
            if self.nested > 1:
                raise
            del self.brackets[opened:]
            return self.line_end(self.tokens.ends[-1])
        finally:
            self.nested -= 1
            self.many_lines = outer

    def fstring_body(self, at: int, quote: str, part: str) -> int:
        """Read what follows the opening of an f-string, its closing quotes included."""
        first = len(self.tokens.kinds) - 1
        if self.nested > MAX_NESTED:
            self.error(at, at, "too many nested f-strings", "compute the inner ones first", kind="limit")
            raise Broken
        pattern = _pattern(quote, part)
        while True:
            at = self.literal(at, pattern)
            if self.text.startswith(quote, at):
                return self.add("FEND", at, at + len(quote))
            character = self.text[at : at + 1]
            if character == "{":
                at = self.field(at, quote, 0)
            elif character == "}":
                self.error(at, at + 1, "f-string: single '}' is not allowed", "write }} for a brace that is text")
                raise Broken
            else:
                self.unterminated(first, at, quote)

    def literal(self, at: int, pattern: re.Pattern[str]) -> int:
        """Add the literal text that begins at `at`, if any; return where it ends."""
        match = pattern.match(self.text, at)
        end = match.end() if match else at
        return self.add("FMIDDLE", at, end) if end > at else at

    def unterminated(self, first: int, at: int, quote: str) -> None:
        """Say that the f-string whose opening is token `first` does not end."""
        triple = "triple-quoted " if len(quote) == 3 else ""
        tokens = self.tokens
        self.error(at, at, f"unterminated {triple}f-string literal (detected at line {self.line})",
                   f"close it with {quote}")
        index = len(tokens.kinds) - 1
        label = tokens.problems[index].labels[0]._replace(span=tokens.spans[first], text="opened here")
        tokens.problems[index] = tokens.problems[index]._replace(labels=(label,))
        tokens.open_end = len(quote) == 3 and at >= len(self.text)
        raise Broken

    def field(self, at: int, quote: str, depth: int) -> int:
        """Read a replacement field whose brace stands at `at`; return where it ends.

        field: '{' expression ['='] ['!' NAME] [':' spec] '}'
        """
        if depth > 1:
            self.error(at, at + 1, "f-string: expressions nested too deeply", "compute the format spec first")
            raise Broken
        self.brackets.append(len(self.tokens.kinds))
        self.add("{", at, at + 1)
        at = self.run(at + 1, len(self.brackets))
        conversion = _CONVERSION.match(self.text, at)
        if conversion:
            self.add("!", at, at + 1)
            self.add("NAME", at + 1, conversion.end(1))
            at = conversion.end()
        if self.text.startswith(":", at):
            self.add(":", at, at + 1)
            at = self.spec(at + 1, quote, depth)
        if not self.text.startswith("}", at):
            opening = self.tokens.spans[self.brackets[-1]]
            self.error(at, min(at + 1, self.line_end(at)), "f-string: expecting '}'",
                       f"close the field that opens in column {opening.column}, or write {{{{ for a brace that is text")
            self.tokens.open_end = len(quote) == 3 and at >= len(self.text)
            raise Broken
        self.brackets.pop()
        return self.add("}", at, at + 1)

    def spec(self, at: int, quote: str, depth: int) -> int:
        """Read a format spec up to its closing brace.

        spec: (FMIDDLE | field)*
        """
        pattern = _pattern(quote, "spec")
        while True:
            at = self.literal(at, pattern)
            if not self.text.startswith("{", at):
                return at
            at = self.field(at, quote, depth + 1)
