"""Gradients against difference quotients: an expression is evaluated again and again at shifted inputs.

It runs in double precision where that is possible (variables are put back afterwards), under a restored random state, and
must not write in place. Source of the method: central differences, as in PyTorch's gradcheck.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np

from gradsh.api.function import FunctionNode
from gradsh.engine.ambient import current
from gradsh.engine.autograd.backward import grad
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, make, node_of
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.dtype import Array
from gradsh.probe.names import Names, named_tensors
from gradsh.probe.snapshot import node_name, nodes_below
from gradsh.text.fault import fail

_MOST = 64
"""Elements of one input that are shifted; of larger ones, so many at even distances."""

Cause = Literal["", "function", "cut", "kink"]


class Element(NamedTuple):
    """The worst element of an input: its index, the gradient that autograd gives, and the difference quotient.

    `smooth` tells that the quotients from above and from below agree, so that there is no kink.
    """

    index: tuple[int, ...]  # type: ignore[assignment]  # a name of the JSON, over a method of tuples
    analytic: float
    numeric: float
    smooth: bool = True


class InputCheck(NamedTuple):
    """One input: its name, how many of its elements were shifted, the largest difference, and where that was."""

    name: str
    checked: int
    elements: int
    largest: float
    ok: bool
    worst: Element


class CheckReport(NamedTuple):
    """Whether gradients agree; `suspects` are (operation, line) of custom functions on the way to an input that is off."""

    ok: bool
    inputs: tuple[InputCheck, ...]
    double: bool
    cause: Cause
    suspects: tuple[tuple[str, int | None], ...]


def check(
    evaluate: Callable[[], object], chosen: Sequence[Tensor] | None, variables: Mapping[str, object],
    line_of: LineOf,
) -> CheckReport:
    """Compare the gradients of what `evaluate` returns with difference quotients. Raises RuntimeError of kind value, no_grad."""
    names = Names(variables)
    tensors = {id(one): one for _, one in named_tensors(variables)}
    for one in chosen or ():
        tensors[id(one)] = one
    try:
        with _doubled(list(tensors.values())):
            return _check(evaluate, chosen, names, tensors, line_of, double=True)
    except (RuntimeError, TypeError, ValueError) as error:
        if getattr(error, "gradsh_check", False):
            raise
        return _check(evaluate, chosen, names, tensors, line_of, double=False)


def _refuse(kind: str, message: str) -> Exception:
    error = fail(kind, message)
    error.gradsh_check = True  # type: ignore[attr-defined]
    return error


@contextmanager
def _doubled(tensors: list[Tensor]) -> Iterator[None]:
    """Hold the float tensors in double precision within the block."""
    ambient = current()
    default = ambient.default_dtype
    before = [(one, one.array) for one in tensors]
    ends = [(one.meta, one.meta.accumulator) for one in tensors if one.meta is not None]
    ambient.default_dtype = np.dtype(np.float64)
    try:
        for one, array in before:
            if array.dtype == np.float32:
                one.array = array.astype(np.float64)
                one.descriptor = None
        for meta, _ in ends:
            meta.accumulator = None  # it hands on gradients in the dtype that its leaf had
        yield
    finally:
        ambient.default_dtype = default
        for one, array in before:
            one.array = array
            one.descriptor = None
        for meta, accumulator in ends:
            meta.accumulator = accumulator


def _check(
    evaluate: Callable[[], object], chosen: Sequence[Tensor] | None, names: Names, tensors: Mapping[int, Tensor],
    line_of: LineOf, *, double: bool,
) -> CheckReport:
    run = _Runs(evaluate, tensors, names)
    out = run.once()
    inputs = list(chosen) if chosen is not None else _leaves(out)
    if not inputs or out.edge is None:
        raise _refuse("no_grad", "the expression does not require grad")
    if any(one.array.dtype.kind != "f" for one in inputs):
        raise _refuse("dtype", "only floating point tensors have gradients")
    cotangent = np.linspace(1.0, 2.0, out.array.size or 1).reshape(out.array.shape).astype(out.array.dtype)
    analytic = grad([out], inputs, [make(cotangent)], allow_unused=True)
    results = tuple(
        _input(run, one, None if found is None else found.array, cotangent, names, double=double)
        for one, found in zip(inputs, analytic, strict=True)
    )
    wrong = [one for one, result in zip(inputs, results, strict=True) if not result.ok]
    suspects = _suspects(out, line_of) if wrong else ()
    cause: Cause = "" if not wrong else "function" if suspects else "kink"
    if cause == "kink" and any(not one.ok and one.worst.smooth for one in results):
        cause = "cut"
    return CheckReport(not wrong, results, double, cause, suspects)


class _Runs:
    """Evaluates the expression always from one random state, and refuses in-place writes."""

    def __init__(self, evaluate: Callable[[], object], tensors: Mapping[int, Tensor], names: Names) -> None:
        self.evaluate = evaluate
        self.tensors = tensors
        self.names = names
        self.random = current().generator.get_state()

    def once(self) -> Tensor:
        """Return the value of the expression, a float tensor."""
        generator = current().generator
        versions = [(one, one.counter.version) for one in self.tensors.values()]
        generator.set_state(self.random)
        try:
            value = self.evaluate()
        finally:
            generator.set_state(self.random)
        for one, version in versions:
            if one.counter.version != version:
                raise _refuse("value", f"the expression writes {self.names.of_leaf(one)} in place, so it cannot be evaluated again")
        if not isinstance(value, Tensor) or value.array.dtype.kind != "f":
            raise _refuse("type", f"the expression must be a floating point tensor, not {type(value).__name__}")
        return value

    def number(self, cotangent: Array) -> float:
        """Return the value of the expression, contracted with the cotangent."""
        return float((self.once().array.astype(np.float64) * cotangent).sum())


def _leaves(out: Tensor) -> list[Tensor]:
    nodes = nodes_below(node_of(out))
    return [one.variable for one in nodes if isinstance(one, AccumulateGrad)]


def _input(run: _Runs, tensor: Tensor, analytic: Any, cotangent: Array, names: Names, *, double: bool) -> InputCheck:
    array = tensor.array
    step, rtol, atol = (1e-6, 1e-4, 1e-6) if double else (1e-2, 5e-2, 1e-2)
    size = array.size
    places = range(size) if size <= _MOST else sorted({round(i * (size - 1) / (_MOST - 1)) for i in range(_MOST)})
    largest, worst, ok = -1.0, Element((), 0.0, 0.0), True
    for place in places:
        index = tuple(int(one) for one in np.unravel_index(place, array.shape))
        quotient, smooth = _quotient(run, array, index, cotangent, step, rtol)
        given = 0.0 if analytic is None else float(analytic[index])
        difference = abs(given - quotient)
        good = difference <= atol + rtol * abs(quotient)
        if (ok and not good) or (difference > largest and good == ok):
            largest, worst = difference, Element(index, given, quotient, smooth)
        ok = ok and good
    return InputCheck(names.of_leaf(tensor), len(places), size, max(largest, 0.0), ok, worst)


def _quotient(
    run: _Runs, array: Array, index: tuple[int, ...], cotangent: Array, step: float, rtol: float
) -> tuple[float, bool]:
    """Return the central difference quotient at an element, and whether both sides of it agree."""
    before = array[index]
    middle = run.number(cotangent)
    try:
        array[index] = before + step
        above, upper = run.number(cotangent), float(array[index])
        array[index] = before - step
        below, lower = run.number(cotangent), float(array[index])
    finally:
        array[index] = before
    right, left = (above - middle) / (upper - float(before)), (middle - below) / (float(before) - lower)
    return (above - below) / (upper - lower), abs(right - left) <= 1e-3 + 10 * rtol * max(abs(right), abs(left))


def _suspects(out: Tensor, line_of: LineOf) -> tuple[tuple[str, int | None], ...]:
    found: dict[tuple[str, int | None], None] = {}
    for node in nodes_below(node_of(out)):
        if isinstance(node, FunctionNode):
            found[(node_name(node) or "", line_of(node.location))] = None
    return tuple(found)
