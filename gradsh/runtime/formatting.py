"""`str.format` and `str.format_map` for scripts: fields like `{0.name}` go through the guarded lookup."""

import _string  # type: ignore[import-not-found]
from collections.abc import Iterator, Mapping
from typing import Any

from gradsh.runtime.host import Reader

_DEPTH = 2


class Format:
    """The bound (or, on `str` itself, unbound) method; without attribute fields it is exactly Python's own."""

    __slots__ = ("_guard", "_method", "_text")
    __script_attributes__ = frozenset({"__name__", "__doc__"})

    def __init__(self, guard: Reader, method: str, text: str | None) -> None:
        self._guard = guard
        self._method = method
        self._text = text

    @property
    def __name__(self) -> str:
        return self._method

    def __repr__(self) -> str:
        return f"<built-in method {self._method} of str object>"

    def __call__(self, *args: Any, **kwargs: object) -> str:
        """Return the formatted text."""
        text = self._text
        if text is None:
            if not args or not isinstance(args[0], str):
                raise TypeError(f"descriptor '{self._method}' for 'str' objects doesn't apply to this object")
            text, args = str.__str__(args[0]), args[1:]
        if not _reads_attributes(text):
            return str.format(text, *args, **kwargs) if self._method == "format" else str.format_map(text, *args)
        if self._method == "format_map":
            if len(args) != 1 or kwargs:
                raise TypeError(f"str.format_map() takes exactly one argument ({len(args)} given)")
            return self._fill(text, (), args[0], iter(range(len(text))), _DEPTH)
        return self._fill(text, args, kwargs, iter(range(len(text))), _DEPTH)

    def _fill(
        self, text: str, args: tuple[object, ...], named: Mapping[str, object], numbers: Iterator[int], depth: int
    ) -> str:
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        pieces: list[str] = []
        for literal, field, spec, conversion in _string.formatter_parser(text):
            pieces.append(literal)
            if field is None:
                continue
            value = _converted(self._value(field, args, named, numbers), conversion)
            inner = self._fill(spec, args, named, numbers, depth - 1) if spec else ""
            pieces.append(format(value, inner))
        return "".join(pieces)

    def _value(self, field: str, args: tuple[Any, ...], named: Mapping[str, object], numbers: Iterator[int]) -> Any:
        first, rest = _string.formatter_field_name_split(field)
        if first == "":
            first = next(numbers)
        if isinstance(first, int):
            if first >= len(args):
                raise IndexError(f"Replacement index {first} out of range for positional args tuple")
            value = args[first]
        else:
            value = named[first]
        for is_attribute, key in rest:
            value = self._guard.read(value, key) if is_attribute else value[key]
        return value


def _converted(value: object, conversion: str | None) -> Any:
    match conversion:
        case None:
            return value
        case "s":
            return str(value)
        case "r":
            return repr(value)
        case "a":
            return ascii(value)
        case _:
            raise ValueError(f"Unknown conversion specifier {conversion}")


def _reads_attributes(text: str, depth: int = _DEPTH) -> bool:
    if "{" not in text or "." not in text:
        return False
    for _, field, spec, _ in _string.formatter_parser(text):
        if field is None:
            continue
        if any(is_attribute for is_attribute, _ in _string.formatter_field_name_split(field)[1]):
            return True
        if spec and depth and _reads_attributes(spec, depth - 1):
            return True
    return False
