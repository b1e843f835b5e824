"""Running extrema along rows: of a stretch that has no new one nothing is looked at but its own extreme."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array

_STRETCH = 128
"""Numbers whose extreme is compared with the one before them."""
_GROUP = 16
"""Numbers of a stretch that are gone through one by one."""
MANY = 1 << 13
"""Numbers in all from which this pays."""


def running_extrema(function: Any, rows: Array) -> tuple[Array, Array]:
    """Return the running extrema of each row by `np.maximum` or `np.minimum`, and where they are: at the latest of those that tie.

    As in PyTorch a nan is the extreme of all that follows, and the latest nan is where it is.
    """
    steps = rows.shape[1]
    places = _fresh(function, _whole(function, rows))
    row, step = np.divmod(places, -(-steps // _STRETCH) * _STRETCH)
    if steps % _STRETCH:
        inside = step < steps
        row, step = row[inside], step[inside]
    flat = row * steps + step
    lengths = np.diff(flat, append=rows.size)
    return np.repeat(rows.reshape(-1)[flat], lengths).reshape(rows.shape), np.repeat(step, lengths).reshape(rows.shape)


def _whole(function: Any, rows: Array) -> Array:
    """Return rows in stretches, the last one filled up with the number that is never an extreme before others."""
    count, steps = rows.shape
    stretches = -(-steps // _STRETCH)
    if steps % _STRETCH:
        wide = np.empty((count, stretches * _STRETCH), rows.dtype)
        wide[:, :steps], wide[:, steps:] = rows, _last(function, rows.dtype)
        rows = wide
    return rows.reshape(count, stretches, _STRETCH)


def _last(function: Any, dtype: Any) -> Any:
    if dtype.kind == "b":
        return function is np.minimum
    limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min if function is np.maximum else limits.max


def _fresh(function: Any, stretches: Array) -> Array:
    """Return the places in all that are extrema of what was before them."""
    own = function.reduce(stretches, axis=2)
    running = function.accumulate(own, axis=1)
    active = own == running
    if own.dtype.kind == "f":
        active |= np.isnan(own)
    active[:, 0] = True
    at = np.flatnonzero(active)
    chosen = stretches.reshape(-1, _STRETCH)[at]
    best = chosen.copy()
    later = np.flatnonzero(at % stretches.shape[1])
    best[later, 0] = function(running.reshape(-1)[at[later] - 1], best[later, 0])
    _accumulate(function, best)
    fresh = chosen == best
    if chosen.dtype.kind == "f":
        fresh |= np.isnan(chosen)
    stretch, step = np.divmod(np.flatnonzero(fresh), _STRETCH)
    return np.asarray(at[stretch] * _STRETCH + step)


def _accumulate(function: Any, stretches: Array) -> None:
    """Accumulate along stretches in place, a step in all groups at once: one by one each number waits for the one before."""
    groups = stretches.reshape(-1, _STRETCH // _GROUP, _GROUP)
    for step in range(1, _GROUP):
        function(groups[:, :, step - 1], groups[:, :, step], out=groups[:, :, step])
    ends = function.accumulate(groups[:, :, -1], axis=1)
    function(ends[:, :-1, None], groups[:, 1:], out=groups[:, 1:])
