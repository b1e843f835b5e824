"""Binomial numbers as PyTorch draws them: by geometric gaps, where many are expected by transformed rejection (Hörmann, 1993)."""

import math
from collections.abc import Callable

_TAIL = tuple(
    math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi) for k in range(10)
)


def _stirling_tail(k: float) -> float:
    """Return how much log(k!) exceeds Stirling's formula."""
    if k <= 9:
        return _TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _by_gaps(count: float, prob: float, uniform: Callable[[], float]) -> float:
    log, reached, found = math.log1p(-prob), 0.0, 0
    while True:
        drawn = uniform()
        reached += math.inf if drawn == 0 else math.ceil(math.log(drawn) / log)
        if reached > count:
            return float(found)
        found += 1


def _by_rejection(count: float, prob: float, uniform: Callable[[], float]) -> float:
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    ratio, middle = prob / (1 - prob), math.floor((count + 1) * prob)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + count * prob + 0.5)
        if not 0 <= k <= count:
            continue
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return float(k)
        v = math.log(v * (2.83 + 5.1 / b) * deviation / (a / (us * us) + b))
        bound = (middle + 0.5) * math.log((middle + 1) / (ratio * (count - middle + 1)))
        bound += (count + 1) * math.log((count - middle + 1) / (count - k + 1))
        bound += (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
        bound += _stirling_tail(middle) + _stirling_tail(count - middle) - _stirling_tail(k) - _stirling_tail(count - k)
        if v <= bound:
            return float(k)


def binomial(count: float, prob: float, uniform: Callable[[], float]) -> float:
    """Return how many of `count` trials succeed, from numbers between 0 and 1."""
    if count <= 0 or prob <= 0 or math.isnan(prob):
        return prob if math.isnan(prob) else 0.0
    if prob >= 1:
        return count
    less = min(prob, 1 - prob)
    found = (_by_rejection if count * less >= 10 else _by_gaps)(count, less, uniform)
    return found if prob <= 0.5 else count - found
