"""Comparisons, logic and bits: results are bool (or integers), without a gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import alias, composite, implements, op
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, gradient_edge
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.ops.arguments import zeros, zeros_of_shape
from gradsh.ops.kernels.common import refusing
from gradsh.ops.operators import binary, exchanged, inplace
from gradsh.text.fault import fail

_COMPARISONS: tuple[tuple[str, object, str], ...] = (
    ("eq", np.equal, "equals"), ("ne", np.not_equal, "differs from"), ("lt", np.less, "is less than"),
    ("le", np.less_equal, "is at most"), ("gt", np.greater, "is greater than"), ("ge", np.greater_equal, "is at least"),
)
_LONG = {"ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


def _declare(name: str, kernel: Any, words: str) -> None:
    """Declare a comparison, its operator, its long name and its in-place form (which writes 0 and 1)."""
    doc = f"Where `self` {words} `other`: a bool tensor."
    node = f"{name.capitalize()}Backward"
    operation = op(f"{name}(self, other: Operand)", "", doc, forward=kernel, dtypes="promote")
    op(
        f"{name}_(self, other)", node + "1", doc + " In place, as 0 and 1.", kind="inplace", spaces=("Tensor",), attributes=(),
        forward=lambda self, other: kernel(self, other),
        grads={"self": zeros, "other": writes(1)(lambda grad, other_sizes: zeros_of_shape(grad, other_sizes))},
    )
    op(
        f"{name}_(self, other: number)", node + "0", doc + " In place, as 0 and 1.", kind="inplace", spaces=("Tensor",),
        forward=lambda self, other: kernel(self, other), grads={"self": zeros},
    )
    if name in _LONG:
        alias(_LONG[name], operation)
    binary(name, operation)


for _name, _kernel, _words in _COMPARISONS:
    _declare(_name, _kernel, _words)

# --- kinds of numbers ---------------------------------------------------------------------------------------------


def _reached(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return tensors once their places in the graph are known, as the steps of PyTorch's functions ask: a stale view fails."""
    for one in tensors:
        if current().grad_enabled and one.requires_grad:
            gradient_edge(one)
    return tensors


def _float_test(test: Any, otherwise: bool) -> Callable[..., Array]:
    """Return a kernel that asks floats and answers `otherwise` for integers."""
    return lambda self: test(self) if self.dtype.kind == "f" else np.full(self.shape, otherwise)


isnan = op("isnan(self)", "", "Where an element is not a number.", forward=_float_test(np.isnan, False))
isinf = op("isinf(self)", "", "Where an element is infinite.", forward=_float_test(np.isinf, False))
_isfinite = op("_isfinite(self)", "", "Where an element is finite.", forward=_float_test(np.isfinite, True), spaces=())
isfinite = composite("isfinite(self)", "Where an element is neither infinite nor nan.", lambda self: _isfinite(*_reached(self)))
op("isposinf(self)", "", "Where an element is +inf.", forward=_float_test(np.isposinf, False))
op("isneginf(self)", "", "Where an element is -inf.", forward=_float_test(np.isneginf, False))
op("isreal(self)", "", "True everywhere: there are no complex numbers.", forward=lambda self: np.ones(self.shape, np.bool_))


def _isclose(self: Array, other: Array, rtol: float, atol: float, equal_nan: bool) -> Array | bool:
    if self.dtype != other.dtype:
        a, b = of_numpy(self.dtype).title, of_numpy(other.dtype).title
        raise fail("dtype", f"{a} did not match {b}", RuntimeError)
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise fail("value", f"{name} must be greater than or equal to zero, but got {tolerance}", RuntimeError)
    close = np.equal(self, other)
    if self.dtype.kind == "f" and equal_nan:
        close = close | (np.isnan(self) & np.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    wide = np.float64 if self.dtype.kind != "f" else self.dtype
    left, right = np.asarray(self, wide), np.asarray(other, wide)
    error = np.abs(left - right)
    return close | (np.isfinite(error) & (error <= atol + np.abs(right * rtol)))


_close = op(
    "_isclose(self, other, rtol: float, atol: float, equal_nan: bool)", "", "Where two tensors are close.", forward=_isclose, spaces=(),
    layout="operands",
)


def _isclose_written(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """Return the answer with the version that it has in PyTorch, which joins its parts in place."""
    found = _close(*(_reached(self, other) if rtol or atol else (self, other)), rtol, atol, equal_nan)
    found.counter.version = int(equal_nan and self.array.dtype.kind == "f") + int(rtol != 0 or atol != 0)
    return found


isclose = composite(
    "isclose(self, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False)",
    "Where |self - other| <= atol + rtol * |other|, or both are the same infinity.", _isclose_written,
)
composite(
    "allclose(self, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False)",
    "Whether all elements are close, as `isclose` says: a Python bool.",
    lambda self, other, rtol, atol, equal_nan: bool(_close(self, other, rtol, atol, equal_nan).array.all()),
)


def _equal(self: Tensor, other: Tensor) -> bool:
    return self.array.shape == other.array.shape and bool((self.array == other.array).all())


composite("equal(self, other)", "Whether two tensors have the same shape and elements: a Python bool.", _equal)
composite("is_nonzero(self)", "The truth value of a tensor of one element.", bool)


def _isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> ArrayOrTensor:
    for one in (elements, test_elements):
        if isinstance(one, bool) or getattr(one, "dtype", None) == np.bool_:
            raise fail("dtype", "Unsupported input type encountered for isin(): Bool", RuntimeError)
    return np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


op(
    "isin(elements: Operand, test_elements: Operand, *, assume_unique: bool = False, invert: bool = False)", "",
    "Where an element is among `test_elements`.", spaces=("torch",),
    forward=_isin,
)

# --- logic --------------------------------------------------------------------------------------------------------

for _name, _kernel in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
    op(
        f"logical_{_name}(self, other)", "", f"Logical {_name}; numbers other than 0 count as True.", forward=_kernel,
        layout="operands", inplace=True,
    )
op("logical_not(self)", "", "Logical not; 0 becomes True.", forward=np.logical_not, inplace=True)


for _name, _kernel in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
    _operation = op(
        f"bitwise_{_name}(self: Operand, other: Operand)", "", f"Bitwise {_name} of integers or bool.",
        forward=refusing("f", f"bitwise_{_name}_cpu")(_kernel), dtypes="promote", inplace=True,
    )
    binary(_name, _operation)
    binary(_name, _operation, True)
    inplace(_name, f"bitwise_{_name}_")


@refusing("f", "bitwise_not_cpu")
def _not(self: Array) -> Array:
    return np.invert(self)


bitwise_not = op("bitwise_not(self)", "", "Bitwise not of integers or bool.", forward=_not, inplace=True)


def _left(self: Any, other: Any) -> ArrayOrTensor:
    bits = self.dtype.itemsize * 8
    inside = (other >= 0) & (other < bits)
    return np.where(inside, np.left_shift(self, np.where(inside, other, 0)), 0).astype(self.dtype)


def _right(self: Any, other: Any) -> ArrayOrTensor:
    bits = self.dtype.itemsize * 8
    most = bits - 1 if self.dtype.kind == "i" else bits
    shift = np.where((other >= 0) & (other < bits), other, most)
    shifted = np.right_shift(self, np.minimum(shift, bits - 1).astype(self.dtype))
    return np.where(shift == bits, np.zeros((), self.dtype), shifted)


left_shift = op(
    "bitwise_left_shift(self: Operand, other: Operand)", "", "Shift bits to the left.", dtypes="promote", inplace=True,
    forward=refusing("fb", "lshift_cpu")(_left),
)
right_shift = op(
    "bitwise_right_shift(self: Operand, other: Operand)", "", "Shift bits to the right.", dtypes="promote", inplace=True,
    forward=refusing("fb", "rshift_cpu")(_right),
)
for _symbol, _shift, _word in (("lshift", left_shift, "left"), ("rshift", right_shift, "right")):
    binary(_symbol, _shift)
    exchanged(_symbol, _shift)
    inplace(_symbol, f"bitwise_{_word}_shift_")


@implements("invert")
def _invert(self: Tensor) -> Tensor:
    if self.array.dtype.kind == "f":
        raise fail("type", "~ (operator.invert) is only implemented on integer and Boolean-type tensors", TypeError)
    return bitwise_not(self)
