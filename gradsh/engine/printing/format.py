"""PyTorch's `repr` of a tensor, to the character: print options, number formats, layout and suffixes.

Works on plain arrays; what only the tensor knows (its dtype's name, grad_fn, requires_grad) is passed in.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.text.fault import fail
from gradsh.text.tuples import NamedTuple

_PROFILES: dict[str, tuple[int, float, int, float]] = {
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, math.inf, 3, 80),
}
_MOST_DIGITS = 1000  # far beyond any double; keeps a slip from filling the screen


class PrintOptions:
    """The print options, as `set_printoptions` changes them.

    `precision` digits after the point, `threshold` elements above which a tensor is summarised by its `edgeitems` first
    and last ones along each dimension, `linewidth` characters a line, `sci_mode` on, off or (None) by the values.
    """

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self) -> None:
        self.precision, self.threshold, self.edgeitems, self.linewidth = _PROFILES["default"]
        self.sci_mode: bool | None = None

    def copy(self) -> "PrintOptions":
        """Return options of their own with the same values."""
        twin = PrintOptions()
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin

    def get_printoptions(self) -> dict[str, object]:
        """Return the options by name, as the arguments that would set them."""
        return {name: getattr(self, name) for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")}

    def set_printoptions(
        self, precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
        linewidth: float | None = None, profile: str | None = None, sci_mode: bool | None = None,
    ) -> None:
        """Take a profile ("default", "short", "full"; others change nothing), then the options that are given.

        `sci_mode` goes back to None when it is not given, as in PyTorch. Raises TypeError or ValueError for a value
        that no tensor could be printed with (PyTorch fails later, when it prints).
        """
        digits, edge = _whole("precision", precision), _whole("edgeitems", edgeitems)
        if digits is not None and digits > _MOST_DIGITS:
            message = f"set_printoptions(): precision must be at most {_MOST_DIGITS}, got {digits}"
            raise fail("value", message, ValueError)
        limit, width = _number("threshold", threshold), _number("linewidth", linewidth)
        if width is not None and not math.isfinite(width):
            raise fail("value", f"set_printoptions(): linewidth must be finite, got {width}", ValueError)
        if isinstance(profile, str) and profile in _PROFILES:
            self.precision, self.threshold, self.edgeitems, self.linewidth = _PROFILES[profile]
        self.precision = self.precision if digits is None else digits
        self.threshold = self.threshold if limit is None else limit
        self.edgeitems = self.edgeitems if edge is None else edge
        self.linewidth = self.linewidth if width is None else width
        self.sci_mode = None if sci_mode is None else bool(sci_mode)


def _whole(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise fail("type", f"set_printoptions(): {name} must be int, not {type(value).__name__}", TypeError)
    if value < 0:
        raise fail("value", f"set_printoptions(): {name} must not be negative, got {value}", ValueError)
    return value


def _number(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise fail("type", f"set_printoptions(): {name} must be a number, not {type(value).__name__}", TypeError)
    return value


class _Format(NamedTuple):
    """How the elements of one tensor are written, and the width that its columns have."""

    write: Callable[[Any], str]
    width: int


def _format_of(sample: Array, options: PrintOptions) -> _Format:
    """Return the format of a tensor whose printed elements are `sample`: floats are led by their finite nonzeros."""
    if sample.dtype.kind != "f":
        return _Format(str, max((len(str(value)) for value in sample.ravel().tolist()), default=1))
    values = sample[np.isfinite(sample) & (sample != 0)]
    if not values.size:
        return _Format(_whole_float, 1)
    whole = bool((values == np.ceil(values)).all())
    if _scientific(values, options):
        spec = f".{options.precision}e"
    elif whole:
        return _Format(_whole_float, max(len(_whole_float(value)) for value in values.tolist()))
    else:
        spec = f".{options.precision}f"
    return _Format(lambda value: format(value, spec), max(len(format(value, spec)) for value in values.tolist()))


def _scientific(values: Array, options: PrintOptions) -> bool:
    if options.sci_mode is not None:
        return options.sci_mode
    sizes = np.abs(values)
    largest, smallest = float(sizes.max()), float(sizes.min())
    return largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4


def _whole_float(value: float) -> str:
    """Return a whole float with a bare point, as `2.`; nan and inf without one."""
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


class _Layout(NamedTuple):
    """What the lines of one tensor are laid out by."""

    format: _Format
    summarize: bool
    edge: int
    linewidth: float

    def cut(self, length: int) -> bool:
        """Tell whether a dimension of that length shows only its ends."""
        return self.summarize and length > 2 * self.edge

    def cell(self, value: object) -> str:
        """Return one element, right-aligned in its column."""
        return self.format.write(value).rjust(self.format.width)

    def lines(self, array: Array, indent: int) -> str:
        """Return the nested brackets of an array whose first one stands `indent` characters from the left."""
        if array.ndim == 0:
            return self.cell(array.item())
        if array.ndim == 1:
            return self._row(array, indent)
        count = len(array)
        if self.cut(count):
            parts = [self.lines(array[i], indent + 1) for i in range(self.edge)]
            parts.append("...")
            parts += [self.lines(array[i], indent + 1) for i in range(count - self.edge, count)]
        else:
            parts = [self.lines(part, indent + 1) for part in array]
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"

    def _row(self, array: Array, indent: int) -> str:
        if self.summarize and not self.edge:
            cells = ["..."]
        elif self.cut(array.size):
            cells = [self.cell(value) for value in array[: self.edge].tolist()]
            cells.append(" ...")
            cells += [self.cell(value) for value in array[-self.edge :].tolist()]
        else:
            cells = [self.cell(value) for value in array.tolist()]
        a_line = max(1, math.floor((self.linewidth - indent) / (self.format.width + 2)))
        lines = [", ".join(cells[i : i + a_line]) for i in range(0, len(cells), a_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _shown(array: Array, edge: int) -> Array:
    """Return the elements of a summarised array that are printed."""
    if not edge and array.ndim > 1:
        return array.ravel()[:0]
    for axis, length in enumerate(array.shape):
        if edge and length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], axis)
    return array


def _body(array: Array, indent: int, options: PrintOptions) -> str:
    if not array.size:
        return "[]"
    summarize = array.size > options.threshold
    sample = _shown(array, options.edgeitems) if summarize else array
    layout = _Layout(_format_of(sample, options), summarize, options.edgeitems, options.linewidth)
    return layout.lines(array, indent)


def format_tensor(
    array: Array, *, options: PrintOptions, prefix: str = "tensor(", dtype_suffix: str | None = None,
    grad_fn: str | None = None, requires_grad: bool = False, tangent: object = None,
) -> str:
    """Return PyTorch's `repr` of a tensor with the values of `array` (bool, integer or floating point).

    `dtype_suffix` is the dtype's name where it is shown (see `dtype_shown`), `grad_fn` the name of the node, which
    stands instead of `requires_grad`, and `tangent` that of forward mode.
    """
    indent = len(prefix)
    suffixes = []
    if (array.size == 0 and array.ndim != 1) or (array.size and not options.edgeitems):
        suffixes.append(f"size={tuple(array.shape)}")
    if dtype_suffix is not None:
        suffixes.append(f"dtype={dtype_suffix}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return _with_suffixes(prefix + _body(array, indent, options), suffixes, indent, options.linewidth)


def _with_suffixes(text: str, suffixes: list[str], indent: int, linewidth: float) -> str:
    """Return the text closed by its suffixes, each on a new line where the last one has no room for it."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def format_parameter(text: str) -> str:
    """Return the `repr` of a parameter from that of its tensor."""
    return "Parameter containing:\n" + text


def dtype_shown(dtype: np.dtype[Any], default: np.dtype[Any], empty: bool) -> str | None:
    """Return the name of a dtype where `repr` shows it: not the default one, nor int64 or bool of a filled tensor."""
    if dtype == default or (not empty and dtype.name in ("int64", "bool")):
        return None
    return str(of_numpy(dtype))


def format_scalar(array: Array, spec: str, *, whole: Callable[[], str], class_name: str = "Tensor") -> str:
    """Return `format(tensor, spec)`: the item's for a plain 0-d tensor, else the whole text if there is no spec.

    Raises TypeError for a spec on anything else (also on a 0-d Parameter), ValueError for a wrong spec.
    """
    if array.ndim == 0 and class_name == "Tensor":
        try:
            return format(array.item(), spec)
        except ValueError as error:
            raise fail("value", str(error), ValueError) from None
    if not spec:
        return whole()
    raise fail("type", f"unsupported format string passed to {class_name}.__format__", TypeError)
