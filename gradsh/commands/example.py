"""An example of an operation for `help`: one of the calls that its record gives to the tests, run as it is shown."""

import builtins
import math
from typing import Any

from gradsh.api.torch import NAMESPACES
from gradsh.engine.ambient import Ambient, enter
from gradsh.engine.dispatch.operation import Operation

MOST_ELEMENTS = 6
MOST_LINES = 8


def example_of(operation: Operation, name: str) -> list[str]:
    """Return a call that a person could type, and what it shows; nothing where no sample is small and plain enough."""
    known = {"torch", "F", "special", "linalg", "Tensor"} & set(operation.spaces)
    for record in operation.records if known and name[:1] != "_" else ():
        for inputs, options, rejects in record.samples:
            texts = [] if rejects else [_text(one) for one in inputs]
            if not texts or None in texts or any(type(one) not in {bool, int, float, str} for one in options.values()):
                continue
            lines = _run(operation, name, texts, {key: repr(one) for key, one in options.items()})
            if lines:
                return lines
    return []


def _run(operation: Operation, name: str, texts: list[Any], options: dict[str, str]) -> list[str]:
    given = [text for text, _ in texts] + [f"{key}={text}" for key, text in options.items()]
    prefix = _prefix(operation, name)
    call = f"{given[0]}.{name}({', '.join(given[1:])})" if prefix is None else f"{prefix}{name}({', '.join(given)})"
    try:
        with enter(Ambient()):
            from ast import literal_eval

            shown = repr(operation(*(make() for _, make in texts), **{key: literal_eval(text) for key, text in options.items()}))
    except Exception:  # noqa: BLE001  # a sample that needs more than this gives no example
        return []
    lines = shown.split("\n")
    return [f"grad> {call}", *lines] if len(lines) <= MOST_LINES and "<built-in" not in shown else []


def _prefix(operation: Operation, name: str) -> str | None:
    """What stands before the name in a script; None for what exists only as a method."""
    if "torch" in operation.spaces:
        return "torch." if hasattr(builtins, name) else ""
    if "F" in operation.spaces:
        return ""
    other = next((space for space in operation.spaces if space in {"special", "linalg"}), None)
    return f"torch.{other}." if other else None


def _text(value: object) -> object:
    """An argument as (its text, a function that makes it); None for what is too large or not plain."""
    if isinstance(value, tuple) and all(type(extent) is int for extent in value) and value:
        count = math.prod(value)
        if not 0 < count <= MOST_ELEMENTS:
            return None
        data = _nested([float(number) for number in range(1, count + 1)], value)
        return f"tensor({_written(data)})", lambda: _tensor(data)
    if value is None or type(value) in {bool, int, float}:
        return repr(value), lambda: value
    return None


def _nested(numbers: list[object], shape: tuple[int, ...]) -> object:
    if len(shape) == 1:
        return numbers
    size = len(numbers) // shape[0]
    return [_nested(numbers[place * size : (place + 1) * size], shape[1:]) for place in range(shape[0])]


def _written(data: object) -> str:
    return f"[{', '.join(map(_written, data))}]" if isinstance(data, list) else f"{data:.0f}."


def _tensor(data: object) -> Any:
    return NAMESPACES["torch"].get("tensor")(data)
