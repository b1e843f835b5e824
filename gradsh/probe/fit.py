"""How the bytes of a training step grow with a number of the program, and the largest number for which they fit.

The program is measured at three values. Where they lie on a line or a parabola, that is the law; the answer of a law is
measured as well where that costs no memory. Without a law, the answer is searched by doubling and bisection.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from gradsh.probe.budget import Budget
from gradsh.text.problem import Problem

Measure = Callable[[int], Budget | Problem]
MOST = 1 << 40
"""The largest number that is thought of."""


class Law(NamedTuple):
    """`at(n)` = constant + linear * n + square * n * n, in bytes; the points that it was found from."""

    constant: Fraction
    linear: Fraction
    square: Fraction
    points: tuple[int, ...]

    def at(self, number: int) -> int:
        """Return the bytes for a number."""
        return int(self.constant + self.linear * number + self.square * number * number)

    @property
    def grows(self) -> bool:
        """Whether the bytes grow with the number, however large it is."""
        return self.square > 0 or (self.square == 0 and self.linear > 0)


class Largest(NamedTuple):
    """The largest number that fits, its bytes, and those of the next one; 0 where none does.

    `measured` tells that the program was run with it; `refused` why it could not be.
    """

    number: int
    nbytes: int
    beyond: int
    measured: bool
    refused: str = ""


def law_of(points: list[tuple[int, int]]) -> Law:
    """Return the parabola through three points."""
    (a, fa), (b, fb), (c, fc) = points
    first, second = Fraction(fb - fa, b - a), Fraction(fc - fb, c - b)
    square = (second - first) / (c - a)
    linear = first - square * (a + b)
    return Law(fa - linear * a - square * a * a, linear, square, (a, b, c))


def largest(size: int, law: Law, measure: Measure, *, free: bool, unit: int) -> Largest:
    """Return the largest number that fits into `size` bytes. `free`: running costs no memory; `unit`: a number that runs."""
    guess = search(lambda number: law.at(number) <= size)
    if guess == 0 or not free:
        return Largest(guess, law.at(guess or 1), law.at(guess + 1), measured=False)
    total = _total(measure, guess)
    if isinstance(total, str):
        refused = f"{guess:,} fails: {total}"
        multiple = guess // unit * unit
        again = _total(measure, multiple) if multiple else total
        if isinstance(again, str) or again > size:
            return Largest(guess, law.at(guess), law.at(guess + 1), measured=False, refused=refused)
        return Largest(multiple, again, law.at(multiple + unit), measured=True, refused=refused)
    if total == law.at(guess):
        return Largest(guess, total, law.at(guess + 1), measured=True)
    beyond = _total(measure, guess + 1)
    if total <= size and (isinstance(beyond, str) or beyond > size):
        return Largest(guess, total, law.at(guess + 1) if isinstance(beyond, str) else beyond, measured=True)
    return _searched(size, measure)


def _searched(size: int, measure: Measure) -> Largest:
    """Search by running the program: what it needs follows no law."""
    known: dict[int, int | str] = {}

    def fits(number: int) -> bool:
        known[number] = total = _total(measure, number)
        return not isinstance(total, str) and total <= size

    number = search(fits)
    told = [total if isinstance(total, int) else 0 for total in (known.get(number or 1, 0), known.get(number + 1, 0))]
    return Largest(number, told[0], told[1], measured=True)


def search(fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `MOST` that fits, 0 where 1 does not; what is larger than one that does not, does not."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high < MOST and fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _total(measure: Measure, number: int) -> int | str:
    found = measure(number)
    return found.total if isinstance(found, Budget) else found.message.splitlines()[0]
