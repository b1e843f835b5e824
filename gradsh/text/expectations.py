"""The output that a script expects, in comments at column 0.

    #> text                 a line of output; a bare `#>` an empty one
    #~1e-3> text            a line of output whose floats agree within this tolerance, relative and absolute
    #*> text                a line of output; it may change places with its neighbours of this kind
    #/ pattern /            a line of output that a regular expression matches
    #>> FILE                the output stands in a file beside the script
    #! text                 a line of the failure that the statement above must end in

They belong to the top-level statement above them. Which lines are comments only the parser knows, so the scan is
given the lines of the statements.
"""

from collections.abc import Iterable
from math import inf

from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.script_options import tolerance_of
from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple


class Expected(NamedTuple):
    """An expectation: the line it stands on, its sign (`#>`, `#~1e-3>`, `#*>`, `#/`, `#>>` or `#!`) and what follows it."""

    line: int
    sign: str
    text: str

    @property
    def tolerance(self) -> float | None:
        """How far floats of this line may lie apart; None: as far as in all others."""
        return float(self.sign[2:-1]) if self.sign.startswith("#~") else None


class Block(NamedTuple):
    """The expectations below a statement. `end_line` is the statement's last line; there the block begins."""

    end_line: int
    lines: tuple[Expected, ...]

    @property
    def fails(self) -> bool:
        """Whether the statement is announced to fail."""
        return any(expected.sign == "#!" for expected in self.lines)

    @property
    def output(self) -> tuple[Expected, ...]:
        """The expected lines of output."""
        return tuple(expected for expected in self.lines if expected.sign not in {"#!", "#>>"})

    @property
    def failure(self) -> tuple[Expected, ...]:
        """The expected lines of the failure."""
        return tuple(expected for expected in self.lines if expected.sign == "#!")

    @property
    def sibling(self) -> Expected | None:
        """The file beside the script that holds the output, if there is one."""
        return next((expected for expected in self.lines if expected.sign == "#>>"), None)


def parse_line(line: str, number: int) -> Expected | None:
    """Return the expectation that a line at column 0 makes, or None for any other line."""
    if line[:2] not in {"#>", "#!", "#/", "#~", "#*"} or (line.startswith("#!") and number == 1):
        return None
    line = line.rstrip()
    if line[1] in "~*":
        sign, end, text = line.partition(">")
        return Expected(number, sign + end, text.removeprefix(" ")) if end and _is_sign(sign) else None
    if line.startswith("#>>"):
        return Expected(number, "#>>", line[3:].strip())
    if line.startswith("#/"):
        body = line[2:].strip()
        return Expected(number, "#/", body.removesuffix("/").strip()) if body.endswith("/") else None
    text = line[2:]
    return Expected(number, line[:2], text.removeprefix(" "))


def _is_sign(text: str) -> bool:
    """Whether `#*`, or `#~` and a tolerance; what else begins so is some comment."""
    if text == "#*":
        return True
    try:
        return text[1] == "~" and bool(tolerance_of(text[2:]) < inf)
    except ValueError:
        return False


def scan(source: Source, statements: Iterable[tuple[int, int]], *, strict: bool = True) -> dict[int, Block]:
    """Return the expectations below each statement, keyed by the last line of that statement.

    `statements` are the (first, last) lines of the top-level statements, in order. With `strict`, an expectation
    inside a block or above every statement is a ProblemError of kind `syntax`.
    """
    spans = list(statements)
    blocks: dict[int, list[Expected]] = {}
    at = 0
    for number, text in enumerate(source.lines, source.first_line):
        expected = parse_line(text.lstrip(" \t"), number)
        if expected is None:
            continue
        while at < len(spans) and spans[at][1] < number:
            at += 1
        inside = at < len(spans) and spans[at][0] <= number
        if not inside and at > 0 and text[0] == "#":
            blocks.setdefault(spans[at - 1][1], []).append(expected)
        elif strict and (not inside or _is_comment(source, spans[at], number)):
            raise _misplaced(text, number, inside or text[0] != "#")
    return {line: Block(line, tuple(found)) for line, found in blocks.items()}


def _is_comment(source: Source, span: tuple[int, int], number: int) -> bool:
    """Whether a line inside a statement is a comment of its block and not part of a long string."""
    import io
    import tokenize

    lines = "\n".join(source.line(n) for n in range(span[0], span[1] + 1))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(lines + "\n").readline))
    except (tokenize.TokenError, SyntaxError):
        return True
    return any(token.type == tokenize.COMMENT and token.start[0] + span[0] - 1 == number for token in tokens)


def _misplaced(text: str, number: int, in_block: bool) -> ProblemError:
    span = Span(number, len(text) - len(text.lstrip(" \t")) + 1, number, len(text.rstrip()) + 1)
    return ProblemError(Problem(
        "syntax", f"an expectation {'inside a block' if in_block else 'above every statement'} belongs to no statement",
        (Label("needed", span, "this expectation"),),
        ("write it at column 0, below the top-level statement whose output it describes",),
    ))
