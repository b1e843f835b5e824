"""The line search of L-BFGS: a step that satisfies the strong Wolfe conditions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradsh.engine.values.dtype import Array

Evaluate = Callable[[float], tuple[float, Array]]


def cubic_minimum(
    x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: tuple[float, ...] | None = None
) -> float:
    """Return where the cubic through two points with given slopes is smallest, within bounds."""
    low, high = bounds if bounds is not None else ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = float(np.sqrt(square))
    if x1 > x2:
        return cubic_minimum(x2, f2, g2, x1, f1, g1, (low, high))
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), low), high)


class _Point(NamedTuple):
    """A step: its length, the loss and gradient there, and the slope along the direction."""

    t: float
    loss: float
    gradient: Array
    slope: float


def strong_wolfe(
    evaluate: Evaluate, t: float, direction: Array, loss: float, gradient: Array, slope: float, c1: float = 1e-4,
    c2: float = 0.9, tolerance_change: float = 1e-9, most: int = 25,
) -> tuple[float, Array, float, int]:
    """Return loss, gradient and length of the step found, and how often the loss was evaluated."""
    scale = float(np.abs(direction).max())

    def point(length: float) -> _Point:
        value, found = evaluate(length)
        return _Point(length, value, found.copy(), float(found @ direction))

    new = point(t)
    count = 1
    previous = _Point(0.0, loss, gradient, slope)
    bracket: list[_Point] = []
    done = False
    tries = 0
    while tries < most:
        if new.loss > loss + c1 * new.t * slope or (tries > 1 and new.loss >= previous.loss):
            bracket = [previous, new]
            break
        if abs(new.slope) <= -c2 * slope:
            bracket = [new]
            done = True
            break
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        step = cubic_minimum(
            previous.t, previous.loss, previous.slope, new.t, new.loss, new.slope, bounds=bounds
        )
        previous, new = new, point(step)
        count += 1
        tries += 1
    if tries == most:
        bracket = [_Point(0.0, loss, gradient, slope), new]
    return _zoom(point, bracket, done, loss, slope, scale, count, tries, (c1, c2, tolerance_change, most))


def _zoom(
    point: Callable[[float], _Point], bracket: list[_Point], done: bool, loss: float, slope: float, scale: float,
    count: int, tries: int, settings: tuple[float, float, float, int],
) -> tuple[float, Array, float, int]:
    """Narrow the bracket until its lower end satisfies the conditions."""
    c1, c2, tolerance_change, most = settings
    stuck = False
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    while not done and tries < most:
        a, b = bracket
        if abs(b.t - a.t) * scale < tolerance_change:
            break
        t = cubic_minimum(a.t, a.loss, a.slope, b.t, b.loss, b.slope)
        left, right = min(a.t, b.t), max(a.t, b.t)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = point(t)
        count += 1
        tries += 1
        if new.loss > loss + c1 * t * slope or new.loss >= bracket[low].loss:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if abs(new.slope) <= -c2 * slope:
            done = True
        elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
    best = bracket[low if len(bracket) > 1 else 0]
    return best.loss, best.gradient, best.t, count
