"""PyTorch's tensors and graph in the form of the engine's, so that the probes read them: a `World` lasts for one question.

Nothing here runs an unpack hook or keeps anything alive after the question. What a node saved is read through
`_raw_saved_NAME.data`; where a tensor may have been modified, its own check (`_saved_NAME`) tells the version that it
was saved at, unless hooks have packed it.
"""

import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from gradsh.engine.graph.node import LAST, Node
from gradsh.engine.graph.tensor import AccumulateGrad, AutogradMeta, Tensor
from gradsh.engine.values.storage import VersionCounter
from gradsh.lens import older
from gradsh.lens.arrays import Storage, TorchArray, TorchDType, dtype_of
from gradsh.lens.lines import LineTracer
from gradsh.lens.nodes import TorchNode, TorchParameter, TorchTensor
from gradsh.lens.saved_tensors import MARK, UNWRITTEN, TorchSaved, entry_at, gone, is_freed, saved_names, saved_version
from gradsh.lens.uses import only_these, storage_uses
from gradsh.lens.writes import Writes
from gradsh.probe.foreign import looking
from gradsh.probe.module_paths import ModulePaths

_UNMARKED: tuple[None, None, tuple[()]] = (None, None, ())


class World:
    """Answers the probes for one question: each tensor, node and storage has one object in it."""

    def __init__(self, lines: LineTracer, writes: Writes) -> None:
        self.lines = lines
        self.log = lines.log()
        self.writes = writes
        self.tensors: dict[int, TorchTensor] = {}
        self.nodes: dict[object, Node] = {}
        self.leaves: dict[int, AccumulateGrad] = {}
        """id of a leaf -> its node"""
        self.storages: dict[int, Storage] = {}
        self.arrays: dict[int, TorchArray] = {}
        """id of a tensor -> what stands for its array, which keeps the tensor while the question lasts"""
        self.packed: list[TorchSaved] = []
        """Entries in whose place a hook keeps something"""
        self.shapes: dict[Any, tuple[int, ...]] = {}
        self.before: int | None = None
        """Where it is set, what the pass of this number freed counts as not freed: a pass that failed is looked at."""

    def close(self) -> None:
        """Let go of everything: objects that a report holds by mistake keep no tensor alive."""
        for node in self.nodes.values():
            if type(node) is TorchNode:
                node.torch, node._entries = None, ()
        for saved in self.packed:
            saved.packed = None
        for tensor in self.tensors.values():
            tensor.meta, tensor.grad_fn_ref, tensor._base = None, None, None
            del tensor.torch
        for array in self.arrays.values():
            array.tensor = None
        self.arrays.clear()
        self.tensors.clear()
        self.nodes.clear()
        self.leaves.clear()

    # --- tensors --------------------------------------------------------------------------------------------------

    def tensor(self, value: object) -> TorchTensor | None:
        """Return the mirror of a tensor of PyTorch's, None for any other value."""
        if not isinstance(value, torch.Tensor):
            return None
        known = self.tensors.get(id(value))
        return known if known is not None else self._mirror(value)

    def shown(self, value: object) -> Any:
        """Return the mirror of a tensor, and any other value as it is."""
        found = self.tensor(value)
        return value if found is None else found

    def is_module(self, value: object) -> bool:
        """Whether a value is a module of PyTorch's."""
        return isinstance(value, torch.nn.Module)

    @staticmethod
    def module_paths(variables: Mapping[str, object]) -> ModulePaths:
        """Return how the variables lead to each module, read already: it may be asked when this world is over."""
        found = ModulePaths(variables)
        found.read()
        return found

    def _mirror(self, value: torch.Tensor) -> TorchTensor:
        with torch._C.DisableTorchFunction():
            fresh: TorchTensor = object.__new__(TorchParameter if isinstance(value, torch.nn.Parameter) else TorchTensor)
            self.tensors[id(value)] = fresh
            fresh.torch = value
            fresh.array = self.array(value)  # type: ignore[assignment]
            fresh.descriptor = None
            fresh.meta = None
            fresh.grad_fn_ref = None
            fresh.poisoned = False
            fresh.needs_grad = False
            try:
                function, leaf = value.grad_fn, value.is_leaf
                fresh.needs_grad = value.requires_grad
            except RuntimeError:
                function, leaf, fresh.poisoned = None, False, True
            if function is not None:
                node = self.node(function)
                fresh.grad_fn_ref = (node, value.output_nr) if value.output_nr else node
            fresh.own_counter = self.counter(value)
            base = None if fresh.poisoned else value._base
            fresh._base = None if base is None else self.tensor(base)
            if not fresh.poisoned and (leaf or value.retains_grad):
                self._add_meta(fresh, value)
        return fresh

    def _add_meta(self, fresh: TorchTensor, value: torch.Tensor) -> None:
        grad, node = value.grad, self.leaves.get(id(value))
        if grad is None and node is None:
            return
        fresh.meta = AutogradMeta()
        fresh.meta.grad = None if grad is None else self.tensor(grad)
        fresh.meta.retains = bool(value.retains_grad)
        if node is not None:
            fresh.meta.accumulator = weakref.ref(node)

    def array(self, value: torch.Tensor) -> TorchArray:
        """Return what stands for the array of a tensor."""
        known = self.arrays.get(id(value))
        if known is None:
            dtype, size = dtype_of(value.dtype), value.shape
            shape = self.shapes.get(size)
            if shape is None:
                shape = self.shapes[size] = tuple(size)
            known = self.arrays[id(value)] = TorchArray(value, shape, dtype, value.numel() * dtype.itemsize, self.storage(value, dtype))
        return known

    def storage(self, value: torch.Tensor, dtype: TorchDType) -> Storage:
        """Return the memory of a tensor; of one without a storage (sparse ones, wrappers), its elements."""
        try:
            storage = value.untyped_storage()
            key = storage._cdata
        except (RuntimeError, NotImplementedError):
            key = -id(value)
            return self.storages.setdefault(key, Storage(key, value.numel() * dtype.itemsize))
        found = self.storages.get(key)
        if found is None:
            found = self.storages[key] = Storage(key, storage.nbytes())
        return found

    def counter(self, value: torch.Tensor) -> VersionCounter:
        """Return a counter that tells the version of a tensor, and the writes to its memory that were seen."""
        try:
            version = value._version
        except RuntimeError:  # an inference tensor has none
            return UNWRITTEN
        if not version:
            return UNWRITTEN
        counter = VersionCounter()
        counter.version = version
        counter.writes = self.writes.of(value, version)
        return counter

    # --- nodes ----------------------------------------------------------------------------------------------------

    def node(self, root: Any) -> Node:
        """Return the mirror of a node of PyTorch's, and make those of all below it."""
        known = self.nodes.get(root)
        if known is not None:
            return known
        made: list[tuple[Node, Any]] = []
        stack = [root]
        with torch._C.DisableTorchFunction():
            while stack:
                function = stack.pop()
                if function in self.nodes:
                    continue
                below = function.next_functions
                fresh: Node = self._leaf(function) if not below and _is_leaf(function) else self._inner(function)
                self.nodes[function] = fresh
                made.append((fresh, below))
                stack += [one for one, _ in below if one is not None]
            nodes = self.nodes
            for fresh, below in made:
                fresh.edges = tuple([None if one is None else (nodes[one], number) for one, number in below])
        return self.nodes[root]

    def _leaf(self, function: Any) -> AccumulateGrad:
        fresh: AccumulateGrad = object.__new__(AccumulateGrad)
        fresh.raw, fresh.extra, fresh.location, fresh.seq = (), None, None, LAST
        variable = function.variable
        self.leaves[id(variable)] = fresh
        fresh.variable = self._mirror(variable) if id(variable) not in self.tensors else self.tensors[id(variable)]
        if fresh.variable.meta is None:
            fresh.variable.meta = AutogradMeta()
        fresh.variable.meta.accumulator = weakref.ref(fresh)
        fresh.outputs = ((fresh.variable.array.shape, fresh.variable.array.dtype),)
        return fresh

    def _inner(self, function: Any) -> TorchNode:
        fresh: TorchNode = object.__new__(TorchNode)
        fresh.torch = function
        fresh.title = function.name()
        fresh.extra = None
        number = function._sequence_nr()
        fresh.seq = number
        fresh.location = self.log.find(number) or self.lines.find(number)
        fresh._entries = None
        names = saved_names(function)
        fresh.found = tuple(self._saved(function, names)) if names else ()
        return fresh

    def _saved(self, function: Any, names: tuple[tuple[str, str], ...]) -> Iterable[TorchSaved]:
        found: list[TorchSaved] = []
        for name, attribute in names:
            try:
                raw: Any = entry_at(function, attribute)
            except RuntimeError:
                continue
            if type(raw) is not tuple:
                self._add(found, function, name, None, raw)
                continue
            for index, one in enumerate(raw):
                self._add(found, function, name, index, one)
        if found and not found[0].freed:
            return found  # `metadata` is not asked for: PyTorch makes a dict for each node that is
        place, number, outlines = function.metadata.get(MARK, _UNMARKED)
        if not outlines:
            return found
        # What the pass that is looked at freed had nothing wrong with it.
        return () if number == self.before else [gone(place, *outline) for outline in outlines]

    def _add(self, found: list[TorchSaved], function: Any, name: str, index: int | None, raw: Any) -> None:
        """Add what stands for an entry to those of its node, if it has a tensor or had one."""
        data = raw.data
        if raw.unpack_hook is not None:
            found.append(self._packed(name, index, raw, data))
        elif data is not None:
            if older.NEEDED and raw.written is not None:
                found.append(self._written(function, name, index, raw))
                return
            array = self.arrays.get(id(data)) or self.array(data)
            saved = TorchSaved(name, index, array.shape, array.dtype, array.nbytes, array)
            counter = self.counter(data)
            if counter is not UNWRITTEN:
                saved.counter, saved.current_version = counter, counter.version
                saved.version = saved_version(function, name, index, raw, counter.version)
            found.append(saved)
        elif is_freed(raw):
            found.append(gone(None, name, index, (), None))

    def _written(self, function: Any, name: str, index: int | None, raw: Any) -> TorchSaved:
        """Return an entry that was written since it was saved, of which an older PyTorch tells the shape and versions alone."""
        now, version = raw.written
        leaves = [edge[0].variable for edge in function.next_functions if hasattr(edge[0], "variable")]
        met = [one.torch for one in self.tensors.values() if not one.poisoned]
        data = older.only_one(raw.data, now, [*leaves, *met])
        array = self.array(raw.data if data is None else data)
        saved = TorchSaved(name, index, array.shape, array.dtype, array.nbytes, array)
        saved.version, saved.current_version = version, now
        saved.counter = VersionCounter()
        saved.counter.version = now
        guessed = self.writes.guess(version, now, array.nbytes, function._sequence_nr()) if data is None else []
        saved.counter.writes = guessed if data is None else self.writes.of(data, now)
        return saved

    def _packed(self, name: str, index: int | None, raw: Any, data: object) -> TorchSaved:
        held = data if isinstance(data, torch.Tensor) else None
        if isinstance(data, tuple | list):
            held = next((one for one in data if isinstance(one, torch.Tensor)), None)
        array = None if held is None else self.array(held)
        shape, dtype = ((), dtype_of(torch.uint8)) if array is None else (array.shape, array.dtype)
        saved = TorchSaved(name, index, shape, dtype, 0 if array is None else array.nbytes)
        saved.recomputed = type(data).__name__ == "_Holder"
        saved.version = saved.current_version = None
        saved.packed = (raw.unpack_hook, data, shape, dtype)
        self.packed.append(saved)
        return saved

    # --- memories -------------------------------------------------------------------------------------------------

    def given_back(self, nodes: Iterable[Node]) -> dict[int, int]:
        """Return the memories (key -> bytes) that nothing holds but live entries of these nodes, told by PyTorch's own counts."""
        entries: dict[int, list[Any]] = {}
        copies: set[int] = set()
        named = {id(tensor.array.base) for tensor in self.tensors.values()}
        for node in nodes:
            for saved in node.found if isinstance(node, TorchNode) else ():
                if isinstance(saved.array, TorchArray) and id(saved.array.base) not in named:
                    entries.setdefault(id(saved.array.base), []).append(saved.array)
                    if older.NEEDED and older.is_copy(node.torch, saved.name, saved.index, saved.array.tensor):
                        copies.add(id(saved.array.tensor))
        return {key: arrays[0].base.nbytes for key, arrays in entries.items() if only_these(arrays, copies)}

    def unaccounted(self, tensor: Tensor) -> int:
        """Return how many tensors of PyTorch's stand in a tensor's memory beside those that were met."""
        storage = tensor.array.base
        met = {id(one.torch) for one in self.tensors.values() if one.array.base is storage}
        for node in self.nodes.values():
            for saved in node.found if isinstance(node, TorchNode) else ():
                if isinstance(saved.array, TorchArray) and saved.array.base is storage:
                    met.add(id(saved.array.tensor))
        count = storage_uses(storage.key)  # type: ignore[union-attr]
        return 0 if count is None else max(0, count - len(met))


def _is_leaf(function: Any) -> bool:
    return hasattr(function, "variable") and function.name().endswith("AccumulateGrad")


@contextmanager
def world_of(lines: LineTracer, writes: Writes) -> Iterator[World]:
    """Let the probes look at PyTorch's world within the block."""
    world = World(lines, writes)
    token = looking.set(world)
    try:
        yield world
    finally:
        looking.reset(token)
        world.close()


@contextmanager
def apart() -> Iterator[None]:
    """Leave the world that is looked at within the block: another program runs there."""
    token = looking.set(None)
    try:
        with torch._C._EnableTorchFunction():
            yield
    finally:
        looking.reset(token)
