"""torch.autograd.functional: Jacobians, Hessians and products with them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.api.func_forward import jacfwd
from gradsh.engine.ambient import BATCHED, TRANSFORMED, current, flagged, grad_mode
from gradsh.engine.autograd.backward import grad as gradients
from gradsh.engine.dispatch.tangents import detached_with_tangents
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.text.fault import fail

Tensors = tuple[Tensor, ...]


def _tuple(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Return whether there were several, and all as a tuple."""
    what = "outputs of the user-provided function" if what == "outputs" and name != "None" else what
    many = isinstance(value, tuple)
    found = value if many else (value,)
    for place, one in enumerate(found):
        if not isinstance(one, Tensor):
            got = f"the value at index {place} has type {type(one)}" if many else f"the given {what} has type {type(one)}"
            message = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but {got}."
            raise fail("type", message, TypeError)
    return many, found


def _fresh(inputs: Tensors, create_graph: bool) -> Tensors:
    """Return the inputs as tensors to differentiate by, within the caller's graph if that is wanted."""
    view_as = find("view_as")
    if not create_graph and current().flags.get(TRANSFORMED):
        raise fail("value", _WITHIN_TRANSFORMS)
    return tuple(
        view_as(one, one) if create_graph and one.requires_grad else detached_with_tangents(one).requires_grad_() for one in inputs
    )


_WITHIN_TRANSFORMS = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function "
    "being transformed by a functorch transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed instead."
)


def _given(many: bool, found: Any) -> Any:
    return tuple(found) if many else found[0]


def _cotangents(v: object, like: Tensors, many: bool, what: str, name: str) -> Tensors:
    """Return `v` as a tuple fitting `like` (`many`: which the program gave as a tuple); ones where it may be left out."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            case = "the user-provided function returns" if what == "outputs" else "the input to the user-provided function is"
            message = f"The vector v can only be None if {case} a single Tensor with a single element."
            raise fail("value", message)
        return (make(np.ones(like[0].array.shape, like[0].array.dtype)),)
    _, found = _tuple(v, "v", name)
    if len(found) != len(like):
        message = f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
        raise fail("value", message if many else "The given v should contain a single Tensor.")
    for place, (one, other) in enumerate(zip(found, like, strict=True)):
        if one.shape != other.shape:
            at = f"Entry {place} in v" if many else "v"
            raise fail("shape", f"{at} has invalid size: should be {other.shape} but got {one.shape}.")
    return found


def _pull(outputs: Tensors, inputs: Tensors, cotangents: Any, create: bool) -> list[Tensor | None]:
    """Return the gradients, None for what does not depend."""
    pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    return list(gradients(
        [o for o, _ in pairs], inputs, [c for _, c in pairs], retain_graph=True, create_graph=create,
        allow_unused=True,
    ))


def _filled(found: list[Tensor | None], like: Tensors) -> Tensors:
    return tuple(make(np.zeros_like(b.array)) if a is None else a for a, b in zip(found, like, strict=True))


def _check_outputs(outputs: Tensors, strict: bool) -> None:
    for place, one in enumerate(outputs):
        if strict and not one.requires_grad:
            message = (
                f"Output {place} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
            raise fail("no_grad", message, tensor=one)


def _strictly(found: list[Tensor | None], strict: bool, what: str = "The output", create_graph: bool = False) -> None:
    for place, one in enumerate(found if strict else ()):
        if one is None:
            message = (
                f"{what} of the user-provided function is independent of input {place}. This is not allowed in strict mode."
            )
            raise fail("unused", message)
        if create_graph and not one.requires_grad:
            message = (
                f"The jacobian of the user-provided function is independent of input {place}. This is not allowed in strict mode "
                "when create_graph=True."
            )
            raise fail("unused", message)


def _check_jacobian(found: tuple[Tensor, ...], strict: bool) -> None:
    """Refuse, in strict mode, a gradient that does not depend on the inputs: a Hessian would be zero there."""
    for place, one in enumerate(found if strict else ()):
        if not one.requires_grad:
            message = (
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                f"{place} is independent of the input. This is not allowed in strict mode. You should ensure that your function "
                "is twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                "function for example)."
            )
            raise fail("unused", message)


def _done(value: object, create_graph: bool) -> Any:
    """Cut results off the graph unless it was asked for."""
    if isinstance(value, (tuple, list)):
        return tuple(_done(one, create_graph) for one in value)
    return value if create_graph or not isinstance(value, Tensor) else value.detach()


def vjp(
    func: Callable[..., object], inputs: object, v: object = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor | Tensors, Tensor | Tensors]:
    """Return (outputs, vᵀ J): the product of a vector with the Jacobian."""
    with grad_mode(True):
        many, given = _tuple(inputs, "inputs", "vjp")
        own = _fresh(given, create_graph)
        many_out, outputs = _tuple(func(*own), "outputs", "vjp")
        _check_outputs(outputs, strict)
        found = _pull(outputs, own, _cotangents(v, outputs, many_out, "outputs", "vjp"), create_graph)
    _strictly(found, strict, create_graph=create_graph)
    return _done(_given(many_out, outputs), create_graph), _done(_given(many, _filled(found, own)), create_graph)


def jvp(
    func: Callable[..., object], inputs: object, v: object = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor | Tensors, Tensor | Tensors]:
    """Return (outputs, J v), by differentiating a backward pass."""
    with grad_mode(True):
        many, given = _tuple(inputs, "inputs", "jvp")
        own = _fresh(given, create_graph)
        tangents = _cotangents(v, own, many, "inputs", "jvp")
        many_out, outputs = _tuple(func(*own), "outputs", "jvp")
        _check_outputs(outputs, strict)
        probes = tuple(make(np.zeros_like(one.array)).requires_grad_() for one in outputs)
        pulled = _pull(outputs, own, probes, True)
        _strictly(pulled, strict)
        found = _pull(_filled(pulled, own), probes, tangents, create_graph)
    if create_graph and None not in found:
        _strictly(found, strict, create_graph=create_graph)
    return _done(_given(many_out, outputs), create_graph), _done(_given(many_out, _filled(found, outputs)), create_graph)


_HINT = (
    '"reverse-mode". Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. '
    'Otherwise, prefer to use "reverse-mode"'
)


def _check_strategy(strategy: str, wanted: str, vectorize: bool, create_graph: bool) -> None:
    """Refuse what PyTorch refuses."""
    if strategy not in {"forward-mode", "reverse-mode"}:
        raise fail("assert", f'Expected strategy to be either "forward-mode" or {wanted}.', AssertionError)
    prefix = "torch.autograd.functional.jacobian: "
    if strategy == "forward-mode" and create_graph:
        message = (
            '`create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
        raise fail("value", prefix + message, NotImplementedError)
    if strategy == "forward-mode" and not vectorize:
        message = "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        raise fail("value", message, NotImplementedError)


_NOT_STRICT = (
    "torch.autograd.functional.jacobian: `strict=True` and `{}` are not supported together{}. Please either set `strict=False` or "
    "`{}`."
)


def jacobian(
    func: Callable[..., object], inputs: object, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian: (output shape + input shape) for each pair of output and input."""
    _check_strategy(strategy, _HINT, vectorize, create_graph)
    if strategy == "forward-mode":
        return _pushed(func, inputs, strict)
    with grad_mode(True):
        many, given = _tuple(inputs, "inputs", "jacobian")
        own = _fresh(given, create_graph)
        many_out, outputs = _tuple(func(*own), "outputs", "jacobian")
        _check_outputs(outputs, strict)
        if strict and vectorize:
            raise fail("value", _NOT_STRICT.format("vectorized=True", "", "vectorize=False"))
        rows = tuple(_rows(place, output, own, create_graph, strict) for place, output in enumerate(outputs))
    found = tuple(_given(many, row) for row in rows)
    return _done(_given(many_out, found), create_graph)


def _pushed(func: Callable[..., object], inputs: object, strict: bool) -> object:
    """Return the Jacobian by forward mode: a run of the function for each element of the inputs."""
    if strict:
        message = _NOT_STRICT.format('strategy="forward-mode"', " (yet)", 'strategy="reverse-mode"')
        raise fail("value", message)
    many, given = _tuple(inputs, "inputs", "jacobian")
    returned: list[bool] = []

    def checked(*values: Tensor) -> Tensors:
        with flagged(TRANSFORMED, BATCHED, to=False):  # this is no transform of torch.func
            many_out, outputs = _tuple(func(*values), "outputs", "None")  # PyTorch's word where it does not know the name
        returned.append(many_out)
        return outputs

    found = jacfwd(checked, tuple(range(len(given))))(*(one.detach() for one in given))
    return _given(returned[0], [_given(many, row) for row in found])


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: tuple[int, ...]) -> Tensors:
    """Return for each tensor the columns that belong to it of the unit matrix of all their elements."""
    if len(tensors) != len(tensor_numels) or not tensors:
        raise fail("assert", "tensors and their numbers of elements must belong together", AssertionError)
    unit, ends = np.eye(sum(tensor_numels)), np.cumsum(tensor_numels)
    return tuple(
        make(unit[:, end - count : end].astype(one.array.dtype)) for one, count, end in zip(tensors, tensor_numels, ends, strict=True)
    )


def _rows(number: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """Return the Jacobian of one output by each input, row by row."""
    rows: list[list[Tensor]] = [[] for _ in inputs]
    flat = find("reshape")(output, (-1,))
    for place in range(output.numel()):
        found = _pull((flat[place],), inputs, (None,), create_graph)
        _strictly(found, strict, f"Output {number}", create_graph)
        for row, one in zip(rows, _filled(found, inputs), strict=True):
            row.append(one)
    stack = find("stack")  # refuses to stack nothing, as PyTorch does where the output has no elements
    return tuple(find("view")(stack(row, 0), (*output.shape, *one.shape)) for row, one in zip(rows, inputs, strict=True))


def _check_scalar(outputs: Tensors, many: bool, name: str) -> Tensor:
    if many or len(outputs) != 1:
        raise fail("value", f"The function given to {name} should return a single Tensor")
    output = outputs[0]
    if output.ndim == 0:
        return output
    if output.numel() != 1:
        message = f"The Tensor returned by the function given to {name} should contain a single element"
        raise fail("scalar", message, tensor=output)
    return find("reshape")(output, ())


def hessian(
    func: Callable[..., object], inputs: object, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensor:
    """Return the Hessian of a scalar function: (input shape + input shape) for each pair of inputs."""
    many, given = _tuple(inputs, "inputs", "hessian")

    def scalar(*values: Tensor) -> Tensor:
        many_out, outputs = _tuple(func(*values), "outputs", "hessian")
        _check_outputs(outputs, strict)
        return _check_scalar(outputs, many_out, "hessian")

    def gradient(*values: Tensor) -> tuple[Tensor, ...]:
        found = jacobian(scalar, values, create_graph=True)
        _check_jacobian(found, strict)
        return found

    _check_strategy(outer_jacobian_strategy, '"reverse-mode"', True, create_graph)
    found = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]


def hvp(
    func: Callable[..., object], inputs: object, v: object = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor | Tensors, Tensor | Tensors]:
    """Return (output, H v) of a scalar function."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., object], inputs: object, v: object, create_graph: bool, strict: bool
) -> tuple[Tensor | Tensors, Tensor | Tensors]:
    with grad_mode(True):
        many, given = _tuple(inputs, "inputs", name)
        own = _fresh(given, create_graph)
        tangents = _cotangents(v, own, many, "inputs", name)
        many_out, outputs = _tuple(func(*own), "outputs", name)
        _check_outputs(outputs, strict)
        output = _check_scalar(outputs, many_out, name)
        first = _pull((output,), own, (None,), True)
        _strictly(first, strict)
        _check_jacobian(_filled(first, own), strict)
        found = _pull(_filled(first, own), own, tangents, create_graph)
    return _done(outputs[0], create_graph), _done(_given(many, _filled(found, own)), create_graph)


def vhp(
    func: Callable[..., object], inputs: object, v: object = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor | Tensors, Tensor | Tensors]:
    """Return (output, vᵀ H) of a scalar function: the Hessian is symmetric, so this is hvp."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)
