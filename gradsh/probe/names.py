"""Which name leads to which tensor: the paths (`h`, `losses[2]`, `net.fc.weight`) by which a program holds tensors.

Only looks; values are reached through lists, tuples, dicts, sets, modules and the attributes of objects that scripts
made, never through the engine's graph.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from types import FrameType, FunctionType, GeneratorType, MethodType, ModuleType, NoneType
from typing import Any

from gradsh.api.namespace import Namespace
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Parameter, Tensor
from gradsh.engine.values.storage import memory_key
from gradsh.probe.foreign import tensor_of
from gradsh.probe.modules import is_module

_LONG = 200  # characters of a key that are shown
_WORDS = 10
_LONGEST = 20_000  # values looked at inside containers; a program's own data may be of any size


def named_tensors(variables: Mapping[str, object], looked: list[int] | None = None) -> Iterator[tuple[str, Tensor]]:
    """Yield (path, tensor) for every tensor that a variable leads to, each path once; add to `looked` how many values that took."""
    return ((path, tensor) for path, _, tensor in _reached(variables, looked) if tensor is not None)


def named_modules(variables: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield (path, module) for every module that a variable leads to, each once."""
    return ((path, value) for path, value, tensor in _reached(variables) if tensor is None and is_module(value))


def _reached(
    variables: Mapping[str, object], visits: list[int] | None = None
) -> Iterator[tuple[str, object, Tensor | None]]:
    """Yield (path, value, the tensor that it is) for each tensor and container that a variable leads to, without recursion."""
    seen: set[int] = set()
    stack: list[tuple[str, object]] = [
        (name, value) for name, value in reversed(list(variables.items())) if not name.startswith("__")
    ]
    looked = 0
    while stack and looked < _LONGEST:
        path, value = stack.pop()
        looked += 1
        tensor = tensor_of(value)
        if tensor is not None:
            yield path, value, tensor
            continue
        below = _inside(path, value)
        if below is None or id(value) in seen:
            continue
        seen.add(id(value))
        yield path, value, None
        stack.extend(reversed(below))
    if visits is not None:
        visits.append(looked)


def _inside(path: str, value: object) -> list[tuple[str, object]] | None:
    """Return the (path, value) pairs directly inside a container or object, None for what holds nothing.

    Of a container no more than would be looked at: a list may hold more numbers than there is memory for their paths.
    """
    kind: Any
    for kind in (list, tuple, deque):
        if isinstance(value, kind):  # by Python's own method: a script's class may have another
            return [(f"{path}[{place}]", one) for place, one in enumerate(islice(kind.__iter__(value), _LONGEST))]
    if isinstance(value, dict):
        return [(f"{path}[{_key(key)}]", one) for key, one in islice(dict.items(value), _LONGEST)]
    if isinstance(value, (set, frozenset)):
        return [(f"an item of {path}", one) for one in islice(value, _LONGEST)]
    if is_module(value):
        return _module(path, value)
    if isinstance(value, FunctionType):
        return _function(path, value)
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        return None if frame is None else [(f"{path}'s {name}", one) for name, one in _local(frame)]
    if isinstance(value, partial):
        given = [(f"an argument of {path}", one) for one in (*value.args, *value.keywords.values())]
        return [(path, value.func), *given]
    if isinstance(value, MethodType):
        return [(f"{path}.__self__", value.__self__)]
    if isinstance(value, type | ModuleType | Namespace) or type(value).__module__.startswith("numpy"):
        return None
    attributes = getattr(value, "__dict__", None)
    return [(f"{path}.{key}", one) for key, one in attributes.items()] if isinstance(attributes, dict) else None


def _key(key: object) -> str:
    """Return a dictionary's key as it is written; what is no short word or number, in a few words.

    A tensor is such (an optimizer's state has them), and an object whose `__repr__` is a script's own.
    """
    tensor = tensor_of(key)
    if tensor is not None:
        return f"a tensor {tuple(tensor.array.shape)}"
    if type(key) is tuple and len(key) < _WORDS:
        return f"({', '.join(map(_key, key))}{',' * (len(key) == 1)})"
    if (type(key) is str and len(key) <= _LONG) or type(key) in {int, float, bool, NoneType}:
        return repr(key)
    return f"a {type(key).__name__}"


def _function(path: str, function: FunctionType) -> list[tuple[str, object]]:
    """What a script's function holds: the variables that it closes over, and its default values."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = [(f"{path}'s {name}", cell.cell_contents) for name, cell in cells if _filled(cell)]
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return found + [(f"a default of {path}", one) for one in defaults]


def _local(frame: FrameType) -> list[tuple[str, object]]:
    """Return the variables of a frame; what Python makes to answer is emptied, so that it holds nothing."""
    local = frame.f_locals
    found = [(name, one) for name, one in local.items() if name.isidentifier()]
    if isinstance(local, dict):
        local.clear()
    return found


def _module(path: str, module: object) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, one in vars(module).items():
        if key in {"_parameters", "_buffers", "_modules"} and isinstance(one, dict):
            found.extend((f"{path}[{name}]" if name.isdigit() else f"{path}.{name}", each) for name, each in one.items())
        elif not key.startswith("_"):
            found.append((f"{path}.{key}", one))
    return found


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (an empty cell raises)
    except ValueError:
        return False
    return True


_OPTIMIZER = ".param_groups["
"""In the path of a parameter as an optimizer lists it: a name only for what has no other."""


def of_program(named: Iterable[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    """Return named tensors without the names by which optimizers list what has another one."""
    found = list(named)
    plain = {id(tensor) for path, tensor in found if _OPTIMIZER not in path}
    return [(path, tensor) for path, tensor in found if _OPTIMIZER not in path or id(tensor) not in plain]


def _rank(named: tuple[str, Tensor]) -> int:
    """Rank a name: a parameter's place in its net tells more than the `p` that a loop left behind."""
    path, tensor = named
    return 2 if _OPTIMIZER in path else int(isinstance(tensor, Parameter) and path.isidentifier())


class Names:
    """The names of a program's tensors, by tensor, by node and by memory."""

    __slots__ = ("memory", "nodes", "tensors")

    def __init__(self, variables: Mapping[str, object]) -> None:
        self.tensors: dict[int, list[str]] = {}
        self.nodes: dict[Node, list[tuple[str, int]]] = {}
        """node -> (path, output number) of the tensors it made"""
        self.memory: dict[int, list[tuple[str, bool]]] = {}
        """memory -> (path, whether it is a parameter or another leaf that needs a gradient)"""
        for path, tensor in sorted(named_tensors(variables), key=_rank):
            if _OPTIMIZER not in path or id(tensor) not in self.tensors:
                self._add(path, tensor)

    def _add(self, path: str, tensor: Tensor) -> None:
        first = id(tensor) not in self.tensors
        self.tensors.setdefault(id(tensor), []).append(path)
        leaf = tensor.edge is None and tensor.needs_grad
        self.memory.setdefault(memory_key(tensor.array), []).append((path, leaf or isinstance(tensor, Parameter)))
        meta = tensor.meta
        if tensor.edge is not None:
            self.nodes.setdefault(tensor.edge[0], []).append((path, tensor.edge[1]))
        elif meta is not None and meta.accumulator is not None:
            node = meta.accumulator()
            if node is not None:
                self.nodes.setdefault(node, []).append((path, 0))
        if first and meta is not None and meta.grad is not None and meta.grad is not tensor:
            self._add(f"{path}.grad", meta.grad)

    def of_node(self, node: Node) -> tuple[str, ...]:
        """Return the names bound to the results of a node."""
        found = self.nodes.get(node)
        return () if found is None else tuple(path for path, _ in found)

    def of_memory(self, key: int) -> tuple[str, ...]:
        """Return the names that hold a memory (see `storage.memory_key`)."""
        if key not in self.memory:
            return ()
        return tuple(path for path, _ in self.memory.get(key, ()))

    def of_leaf(self, leaf: Tensor) -> str:
        """Return a leaf's first name, or words for one that no variable holds."""
        paths = self.tensors.get(id(leaf))
        return paths[0] if paths else f"an unnamed leaf {tuple(leaf.array.shape)}"


def roots_of(variables: Mapping[str, object]) -> list[tuple[str, Node]]:
    """Return (path, grad_fn) of each tensor that a variable leads to and that has a history; of its gradient, too."""
    return roots_among(named_tensors(variables))


def roots_among(named: Iterable[tuple[str, Tensor]]) -> list[tuple[str, Node]]:
    """Return (path, grad_fn) of those of some named tensors that have a history, and of their gradients."""
    found: list[tuple[str, Node]] = []
    for path, tensor in named:
        seen: set[int] = set()
        held: Tensor | None = tensor
        while held is not None:
            edge = held.edge
            if edge is not None and not isinstance(edge[0], AccumulateGrad):
                found.append((path, edge[0]))
            if held.meta is None or held.meta.grad is None or id(held) in seen:
                break
            seen.add(id(held))
            held = held.meta.grad
            path += ".grad"
    return found


def top_name(path: str) -> str:
    """Return the variable that a path begins with: `net` of `net.fc.weight`, `losses` of `losses[2]`."""
    head = path.removeprefix("an item of ").removeprefix("a default of ").removeprefix("an argument of ")
    for mark in (".", "[", "'"):
        head = head.partition(mark)[0]
    return head
