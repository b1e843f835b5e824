"""Which of equal elements topk takes: PyTorch asks the C++ library's selection and sorting, whose steps are followed here.

Only slices with equal elements come here. The algorithms are those that GNU's library documents: selection by partition around
the median of three, heaps, and insertion sort for what is short.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array

SHORT = 16
"""Length up to which sorting inserts one by one."""
Before = Callable[[Any, Any], bool]


def top_places(row: Array, k: int, largest: bool) -> list[int]:
    """Return where the k first elements are, in the order in which PyTorch returns them."""

    def before(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        x, y = (a[0], b[0]) if largest else (b[0], a[0])
        return bool((x != x and y == y) or x > y)  # noqa: PLR0124  (nan is the largest)

    if k * 64 <= len(row):
        items = _first_as_heap(row, k, largest, before)
        for end in range(k - 1, 0, -1):
            _pop(items, 0, end, end, before)
    else:
        items = list(zip(row.tolist(), range(len(row)), strict=True))
        _select(items, k - 1, before)
        _sort(items, 0, k - 1, before)
    return [place for _, place in items[:k]]


def _first_as_heap(row: Array, k: int, largest: bool, before: Before) -> list[Any]:
    """Return a heap of the k first elements, as `_heap_select` gathers them: what is not before its top has no part in it."""
    items = list(zip(row[:k].tolist(), range(k), strict=True))
    _heap_select(items, 0, k, k, before)
    start = k
    while start < len(row):
        part, top = row[start : 2 * start], items[0][0]
        ahead = ~(part <= top) if largest else ~(part >= top)  # or nan, of which `before` judges
        for place in np.flatnonzero(ahead).tolist():
            items.append((part[place].item(), start + place))
            if before(items[-1], items[0]):
                _pop(items, 0, k, len(items) - 1, before)
        start *= 2
    return items


def _select(items: list[Any], nth: int, before: Before) -> None:
    """Put the element that belongs at `nth` there, lesser ones before it."""
    first, last = 0, len(items)
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            _heap_select(items, first, nth + 1, last, before)
            items[first], items[nth] = items[nth], items[first]
            return
        depth -= 1
        cut = _partition(items, first, last, before)
        first, last = (cut, last) if cut <= nth else (first, cut)
    _insert_all(items, first, last, before)


def _partition(items: list[object], first: int, last: int, before: Before) -> int:
    """Partition around the median of three, which goes to the front; return where the second part begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if before(items[a], items[b]):
        middle = b if before(items[b], items[c]) else c if before(items[a], items[c]) else a
    else:
        middle = a if before(items[a], items[c]) else c if before(items[b], items[c]) else b
    items[first], items[middle] = items[middle], items[first]
    pivot, left, right = items[first], first + 1, last
    while True:
        while before(items[left], pivot):
            left += 1
        right -= 1
        while before(pivot, items[right]):
            right -= 1
        if left >= right:
            return left
        items[left], items[right] = items[right], items[left]
        left += 1


def _sort(items: list[Any], first: int, last: int, before: Before) -> None:
    parts, depth = [(first, last)], 2 * (max(last - first, 1).bit_length() - 1)
    depths = [depth]
    while parts:
        start, end = parts.pop()
        depth = depths.pop()
        while end - start > SHORT:
            if depth == 0:
                _heap_select(items, start, end, end, before)
                for place in range(end - 1, start, -1):
                    _pop(items, start, place, place, before)
                break
            depth -= 1
            cut = _partition(items, start, end, before)
            parts.append((cut, end))
            depths.append(depth)
            end = cut
    _insert_all(items, first, last, before)


def _insert_all(items: list[object], first: int, last: int, before: Before) -> None:
    """Sort by inserting one element after the other."""
    for place in range(first + 1, last):
        one, hole = items[place], place
        while hole > first and before(one, items[hole - 1]):
            items[hole] = items[hole - 1]
            hole -= 1
        items[hole] = one


def _heap_select(items: list[Any], first: int, middle: int, last: int, before: Before) -> None:
    """Gather the first elements of the order before `middle`, as a heap."""
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        _sink(items, first, parent, length, items[first + parent], before)
    for place in range(middle, last):
        if before(items[place], items[first]):
            _pop(items, first, middle, place, before)


def _pop(items: list[Any], first: int, end: int, result: int, before: Before) -> None:
    one, items[result] = items[result], items[first]
    _sink(items, first, 0, end - first, one, before)


def _sink(
    items: list[Any], first: int, hole: int, length: int, one: tuple[float, ...] | tuple[int, ...], before: Before
) -> None:
    """Let an element sink to a leaf of the heap and rise to its place."""
    top, child = hole, hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if before(items[first + child], items[first + child - 1]):
            child -= 1
        items[first + hole] = items[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * (child + 1)
        items[first + hole] = items[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and before(items[first + parent], one):
        items[first + hole] = items[first + parent]
        hole, parent = parent, (parent - 1) // 2
    items[first + hole] = one
