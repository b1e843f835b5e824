"""The bytes that a training step needs: parameters, gradients, the optimizer's state, what is saved for the pass, other tensors.

Each memory counts once, for the first of these that holds it. Calls of modules are followed by the sequence numbers that
their nodes got, so that bytes are told by module on any engine, and blocks can be run under a checkpoint.
"""

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Parameter, Tensor
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_bytes, memory_key
from gradsh.probe.foreign import tensor_of
from gradsh.probe.given import arrays_in
from gradsh.probe.modules import modules_of
from gradsh.probe.names import named_tensors
from gradsh.probe.snapshot import nodes_below

Sums = tuple[tuple[str, int], ...]
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")


class Budget(NamedTuple):
    """Bytes of a training step. `recomputed` are those of the largest block, while a checkpoint has it computed again.

    `by_line` and `by_module` divide `saved`, the most first; `block` is the most that one block saves, `blocks` how many there are.
    """

    parameters: int
    gradients: int
    state: int
    saved: int
    others: int
    recomputed: int = 0
    by_line: Sums = ()
    by_module: Sums = ()
    block: int = 0
    blocks: int = 0
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All bytes, each memory once."""
        return self.parameters + self.gradients + self.state + self.saved + self.others + self.recomputed


class ModuleCall(NamedTuple):
    """A call of a module: its path, whether it is a block, the numbers of its nodes, its arguments, weakly held."""

    path: str
    block: bool
    first: int
    last: int
    arguments: tuple[weakref.ref[Any], ...]


class MeasuredProgram(Protocol):
    """What is asked of a program that is run to be measured: a session."""

    machine: Any

    def module_class(self) -> Any:
        """Return the class of all modules."""

    def checkpointing(self) -> Callable[..., object]:
        """Return the program's `checkpoint`."""

    def next_mark(self) -> int:
        """Return a sequence number that no node made so far exceeds."""

    def look(self) -> AbstractContextManager[Any]:
        """Let the probes look at the program's tensors within the block."""


class ModuleCalls:
    """Follows the calls of modules in a program that is run to be measured.

    With `checkpointed`, its blocks are called by its `checkpoint`.
    """

    def __init__(self, program: MeasuredProgram, *, checkpointed: bool) -> None:
        self.program = program
        self.home = program.module_class()
        self.checkpoint = program.checkpointing() if checkpointed else None
        self.calls: list[ModuleCall] = []
        self.blocks: set[int] = set()
        self._known: dict[int, tuple[str, object]] = {}

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the calls within the block."""
        original = self.home.__call__

        def call(module: Any, *args: Tensor, **kwargs: object) -> Any:
            return self._call(original, module, args, kwargs)

        self.home.__call__ = call
        try:
            yield
        finally:
            self.home.__call__ = original

    def _call(self, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
        if id(module) not in self._known:
            self._learn(module)
        path, block = self._known[id(module)][0], id(module) in self.blocks
        first = self.program.next_mark()
        if block and self.checkpoint is not None:
            found = self.checkpoint(partial(original, module), *args, use_reentrant=False, **kwargs)
        else:
            found = original(module, *args, **kwargs)
        given = (*args, *kwargs.values()) if block else ()
        held = tuple(weakref.ref(one) for one in given if hasattr(one, "requires_grad"))
        self.calls.append(ModuleCall(path, block, first, self.program.next_mark(), held))
        return found

    def _learn(self, module: object) -> None:
        """Find what a module is called, and the blocks of the net that it belongs to."""
        held = [(name, one) for name, one in self.program.machine.variables().items() if isinstance(one, self.home)]
        with self.program.look():
            trees = [(name, dict(modules_of(one))) for name, one in (*held, (type(module).__name__, module))]
        name, tree = next((name, tree) for name, tree in trees if any(one is module for one in tree.values()))
        self.blocks |= {id(tree[path]) for path in blocks_of(tree)}
        for path, one in tree.items():
            self._known.setdefault(id(one), (f"{name}.{path}" if path else name, one))


def blocks_of(tree: Mapping[str, object]) -> set[str]:
    """Return the paths of a net's blocks: the outermost modules with parts of their own that stand beside others of their class.

    A container of such modules (a stage of a net) is looked into, not taken for a block.
    """
    beside: dict[tuple[str, type], list[str]] = {}
    parents = {path.rpartition(".")[0] for path in tree if path}
    for path in parents - {""}:
        beside.setdefault((path.rpartition(".")[0], type(tree[path])), []).append(path)
    repeated = {path for paths in beside.values() if len(paths) > 1 for path in paths}
    stages = {path for path in repeated if type(tree[path]).__name__ in {"Sequential", "ModuleList"} and _below(path, repeated)}
    found = repeated - stages
    return {path for path in found if not any(path.startswith(f"{other}.") for other in found)}


def _below(path: str, paths: Iterable[str]) -> bool:
    return any(one.startswith(f"{path}.") for one in paths)


def budget_of(
    roots: Iterable[Tensor], variables: Mapping[str, object], line_of: LineOf, followed: ModuleCalls,
    notes: tuple[str, ...] = (),
) -> Budget:
    """Return what a training step needs whose pass begins at `roots`."""
    seen: set[Node] = set()
    for root in roots:
        for _ in nodes_below(root.edge[0], seen) if root.edge is not None else ():
            pass
    nodes = sorted(seen, key=lambda node: node.seq)
    leaves = [node.variable for node in nodes if type(node) is AccumulateGrad]
    named = list(named_tensors(variables))
    state = set(_optimizer_state(named))
    taken: set[int] = set()
    parameters = _sum(taken, [*leaves, *(one for _, one in named if one.edge is None and (one.needs_grad or isinstance(one, Parameter)))])
    gradients = _gradients(taken, leaves, (one for _, one in named))
    kept = _sum(taken, (one for path, one in named if path in state))
    saved = _saved(nodes, taken)
    kept_inputs = _inputs(followed, nodes) if followed.checkpoint is not None else ()
    inputs = _sum(taken, kept_inputs)
    owners = owners_of(followed.calls)
    by_line = sums((_line(line_of(node.location)), nbytes) for node, nbytes in saved)
    by_module = sums((_folded(owners.get(node.seq, ("", 0))[0]), nbytes) for node, nbytes in saved)
    by_block = sums((str(number), nbytes) for node, nbytes in saved if (number := owners.get(node.seq, ("", 0))[1]))
    return Budget(
        parameters, gradients, kept, sum(nbytes for _, nbytes in saved) + inputs, _sum(taken, (one for _, one in named)), 0,
        by_line, by_module, by_block[0][1] if by_block else 0, len(followed.blocks), notes,
    )


def _sum(taken: set[int], tensors: Iterable[Tensor]) -> int:
    """Return the bytes of memories that are not taken yet, and take them."""
    total = 0
    for tensor in tensors:
        key = memory_key(tensor.array)
        if key not in taken:
            taken.add(key)
            total += memory_bytes(tensor.array)
    return total


def _gradients(taken: set[int], leaves: Iterable[Tensor], named: Iterable[Tensor]) -> int:
    """Return the bytes of the gradients that are there, and of those that the pass will make."""
    reached = {id(leaf): leaf for leaf in leaves}
    there = [one.meta.grad for one in (*reached.values(), *named) if one.meta is not None and one.meta.grad is not None]
    missing = [leaf for leaf in reached.values() if leaf.meta is None or leaf.meta.grad is None]
    return _sum(taken, there) + sum(bytes_of(leaf.array) for leaf in missing)


def optimizers_in(variables: Mapping[str, object]) -> list[str]:
    """Return the paths of the optimizers that variables lead to."""
    return _optimizers(path for path, _ in named_tensors(variables))


def _optimizers(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(path.partition(".param_groups[")[0] for path in paths if ".param_groups[" in path))


def _optimizer_state(named: list[tuple[str, Tensor]]) -> Iterator[str]:
    begins = tuple(f"{path}.state[" for path in _optimizers(path for path, _ in named))
    return (path for path, _ in named if begins and path.startswith(begins))


def _saved(nodes: Iterable[Node], taken: set[int]) -> list[tuple[Node, int]]:
    """Return (node, bytes) of each memory that is saved and not taken yet, the node that saved it first."""
    found = []
    for node in nodes:
        for array in () if type(node) is AccumulateGrad else arrays_in(node):
            key = memory_key(array)
            if key not in taken:
                taken.add(key)
                found.append((node, memory_bytes(array)))
    return found


def _inputs(followed: ModuleCalls, nodes: Iterable[Node]) -> Iterator[Tensor]:
    """Yield what the checkpointed blocks of the graph were called with, which is kept until they are computed again."""
    numbers = {node.seq for node in nodes}
    for call in followed.calls:
        if call.block and not numbers.isdisjoint(range(call.first, call.last + 1)):
            yield from (tensor for one in call.arguments if (tensor := tensor_of(one())) is not None)


def owners_of(calls: Iterable[ModuleCall]) -> dict[int, tuple[str, int]]:
    """Return by sequence number the innermost module that was called, and the number of the block's call, 0 for none."""
    found: dict[int, tuple[str, int]] = {}
    for place, call in enumerate(calls, 1):  # inner calls end before outer ones
        for number in range(call.first + 1, call.last + 1):
            path, block = found.get(number, (call.path, 0))
            found[number] = (path, place if call.block else block)
    return found


def _folded(path: str) -> str:
    """Return a module's path with `*` for the numbers in it: the layers of a net are told together."""
    return _NUMBER.sub("*", path) or "no module"


def _line(line: int | None) -> str:
    return "no line" if line is None else f"line {line}"


def sums(pairs: Iterable[tuple[str, int]]) -> Sums:
    """Return (name, bytes) with the bytes of a name added up, the most first."""
    found: dict[str, int] = {}
    for name, nbytes in pairs:
        found[name] = found.get(name, 0) + nbytes
    return tuple(sorted(found.items(), key=lambda one: -one[1]))
