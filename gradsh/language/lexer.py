"""Text to tokens: parallel lists, so that the parser looks at a kind, a text or a span by one index.

A token's kind is its own text for keywords and operators, else one of NAME, NUMBER, STRING, FSTART, FMIDDLE, FEND,
NEWLINE, INDENT, DEDENT, ERROR, END. What is no token becomes ERROR, with its problem kept beside it, and is reported
when the parser comes to it (a file name in a command line may hold what no expression could).
"""

from gradsh.language import tokens as table
from gradsh.language.fstrings import FStringScanner
from gradsh.language.scanner import Broken, Tokens
from gradsh.language.tokens import BLANK_LINES, BRACKETS, INDENT, KEYWORDS, TOKEN
from gradsh.text.span import Source, Span

MAX_BRACKETS = 200
"""How deep brackets may nest, as in Python."""

MAX_INDENTS = 100
"""How deep blocks may be indented, as in Python."""

_LOOKALIKES = {
    "‘": "'", "’": "'", "‚": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-",
    "—": "-", "−": "-", "×": "*", "·": "*", "÷": "/", "…": "...", "≤": "<=", "≥": ">=", "≠": "!=", "，": ",", "：": ":",
    "；": ";", "（": "(", "）": ")", "［": "[", "］": "]", "\xa0": "a blank", "→": "->",
}  # fmt: skip

_new = tuple.__new__


def lex(source: Source) -> Tokens:
    """Return the tokens of `source`; never fails."""
    lexer = _Lexer(source)
    at = lexer.begin_line(0)
    while at < len(source.text):
        try:
            at = lexer.run(at, -1)
        except Broken:
            at = len(source.text)
    lexer.finish()
    return lexer.tokens


class _Lexer(FStringScanner):
    """One pass over a text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.indents = [(0, 0)]
        self.plain = source.text.isascii()

    def run(self, at: int, floor: int) -> int:
        """Read tokens from `at` to the end, or, for `floor` >= 0, to where the expression of an f-string's field ends.

        This is the loop that all text goes through: what is frequent is done here, the rest by `rare`.
        """
        text, tokens, match_token = self.text, self.tokens, TOKEN.match
        kinds, texts, spans, starts, ends = tokens.kinds, tokens.texts, tokens.spans, tokens.starts, tokens.ends
        line, base = self.line, self.line_start - 1
        while True:
            match = match_token(text, at)
            group = match.lastindex or 0 if match else 0
            start, end = match.span(group) if match else (at, at)
            if group == table.NAME and self.plain:
                piece = text[start:end]
                kind = piece if piece in KEYWORDS else "NAME"
            elif group == table.OPERATOR:
                kind = piece = text[start:end]
                if floor == len(self.brackets) and piece[0] in "}:!" and piece != "!=":
                    return start
                if piece in BRACKETS and not self.bracket(piece, start, floor):
                    at = end
                    continue
            else:
                at = self.rare(group, start, end, floor)
                if at < 0:
                    return ~at
                line, base = self.line, self.line_start - 1
                continue
            at = end
            kinds.append(kind)
            texts.append(piece)
            spans.append(_new(Span, (line, start - base, line, end - base)))
            starts.append(start)
            ends.append(end)

    def rare(self, group: int, start: int, end: int, floor: int) -> int:
        """Read what is no ASCII name and no operator; return where to go on, or ~offset to stop there."""
        if group == table.NUMBER:
            return self.number(start, end)
        if group == table.NEWLINE:
            return self.newline(start, end, floor)
        if group == table.STRING:
            return self.add("STRING", start, end)
        if group == table.FSTART:
            return self.fstring(start, end)
        if group == table.COMMENT:
            return end
        if group == table.CONTINUED:
            self.next_line(end)
            self.tokens.open_end = end >= len(self.text)
            return end
        if group:
            return self.name(start, end)
        start = INDENT.match(self.text, start).end()  # type: ignore[union-attr]  # it matches everywhere
        if start >= len(self.text):
            return ~start
        return self.broken(start, floor)

    def next_line(self, start: int) -> None:
        """Note that the next line begins at offset `start`."""
        self.line += 1
        self.line_start = start

    def newline(self, start: int, end: int, floor: int) -> int:
        """End a logical line, outside brackets; inside them a line end is a blank."""
        if floor >= 0 and not self.many_lines:
            return ~start
        if self.brackets:
            self.next_line(end)
            return end
        self.add("NEWLINE", start, start)
        self.next_line(end)
        return self.begin_line(end)

    def begin_line(self, at: int) -> int:
        """Skip lines without a token and compare the next one's indentation; return where its first token stands."""
        text = self.text
        end = BLANK_LINES.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
        if end > at:
            self.line += text.count("\n", at, end)
            self.line_start = end
        stop = INDENT.match(text, end).end()  # type: ignore[union-attr]
        if stop >= len(text) or text[stop] == "#":
            return self.line_end(stop)
        if stop > end or len(self.indents) > 1:
            self.indent(end, stop)
        return stop

    def indent(self, start: int, end: int) -> None:
        """Add INDENT or DEDENTs for the blanks from `start` to `end`. Tabs count up to 8, and 1: both must agree."""
        column, single = _width(self.text[start:end])
        indents = self.indents
        if column > indents[-1][0]:
            if single <= indents[-1][1]:
                self.mixed(start, end)
            elif len(indents) >= MAX_INDENTS:
                self.error(start, end, "too many levels of indentation", "move inner blocks to functions", kind="limit")
                raise Broken
            else:
                self.add("INDENT", start, end)
            indents.append((column, single))
            return
        open_widths = [str(width) for width, _ in indents]
        while column < indents[-1][0]:
            indents.pop()
            self.add("DEDENT", end, end)
        if column != indents[-1][0]:
            self.error(start, end, "unindent does not match any outer indentation level",
                       f"indent the line by {' or '.join(open_widths)} columns, as a line above it")
        elif single != indents[-1][1]:
            self.mixed(start, end)

    def mixed(self, start: int, end: int) -> None:
        """Say that tabs and blanks are mixed in a way that leaves the block's depth open."""
        self.error(start, end, "inconsistent use of tabs and spaces in indentation", "indent with blanks only")

    def finish(self) -> None:
        """Close the last line and all blocks, note the brackets that stay open."""
        tokens, end = self.tokens, len(self.text)
        tokens.unclosed = self.brackets
        tokens.open_end = tokens.open_end or bool(self.brackets)
        if tokens.kinds and tokens.kinds[-1] not in {"NEWLINE", "INDENT", "DEDENT"}:
            self.line, self.line_start = tokens.spans[-1].end_line, tokens.ends[-1] - tokens.spans[-1].end_column + 1
            self.add("NEWLINE", tokens.ends[-1], tokens.ends[-1])
        else:
            self.line_start = min(self.line_start, end)
        for _ in self.indents[1:]:
            self.add("DEDENT", end, end)
        self.add("END", end, end)

    def bracket(self, piece: str, start: int, floor: int) -> bool:
        """Note an opening or closing bracket; False if an ERROR stands in its place."""
        if piece in ")]}":
            return self.close(piece, start, max(floor, 0))
        self.brackets.append(len(self.tokens.kinds))
        if len(self.brackets) > MAX_BRACKETS:
            self.brackets.clear()
            self.error(start, start + 1, "too many nested parentheses", "give inner parts names", kind="limit")
            raise Broken
        return True

    def name(self, start: int, end: int) -> int:
        """Add a name that is followed by a quote or may hold letters beyond ASCII: Python reads these as NFKC."""
        text = self.text
        while end < len(text) and not text[end].isascii() and f"a{text[end]}".isidentifier():
            end += 1  # an accent as a character of its own is no letter, but may stand in a name
            while end < len(text) and f"a{text[end]}".isidentifier():
                end += 1
        piece = text[start:end]
        kind = piece if piece in KEYWORDS else "NAME"
        if not piece.isascii():
            if not piece.isidentifier():
                wrong = next(i for i in range(len(piece)) if not piece[: i + 1].isidentifier())
                return self.unexpected(start + wrong)
            from unicodedata import normalize

            piece = normalize("NFKC", piece)
        self.add(kind, start, end)
        self.tokens.texts[-1] = piece
        return end

    def number(self, start: int, end: int) -> int:
        """Add a number; a letter right behind it must begin a keyword (`1if x else 2`)."""
        text = self.text
        if end < len(text) and (text[end] == "_" or text[end].isalnum()):
            word = TOKEN.match(text, end)
            piece = word[table.NAME] if word else None
            if piece not in {"and", "else", "for", "if", "in", "is", "not", "or"}:
                stop = word.end() if word else end + 1
                return self.error(start, max(stop, end), "invalid decimal literal",
                                  "a name cannot begin with a digit; put an operator between a number and a name")
        return self.add("NUMBER", start, end)

    def broken(self, start: int, floor: int) -> int:
        """Add an ERROR for what is no token at all; return where to go on."""
        if self.text[start] in "\"'":
            end = self.unterminated_string(start, floor)
        elif self.text[start] == "\\":
            end = self.stray_backslash(start)
        else:
            end = self.unexpected(start)
        if floor >= 0:
            raise Broken
        return end

    def unterminated_string(self, start: int, floor: int) -> int:
        """Say that a string does not end on its line, or, with three quotes, at all."""
        quote = self.text[start] * (3 if self.text.startswith(self.text[start] * 3, start) else 1)
        end = len(self.text) if len(quote) == 3 else self.line_end(start)
        if floor >= 0:
            return self.error(start, end, "f-string: expecting '}'", "close the field with } before the string ends")
        if len(quote) == 3:
            self.tokens.open_end = True
            last = self.line + self.text.count("\n", start)
            message = f"unterminated triple-quoted string literal (detected at line {last})"
            self.error(start, start + 3, message, f"close it with {quote}", label="opened here")
            return end
        self.tokens.open_end = end >= len(self.text) and self.text.endswith("\\")
        return self.error(
            start, end, f"unterminated string literal (detected at line {self.line})",
            f"close it with {quote} on the same line, or open and close it with {quote * 3}",
        )

    def stray_backslash(self, start: int) -> int:
        """Say what is wrong with a backslash that does not end its line."""
        end = self.line_end(start)
        if end >= len(self.text) and not self.text[start + 1 :].strip():
            self.tokens.open_end = True
            return self.error(start, end, "unexpected end of file after the line continuation character",
                              "remove the backslash, or go on with the statement on the next line")
        return self.error(start, end, "unexpected character after line continuation character",
                          "end the line right behind the backslash, or remove it")

    def unexpected(self, start: int) -> int:
        """Say that a character begins nothing in the language."""
        character = self.text[start]
        code = f"U+{ord(character):04X}"
        if character in _LOOKALIKES:
            shown = f"'{character}' ({code})" if character.isprintable() else code
            return self.error(start, start + 1, f"invalid character {shown}", f"write {_LOOKALIKES[character]} instead")
        if character.isascii() and character.isprintable():
            return self.error(start, start + 1, f"unexpected character '{character}'", "remove it")
        kind = f"character '{character}' ({code})" if character.isprintable() else f"non-printable character {code}"
        return self.error(start, start + 1, f"invalid {kind}", "remove it")


def _width(blanks: str) -> tuple[int, int]:
    """Return the columns of an indentation, with tabs up to the next multiple of 8 and with tabs as one column."""
    column = single = 0
    for character in blanks:
        if character == "\f":
            column = single = 0
            continue
        column = column // 8 * 8 + 8 if character == "\t" else column + 1
        single += 1
    return column, single
