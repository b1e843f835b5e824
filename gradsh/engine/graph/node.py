"""Nodes of the graph; what they save for backward is in `saved.py`.

Law: a node never holds a Tensor that holds the node. What is saved is the array (storage and geometry), its version
counter and the version at that time; the Tensor is rebuilt on demand, with the gradient edge the node itself knows.
A graph therefore dies with its last reference, at once, without the garbage collector.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current, sequence_numbers
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.saved import FreedVariables, SavedTensor, SavedVariable, shape_and_dtype
from gradsh.engine.graph.types import Location
from gradsh.text.fault import fail

if TYPE_CHECKING:
    pass

Edge = tuple["Node", int]

next_sequence_number = sequence_numbers.__next__
LAST = 1 << 62
"""Sequence number of AccumulateGrad nodes: they run as soon as nothing more can arrive."""

OUT_OF_ORDER = "out_of_order"
"""The session's flag that says that nodes do not run by number alone: a program gave them numbers, or one of them runs first."""

FREED_SENTENCE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)

_DESCRIBED: dict[Any, Any] = {}
_MOST_DESCRIBED = 4096


def intern_descriptor(shape: tuple[int, ...], dtype: Any) -> object:
    """Return the `outputs` of a node with one output, the same object for the same shape and dtype (while it lasts)."""
    key = (shape, dtype.num)
    found = _DESCRIBED.get(key)
    if found is None or found[0][1] is not dtype:
        if len(_DESCRIBED) >= _MOST_DESCRIBED:
            _DESCRIBED.clear()
        found = _DESCRIBED[key] = ((shape, dtype),)
    return found


class NodeMeta:
    """What few nodes have: pins, hooks and the metadata dictionary."""

    __slots__ = ("keep_grads", "lent", "metadata", "pins", "posthooks", "prehooks", "tensor_hooks", "view")

    def __init__(self) -> None:
        self.pins = 0
        self.prehooks: dict[int, Callable[..., Any]] = {}
        self.posthooks: dict[int, Callable[..., object]] = {}
        self.tensor_hooks: dict[int, dict[int, Callable[..., object]]] = {}
        """output number -> hooks of the tensor that was that output when they were registered"""
        self.keep_grads: dict[int, Any] = {}
        """output number -> weak reference to the tensor whose `.grad` retain_grad fills"""
        self.metadata: dict[Any, Any] = {}
        self.view: Callable[[], Node | None] | None = None
        """weak reference to the grad_fn of the view that the operation wrote into"""
        self.lent = False
        """Whether such a node stands in a graph itself, the view being gone, and outlives the CopySlices that it belongs to"""


SAVED_PREFIXES = ("_saved_", "_raw_saved_")
"""How the attributes begin that show what a node saved."""
_OFFERED = frozenset({
    "name", "next_functions", "saved", "metadata", "register_hook", "register_prehook", "requires_grad", "variable", "_sequence_nr",
    "_set_sequence_nr",
})


def _offered(name: str) -> bool:
    return name in _OFFERED or name.startswith(SAVED_PREFIXES)


_TITLED: dict[tuple[type, str], type] = {}


def titled(kind: type, name: str, module: str = "builtins") -> type:
    """Return a class like `kind` that goes by the name of a node."""
    found = _TITLED.get((kind, name))
    if found is None:
        parts = {"__slots__": (), "__module__": module} | ({"titled": True} if issubclass(kind, Node) else {})
        found = _TITLED[kind, name] = type(name.rpartition("::")[2], (kind,), parts)
    return found


class Node:
    """A step of the backward pass. `edges` has one entry for each differentiable input: (node, output number) or None.

    Subclasses say how gradients flow (`run`) and what they save (`saved_names`).
    """

    __slots__ = ("__weakref__", "edges", "extra", "location", "outputs", "raw", "seq")
    __script_attributes__ = staticmethod(_offered)

    edges: tuple[Edge | None, ...]
    raw: Any
    """What `entries` answers from: a tuple of entries or a `FreedVariables`. (A `CompactNode` has them in slots.)"""
    outputs: Any
    """(shape, numpy dtype) of each output, in order."""
    extra: NodeMeta | None
    location: Location
    seq: int
    runs_first = False
    """Whether it runs before all others that may run next, whatever its number."""
    titled = False
    """Whether the class has the name of its nodes: the class of each name is made when the first of them is shown."""

    if TYPE_CHECKING:  # what `unpack.py` adds, and what nodes are asked for by the names of what they save

        def restore(self, kept: Any, index: int, as_tensor: bool) -> object: ...  # noqa: D102
        def _saved_attribute(self, name: str) -> object: ...
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, edges: tuple[Edge | None, ...], outputs: object) -> None:
        self.edges = edges
        self.outputs = outputs
        self.raw = ()
        self.extra = None
        self.seq = next_sequence_number()
        ambient = current()
        self.location = ambient.location()
        if ambient.anomaly is not None:
            ambient.anomaly[1](self)

    def name(self) -> str:
        """Return PyTorch's name of the node, such as MulBackward0."""
        return type(self).__name__

    def saved_names(self) -> Sequence[str]:
        """Return the names of what this node may save, as PyTorch's `_saved_` attributes have them."""
        return ()

    def saved_attributes(self) -> set[str]:
        """Return the names of the attributes that show what this node saved."""
        names = self.saved_names()
        return {f"_saved_{name}" for name in (*names, *self.attributes())} | {f"_raw_saved_{name}" for name in names}

    def __dir__(self) -> list[str]:
        return sorted({name for name in object.__dir__(self) if not name.startswith(SAVED_PREFIXES)} | self.saved_attributes())

    def packing_order(self) -> Sequence[int]:
        """Return the order in which what it saves goes to a pack hook."""
        return range(len(self.entries))

    def attributes(self) -> dict[str, object]:
        """Return the saved values that are no tensors (dims, sizes, numbers), by name."""
        return {}

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Return the gradient for each edge (None: no gradient), from those of the outputs (None: none arrived).

        `needs[i]` tells whether edge i leads anywhere the pass must go. Gradients are arrays on a plain pass and
        Tensors when the pass itself is recorded (`create_graph`).
        """
        raise AssertionError("a node says how gradients flow")

    @property
    def entries(self) -> Any:
        """Tuple of entries in the order of `saved_names`, or a `FreedVariables`."""
        return self.raw

    @entries.setter
    def entries(self, value: object) -> None:
        self.raw = value

    @property
    def pins(self) -> int:
        """How many pins hold this node's saved tensors; a pass frees them only at 0."""
        return 0 if self.extra is None else self.extra.pins

    def more(self) -> NodeMeta:
        """Return the extra part (hooks, pins), made when first needed."""
        if self.extra is None:
            self.extra = NodeMeta()
        return self.extra

    def facade(self) -> object:
        """Return what programs see of the node: itself, from now on of a class that has its name, as in PyTorch.

        Nodes of one class for all operations are cheaper to make, and to read. (Where programs put attributes of their own on
        a node, something else stands for it.)
        """
        if not self.titled:
            self.__class__ = titled(type(self), self.name())
        return self

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that receive this one's gradients: (node or None, its output number), input by input."""
        return tuple([(None, 0) if edge is None else (edge[0].facade(), edge[1]) for edge in self.edges])

    def below(self) -> list["Node"]:
        """Return the nodes that receive this one's gradients, input by input, without the inputs that need none."""
        return [edge[0] for edge in self.edges if edge is not None]

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes."""
        return self.more().metadata

    @property
    def freed(self) -> bool:
        """Whether its saved tensors were freed."""
        return type(self.entries) is FreedVariables

    def has_saved(self) -> bool:
        """Whether there is any saved tensor that a pass would free."""
        entries = self.entries
        return type(entries) is not FreedVariables and any(entry is not None for entry in entries)

    @property
    def saved(self) -> tuple[SavedTensor, ...]:
        """The tensors saved for backward, freed ones included; bytes are those of the tensor, not of its memory."""
        entries = self.entries
        if type(entries) is FreedVariables:
            return self._saved_before(entries)
        found: list[SavedTensor] = []
        new = object.__new__
        for name, entry in zip(self.saved_names(), entries):  # noqa: B905  (one entry a name, and this is asked of large graphs)
            if type(entry) is list:
                found += [SavedTensor(self, name, place, one) for place, one in enumerate(entry) if one is not None]
            elif entry is not None:
                one = new(SavedTensor)  # without the call of __init__
                one.node = self
                one.name = name
                one.index = None
                one.array = entry[0]
                one._kept = entry
                one._freed = None
                found.append(one)
        return tuple(found)

    def _saved_before(self, freed: FreedVariables) -> tuple[SavedTensor, ...]:
        found: list[SavedTensor] = []
        for name, slot in zip(self.saved_names(), freed.shapes, strict=True):
            if slot is None:
                continue
            many = type(slot) is list
            for index, one in enumerate(slot if many else (slot,)):
                if one is not None:
                    found.append(SavedTensor(self, name, index if many else None, None, (*one, freed.location)))
        return tuple(found)

    def free(self, location: Location) -> None:
        """Drop the saved tensors, keeping their names, shapes and the place that freed them."""
        entries = self.entries
        if entries and type(entries) is not FreedVariables:
            self.entries = FreedVariables(location, tuple(shape_and_dtype(entry) for entry in entries))

    def hold(self) -> object:
        """Return what the node has saved, for `put_back`."""
        return self.entries

    def put_back(self, held: object) -> None:
        """Let the node have what it had saved when `hold` was called, freed since or not."""
        self.entries = held

    def unpack(self, index: int, as_tensor: bool) -> object:
        """Return saved entry `index` as an array or, with `as_tensor`, as a Tensor; None where nothing was kept.

        Raises RuntimeError of kind `freed` or `version`, with PyTorch's sentences.
        """
        entries = self.entries
        if type(entries) is FreedVariables:
            if index < len(entries.shapes) and entries.shapes[index] is None:
                return None  # nothing had been kept here, so nothing is missing
            raise fail("freed", FREED_SENTENCE, node=self, index=index, freed_where=entries.location)
        entry = entries[index]
        if entry is None:
            return None
        if type(entry) is list:
            return [None if one is None else self.restore(one, index, as_tensor) for one in entry]
        return self.restore(entry, index, as_tensor)

    def edge_of(self, kept: SavedVariable) -> Any:
        """Return the edge with which a saved tensor comes back.

        For an output of the node itself it is the node's, or that of the view that the node wrote into, while that lives.
        """
        if type(kept.edge) is not int:
            return kept.edge
        if self.extra is None or self.extra.view is None:
            return self, kept.edge
        view = self.extra.view()
        self.extra.lent = view is None
        return view or self, kept.edge

    def __call__(self, *grads: Any) -> Any:
        """Return the gradients of the inputs for given gradients of the outputs, outside of any pass."""
        if len(grads) != len(self.outputs):
            raise fail("type", f"expected {len(self.outputs)} arguments, got {len(grads)} instead", TypeError, node=self)
        results = [None] * len(self.edges)
        if any(grad is not None for grad in grads):
            results = list(self.run(list(grads), tuple(edge is not None for edge in self.edges)))
        return results[0] if len(results) == 1 else tuple(results)

    def register_hook(self, hook: Callable[..., object]) -> "Handle":
        """Call `hook(grad_inputs, grad_outputs)` after the node has run; a returned tuple replaces grad_inputs."""
        return Handle(self.more().posthooks, hook)

    def register_prehook(self, hook: Callable[..., object]) -> "Handle":
        """Call `hook(grad_outputs)` before the node runs; a returned tuple replaces grad_outputs."""
        return Handle(self.more().prehooks, hook)

    @property
    def requires_grad(self) -> bool:
        """True: only what requires a gradient has a node."""
        return True

    def _sequence_nr(self) -> int:
        return sequence_number(self)

    def _set_sequence_nr(self, number: int) -> None:
        """Change when the node runs: of the nodes that may run next, a pass takes the one of the highest number."""
        self.seq = current().first_node + number
        current().flags[OUT_OF_ORDER] = True

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"

    def __reduce_ex__(self, _: object) -> Any:
        raise fail("type", f"cannot pickle '{self.name().rpartition('::')[2]}' object", TypeError, node=self)

class Facade:
    """What programs see of a node on which they may put attributes of their own: these live apart from the node's."""

    __slots__ = ("__node__", "__weakref__")

    __node__: Node


def behind(value: object) -> Any:
    """Return the node that a program's value stands for; any other value as it is."""
    return value.__node__ if isinstance(value, Facade) else value


def sequence_number(node: Node) -> int:
    """Return how many nodes the program had made before this one."""
    return (1 << 64) - 1 if node.seq == LAST else node.seq - current().first_node


class SavedName:
    """The attribute `_saved_NAME` or `_raw_saved_NAME` of nodes that may have one.

    A class with `__getattr__` would do the same, but then Python reads every attribute of a node at ten times the cost.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, node: Node | None, _: type | None = None) -> Any:
        return self if node is None else node.ask(self.name)


def offer(names: Iterable[str]) -> None:
    """Let nodes be asked for what they save by these names."""
    for name in names:
        for full in (f"_saved_{name}", f"_raw_saved_{name}"):
            if full not in Node.__dict__:
                setattr(Node, full, SavedName(full))


def forward_name(node: Node) -> str:
    """Return the name of what the node belongs to, as PyTorch's messages have it: Mul of MulBackward0, Sum1 of SumBackward1."""
    name, found, number = node.name().rpartition("Backward")
    if not found or (number and not number.isdigit()):
        return node.name()
    return name + number.lstrip("0")
