"""torch.func in forward mode: products of Jacobians with tangents, and Jacobians column by column."""

from collections.abc import Callable
from typing import Any

from gradsh.api.func import _Call, _cut, _split, jacrev
from gradsh.api.modes import enable_grad
from gradsh.api.pytree import tree_structure
from gradsh.api.trees import rebuilt, tensors_of
from gradsh.engine.ambient import BATCHED, TRANSFORMED, flagged
from gradsh.engine.autograd.backward import grad as gradients
from gradsh.engine.dispatch.tangents import Level, close, opened, set_tangent, tangent_of
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., object], primals: object, tangents: object, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return the outputs, and the Jacobian times the tangents."""
    if not isinstance(primals, tuple):
        raise _refused("Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if tree_structure(primals) != tree_structure(tangents):
        raise _refused(
            "Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, tangents "
            f"also must be. Got primals with structure {tree_structure(primals)} and tangents with structure {tree_structure(tangents)}"
        )
    if not tensors_of(primals):
        raise _refused("Expected primals to contain at least one Tensor.")
    view_as = find("view_as")
    level = opened()
    try:
        duals = [view_as(one, one) for one in tensors_of(primals)]
        for dual, tangent in zip(duals, tensors_of(tangents), strict=True):
            set_tangent(dual, level, tangent)
        with flagged(TRANSFORMED):
            output = func(*rebuilt(primals, iter(duals)))
        if has_aux and not (isinstance(output, tuple) and len(output) == 2):
            raise _refused("output of function f should be a tuple: (output, aux) if has_aux is True")
        output, aux = _split(output, has_aux)
        leaves = _checked(output)
        found = [_tangent(one, level, strict) for one in leaves]
    finally:
        close(level)
    alias = find("alias")
    plain = [rebuilt(tree, map(alias, tensors_of(tree))) for tree in (output, aux)]
    products = rebuilt(output, iter(found))
    return (plain[0], products, plain[1]) if has_aux else (plain[0], products)


def _refused(message: str) -> Exception:
    return fail("value", f"{_JVP}: {message}")


def _checked(output: Any) -> list[Tensor]:
    """Return the tensors of what the function returned; refuse anything else."""
    parts = output.values() if isinstance(output, dict) else output if isinstance(output, (list, tuple)) else None
    if parts is None and not isinstance(output, Tensor):
        raise fail("type", f"jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type {type(output)}")
    return [output] if parts is None else [leaf for part in parts for leaf in _checked(part)]


def _tangent(output: Tensor, level: Level, strict: bool) -> Tensor:
    found = tangent_of(output, level)
    if found is None and strict:
        message = "The output of f is independent of the inputs. This is not allowed with strict=True."
        raise fail("unused", f"jvp(f, primals, tangents, strict=True): {message}")
    zeros: Any = find("zeros_like")
    return zeros(output.detach()) if found is None else found


def linearize(func: Callable[..., object], *primals: object) -> tuple[object, Callable[..., object]]:
    """Return the outputs, and the function that multiplies the Jacobian there with tangents; `func` runs once."""
    zeros: Any = find("zeros_like")
    with enable_grad():
        call = _Call(func, tuple(range(len(primals))), primals, {})
        outputs = tensors_of(call.output)
        probes = [zeros(one.detach()).requires_grad_() for one in outputs]
        reached = [place for place, one in enumerate(outputs) if one.requires_grad]
        pulled = gradients(
            [outputs[place] for place in reached], call.inputs, [probes[place] for place in reached], create_graph=True,
            allow_unused=True,
        ) if reached else (None,) * len(call.inputs)

    def product(*tangents: object) -> object:
        if tree_structure(tangents) != tree_structure(primals):
            message = f"Expected the tangents {tree_structure(tangents)} to have the same argspec as the primals {tree_structure(primals)}"
            raise fail("value", message)
        given = tensors_of(tangents)
        for place, (one, like) in enumerate(zip(given, call.inputs, strict=True)):
            for what in ("shape", "dtype"):
                if getattr(one, what) != getattr(like, what):
                    message = (
                        f"tangent:{place} with {what} {getattr(one, what)} in flattened pytree doesn't match the {what} "
                        f"{getattr(like, what)} of the corresponding primal."
                    )
                    raise fail("shape", message)
        pairs = [(a, b) for a, b in zip(pulled, given, strict=True) if a is not None and a.requires_grad]
        found = gradients(
            [a for a, _ in pairs], probes, [b for _, b in pairs], retain_graph=True, allow_unused=True,
        ) if pairs else (None,) * len(probes)
        return rebuilt(call.output, iter([zeros(b.detach()) if a is None else a for a, b in zip(found, probes, strict=True)]))

    return _cut(call.output, call.leads_on(outputs)), product


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """Return a function that computes the Jacobian in forward mode, a column for each element of the input."""
    del randomness  # of batches, which gradsh computes one by one
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def wrapper(*args: object) -> object:
        def restricted(*chosen: object) -> Tensor | tuple[Tensor, ...]:
            given = list(args)
            for place, one in zip(places, chosen, strict=True):
                given[place] = one
            return func(*given)

        chosen = tuple(args[place] for place in places)
        leaves = tensors_of(chosen)
        with flagged(BATCHED):  # the columns are one batch in PyTorch
            pushed = [
                [jvp(restricted, chosen, rebuilt(chosen, iter(basis)), has_aux=has_aux) for basis in _basis(leaves, one)] for one in leaves
            ]
        first = pushed[0][0]
        columns = [[tensors_of(each[1]) for each in of_leaf] for of_leaf in pushed]
        jacobians = [_columns(number, columns, leaves) for number in range(len(tensors_of(first[0])))]
        given = args[argnums] if isinstance(argnums, int) else chosen
        found = rebuilt(first[0], iter([rebuilt(given, iter(one)) for one in jacobians]))
        return (found, first[2]) if has_aux else found

    return wrapper


def hessian(func: Callable[..., object], argnums: object = 0) -> Callable[..., object]:
    """Return a function that computes the second derivatives: in forward mode, of those that backward computes."""
    return jacfwd(jacrev(func, argnums), argnums)


def _basis(leaves: list[Tensor], chosen: Tensor) -> Any:
    """Return, for each element of one of the leaves, tangents that are one there and zero everywhere else."""
    zeros: Any = find("zeros_like")
    for place in range(chosen.numel()):
        tangents = [zeros(one.detach()).contiguous() for one in leaves]
        tangents[next(index for index, one in enumerate(leaves) if one is chosen)].reshape(-1)[place] = 1
        yield tangents


def _columns(number: int, pushed: list[list[list[Tensor]]], leaves: list[Tensor]) -> list[Tensor]:
    """Return the Jacobian of one output by each leaf: parts of one tensor, as in PyTorch."""
    whole: Any = find("stack")([column[number] for columns in pushed for column in columns])
    parts = whole.split([len(columns) for columns in pushed])
    return [part.movedim(0, -1).reshape(whole.shape[1:] + one.shape) for part, one in zip(parts, leaves, strict=True)]
