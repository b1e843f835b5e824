"""gradcheck and gradgradcheck: derivatives held against finite differences."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradsh.api.forward_ad import dual_level, make_dual, unpack_dual
from gradsh.api.internals import UndefinedGrad
from gradsh.engine.ambient import current
from gradsh.engine.autograd.backward import grad as gradients
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.rng.generator import Generator
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class GradcheckError(RuntimeError):
    """A derivative that differs from the finite difference."""

    __module__ = "torch.autograd.gradcheck"


class _Tolerance(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool


def _tensors(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _outputs(func: Callable[..., object], inputs: Sequence[object]) -> list[Tensor]:
    return [one for one in _tensors(func(*inputs)) if isinstance(one, Tensor) and one.array.dtype.kind == "f"]


def _refused(message: str, tensor: Tensor | None = None) -> Exception:
    return fail("value", message, GradcheckError, tensor=tensor)


def gradcheck(
    func: Callable[..., object], inputs: object, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:
    """Return True if all derivatives of `func` agree with finite differences of step `eps`.

    Inputs should be float64. Raises GradcheckError, or returns False without `raise_exception`, where one does not. `fast_mode` computes
    the same as without it. Batches of gradients and tangents are computed one by one, so what is checked of them is that they do not
    depend on random numbers.
    """
    del fast_mode, masked
    if not (check_forward_ad or check_backward_ad):
        message = "Expected at least one of check_forward_ad or check_backward_ad to be True"
        raise fail("assert", message, AssertionError)
    given = _tensors(inputs)
    wanted = _checked_inputs(given)
    outputs = _outputs(func, given)
    differentiable = [one for one in outputs if one.requires_grad]
    tolerance = _Tolerance(eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        _compare(func, given, wanted, outputs, tolerance, check_backward_ad, check_forward_ad)
        if check_undefined_grad and check_forward_ad:
            _without_tangents(func, given)
        if check_batched_forward_grad:
            _batched_tangents(func, given)
        if not (check_backward_ad and differentiable):
            return True
        if check_batched_grad:
            for output in differentiable:
                _batched(partial(gradients, [output], wanted, retain_graph=True, allow_unused=True), output)
        _by_zeros(differentiable, wanted)
        if check_undefined_grad:
            _without_gradients(func, given, wanted, len(differentiable))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _checked_inputs(given: tuple[object, ...]) -> list[Tensor]:
    """Return the inputs to differentiate by; refuse those whose elements cannot be shifted one by one."""
    wanted = [(place, one) for place, one in enumerate(given) if isinstance(one, Tensor) and one.requires_grad]
    for place, one in wanted:
        if one.array.dtype != np.float64:
            current().warning(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if any(step == 0 and extent > 1 for step, extent in zip(one.stride(), one.array.shape, strict=True)):
            message = (
                f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
            raise fail("value", message, tensor=one)
    if not wanted:
        message = (
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
        raise fail("no_grad", message, ValueError)
    return [one for _, one in wanted]


def _compare(
    func: Callable[..., object], given: tuple[object, ...], wanted: list[Tensor], outputs: list[Tensor], tolerance: _Tolerance,
    backward: bool, forward: bool,
) -> None:
    """Hold the derivatives of each output by each input, of backward and of forward mode, against finite differences."""
    numerical = [_numerical(func, given, one, tolerance.eps, len(outputs)) for one in wanted]
    numbers = [number for number, output in enumerate(outputs) if output.requires_grad]
    if not numbers:
        if any(found.any() for jacobians in numerical for found in jacobians):
            raise _refused("Numerical gradient for function expected to be zero")
        return

    def hold(way: str, jacobians: Callable[[int], Sequence[Array]]) -> None:
        for shown, number in enumerate(numbers):
            for place, analytical in enumerate(jacobians(number)):
                expected = numerical[place][number]
                if not np.allclose(analytical, expected, tolerance.rtol, tolerance.atol, equal_nan=True):
                    raise _refused(
                        f"Jacobian {way}mismatch for output {shown} with respect to input {place},\n"
                        f"numerical:{make(expected)!r}\nanalytical:{make(analytical)!r}\n", wanted[place],
                    )

    if backward:
        hold("", lambda number: _analytical(outputs[number], wanted, tolerance))
    if forward:
        pushed = _pushed(func, given, wanted, len(outputs))
        hold("computed with forward mode ", lambda number: [one[number] for one in pushed])


def _duals(given: tuple[Any, ...]) -> tuple[list[Tensor], list[Tensor]]:
    """Return the inputs, those to differentiate by with tangents of zeros, and these tangents."""
    zeros: Any = find("zeros_like")
    duals = [make_dual(one.detach(), zeros(one.detach())) if _is_wanted(one) else one for one in given]
    return duals, [_tangent(dual) for dual, one in zip(duals, given, strict=True) if _is_wanted(one)]


def _is_wanted(value: object) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _tangent(output: Tensor) -> Any:
    return unpack_dual(output).tangent


def _pushed(func: Callable[..., object], given: tuple[object, ...], wanted: list[Tensor], count: int) -> list[list[Array]]:
    """Return the Jacobians by forward mode: of each output by each input, (elements of input, elements of output)."""
    found: list[list[Array]] = []
    with dual_level():
        duals, tangents = _duals(given)
        for tangent in tangents:
            columns: list[list[Array]] = [[] for _ in range(count)]
            for index in np.ndindex(*tangent.array.shape):
                tangent.array[index] = 1
                for column, output in zip(columns, _outputs(func, duals), strict=False):
                    pushed = _tangent(output)
                    column.append((np.zeros_like(output.array) if pushed is None else np.array(pushed.array)).reshape(-1))
                tangent.array[index] = 0
            found.append([np.stack(column) if column else np.zeros((0, 0)) for column in columns])
    return found


def _without_tangents(func: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Refuse a forward mode that tells an input without a tangent from one whose tangent is zero."""
    with dual_level():
        duals, tangents = _duals(given)
        own = Generator()  # as in PyTorch: the program's random numbers stay as they are
        for tangent in tangents:
            tangent.array[...] = own.normal(tangent.array.shape, dtype=tangent.array.dtype)
        for place, one in enumerate(given):
            if _is_wanted(one):
                sides = [[*duals[:place], other, *duals[place + 1 :]] for other in (_duals((one,))[0][0], one.detach())]
                for zero, none in zip(*(map(_tangent, _outputs(func, side)) for side in sides), strict=True):
                    if not (zero is None or none is None or np.allclose(zero.array, none.array)):
                        raise _refused("Mismatch in tangent values when an input has an undefined tangent value", one)


_FAILED_BATCH = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation.\nWe also expect the derivative to draw no random "
    "numbers.\n"
)


def _batched(derivative: Callable[[list[Tensor]], Any], like: Tensor) -> None:
    """Refuse a derivative that differs when it is computed again as one of a batch, or that draws random numbers."""
    own, random_like = current().generator, find("randn_like")
    batch = [random_like(like.detach()) for _ in range(2)]
    expected = [derivative([one]) for one in batch]
    before = own.get_state()
    found = derivative(batch[:1])
    if (own.get_state() != before).any():
        message = (
            "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of vmap as a "
            "workaround"
        )
        raise _refused(_FAILED_BATCH + message)
    pairs = zip(found, expected[0], strict=True)
    if any(one is not None and other is not None and not np.allclose(one.array, other.array) for one, other in pairs):
        raise _refused(_FAILED_BATCH)


def _batched_tangents(func: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Check batches of tangents of each input."""
    plain = [one.detach() if isinstance(one, Tensor) else one for one in given]
    for place, one in enumerate(given):
        if _is_wanted(one):
            def push(tangents: list[Tensor], place: int = place, one: Tensor = one) -> list[Any]:
                with dual_level():
                    duals = [*plain[:place], make_dual(one.detach(), tangents[0]), *plain[place + 1 :]]
                    return [_tangent(output) for output in _outputs(func, duals)]

            _batched(push, one)


def _private(name: str, grad_out: float) -> None:
    message = (
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed in a "
        "future version of PyTorch. If you have a specific use for this or feature request for this to be a stable API, please file us "
        "an issue at https://github.com/pytorch/pytorch/issues/new"
    )
    current().warning(message, FutureWarning)
    if grad_out != 1.0:
        message = f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0."
        raise fail("value", message, ValueError)


def get_numerical_jacobian(
    fn: Callable[..., object], inputs: tuple[Any, ...], target: object = None, eps: float = 1e-3, grad_out: float = 1.0,
) -> list[Tensor]:
    """Return the Jacobian of the first output by each target, from finite differences: (elements of input, elements of output)."""
    _private("get_numerical_jacobian", grad_out)
    wanted = [one for one in (inputs if target is None else _tensors(target)) if _is_wanted(one)]
    count = len(_outputs(lambda *values: fn(values), inputs))
    return [make(_numerical(lambda *values: fn(values), inputs, one, eps, count)[0]) for one in wanted]


def get_analytical_jacobian(
    inputs: object, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[object, ...]:
    """Return the Jacobians of an output by backward, and whether they are the same twice, and of the inputs' shapes and dtypes."""
    _private("get_analytical_jacobian", grad_out)
    wanted = [one for one in _tensors(inputs) if _is_wanted(one)]
    first, second = (_rows(output, wanted) for _ in range(2))
    found, again = ([_stacked([row[place] for row in rows], one) for place, one in enumerate(wanted)] for rows in (first, second))
    same = all(not one.size or abs(one - other).max() <= nondet_tol for one, other in zip(found, again, strict=True))
    pairs = [(row, one) for rows in first for row, one in zip(rows, wanted, strict=True) if row is not None]
    sizes, types = (all(getattr(row, what) == getattr(one, what) for row, one in pairs) for what in ("shape", "dtype"))
    return tuple(map(make, found)), same, sizes, types


def _numerical(
    func: Callable[..., object], given: tuple[object, ...], one: Tensor, eps: float, count: int
) -> list[Array]:
    """Return the Jacobian of each output by one input, (elements of input, elements of output)."""
    columns: list[list[Array]] = [[] for _ in range(count)]
    for index in np.ndindex(*one.array.shape):
        held = one.array[index].copy()
        sides = []
        for step in (-eps, eps):
            one.array[index] = held + step
            sides.append([make(np.array(output.array)) for output in _outputs(func, given)])
        one.array[index] = held
        for number, (below, above) in enumerate(zip(*sides, strict=True)):
            _check_alike(below, above, index, eps)
            columns[number].append(((above.array - below.array) / (2 * eps)).reshape(-1))
    return [np.stack(found) if found else np.zeros((0, 0)) for found in columns]


def _check_alike(below: Tensor, above: Tensor, index: tuple[int, ...], eps: float) -> None:
    for what, plural in (("shape", "shapes"), ("dtype", "dtypes")):
        one, other = getattr(below, what), getattr(above, what)
        if one != other:
            message = (
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index {index} by {eps}, but "
                f"got: {plural} {one} and {other}."
            )
            raise fail("assert", message, AssertionError)


def _analytical(output: Tensor, wanted: list[Tensor], tolerance: _Tolerance) -> list[Array]:
    """Return the Jacobian of an output by each input, computed twice: both must be the same."""
    first, second = (_rows(output, wanted) for _ in range(2))
    pairs = [(row, one) for rows in first for row, one in zip(rows, wanted, strict=True) if row is not None]
    if tolerance.dtypes and any(row.dtype != one.dtype for row, one in pairs):
        raise _refused("Gradient has dtype mismatch")
    if any(row.shape != one.shape for row, one in pairs):
        raise _refused("Analytical gradient has incorrect size")
    found, again = (
        [_stacked([row[place] for row in rows], one) for place, one in enumerate(wanted)] for rows in (first, second)
    )
    if any(one.size and abs(one - other).max() > tolerance.nondet_tol for one, other in zip(found, again, strict=True)):
        raise _refused(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
            f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {tolerance.nondet_tol}."
        )
    return found


def _rows(output: Tensor, wanted: list[Tensor]) -> list[tuple[Tensor | None, ...]]:
    """Return the gradients of each element of an output."""
    rows = []
    for index in np.ndindex(*output.array.shape):
        seed = np.zeros_like(output.array)
        seed[index] = 1
        rows.append(gradients([output], wanted, [make(seed)], retain_graph=True, allow_unused=True))
    return rows


def _stacked(rows: list[Tensor | None], one: Tensor) -> Array:
    return np.stack([np.zeros(one.array.size) if row is None else row.array.reshape(-1) for row in rows], 1) if rows else \
        np.zeros((one.array.size, 0))


def _by_zeros(outputs: list[Tensor], wanted: list[Tensor]) -> None:
    """Refuse a backward that zeros do not make zero."""
    zeros = [make(np.zeros_like(one.array)) for one in outputs]
    for found, one in zip(gradients(outputs, wanted, zeros, allow_unused=True), wanted, strict=True):
        if found is not None:
            if found.array.any():
                raise _refused("backward not multiplied by grad_output", one)
            if found.dtype != one.dtype:
                raise _refused("grad is incorrect type", one)
            if found.shape != one.shape:
                raise _refused("grad is incorrect size", one)


def _without_gradients(func: Callable[..., object], given: tuple[object, ...], wanted: list[Tensor], count: int) -> None:
    """Refuse a backward that cannot do without the gradients of its `count` outputs: of all, and of each in turn."""
    for left_out in (range(count), *([place] for place in range(count) if count > 1)):
        outputs = [one for one in _outputs(func, given) if one.requires_grad]
        cut = [UndefinedGrad()(one) if place in left_out else one for place, one in enumerate(outputs)]
        zeros = [make(np.zeros_like(one.array)) for one in cut]
        notes = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
        try:
            found = gradients(cut, wanted, zeros, allow_unused=True) if cut else ()
        except RuntimeError as error:
            current().warning(_UNDEFINED)
            raise _refused(f"Expected backward function to handle undefined output grads. {notes}") from error
        if any(one is not None and one.array.any() for one in found):
            current().warning(_UNDEFINED)
            raise _refused(f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. {notes}")


_UNDEFINED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
    'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable '
    "the feature"
)


def gradgradcheck(
    func: Callable[..., object], inputs: Tensor | tuple[Tensor, ...], grad_outputs: object = None,
    *, gen_non_contig_grad_outputs: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, **options: Any,
) -> bool:
    """Return True if the second derivatives of `func` agree with finite differences of the first; options are those of gradcheck."""
    del gen_non_contig_grad_outputs
    given = _tensors(inputs)
    generator = current().generator
    if grad_outputs is None:
        cotangents = tuple(
            make(generator.uniform(one.array.shape, -1, 1, one.array.dtype)).requires_grad_()
            for one in _outputs(func, given) if one.requires_grad
        )
    else:
        cotangents = _tensors(grad_outputs)
    size = len(cotangents)
    sources = [place for place, one in enumerate(given) if isinstance(one, Tensor) and one.requires_grad]

    def first(*values: Any) -> tuple[Any, ...]:
        arguments = [one.requires_grad_() if place in sources else one for place, one in enumerate(values[:-size])]
        outputs = [one for one in _outputs(func, arguments) if one.requires_grad]
        found = gradients(outputs, [arguments[place] for place in sources], values[-size:], create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    return gradcheck(
        first, (*given, *cotangents), check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, **options
    )
