"""torch.func: derivatives of functions of tensors, dictionaries and lists of them; `vmap` as a loop over the batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradsh.api.modes import enable_grad
from gradsh.engine.ambient import current, standing_in, tell
from gradsh.engine.autograd.backward import grad as gradients
from gradsh.engine.autograd.gradient_versions import note
from gradsh.engine.autograd.topology import toposort
from gradsh.engine.dispatch.tangents import batched, detached_with_tangents, levels, tangent_of, untracked
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.rng.rows import RowGenerator
from gradsh.engine.values.layout import order_of
from gradsh.text.fault import fail


def _leaves(tree: object) -> list[Tensor]:
    """Return the tensors in nested dictionaries, lists and tuples, in order."""
    if isinstance(tree, Tensor):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (list, tuple)) else ()
    return [leaf for part in parts for leaf in _leaves(part)]


def _with(tree: object, leaves: Iterator[object]) -> Any:
    """Return the tree with other leaves in place of its tensors."""
    if isinstance(tree, Tensor):
        return next(leaves)
    if isinstance(tree, dict):
        return {name: _with(part, leaves) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_with(part, leaves) for part in tree]
        return parts if isinstance(tree, list) else tuple(parts)
    return tree


class _Call:
    """One call of a function whose chosen arguments are fresh leaves, or views where a graph leads on from them."""

    def __init__(self, func: Callable[..., Any], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        view_as: Any = find("view_as")
        places = (argnums,) if isinstance(argnums, int) else argnums
        self.chosen = args[argnums] if isinstance(argnums, int) else tuple(args[place] for place in places)
        self.inputs = [
            view_as(one, one) if one.requires_grad else detached_with_tangents(one).requires_grad_() for one in _leaves(self.chosen)
        ]
        fresh, given = iter(self.inputs), list(args)
        for place in places:
            given[place] = _with(args[place], fresh)
        self.output = func(*given, **kwargs)

    def leads_on(self, outputs: list[Tensor]) -> bool:
        """Tell whether a graph leads from the outputs to a leaf that is not the call's own."""
        tangents = (tangent_of(one, level) for level in levels() for one in outputs)
        followed = [*outputs, *(one for one in tangents if one is not None)]
        _, arriving = toposort([one.grad_fn for one in followed if one.grad_fn is not None])
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
        return _with(self.chosen, iter(found))


def _split(output: Any, has_aux: bool) -> tuple[Any, Any]:
    return output if has_aux else (output, None)


def _cut(tree: object, lead: bool) -> object:
    return tree if lead else _with(tree, iter([untracked(one) for one in _leaves(tree)]))


def grad_and_value(func: Callable[..., object], argnums: object = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function, and its value."""

    def wrapper(*args: object, **kwargs: object) -> object:
        with enable_grad():
            call = _Call(func, argnums, args, kwargs)
            output, aux = _split(call.output, has_aux)
            if not isinstance(output, Tensor) or output.dim():
                start = "grad_and_value(f)(*args): Expected f(*args) to return a"
                if not isinstance(output, Tensor):
                    raise fail("type", f"{start} Tensor, got {type(output)}", RuntimeError)
                advice = "Maybe you wanted to use the vjp or jacrev APIs instead?"
                raise fail("shape", f"{start} scalar Tensor, got tensor with {output.dim()} dims. {advice}", RuntimeError)
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
            lead = call.leads_on(_leaves(output))
            found = _with(output, iter([_jacobian(call, one, lead) for one in _leaves(output)]))
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
    lead = call.leads_on(_leaves(output))

    def product(cotangents: object) -> object:
        pulled = [call.pull(one, each, lead=lead) for one, each in zip(_leaves(output), _leaves(cotangents), strict=True)]
        return call.like_arguments([sum(column[1:], column[0]) for column in zip(*pulled, strict=True)])

    return (_cut(output, lead), product, _cut(aux, lead)) if has_aux else (_cut(output, lead), product)


@standing_in("vmap", "it loops over the batch; results are the same, with a node for each element")
def vmap(
    func: Callable[..., object], in_dims: object = 0, out_dims: object = 0, randomness: str = "error", *, chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that applies `func` to each element of a batch.

    `randomness`: whether random operations are refused ("error"), or draw the same numbers for each element or others ("different"; for
    `chunk_size` elements at a time).
    """
    tell(vmap)

    def wrapper(*args: object, **kwargs: object) -> object:
        if randomness not in {"error", "same", "different"}:
            message = f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
            raise fail("value", message, RuntimeError)
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        size = _batch_size(args, dims)
        picked = [tuple(_picked(arg, dim, row) for arg, dim in zip(args, dims, strict=True)) for row in range(size)]
        own = current().generator
        state, rounds = own.get_state(), []
        try:
            for number, row in enumerate(picked):
                if randomness == "same":
                    own.set_state(state)
                elif randomness == "different":
                    if not number % (chunk_size or size):
                        current().generator = drawing = RowGenerator(own, min(chunk_size or size, size - number))
                    drawing.begin(number % (chunk_size or size))
                with batched():
                    rounds.append(func(*row, **kwargs))
        finally:
            current().generator = own
        if randomness == "error" and (current().generator.get_state() != state).any():
            advice = "Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            raise fail("value", f"vmap: called random operation while in randomness error mode. {advice}", RuntimeError)
        made = {_key(column, dim): one for column, dim, one in zip(_columns(picked), _leaf_dims(args, dims), _leaves(args), strict=True)}
        return _with(rounds[0], iter([_stacked(column, dim, made) for column, dim in zip(
            _columns(rounds), _leaf_dims(rounds[0], out_dims), strict=True)]))

    return wrapper


def _columns(rows: list[Any]) -> list[tuple[Tensor, ...]]:
    """Return, for each tensor of a tree, what it is in every row."""
    return list(zip(*map(_leaves, rows), strict=True))


def _key(column: tuple[Tensor, ...], dim: int | None) -> tuple[int, ...]:
    return (*map(id, column), -1 if dim is None else dim % (column[0].dim() + 1))


def _stacked(column: tuple[Tensor, ...], dim: int, made: dict[tuple[int, ...], Tensor]) -> Tensor:
    """Return a batch of its elements: the one that there is already, where they are those of an argument or of another result."""
    key = _key(column, dim)
    if key not in made:
        made[key] = _laid_together(find("stack")(list(column), dim), column[0], dim)
    return made[key]


def _laid_together(batch: Tensor, example: Tensor, dim: int) -> Tensor:
    """Let a batch that no graph refers to lie in memory as its examples do, one after the other."""
    if batch.requires_grad or example.array.flags.c_contiguous or not example.array.size:
        return batch
    rows = np.moveaxis(batch.array, dim, 0)
    order = (0, *(1 + place for place in order_of(example.array.shape, [example.array])))
    laid = np.ascontiguousarray(rows.transpose(order)).transpose(np.argsort(order))
    batch.array = np.moveaxis(laid, 0, dim)
    return batch


def _leaf_dims(tree: Any, dims: object) -> list[Any]:
    """Return the batch dimension of each tensor of a tree; `dims` may follow the tree's form."""
    if isinstance(tree, Tensor) or not isinstance(dims, (tuple, list, dict)):
        return [dims] * len(_leaves(tree))
    pairs = ((part, dims[name]) for name, part in tree.items()) if isinstance(tree, dict) else zip(tree, dims, strict=True)
    return [dim for part, inner in pairs for dim in _leaf_dims(part, inner)]


def _batch_size(args: tuple[Any, ...], dims: Any) -> int:
    mapped = [
        one.shape[dim] for arg, given in zip(args, dims, strict=True)
        for one, dim in zip(_leaves(arg), _leaf_dims(arg, given), strict=True) if dim is not None
    ]
    if not mapped:
        raise fail("value", "vmap(func, in_dims)(*inputs): at least one input has to be mapped over", ValueError)
    if len(set(mapped)) > 1:
        message = f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {mapped} for the mapped dimension"
        raise fail("shape", message, ValueError)
    return int(mapped[0])


def _picked(arg: object, dim: object, row: int) -> object:
    """Return one element of the batch of an argument."""
    dims = _leaf_dims(arg, dim)
    return _with(arg, iter([one if at is None else one.select(at, row) for one, at in zip(_leaves(arg), dims, strict=True)]))


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
        raise fail("value", f"Error(s) in reparametrizing for {type(module).__name__}:\n\t{lines}", RuntimeError)
