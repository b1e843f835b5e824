"""A long row of swaps done at once: what Fisher and Yates's shuffle leaves, without a step for each swap."""

import numpy as np

from gradsh.engine.values.dtype import Array


def shuffled(targets: Array) -> Array:
    """Return 0 … n-1 after swapping places i and targets[i] for i = 0 … n-2 in turn; i <= targets[i] < n.

    At step i what lies at place i goes to its target, and what lay there is final at i. What lies at a place came from the
    last earlier step with that target, where there is one, and that step took it from its own place: going back from step
    to step ends where nothing had come, at the number that lay there first.
    """
    n = len(targets) + 1
    steps = np.arange(n - 1)
    keys = targets * n + steps  # steps in the order of their targets, those of one target in turn
    keys.sort()
    goal, step = np.divmod(keys, n)
    again = np.flatnonzero(goal[1:] == goal[:-1])
    earlier = np.full(n, -1)  # of each step, the last earlier one with its target
    earlier[step[again + 1]] = step[again]
    last = np.flatnonzero(np.append(goal[1:] != goal[:-1], True))
    source = np.arange(n)  # of each place, the last step that brought something there, or itself
    source[goal[last]] = step[last]
    own = np.flatnonzero(targets == steps)  # a step that stays in its place brings nothing
    source[own] = np.where(earlier[own] >= 0, earlier[own], own)
    moved = _roots(source)
    order = np.append(targets, n - 1)
    found = np.flatnonzero(earlier >= 0)
    order[found] = moved[earlier[found]]
    order[own] = moved[own]
    order[n - 1] = moved[n - 1]
    return order


def _roots(source: Array) -> Array:
    """Return where going back from each place ends, by doubling the steps until nothing moves."""
    left = np.flatnonzero(source[source] != source)
    while left.size:
        further = source[source[left]]
        source[left] = further
        left = left[source[further] != further]
    return source
