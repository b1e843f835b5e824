"""The tensor: an array, its version counter, and its place in the graph.

Here stand the slots, the place in the graph (`grad_fn`, `is_leaf`), and how tensors are made. What the array alone tells is in
`array_attributes.py`, what rests on views and backward passes in `methods.py`; operations become methods through the records
in `ops/`.
"""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.graph.array_attributes import Elements, check_numpy, check_scalar_type
from gradsh.engine.graph.node import LAST, Edge, Node, intern_descriptor
from gradsh.engine.graph.saved import SavedVariable
from gradsh.engine.graph.types import Location
from gradsh.engine.registry import find, operator, special_name
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.storage import VersionCounter
from gradsh.text.fault import fail


def allow_infinities() -> None:
    """Let infinities and nans be results, as in PyTorch, in the thread that asks (`errstate` per operation costs 0.6 us)."""
    np.seterr(all="ignore")


allow_infinities()

VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


class View:
    """What a view remembers: its base, its base's version when its history was last made, how it came about.

    `creation` is "default", "no_grad" (made in no_grad mode), "inference", "multi" (one of several outputs) or "custom" (output of
    a custom function). `made_by` is the node name and output number for messages, `location` that of the making.
    """

    refreshed_edge: ClassVar[Callable[["Tensor"], Edge | None]]
    """Returns the edge of a view, made anew if its memory was written since; `dispatch/views.py` hands it in."""
    __slots__ = ("base", "creation", "location", "made_by", "version")

    def __init__(
        self, base: "Tensor", version: int, creation: str, made_by: tuple[str, int], location: Location
    ) -> None:
        self.base = base
        self.version = version
        self.creation = creation
        self.made_by = made_by
        self.location = location


class AutogradMeta:
    """What few tensors have: a gradient, a view's base, hooks, the weak reference to a leaf's AccumulateGrad."""

    __slots__ = ("accumulator", "grad", "hooks", "post_hooks", "retains", "tangents", "view")

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.accumulator: Any = None
        self.view: View | None = None
        self.hooks: dict[int, Callable[..., Any]] = {}
        self.post_hooks: dict[int, Callable[..., Any]] = {}
        self.retains = False
        self.tangents: Any = None
        """Those of forward mode (`dispatch/tangents.py`)."""


class Tensor(Elements):
    """An n-dimensional array that autograd follows.

    What the array alone tells stands in the base; methods that are operations come from there, too, until they are used.

    Slots: `array` (numpy: memory and geometry), `needs_grad` (whether it needs a gradient), `meta` (rare parts), `grad_fn_ref` (the
    grad_fn, or (grad_fn, output number) where that is not 0; None for a leaf), `own_counter` (the version counter, shared with
    views and detached twins; None until somebody asks `counter` for it, which its `CompactNode` stands for until then).
    """

    __slots__ = ("__dict__", "__weakref__", "array", "descriptor", "grad_fn_ref", "meta", "needs_grad", "own_counter")
    __array_priority__ = 1000
    __script_base__ = True

    array: Array
    descriptor: object
    """What `intern_descriptor` says of shape and dtype, where an operation has found that the array is small, has a dim and lies row by
    row; else None. Whoever gives a tensor another array forgets it."""
    own_counter: VersionCounter | None
    needs_grad: bool
    grad_fn_ref: Any
    meta: AutogradMeta | None

    if TYPE_CHECKING:  # what `methods.py` adds, and operations
        data: "Tensor"
        grad: "Tensor | None"
        requires_grad: bool

        def detach(self) -> "Tensor": ...  # noqa: D102
        def detach_(self) -> "Tensor": ...  # noqa: D102
        def requires_grad_(self, requires_grad: bool = True) -> "Tensor": ...  # noqa: D102
        def __getattr__(self, name: str) -> Any: ...

        __add__: Callable[..., "Tensor"]
        __radd__: Callable[..., "Tensor"]
        __sub__: Callable[..., "Tensor"]
        __rsub__: Callable[..., "Tensor"]
        __mul__: Callable[..., "Tensor"]
        __rmul__: Callable[..., "Tensor"]
        __truediv__: Callable[..., "Tensor"]
        __rtruediv__: Callable[..., "Tensor"]
        __pow__: Callable[..., "Tensor"]
        __rpow__: Callable[..., "Tensor"]
        __floordiv__: Callable[..., "Tensor"]
        __mod__: Callable[..., "Tensor"]
        __matmul__: Callable[..., "Tensor"]
        __rmatmul__: Callable[..., "Tensor"]
        __and__: Callable[..., "Tensor"]
        __or__: Callable[..., "Tensor"]
        __xor__: Callable[..., "Tensor"]
        __lt__: Callable[..., "Tensor"]
        __le__: Callable[..., "Tensor"]
        __gt__: Callable[..., "Tensor"]
        __ge__: Callable[..., "Tensor"]
        def __invert__(self) -> "Tensor": ...
        __setitem__: Callable[..., None]
        def __neg__(self) -> "Tensor": ...
        def __abs__(self) -> "Tensor": ...
        __getitem__: Callable[..., "Tensor"]

    def __new__(cls, *args: object, **kwargs: object) -> "Tensor":
        """Make an uninitialised tensor of the given extents, or one from data, as `torch.Tensor(...)` does."""
        return find("_legacy_tensor")(*args, **kwargs)  # type: ignore[no-any-return]

    # --- the place in the graph ---------------------------------------------------------------------------------

    @property
    def counter(self) -> VersionCounter:
        """The version counter."""
        counter = self.own_counter
        if counter is None:
            counter = self.own_counter = counter_of(self.grad_fn_ref)
        return counter

    @counter.setter
    def counter(self, value: VersionCounter) -> None:
        self.own_counter = value

    @property
    def edge(self) -> Edge | None:
        """(grad_fn, output number); None for a leaf."""
        origin = self.grad_fn_ref
        return origin if origin is None or type(origin) is tuple else (origin, 0)

    @edge.setter
    def edge(self, value: Edge | None) -> None:
        if self.own_counter is None:
            self.own_counter = counter_of(self.grad_fn_ref)  # which stands for the counter no longer
        self.grad_fn_ref = value if value is None or value[1] else value[0]

    # --- autograd attributes ------------------------------------------------------------------------------------

    @property
    def grad_fn(self) -> Any:
        """The node that made the tensor, as programs see it; None for a leaf."""
        node = node_of(self)
        return None if node is None else node.facade()

    @property
    def output_nr(self) -> int:
        """Which output of its grad_fn the tensor is."""
        return self.grad_fn_ref[1] if type(self.grad_fn_ref) is tuple else 0

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made the tensor."""
        return node_of(self) is None

    @property
    def retains_grad(self) -> bool:
        """Whether retain_grad() was asked of this non-leaf."""
        return self.meta is not None and self.meta.retains

    @property
    def volatile(self) -> bool:
        """A flag of PyTorch's first years: always False, with a warning."""
        current().warning("volatile was removed (Variable.volatile is always False)")
        return False

    @volatile.setter
    def volatile(self, _: object) -> None:
        current().warning(VOLATILE)

    @property
    def _base(self) -> "Tensor | None":
        return None if self.meta is None or self.meta.view is None else self.meta.view.base

    def _is_view(self) -> bool:
        return self._base is not None

    def __array__(self, dtype: Any = None, copy: object = None) -> Array:
        check_numpy(self)
        check_scalar_type(self.array)
        return np.array(self.array, dtype) if copy else np.asarray(self.array, dtype)

    def __array_wrap__(self, array: Array, context: object = None, return_scalar: bool = False) -> "Tensor":
        """Return the result of numpy's function on this tensor as a tensor without history; booleans become uint8, as in PyTorch."""
        return make(array.astype(np.uint8) if array.dtype == bool else array)

    def __copy__(self) -> "Tensor":
        """Return a leaf over the same memory, as copy.copy does in PyTorch: with a version counter of its own."""
        fresh = _new(type(self))
        fresh.array = self.array
        fresh.descriptor = None
        fresh.own_counter = VersionCounter()
        fresh.own_counter.version = 1
        fresh.grad_fn_ref = None
        fresh.meta = None
        fresh.needs_grad = self.requires_grad
        return fresh


class AccumulateGrad(Node):
    """The end of an edge at a leaf: adds what arrives to the leaf's `.grad`."""

    __slots__ = ("variable",)
    __module__ = "builtins"
    titled = True

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.edges = ()
        self.raw = ()
        self.outputs = intern_descriptor(variable.array.shape, variable.array.dtype)
        self.extra = None
        self.seq = LAST
        self.location = None

    def name(self) -> str:
        """Return the name that PyTorch's `name()` gives (its class is shown as AccumulateGrad)."""
        return "torch::autograd::AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


class Parameter(Tensor):
    """A leaf that modules list as theirs. `Parameter(data=None, requires_grad=True)` shares the memory of `data`."""

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        """Make a leaf over the memory of `data` (an empty tensor if None)."""
        if data is not None and not isinstance(data, Tensor):
            text = f"'{type(data).__name__}' object has no attribute 'detach'"
            raise fail("attribute", text, AttributeError, owner=data, name="detach")
        fresh = object.__new__(cls)
        fresh.array = np.empty(0, current().default_dtype) if data is None else data.array
        fresh.descriptor = None
        fresh.own_counter = VersionCounter() if data is None else data.counter
        fresh.grad_fn_ref = None
        fresh.meta = None
        fresh.needs_grad = False
        if requires_grad:
            if fresh.array.dtype.kind != "f":
                raise fail("dtype", "Only Tensors of floating point and complex dtype can require gradients")
            fresh.requires_grad_()
        return fresh

_new = object.__new__


def make(array: Array, tracked: bool = False) -> Tensor:
    """Return a fresh leaf over `array`, with a version counter of its own."""
    fresh = _new(Tensor)
    fresh.array = array
    fresh.descriptor = None
    fresh.own_counter = VersionCounter()
    fresh.grad_fn_ref = None
    fresh.meta = None
    fresh.needs_grad = tracked
    return fresh


def make_result(array: Array, node: Node, output: int) -> Tensor:
    """Return output `output` of `node` as a tensor."""
    fresh = _new(Tensor)
    fresh.array = array
    fresh.descriptor = None
    fresh.own_counter = VersionCounter()
    fresh.grad_fn_ref = (node, output) if output else node
    fresh.meta = None
    fresh.needs_grad = True
    return fresh


def restored(kept: SavedVariable, edge: Any, anew: bool = False) -> Tensor:
    """Rebuild the tensor that a node kept: same memory, same version counter, same place in the graph.

    Its edge is a text where it requires a gradient that cannot reach it (a view made under no_grad). A leaf is the very tensor, unless
    it is to be made anew.
    """
    assert kept.array is not None
    if kept.origin is not None and not anew:
        origin: Tensor | None = kept.origin()
        if origin is not None and origin.array is kept.array:
            return origin
    if type(edge) is str:
        cut = restored(kept, None)
        cut.needs_grad = True
        return cut
    if edge is not None and isinstance(edge[0], AccumulateGrad):
        variable = edge[0].variable
        if variable.array is kept.array and not anew:
            return variable
    fresh = _new(Tensor)
    fresh.array = kept.array
    fresh.descriptor = None
    fresh.own_counter = kept.counter
    fresh.meta = None
    if kept.tangents is not None:
        autograd_meta(fresh).tangents = kept.tangents
    if edge is not None and isinstance(edge[0], AccumulateGrad):
        fresh.grad_fn_ref = None
        fresh.needs_grad = True
        autograd_meta(fresh).accumulator = weakref.ref(edge[0])
        return fresh
    fresh.grad_fn_ref = edge if edge is None or edge[1] else edge[0]
    fresh.needs_grad = edge is not None
    return fresh


def autograd_meta(tensor: Tensor) -> AutogradMeta:
    """Return the tensor's rare parts, made when first needed."""
    meta = tensor.meta
    if meta is None:
        meta = tensor.meta = AutogradMeta()
    return meta


def written(tensor: Tensor, times: int = 1) -> None:
    """Count writes in place to what has to be a tensor: the counter is told where the program stands, and nobody else is."""
    if not isinstance(tensor, Tensor):
        raise fail("type", f"a {type(tensor).__name__} stands where there has to be a Tensor", TypeError)
    location = current().location()
    for _ in range(times):
        tensor.counter.bump(location)


def node_of(tensor: Tensor) -> Node | None:
    """Return the node that made the tensor; None for a leaf."""
    if tensor.meta is not None and tensor.meta.view is not None:
        current_edge(tensor)
    origin = tensor.grad_fn_ref
    node: Node | None = origin[0] if type(origin) is tuple else origin
    return node


def last_node_of(tensor: Tensor) -> Node | None:
    """Return the node that made the tensor; of a view that became invalid, the one that had made it. None for a leaf."""
    try:
        return node_of(tensor)
    except RuntimeError:
        return None if tensor.edge is None else tensor.edge[0]


def gradient_edge(tensor: Tensor) -> Edge | None:
    """Return where a gradient of `tensor` goes: (grad_fn, output), a leaf's AccumulateGrad, or None.

    A view made under no_grad requires a gradient where its base does, but none goes anywhere from it, as in PyTorch.
    """
    meta = tensor.meta
    edge = current_edge(tensor) if meta is not None and meta.view is not None else tensor.edge
    if edge is not None:
        return edge
    return (accumulator(tensor), 0) if tensor.needs_grad else None


def counter_of(origin: Any) -> VersionCounter:
    """Return the counter of the result of a `CompactNode`, of which that has taken care so far."""
    return VersionCounter() if origin is None else origin.result_counter()


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """Return the leaf's AccumulateGrad node: one as long as any graph refers to it."""
    meta = autograd_meta(leaf)
    node: AccumulateGrad | None = None if meta.accumulator is None else meta.accumulator()
    if node is None:
        node = AccumulateGrad(leaf)
        meta.accumulator = weakref.ref(node)
    return node


def current_edge(tensor: Tensor) -> Edge | None:
    """Return the edge of a view, made anew if its base was written in place since."""
    return View.refreshed_edge(tensor)


def _operator(symbol: str, reflected: bool = False) -> Callable[..., object]:
    """Make a special method that finds its operation on first use."""

    def special(self: Tensor, *others: object) -> Any:
        function = operator(symbol, reflected)
        setattr(Tensor, special_name(symbol, reflected), function)
        return function(self, *others)

    return special


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
for _name in _BINARY:
    setattr(Tensor, f"__{_name}__", _operator(_name))
    setattr(Tensor, f"__r{_name}__", _operator(_name, reflected=True))
    setattr(Tensor, f"__i{_name}__", _operator("i" + _name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "getitem"):
    setattr(Tensor, f"__{_name}__", _operator(_name))


def _setitem(self: Tensor, key: object, value: Tensor | float) -> None:
    function = operator("setitem", False)
    setattr(Tensor, "__setitem__", function)  # noqa: B010  (the class has no such name for a type checker)
    function(self, key, value)


setattr(Tensor, "__setitem__", _setitem)  # noqa: B010  (the class has no such name for a type checker)


ArrayOrTensor: TypeAlias = Array | Tensor
"""What formulas compute with: an array in a plain pass, a tensor where a graph of the gradients is recorded."""
Gradients: TypeAlias = tuple[ArrayOrTensor | None, ...]
"""What a formula for several inputs returns: a gradient each, or None where none is wanted."""
