"""Lines that may come in any order: which of them answers for which line of output."""

from collections.abc import Callable, Sequence
from itertools import groupby

from gradsh.text.expectations import Expected

UNORDERED = "#*>"


def stretches(expected: Sequence[Expected]) -> list[tuple[Expected, ...]]:
    """Return the expectations in the order in which output must come: single ones, and those that may change places together."""
    out: list[tuple[Expected, ...]] = []
    for together, group in groupby(expected, lambda one: one.sign == UNORDERED):
        stretch = tuple(group)
        out += [stretch] if together else [(one,) for one in stretch]
    return out


def pairing(expected: Sequence[Expected], actual: Sequence[str], fits: Callable[[Expected, str], bool]) -> dict[int, int]:
    """Return as many pairs (position of an expectation -> position of a line that it fits) as there can be.

    Kuhn's algorithm: each expectation looks for a free line, or for one whose owner can take another.
    """
    possible = [[j for j, line in enumerate(actual) if fits(one, line)] for one in expected]
    line_of: dict[int, int] = {}
    owner: dict[int, int] = {}
    for first in range(len(expected)):
        asked_by: dict[int, int] = {}
        asking, free = [first], None
        while asking and free is None:
            one = asking.pop()
            for j in possible[one]:
                if j not in asked_by:
                    asked_by[j] = one
                    if j not in owner:
                        free = j
                        break
                    asking.append(owner[j])
        while free is not None:
            one = asked_by[free]
            before = line_of.get(one)
            line_of[one], owner[free] = free, one
            free = before
    return line_of


def in_order_of(
    expected: Sequence[Expected], actual: Sequence[str], fits: Callable[[Expected, str], bool]
) -> list[Expected]:
    """Return the expectations with those that may change places in the order of the lines that they fit.

    One that fits none takes the place of the nearest line that nothing fits.
    """
    out: list[Expected] = []
    for stretch in stretches(expected):
        lines = pairing(stretch, actual, fits) if len(stretch) > 1 else {}
        first = min(lines.values(), default=0)
        free = sorted({*range(len(actual))} - {*lines.values()}, key=lambda j: abs(j - first))
        lines |= dict(zip((i for i in range(len(stretch)) if i not in lines), free, strict=False))
        out += (stretch[i] for i in sorted(range(len(stretch)), key=lambda i: lines.get(i, len(actual))))
    return out
