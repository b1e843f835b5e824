"""PyTorch's tensors and graph in the form of the engine's, so that the probes read them: a `World` lasts for one question.

Nothing here runs an unpack hook or keeps anything alive after the question. What a node saved is read through
`_raw_saved_NAME.data`; where a tensor may have been modified, its own check (`_saved_NAME`) tells the version that it
was saved at, unless hooks have packed it.
"""

import re
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from gradsh.engine.graph.node import FREED_SENTENCE, LAST, Node
from gradsh.engine.graph.saved import FreedVariables, SavedTensor, SavedVariable
from gradsh.engine.graph.tensor import AccumulateGrad, AutogradMeta, Parameter, Tensor
from gradsh.engine.values.storage import VersionCounter
from gradsh.lens.arrays import Storage, TorchArray, TorchDType, dtype_of
from gradsh.probe.foreign import looking
from gradsh.probe.modules import modules_of
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.lens.watcher import Watcher

MARK = "gradsh"
"""The key in `node.metadata` under which stands what is known of a node: lines and shapes, no tensors."""
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_RAW = "_raw_saved_"
_UNWRITTEN = VersionCounter()
"""The counter of every tensor that was never written: nobody writes here."""
_NAMES: dict[type, tuple[tuple[str, str], ...]] = {}


class Spent:
    """What is noted in a node's metadata: the place that freed it, and its saved tensors' names, shapes and dtypes."""

    __slots__ = ("number", "outlines", "place")

    def __init__(self, place: Any, number: int, outlines: tuple[tuple[str, int | None, tuple[int, ...], Any], ...]) -> None:
        self.place = place
        self.number = number
        """The number of the pass."""
        self.outlines = outlines


def saved_names(node: Any) -> tuple[tuple[str, str], ...]:
    """Return (name, attribute of the raw entry) of what a PyTorch node may save."""
    kind = type(node)
    found = _NAMES.get(kind)
    if found is None:
        raw = [name for name in dir(kind) if name.startswith(_RAW)]
        custom = issubclass(kind, torch.autograd.function.BackwardCFunction)
        found = tuple(("saved_tensors" if custom else name.removeprefix(_RAW), name) for name in raw)
        _NAMES[kind] = found
    return found


def raw_entries(node: Any) -> Iterator[tuple[str, int | None, Any]]:
    """Yield (name, place in a list or None, PyTorch's SavedTensor) of a node."""
    for name, attribute in saved_names(node):
        try:
            raw = getattr(node, attribute, None)
        except RuntimeError:  # a custom function's that is freed
            continue
        if type(raw) is tuple:
            yield from ((name, place, one) for place, one in enumerate(raw))
        elif raw is not None:
            yield name, None, raw


class TorchSaved(SavedTensor):
    """A saved tensor of a PyTorch node."""

    __slots__ = ("_kept", "current_version", "dtype", "freed", "freed_where", "nbytes", "recomputed", "shape", "version")

    def __init__(self, name: str, index: int | None, shape: tuple[int, ...], dtype: Any, nbytes: int) -> None:
        self.name = name
        self.index = index
        self.shape = shape
        self.dtype = dtype
        self.nbytes = nbytes
        self.array = None
        self.freed = False
        self.freed_where = None
        self.version = self.current_version = None
        self.recomputed = False
        self._kept = None


class TorchNode(Node):
    """A node of PyTorch's graph."""

    __slots__ = ("_entries", "found", "title", "torch")

    torch: Any
    found: tuple[TorchSaved, ...]
    title: str
    _entries: Any

    @property
    def outputs(self) -> Any:
        """(shape, dtype) of each output."""
        try:
            return tuple((tuple(one.shape), dtype_of(one.dtype)) for one in self.torch._input_metadata)
        except (AttributeError, RuntimeError):
            return ()

    def name(self) -> str:
        """Return PyTorch's name of the node."""
        return self.title

    def saved_names(self) -> Sequence[str]:
        """Return the names of what is saved, one for each entry."""
        return tuple(dict.fromkeys(saved.name for saved in self.found))

    @property
    def saved(self) -> tuple[SavedTensor, ...]:
        """The saved tensors, freed ones included."""
        return self.found

    @property
    def entries(self) -> Any:
        """What the node keeps, as the engine's nodes have it."""
        if self._entries is None:
            self._entries = self._made_entries()
        return self._entries

    @entries.setter
    def entries(self, value: Any) -> None:
        self._entries = value

    def _made_entries(self) -> Any:
        if all(saved.index is None and not saved.freed for saved in self.found):
            return tuple([saved._kept for saved in self.found])
        freed = [saved for saved in self.found if saved.freed]
        slots: dict[str, Any] = {}
        for saved in freed or self.found:
            what = (saved.shape, saved.dtype) if freed else saved._kept
            if saved.index is None:
                slots[saved.name] = what
            else:
                slots.setdefault(saved.name, []).append(what)
        return FreedVariables(freed[0].freed_where, tuple(slots.values())) if freed else tuple(slots.values())

    def unpack(self, index: int, as_tensor: bool) -> Any:
        """Refuse: what was saved is freed."""
        del as_tensor
        raise fail("freed", FREED_SENTENCE, node=self, index=index, freed_where=self.entries.location)

    def modified(self, kept: SavedVariable, index: int) -> Exception:
        """Return the error for a saved tensor that was modified in place."""
        return fail(
            "version", "one of the variables needed for gradient computation has been modified by an inplace operation",
            node=self, index=index, name=self.saved_names()[index], expected=kept.version, actual=kept.counter.version,
            writes=kept.counter.writes_since(kept.version),
        )


class TorchTensor(Tensor):
    """A tensor of PyTorch's."""

    __slots__ = ("_base", "poisoned", "torch")

    torch: torch.Tensor
    poisoned: bool

    def _ask(self, name: str) -> Any:
        with torch._C.DisableTorchFunction():
            return getattr(self.torch, name)

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted for it, or flows through it."""
        return bool(self._ask("requires_grad"))

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it. Raises RuntimeError where PyTorch does: of a view that became invalid."""
        if self.poisoned:
            self._ask("grad_fn")
        return None if self.edge is None else self.edge[0]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        return bool(self._ask("is_leaf"))

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated so far."""
        return None if self.meta is None else self.meta.grad

    @property
    def _version(self) -> int:
        return int(self._ask("_version"))

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.array.shape

    @property
    def nbytes(self) -> int:
        """Number of elements times the size of one."""
        return self.array.nbytes

    def __repr__(self) -> str:
        with torch._C.DisableTorchFunction():
            return repr(self.torch)


class TorchParameter(TorchTensor, Parameter):
    """A parameter of a PyTorch module."""

    __slots__ = ()


class World:
    """Answers the probes for one question: each tensor, node and storage has one object in it."""

    def __init__(self, watcher: "Watcher") -> None:
        self.watcher = watcher
        self.tensors: dict[int, TorchTensor] = {}
        self.nodes: dict[Any, Node] = {}
        self.leaves: dict[int, AccumulateGrad] = {}
        """id of a leaf -> its node"""
        self.storages: dict[int, Storage] = {}
        self.before: int | None = None
        """Where it is set, what the pass of this number freed counts as not freed: a pass that failed is looked at."""

    def close(self) -> None:
        """Let go of everything: objects that a report holds by mistake keep no tensor alive."""
        for node in self.nodes.values():
            node.edges = ()
            if isinstance(node, TorchNode):
                node.torch, node.found, node._entries = None, (), ()
        for tensor in self.tensors.values():
            tensor.meta, tensor.grad_fn_ref, tensor._base = None, None, None
            tensor.array.tensor = None  # type: ignore[attr-defined]
            del tensor.torch
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

    def shown(self, value: Any) -> Any:
        """Return the mirror of a tensor, and any other value as it is."""
        found = self.tensor(value)
        return value if found is None else found

    def is_module(self, value: object) -> bool:
        """Whether a value is a module of PyTorch's."""
        return isinstance(value, torch.nn.Module)

    def module_names(self, variables: Mapping[str, object]) -> dict[int, str]:
        """Return how the variables lead to each module, by its id."""
        found: dict[int, str] = {}
        for name, value in variables.items():
            for path, module in modules_of(value) if self.is_module(value) else ():
                found.setdefault(id(module), f"{name}.{path}" if path else name)
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
        dtype = dtype_of(value.dtype)
        shape = tuple(value.shape)
        return TorchArray(value, shape, dtype, value.numel() * dtype.itemsize, self.storage(value, dtype))

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
            return _UNWRITTEN
        if not version:
            return _UNWRITTEN
        counter = VersionCounter()
        counter.version = version
        counter.writes = self.watcher.writes.of(value, version)
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
        fresh.location = self.watcher.lines.find(number)
        fresh._entries = None
        fresh.found = self._saved(function)
        return fresh

    def _saved(self, function: Any) -> tuple[TorchSaved, ...]:
        names = saved_names(function)
        if not names:
            return ()
        mark = function.metadata.get(MARK)
        if mark is not None and mark.outlines:
            if mark.number == self.before:
                return ()  # it ran in the pass that is looked at, so nothing was wrong with it
            return tuple(_gone(mark.place, *outline) for outline in mark.outlines)
        found: list[TorchSaved] = []
        for name, index, raw in raw_entries(function):
            data = raw.data
            if raw.unpack_hook is not None:
                found.append(self._packed(name, index, raw, data))
            elif data is not None:
                found.append(self._live(function, name, index, raw, data))
            elif _is_freed(raw):
                found.append(_gone(None if mark is None else mark.place, name, index, (), None))
        return tuple(found)

    def _live(self, function: Any, name: str, index: int | None, raw: Any, data: torch.Tensor) -> TorchSaved:
        array = self.array(data)
        saved = TorchSaved(name, index, array.shape, array.dtype, array.nbytes)
        saved.array = array  # type: ignore[assignment]
        counter = self.counter(data)
        saved.current_version = counter.version
        saved.version = _saved_version(function, name, index, raw, counter.version) if counter.version else 0
        saved._kept = SavedVariable(array, counter, saved.version, None)  # type: ignore[arg-type]
        return saved

    def _packed(self, name: str, index: int | None, raw: Any, data: Any) -> TorchSaved:
        held = data if isinstance(data, torch.Tensor) else None
        if isinstance(data, tuple | list):
            held = next((one for one in data if isinstance(one, torch.Tensor)), None)
        array = None if held is None else self.array(held)
        shape, dtype = ((), dtype_of(torch.uint8)) if array is None else (array.shape, array.dtype)
        saved = TorchSaved(name, index, shape, dtype, 0 if array is None else array.nbytes)
        saved.recomputed = type(data).__name__ == "_Holder"
        saved._kept = SavedVariable(None, VersionCounter(), 0, None, (raw.unpack_hook, data, shape, dtype))
        return saved

    # --- memories -------------------------------------------------------------------------------------------------

    def given_back(self, nodes: Iterable[Node]) -> dict[int, int]:
        """Return the memories (key -> bytes) that nothing holds but live entries of these nodes, told by PyTorch's own counts."""
        entries: dict[int, list[Any]] = {}
        named = {id(tensor.array.base) for tensor in self.tensors.values()}
        for node in nodes:
            for saved in node.found if isinstance(node, TorchNode) else ():
                if isinstance(saved.array, TorchArray) and id(saved.array.base) not in named:
                    entries.setdefault(id(saved.array.base), []).append(saved.array)
        return {key: arrays[0].base.nbytes for key, arrays in entries.items() if _only_these(arrays)}

    def unaccounted(self, tensor: Tensor) -> int:
        """Return how many tensors of PyTorch's stand in a tensor's memory beside those that were met."""
        storage = tensor.array.base
        met = {id(one.torch) for one in self.tensors.values() if one.array.base is storage}
        for node in self.nodes.values():
            for saved in node.found if isinstance(node, TorchNode) else ():
                if isinstance(saved.array, TorchArray) and saved.array.base is storage:
                    met.add(id(saved.array.tensor))
        count = _storage_uses(storage.key)  # type: ignore[union-attr]
        return 0 if count is None else max(0, count - len(met))


def _is_leaf(function: Any) -> bool:
    return hasattr(function, "variable") and function.name().endswith("AccumulateGrad")


def _gone(place: Any, name: str, index: int | None, shape: tuple[int, ...], dtype: Any) -> TorchSaved:
    size = 1
    for extent in shape:
        size *= extent
    found = dtype_of(torch.float32) if dtype is None else dtype
    saved = TorchSaved(name, index, shape, found, 0 if dtype is None else size * found.itemsize)
    saved.freed = True
    saved.freed_where = place
    return saved


def _is_freed(raw: Any) -> bool:
    """Whether an entry without a tensor had one: asking it for the tensor runs no hook, for it has none."""
    try:
        raw.unpack()
    except RuntimeError:
        return True
    return False


def _saved_version(function: Any, name: str, index: int | None, raw: Any, current: int) -> int:
    """Return the version that a tensor was saved at, which PyTorch tells only where it is not the current one."""
    try:
        if index is None and hasattr(function, f"_saved_{name}"):
            getattr(function, f"_saved_{name}")
        else:
            raw.unpack()
    except RuntimeError as error:
        found = _VERSIONS.search(str(error))
        return int(found[2]) if found else current
    return current


def _storage_uses(key: int) -> int | None:
    """Return how many tensors of PyTorch's stand in a storage; None where PyTorch does not tell."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    if count is None or key < 0:
        return None
    storage = torch.empty(1).untyped_storage()  # in whose place Python's own object counts, too
    return int(count(key)) - int(count(storage._cdata))


@cache
def _own_references() -> int:
    """Return the references that Python counts of a tensor which one node saved and one variable of ours holds."""
    with torch.enable_grad():
        node: Any = torch.ones(1, requires_grad=True).exp().grad_fn
    data = node._raw_saved_result.data
    return sys.getrefcount(data)


def _only_these(arrays: list[TorchArray]) -> bool:
    """Whether the entries of these arrays are all that holds their storage."""
    tensors: dict[int, int] = {}
    for array in arrays:
        tensors[id(array.tensor)] = tensors.get(id(array.tensor), 0) + 1
    if _storage_uses(arrays[0].base.key) != len(tensors):
        return False
    for array in arrays:
        tensor = array.tensor
        entries = tensors[id(tensor)]
        uses = tensor._use_count() if hasattr(torch.Tensor, "_use_count") else None  # type: ignore[union-attr]
        if uses != entries + 1 or sys.getrefcount(tensor) > entries + _own_references():
            return False
    return True


@contextmanager
def world_of(watcher: "Watcher") -> Iterator[World]:
    """Let the probes look at PyTorch's world within the block."""
    world = World(watcher)
    token = looking.set(world)
    try:
        yield world
    finally:
        looking.reset(token)
        world.close()
