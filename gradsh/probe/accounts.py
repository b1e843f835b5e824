"""Bytes by owner: each memory counted once, for the first of leaves, gradients, variables and the graph that holds it."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_bytes, memory_key, owner_of
from gradsh.probe.given import arrays_in, arrays_instead
from gradsh.probe.names import named_tensors, roots_among
from gradsh.probe.snapshot import nodes_below_all


class Account(NamedTuple):
    """Bytes by owner. `leaves` includes parameters and their module's buffers' kin: every leaf that needs a gradient.

    `saved` counts all memories that saved tensors of live graphs stand in, whoever else holds them; `graph` those of them
    that nothing but graphs holds. leaves + gradients + variables + graph is the total; each memory counts once.
    """

    leaves: int
    gradients: int
    variables: int
    graph: int
    saved: int
    nodes: int

    @property
    def total(self) -> int:
        """All bytes, each memory once."""
        return self.leaves + self.gradients + self.variables + self.graph


def take_account(variables: Mapping[str, object], more: Iterable[Node] = (), looked: list[int] | None = None) -> Account:
    """Count the memories that the variables hold, and the graphs below them and below the nodes `autograd_meta`.

    What it looked at to find the variables' tensors is added to `looked`.
    """
    named = list(named_tensors(variables, looked))
    saved, nodes = saved_memories([*(node for _, node in roots_among(named)), *more])
    return account_of((tensor for _, tensor in named), saved, sum(saved.values()), nodes)


def account_of(tensors: Iterable[Tensor], saved: Mapping[int, int], total: int, nodes: int) -> Account:
    """Count the memories that tensors hold beside those that are `saved` (memory -> bytes, in `total`) for backward."""
    leaves: dict[int, int] = {}
    gradients: dict[int, int] = {}
    others: dict[int, int] = {}
    for tensor in tensors:
        note(tensor, leaves, gradients, others)
    for key in leaves:
        gradients.pop(key, None)
        others.pop(key, None)
    for key in gradients:
        others.pop(key, None)
    named = sum(saved.get(key, 0) for part in (leaves, gradients, others) for key in part)
    return Account(sum(leaves.values()), sum(gradients.values()), sum(others.values()), total - named, total, nodes)


def note(tensor: Tensor, leaves: dict[int, int], gradients: dict[int, int], others: dict[int, int]) -> None:
    """Put the memories of a tensor, of the base it is a view of, and of its gradients where they belong."""
    leaf = tensor.edge is None and (tensor.needs_grad or isinstance(tensor, Parameter))
    owner = owner_of(tensor.array)
    (leaves if leaf else others)[id(owner)] = bytes_of(owner)
    meta: Any = tensor.meta
    if meta is None or meta.grad is None:
        return
    seen = {id(tensor)}
    while meta is not None and meta.grad is not None and id(meta.grad) not in seen:
        seen.add(id(meta.grad))
        gradients[memory_key(meta.grad.array)] = memory_bytes(meta.grad.array)
        meta = meta.grad.meta


def saved_memories(roots: Iterable[Node]) -> tuple[dict[int, int], int]:
    """Return the memories that live saved tensors below the roots stand in (key -> bytes), and how many nodes there are.

    What is kept in a saved tensor's place counts as well: what a hook packed, the arguments of a checkpoint; and the tensors
    that a custom function put on its ctx, which no backward frees.
    """
    seen: set[Node] = set()
    return memories_in(nodes_below_all(roots, seen)), len(seen)


def memories_in(nodes: Iterable[Node]) -> dict[int, int]:
    """Return the memories that live saved tensors of some nodes stand in (key -> bytes), as `saved_memories` counts them."""
    return {id(owner): bytes_of(owner) for node in nodes for owner in owners_in(node)}


def owners_in(node: Node) -> list[Array]:
    """Return the arrays that own the memories which a node's live saved tensors stand in, one for each."""
    arrays = arrays_in(node)
    if type(node) is not CompactNode and (own := getattr(node, "own", None)):
        arrays = [*arrays, *arrays_instead(own)]  # what a custom function put on its ctx lives with the graph, too
    return [array if array.base is None else owner_of(array) for array in arrays]
