"""`range`: Python's own, except that a very long one passes a check at each step, so that it can be stopped."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradsh.runtime.unions import Alternative

LONG = 10_000_000
"""Steps from which a range is a checked one: Python's own loops take some tenths of a second for as many."""


class LongRange:
    """A range of more than `LONG` steps. It compares, counts and indexes as Python's, and heeds limits while it runs."""

    __slots__ = ("_check", "_range")
    __script_attributes__ = frozenset({"start", "stop", "step", "count", "index"})

    def __init__(self, whole: range, check: Callable[[], None]) -> None:
        self._range = whole
        self._check = check

    def __iter__(self) -> Iterator[int]:
        check = self._check
        for value in self._range:
            check()
            yield value

    def __reversed__(self) -> Iterator[int]:
        return iter(LongRange(self._range[::-1], self._check))

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, key: Any) -> Any:
        found = self._range[key]
        return LongRange(found, self._check) if isinstance(found, range) and len(found) > LONG else found

    def __contains__(self, value: object) -> bool:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return isinstance(whole, int) and whole in self._range

    def __eq__(self, other: object) -> bool:
        return self._range == (other._range if isinstance(other, LongRange) else other)

    def __hash__(self) -> int:
        return hash(self._range)

    def __repr__(self) -> str:
        return repr(self._range)

    def index(self, value: Any, /) -> int:
        """Return where a value stands; one that is no integer is looked for step by step, as Python does."""
        if isinstance(value, int):
            return self._range.index(value)
        for place, one in enumerate(self):
            if one == value:
                return place
        raise ValueError("sequence.index(x): x not in sequence")

    def count(self, value: object, /) -> int:
        """Return how often a value stands in it."""
        return self._range.count(value) if isinstance(value, int) else sum(one == value for one in self)

    def __getattr__(self, name: str) -> Any:
        if name in self.__script_attributes__:
            return getattr(self._range, name)
        raise AttributeError(f"'range' object has no attribute '{name}'")


Sequence.register(LongRange)


class RangeBuiltin(Alternative):
    """`range` itself: makes ranges, and stands for their type in isinstance."""

    __slots__ = ("_check",)
    __script_attributes__ = frozenset({"__name__"})

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    @property
    def __name__(self) -> str:
        return "range"

    def __call__(self, *bounds: Any) -> Any:
        """Return the range; raises what Python's own raises."""
        whole = range(*bounds)
        try:
            return whole if len(whole) <= LONG else LongRange(whole, self._check)
        except OverflowError:  # longer than any index
            return LongRange(whole, self._check)

    def __repr__(self) -> str:
        return "<class 'range'>"
