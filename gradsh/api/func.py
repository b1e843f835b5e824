"""torch.func: derivatives of functions of tensors, dictionaries and lists of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradsh.api.modes import enable_grad
from gradsh.api.saved import disable_saved_tensors_hooks
from gradsh.api.trees import rebuilt, tensors_of
from gradsh.engine.ambient import TRANSFORMED, flagged
from gradsh.engine.autograd.backward import grad as gradients
from gradsh.engine.autograd.gradient_versions import note
from gradsh.engine.autograd.topology import toposort
from gradsh.engine.dispatch.tangents import detached_with_tangents, levels, tangent_of, untracked
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.engine.registry import find
from gradsh.text.fault import fail

_NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


class _Call:
    """One call of a function whose chosen arguments are fresh leaves, or views where a graph leads on from them."""

    def __init__(self, func: Callable[..., Any], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        view_as: Any = find("view_as")
        places = (argnums,) if isinstance(argnums, int) else argnums
        self.chosen = args[argnums] if isinstance(argnums, int) else tuple(args[place] for place in places)
        self.inputs = [
            view_as(one, one) if one.requires_grad else detached_with_tangents(one).requires_grad_() for one in tensors_of(self.chosen)
        ]
        fresh, given = iter(self.inputs), list(args)
        for place in places:
            given[place] = rebuilt(args[place], fresh)
        with flagged(TRANSFORMED), disable_saved_tensors_hooks(_NO_HOOKS):
            self.output = func(*given, **kwargs)

    def leads_on(self, outputs: list[Tensor]) -> bool:
        """Tell whether a graph leads from the outputs to a leaf that is not the call's own."""
        tangents = (tangent_of(one, level) for level in levels() for one in outputs)
        followed = [*outputs, *(one for one in tangents if one is not None)]
        _, arriving = toposort([node for node in map(node_of, followed) if node is not None])
        own = {id(one) for one in self.inputs}
        return any(id(leaf.variable) not in own for leaf in arriving)

    def pull(self, output: Tensor, cotangent: Tensor | None = None, *, lead: bool) -> list[Tensor]:
        """Return the gradients of the chosen arguments, zeros where the output does not depend on them."""
        zeros: Any = find("zeros_like")
        if not output.requires_grad:
            return [zeros(one.detach()) for one in self.inputs]
        found = gradients([output], self.inputs, [cotangent], retain_graph=True, create_graph=lead, allow_unused=True)
        return [zeros(b.detach()) if a is None else a for a, b in zip(found, self.inputs, strict=True)]

    def like_arguments(self, found: Sequence[object]) -> Any:
        """Return one result a tensor in the form of the chosen arguments."""
        return rebuilt(self.chosen, iter(found))


def _split(output: Any, has_aux: bool) -> tuple[Any, Any]:
    return output if has_aux else (output, None)


def _cut(tree: object, lead: bool) -> object:
    return tree if lead else rebuilt(tree, iter([untracked(one) for one in tensors_of(tree)]))


def grad_and_value(func: Callable[..., object], argnums: object = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function, and its value."""

    def wrapper(*args: object, **kwargs: object) -> object:
        with enable_grad():
            call = _Call(func, argnums, args, kwargs)
            output, aux = _split(call.output, has_aux)
            if not isinstance(output, Tensor) or output.dim():
                start = "grad_and_value(f)(*args): Expected f(*args) to return a"
                if not isinstance(output, Tensor):
                    raise fail("type", f"{start} Tensor, got {type(output)}")
                advice = "Maybe you wanted to use the vjp or jacrev APIs instead?"
                raise fail("shape", f"{start} scalar Tensor, got tensor with {output.dim()} dims. {advice}")
            lead = call.leads_on([output])
            found = call.like_arguments(call.pull(output, lead=lead))
        value = _cut(output, lead)
        return found, ((value, _cut(aux, lead)) if has_aux else value)

    return wrapper


def grad(func: Callable[..., object], argnums: object = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function."""
    both = grad_and_value(func, argnums, has_aux)

    def wrapper(*args: object, **kwargs: object) -> object:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def jacrev(func: Callable[..., object], argnums: object = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Jacobian, a row for each element of the output."""

    def wrapper(*args: object, **kwargs: object) -> object:
        with enable_grad():
            call = _Call(func, argnums, args, kwargs)
            output, aux = _split(call.output, has_aux)
            lead = call.leads_on(tensors_of(output))
            found = rebuilt(output, iter([_jacobian(call, one, lead) for one in tensors_of(output)]))
        return (found, _cut(aux, lead)) if has_aux else found

    return wrapper


def _jacobian(call: _Call, output: Tensor, lead: bool) -> Tensor:
    unit: Any = find("eye")(output.numel(), dtype=output.dtype)
    basis = [one.reshape(output.shape).clone() for one in unit]
    rows = [call.pull(output, one, lead=lead) for one in basis]
    return call.like_arguments([
        _rows(column, basis, output.shape + one.shape) for column, one in zip(zip(*rows, strict=True), call.inputs, strict=True)
    ])


def _rows(column: tuple[Tensor, ...], basis: list[Tensor], shape: object) -> Tensor:
    """Return the rows of a Jacobian as one tensor; where the basis came back as it was, it is the basis that PyTorch has written."""
    found: Tensor = find("stack")(list(column)).reshape(shape)
    if all(np.may_share_memory(one.array, given.array) for one, given in zip(column, basis, strict=True)):
        note(found, 1)
    return found


def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> object:
    """Return the outputs, and a function that multiplies a vector with the Jacobian."""
    with enable_grad():
        call = _Call(func, tuple(range(len(primals))), primals, {})
    output, aux = _split(call.output, has_aux)
    lead = call.leads_on(tensors_of(output))

    def product(cotangents: object) -> object:
        pulled = [call.pull(one, each, lead=lead) for one, each in zip(tensors_of(output), tensors_of(cotangents), strict=True)]
        return call.like_arguments([sum(column[1:], column[0]) for column in zip(*pulled, strict=True)])

    return (_cut(output, lead), product, _cut(aux, lead)) if has_aux else (_cut(output, lead), product)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the buffers of equal modules, each stacked along a new first axis."""
    stack: Any = find("stack")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {
        name: stack([each[name].detach() for each in parameters]).requires_grad_(one.requires_grad)
        for name, one in parameters[0].items()
    }
    return stacked, {name: stack([each[name] for each in buffers]) for name in buffers[0]}


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    A tensor that the module has under several names is replaced under all of them, unless `tie_weights` is False. With `strict`,
    exactly the module's names must be given; else a name that it has not is an attribute during the call.
    """
    given = _one_dictionary(parameter_and_buffer_dicts)
    if strict:
        _check_names(module, given)
    before: dict[str, Any] = {}
    try:
        for path, tensor in (_tied(module, given) if tie_weights else given).items():
            before[path] = _swap(module, path, tensor)
        positional = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*positional, **(kwargs or {}))
    finally:
        # The order is PyTorch's: a submodule that the module holds twice keeps the tensor that was given for it.
        after = {path: _swap(module, path, tensor) for path, tensor in before.items()}
        given.update({path: after[path] for path in given if path in after})


_MISSING = object()


def _swap(module: Any, path: str, tensor: object) -> object:
    """Put a tensor, None or `_MISSING` in the place of a parameter, a buffer or an attribute; return what was there."""
    if not (isinstance(tensor, Tensor) or tensor is None or tensor is _MISSING):
        raise fail("type", f"{tensor!r} is not an instance of torch.Tensor", TypeError)
    prefix, _, name = path.rpartition(".")
    if not name:
        raise fail("lookup", 'tensor name can\'t be empty string ""', KeyError)
    owner = module.get_submodule(prefix)
    before = getattr(owner, name, _MISSING)
    if name.startswith("__") or not (isinstance(before, Tensor) or before is None or before is _MISSING):
        raise fail("type", f"attribute `{name}`: {before} is not an instance of torch.Tensor", TypeError)
    table = next((t for t in (owner._parameters, owner._buffers) if name in t), None)
    if tensor is _MISSING:
        delattr(owner, name)
    elif table is not None:
        table[name] = tensor
    else:
        setattr(owner, name, tensor)
    return before


def _one_dictionary(given: object) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if not isinstance(given, (tuple, list)) or not all(isinstance(part, dict) for part in given):
        message = f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        raise fail("type", message, ValueError)
    names = [name for part in given for name in part]
    if len(set(names)) < len(names):
        repeated = list(dict.fromkeys(name for name in names if names.count(name) > 1))
        raise fail("value", f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous", ValueError)
    return {name: one for part in given for name, one in part.items()}


def _named(module: Any) -> dict[str, Any]:
    """Return the parameters and buffers of a module under all their names."""
    return dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])


def _tied(module: object, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the given tensors under all names that the module has for what they replace."""
    names: dict[int, list[str]] = {}
    for name, one in _named(module).items():
        names.setdefault(id(one), []).append(name)
    found = dict(given)
    for tied in names.values():
        said = sorted(name for name in tied if name in given)
        if len({id(given[name]) for name in said}) > 1:
            message = f"functional_call got multiple values for keys {said}, which are tied. Consider using tie_weights=False"
            raise fail("value", message, ValueError)
        found.update((name, given[said[0]]) for name in tied if said)
    return found


def _check_names(module: object, given: Mapping[str, object]) -> None:
    own = _named(module)
    told = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", [one for one in given if one not in own]), ("Missing", [one for one in own if one not in given]))
        if names
    ]
    if told:
        lines = "\n\t".join(told)
        raise fail("value", f"Error(s) in reparametrizing for {type(module).__name__}:\n\t{lines}")
