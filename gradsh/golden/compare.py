"""Compares a line of output with what is expected: floats within a tolerance, wildcards, everything else exactly.

An expected line is read as a row of parts: floats, integers, blanks, `[..]` (anything within the line), patterns that have a
name (`[TIME]`) and the text between. Matching walks the positions of the actual line that are still possible after each part,
so that a wildcard before a number finds the right one.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple, NoReturn

from gradsh.golden.redact import KNOWN, Redaction, redacted
from gradsh.golden.unordered import in_order_of, pairing, stretches
from gradsh.process.limits import alarm
from gradsh.text.expectations import Expected

ANYTHING = "[..]"
ANY_LINES = "..."
MATCH = 1_000_000  # a matched line outweighs any number of lines that `...` takes up
SECONDS, MOMENT = 10.0, 0.1  # for all comparisons of a process, and for one when these are used up
MAX_CELLS = 4_000_000  # of the table that an alignment fills; beyond, nothing is paired

_PART = re.compile(r"""
    (?P<any>\[\.\.\])
    | (?P<named>\[[A-Z][A-Z0-9_]*\])
    | (?P<float>(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?(?!\w))
    | (?P<int>(?<![\w.])[-+]?\d+(?![\w.]))
    | (?P<blank>\s+)
    | (?P<text>\w+|.)
""", re.VERBOSE)
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?(?!\w)")
_BLANK = re.compile(r"\s*")
_NUMBERS = frozenset({"float", "int"})


class Tolerance(NamedTuple):
    """How far output may lie from what is expected: floats within `atol + rtol * |expected|`, what has a pattern within that."""

    rtol: float = 1e-4
    atol: float = 1e-6
    redactions: tuple[Redaction, ...] = KNOWN

    def close(self, expected: str, actual: str) -> bool:
        """Whether two floats, as written, agree."""
        wanted = float(expected)
        return abs(wanted - float(actual)) <= self.atol + self.rtol * abs(wanted)


class _TooLong(Exception):
    """The time for comparing is over."""


class Patience:
    """The time that comparing may take in all: patterns and wildcards are a stranger's, and some would take for ever."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        self._busy = False

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """Raise _TooLong in the outermost block when the time is over; what comes after that is still given a moment."""
        if self._busy:
            yield
            return
        begun = time.monotonic()
        self._busy = True
        try:
            with alarm(max(self.left, MOMENT), _ring, MOMENT):  # again: a finalizer may swallow what the first one raises
                yield
        finally:
            self._busy = False
            self.left -= time.monotonic() - begun


def _ring(_frame: object) -> NoReturn:
    raise _TooLong


PATIENCE = Patience(SECONDS)


def _matches(expected: Expected, actual: str, tolerance: Tolerance) -> bool:
    """Whether an expectation (text, or the pattern of `#/ … /`) matches a line of output."""
    actual = actual.rstrip()
    own = expected.tolerance
    if own is not None:
        tolerance = tolerance._replace(rtol=own, atol=own)
    if expected.sign != "#/":
        return text_matches(expected.text.rstrip(), actual, tolerance)
    try:
        return re.fullmatch(expected.text, actual) is not None
    except (re.error, RecursionError, OverflowError):
        return False


def text_matches(expected: str, actual: str, tolerance: Tolerance) -> bool:
    """Whether a line of expected text matches a line of output."""
    if expected == actual:
        return True
    positions = {0}
    for kind, text in _parts(expected):
        if kind == "any":
            positions = set(range(min(positions), len(actual) + 1))
        elif kind == "named":
            positions = {end for start in positions for end in _named_ends(text, actual, start, tolerance)}
        else:
            positions = {end for start in positions for end in _ends(kind, text, actual, start, tolerance)}
        if not positions:
            return False
    return len(actual) in positions


@lru_cache(maxsize=1024)
def _parts(expected: str) -> tuple[tuple[str, str], ...]:
    """The parts of an expected line. Blanks beside a number become optional ("gap"), also where none are written.

    Digits that adjoin a wildcard may be the rest of anything, so they are text.
    """
    found = [(str(match.lastgroup), match.group()) for match in _PART.finditer(expected)]
    for i, (kind, text) in enumerate(found):
        beside = {found[j][0] for j in (i - 1, i + 1) if 0 <= j < len(found)}
        if kind in _NUMBERS and "any" in beside:
            found[i] = ("text", text)
    out: list[tuple[str, str]] = []
    for i, (kind, text) in enumerate(found):
        before = found[i - 1][0] if i else ""
        after = found[i + 1][0] if i + 1 < len(found) else ""
        if kind == "blank":
            out.append(("gap" if before in _NUMBERS or after in _NUMBERS else "blank", text))
        elif kind in _NUMBERS:
            out += [("gap", ""), (kind, text), ("gap", "")]
        else:
            out.append((kind, text))
    return tuple(out)


def _ends(kind: str, text: str, actual: str, start: int, tolerance: Tolerance) -> Sequence[int]:
    """The positions after a part that begins at `start`."""
    if kind == "gap":
        match = _BLANK.match(actual, start)
        return (match.end(),) if match else ()
    if kind == "float":
        number = _FLOAT.match(actual, start) if _at_word_start(actual, start) else None
        return (number.end(),) if number and tolerance.close(text, number.group()) else ()
    if not actual.startswith(text, start):
        return ()
    end = start + len(text)
    if kind == "int" and (not _at_word_start(actual, start) or re.match(r"[\w.]", actual[end : end + 1])):
        return ()
    return (end,)


def _named_ends(text: str, actual: str, start: int, tolerance: Tolerance) -> Iterator[int]:
    """Yield the positions behind the name itself, and behind all that its pattern matches from `start` on."""
    if actual.startswith(text, start):
        yield start + len(text)
    pattern = next((re.compile(one.pattern) for one in tolerance.redactions if one.name == text[1:-1]), None)
    if pattern is not None:
        yield from (end for end in range(start, len(actual) + 1) if pattern.fullmatch(actual, start, end))


def _at_word_start(actual: str, start: int) -> bool:
    return start == 0 or not re.match(r"[\w.]", actual[start - 1])


def has_wildcard(expected: Expected, tolerance: Tolerance) -> bool:
    """Whether an expectation matches more than one text, and would not be written again as it is: it is never rewritten."""
    if expected.sign == "#/" or ANYTHING in expected.text or expected.text.strip() == ANY_LINES:
        return True
    return any(f"[{one.name}]" in expected.text for one in tolerance.redactions if not one.written)


def is_any_lines(expected: Expected) -> bool:
    """Whether an expectation stands for any number of lines."""
    return expected.sign != "#/" and expected.text.strip() == ANY_LINES


class Pair(NamedTuple):
    """A row of an alignment: positions of the expected and the actual line, None where one side has no partner."""

    expected: int | None
    actual: int | None


def align(expected: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> list[Pair]:
    """Return the alignment that pairs the most matching lines; `...` takes up what no other line matches.

    A pair has both positions exactly where the lines match. Nothing is paired where that would take too long.
    """
    try:
        with PATIENCE.bounded():
            return _alignment(expected, actual, tolerance)
    except _TooLong:
        return _unpaired(len(expected), len(actual))


def _unpaired(rows: int, columns: int) -> list[Pair]:
    return [Pair(i, None) for i in range(rows)] + [Pair(None, j) for j in range(columns)]


def _alignment(expected: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> list[Pair]:
    head = 0
    while head < min(len(expected), len(actual)) and _same(expected[head], actual[head], tolerance):
        head += 1
    tail = 0
    while tail < min(len(expected), len(actual)) - head and _same(expected[~tail], actual[~tail], tolerance):
        tail += 1
    middle = _align(expected[head : len(expected) - tail], actual[head : len(actual) - tail], tolerance)
    pairs = [Pair(i, i) for i in range(head)]
    pairs += [Pair(_shift(pair.expected, head), _shift(pair.actual, head)) for pair in middle]
    return pairs + [Pair(len(expected) - i, len(actual) - i) for i in range(tail, 0, -1)]


def _same(expected: Expected, actual: str, tolerance: Tolerance) -> bool:
    return not is_any_lines(expected) and _matches(expected, actual, tolerance)


def _shift(position: int | None, by: int) -> int | None:
    return None if position is None else position + by


def _align(expected: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> list[Pair]:
    rows, columns = len(expected), len(actual)
    if rows * columns > MAX_CELLS:
        return _unpaired(rows, columns)
    matches = [[_same(e, a, tolerance) for a in actual] for e in expected]
    score = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns, -1, -1):
            best = score[i + 1][j]
            if j < columns:
                best = max(best, score[i][j + 1] + (1 if is_any_lines(expected[i]) else 0))
                if matches[i][j]:
                    best = max(best, score[i + 1][j + 1] + MATCH)
            score[i][j] = best
    return _path(expected, matches, score)


def _path(expected: Sequence[Expected], matches: list[list[bool]], score: list[list[int]]) -> list[Pair]:
    pairs = []
    rows, columns = len(expected), len(score[0]) - 1
    i = j = 0
    while i < rows or j < columns:
        here = score[i][j]
        if i < rows and j < columns and matches[i][j] and here == score[i + 1][j + 1] + MATCH:
            pairs.append(Pair(i, j))
            i, j = i + 1, j + 1
        elif i < rows and j < columns and is_any_lines(expected[i]) and here == score[i][j + 1] + 1:
            pairs.append(Pair(i, j))
            j += 1
        elif i < rows and (j == columns or here == score[i + 1][j]):
            pairs += [] if is_any_lines(expected[i]) else [Pair(i, None)]
            i += 1
        else:
            pairs.append(Pair(None, j))
            j += 1
    return pairs


def agree(expected: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> bool:
    """Whether every line of output is matched and every expectation met; not where that would take too long to tell."""
    try:
        with PATIENCE.bounded():
            return _agree(expected, actual, tolerance)
    except _TooLong:
        return False


def _agree(expected: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> bool:
    """Walk the lines of output that are still possible after each expectation, or each that may change places with others."""
    positions = {0}
    for stretch in stretches(expected):
        if is_any_lines(stretch[0]):
            positions = set(range(min(positions), len(actual) + 1))
        else:
            ends = ((start, start + len(stretch)) for start in positions)
            positions = {end for start, end in ends if end <= len(actual) and _pairs(stretch, actual[start:end], tolerance)}
        if not positions:
            return False
    return len(actual) in positions


def _pairs(stretch: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> bool:
    if len(stretch) == 1:
        return _matches(stretch[0], actual[0], tolerance)
    return len(pairing(stretch, actual, fitting(tolerance))) == len(stretch)


def fitting(tolerance: Tolerance) -> Callable[[Expected, str], bool]:
    """Return what tells whether an expectation matches a line within this tolerance."""
    return lambda expected, actual: _same(expected, actual, tolerance)


def ordered(expected: Sequence[Expected], actual: Sequence[str], tolerance: Tolerance) -> list[Expected]:
    """Return the expectations, those that may change places in the order of the output, as far as that is told in time."""
    try:
        with PATIENCE.bounded():
            return in_order_of(expected, actual, fitting(tolerance))
    except _TooLong:
        return list(expected)


def as_written(text: str, tolerance: Tolerance) -> str:
    """Return a line of output as it is written down: with the names of patterns that are to be written."""
    try:
        with PATIENCE.bounded():
            return redacted(text, tolerance.redactions)
    except _TooLong:
        return text
