"""`torch.vmap` as a loop over the batch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.api.pytree import tree_leaves, tree_structure
from gradsh.api.trees import rebuilt, spread, tensors_of
from gradsh.engine.ambient import BATCHED, TRANSFORMED, current, flagged, standing_in, tell
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.rng.rows import RowGenerator
from gradsh.engine.values.layout import order_of
from gradsh.text.fault import fail


@standing_in("vmap", "it loops over the batch; results are the same, with a node for each element")
def vmap(
    func: Callable[..., object], in_dims: object = 0, out_dims: object = 0, randomness: str = "error", *, chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that applies `func` to each element of a batch.

    `randomness`: whether random operations are refused ("error"), or draw the same numbers for each element or others ("different"; for
    `chunk_size` elements at a time).
    """
    tell(vmap)
    if chunk_size is not None and chunk_size < 1:
        raise fail("value", f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})", ValueError)
    name = getattr(func, "__name__", None) or repr(func)

    def wrapper(*args: object, **kwargs: object) -> object:
        if randomness not in {"error", "same", "different"}:
            message = f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
            raise fail("value", message)
        dims, size = _mapped(name, in_dims, args)
        rows = range(size) if size else [None]  # the form of the results of no rows is that of one of zeros
        picked = [tuple(_picked(args, dims, row)) for row in rows]
        own = current().generator
        state, rounds = own.get_state(), []
        try:
            for number, row in enumerate(picked):
                if randomness == "same":
                    own.set_state(state)
                elif randomness == "different":
                    if not number % (chunk_size or len(picked)):
                        current().generator = drawing = RowGenerator(own, min(chunk_size or len(picked), len(picked) - number))
                    drawing.begin(number % (chunk_size or len(picked)))
                with flagged(TRANSFORMED, BATCHED):
                    rounds.append(func(*row, **kwargs))
        finally:
            current().generator = own
        if randomness == "error" and (current().generator.get_state() != state).any():
            advice = "Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            raise fail("value", f"vmap: called random operation while in randomness error mode. {advice}")
        ends = _ends(name, out_dims, rounds[0])
        if not size:
            return rebuilt(rounds[0], iter([_stacked((one,), dim, {}).narrow(dim, 0, 0) for one, dim in zip(
                tensors_of(rounds[0]), ends, strict=True)]))
        chosen = [dim for dim, one in zip(dims, tree_leaves(args), strict=True) if isinstance(one, Tensor)]
        made = {_key(column, dim): one for column, dim, one in zip(_columns(picked), chosen, tensors_of(args), strict=True)}
        return rebuilt(rounds[0], iter([
            column[0] if dim is None else _stacked(column, dim, made) for column, dim in zip(_columns(rounds), ends, strict=True)]))

    return wrapper


def _mapped(name: str, in_dims: object, args: tuple[object, ...]) -> tuple[list[int | None], int]:
    """Return the batch dimension of each leaf of the arguments, and the size of the batch."""
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        message = f"expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        raise fail("value", head + message, ValueError)
    if not args:
        message = "got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. The latter is "
        raise fail("value", f"vmap({name})(<inputs>): {message}unsupported.", ValueError)
    dims = spread(in_dims, args)
    if dims is None:
        asked, had = tree_structure(in_dims), tree_structure(args)
        message = f"in_dims is not compatible with the structure of `inputs`. in_dims has structure {asked} but inputs has structure {had}."
        raise fail("value", head + message, ValueError)
    sizes = []
    for place, (dim, one) in enumerate(zip(dims, tree_leaves(args), strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            message = f"Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            raise fail("value", head + message, ValueError)
        if not isinstance(one, Tensor):
            message = f"Got in_dim={dim} for an input but the input is of type {type(one)}. We cannot vmap over non-Tensor arguments, "
            raise fail("value", f"{head}{message}please use None as the respective in_dim", ValueError)
        if not -one.dim() <= dim < one.dim():
            message = (f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {one.dim()} so expected in_dim to "
                       f"satisfy -{one.dim()} <= in_dim < {one.dim()}.")  # fmt: skip
            raise fail("value", head + message, ValueError)
        dims[place] = dim % one.dim()
        sizes.append(one.shape[dim])
    if not sizes:
        raise fail("value", "vmap: Expected at least one Tensor to vmap over", ValueError)
    if len(set(sizes)) > 1:
        message = f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        raise fail("shape", message, ValueError)
    return dims, int(sizes[0])


def _ends(name: str, out_dims: object, results: object) -> list[Any]:
    """Return the dimension that the batch becomes in each tensor of the results."""
    given = out_dims[0] if isinstance(results, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1 else out_dims
    dims = spread(given, results)
    if dims is None:
        asked, had = tree_structure(out_dims), tree_structure(results)
        head = f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`."
        raise fail("value", f"{head} out_dims has structure {asked} but outputs has structure {had}.", ValueError)
    for dim, one in zip(dims, tree_leaves(results), strict=True):
        if dim is not None and not isinstance(one, Tensor):
            message = f"`{name}` must only return Tensors, got type {type(one)}. Did you mean to set out_dims= to None for output?"
            raise fail("type", f"vmap({name}, ...): {message}", ValueError)
    return [dim for dim, one in zip(dims, tree_leaves(results), strict=True) if isinstance(one, Tensor)]


def _picked(args: tuple[object, ...], dims: list[int | None], row: int | None) -> Any:
    """Return the arguments with one element of each batch, zeros of its shape for no row."""
    zeros: Any = find("zeros")
    tensors = [(one, dim) for one, dim in zip(tree_leaves(args), dims, strict=True) if isinstance(one, Tensor)]
    return rebuilt(args, iter([
        one if dim is None else one.select(dim, row) if row is not None
        else zeros([extent for place, extent in enumerate(one.shape) if place != dim], dtype=one.dtype)
        for one, dim in tensors]))


def _columns(rows: list[Any]) -> list[tuple[Tensor, ...]]:
    """Return, for each tensor of a tree, what it is in every row."""
    return list(zip(*map(tensors_of, rows), strict=True))


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
