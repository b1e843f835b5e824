"""gradcheck and gradgradcheck: derivatives held against finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.autograd.backward import grad as gradients
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class GradcheckError(RuntimeError):
    """A derivative that differs from the finite difference."""

    __module__ = "torch.autograd.gradcheck"


def _tensors(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _outputs(func: Callable[..., Any], inputs: tuple[Any, ...]) -> list[Tensor]:
    return [one for one in _tensors(func(*inputs)) if isinstance(one, Tensor) and one.array.dtype.kind == "f"]


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, **_other: Any,
) -> bool:
    """Return True if all derivatives of `func` agree with finite differences of step `eps`.

    Inputs should be float64. Raises GradcheckError, or returns False without `raise_exception`, where one does not.
    """
    given = _tensors(inputs)
    wanted = [one for one in given if isinstance(one, Tensor) and one.requires_grad]
    if not wanted:
        message = (
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
        raise fail("no_grad", message, ValueError)
    for place, one in enumerate(given):
        if isinstance(one, Tensor) and one.requires_grad and one.array.dtype != np.float64:
            current().warning(
                f"Input #{place} requires gradient and is not a double precision floating point. This check will likely fail "
                "if all the inputs are not of double precision floating point. "
            )
        if isinstance(one, Tensor) and one.requires_grad:
            _check_apart(place, one)
    try:
        _check(func, given, wanted, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_apart(place: int, one: Tensor) -> None:
    """Refuse an input whose elements share memory: they cannot be shifted one by one."""
    if any(step == 0 and extent > 1 for step, extent in zip(one.stride(), one.array.shape, strict=True)):
        message = (
            f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
            "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
            "gradcheck."
        )
        raise fail("value", message, RuntimeError, tensor=one)


def _check(
    func: Callable[..., Any], given: tuple[Any, ...], wanted: list[Tensor], eps: float, atol: float, rtol: float
) -> None:
    outputs = _outputs(func, given)
    numerical = [_numerical(func, given, one, eps, len(outputs)) for one in wanted]
    numbers = [number for number, output in enumerate(outputs) if output.requires_grad]
    if not numbers and any(found.any() for jacobians in numerical for found in jacobians):
        raise fail("value", "Numerical gradient for function expected to be zero", GradcheckError)
    for shown, number in enumerate(numbers):
        for place, one in enumerate(wanted):
            analytical, expected = _analytical(func, given, one, number), numerical[place][number]
            if not np.allclose(analytical, expected, rtol, atol, equal_nan=True):
                message = (
                    f"Jacobian mismatch for output {shown} with respect to input {place},\n"
                    f"numerical:{make(expected)!r}\nanalytical:{make(analytical)!r}\n"
                )
                raise fail("value", message, GradcheckError, tensor=one)


def _numerical(
    func: Callable[..., Any], given: tuple[Any, ...], one: Tensor, eps: float, count: int
) -> list[Array]:
    """Return the Jacobian of each output by one input, (elements of input, elements of output)."""
    columns: list[list[Array]] = [[] for _ in range(count)]
    with grad_mode(False):
        for index in np.ndindex(*one.array.shape):
            held = one.array[index].copy()
            one.array[index] = held + eps
            above = [np.array(output.array) for output in _outputs(func, given)]
            one.array[index] = held - eps
            below = [np.array(output.array) for output in _outputs(func, given)]
            one.array[index] = held
            for number in range(count):
                columns[number].append(((above[number] - below[number]) / (2 * eps)).reshape(-1))
    return [np.stack(found) if found else np.zeros((0, 0)) for found in columns]


def _analytical(func: Callable[..., Any], given: tuple[Any, ...], one: Tensor, number: int) -> Array:
    with grad_mode(True):
        output = _outputs(func, given)[number]
        rows = []
        for index in np.ndindex(*output.array.shape):
            seed = np.zeros_like(output.array)
            seed[index] = 1
            found = None
            if output.requires_grad:
                (found,) = gradients([output], [one], [make(seed)], retain_graph=True, allow_unused=True)
            rows.append(np.zeros(one.array.size) if found is None else found.array.reshape(-1))
    return np.stack(rows, 1) if rows else np.zeros((one.array.size, 0))


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, **other: Any,
) -> bool:
    """Return True if the second derivatives of `func` agree with finite differences of the first."""
    del gen_non_contig_grad_outputs
    given = _tensors(inputs)
    generator = current().generator
    if grad_outputs is None:
        cotangents = tuple(
            make(generator.normal(one.array.shape, dtype=one.array.dtype)).requires_grad_() for one in _outputs(func, given)
        )
    else:
        cotangents = _tensors(grad_outputs)
    size = len(cotangents)

    def first(*values: Any) -> tuple[Any, ...]:
        arguments = tuple(
            one.requires_grad_() if isinstance(one, Tensor) and one.array.dtype.kind == "f" and one.grad_fn is None and
            not one.requires_grad and given[place].requires_grad else one
            for place, one in enumerate(values[:-size])
        )
        with grad_mode(True):
            outputs = [one for one in _outputs(func, arguments) if one.requires_grad]
            sources = [one for one in arguments if isinstance(one, Tensor) and one.requires_grad]
            found = gradients(outputs, sources, values[-size:], create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    return gradcheck(
        first, (*given, *cotangents), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, **other
    )
