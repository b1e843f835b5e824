"""How a program stands: its names, its tensors' gradients and versions, what its graphs hold. Two of these are compared."""

from collections.abc import Mapping
from typing import NamedTuple

from gradsh.engine.dispatch.inference import is_inference
from gradsh.engine.graph.saved import FreedVariables
from gradsh.engine.graph.tensor import Tensor
from gradsh.probe.changes import told
from gradsh.probe.names import named_tensors, roots_of
from gradsh.probe.passes import saved_inside
from gradsh.probe.snapshot import nodes_below


class TensorStanding(NamedTuple):
    """A tensor's version, and a digest of its gradient (None: it has none)."""

    version: int | None
    grad: int | None


class Standing(NamedTuple):
    """What each name is, in words; the tensors by path; how many saved tensors are live below them, and their bytes."""

    names: dict[str, str]
    tensors: dict[str, TensorStanding]
    live: int
    nbytes: int


def standing(variables: Mapping[str, object]) -> Standing:
    """Return how a program stands now."""
    names = {name: _words(value) for name, value in variables.items() if name.isidentifier() and name[:2] != "__"}
    tensors = {path: _tensor(tensor) for path, tensor in named_tensors(variables)}
    live = nbytes = 0
    seen: set[object] = set()
    for _, root in roots_of(variables):
        for node in nodes_below(root, seen):  # type: ignore[arg-type]  # a set of nodes
            if type(node.entries) is not FreedVariables:
                saved = list(saved_inside(node))
                live, nbytes = live + len(saved), nbytes + sum(one.nbytes for one in saved)
    return Standing(names, tensors, live, nbytes)


def _tensor(tensor: Tensor) -> TensorStanding:
    grad = None if tensor.meta is None else tensor.meta.grad
    version = None if is_inference(tensor) else tensor.counter.version
    return TensorStanding(version, None if grad is None else hash(grad.array.tobytes()))


def _words(value: object) -> str:
    plain = isinstance(value, (bool, int, float, str)) or value is None
    return repr(value)[:40] if plain else told(value)
