"""What an operation is: the record that `ops/` writes, and the callable that users get.

One record says everything about one overload: signature, node name, one sentence, forward kernel, derivatives. The
parameter names of a derivative declare what is saved:

    mul = op("mul(self, other: Operand)", "MulBackward0", "Product, element by element.",
             forward=np.multiply, dtypes="promote",
             grads={"self": lambda grad, other: grad * other, "other": lambda grad, self: grad * self})

A key of `grads` is an input or a tuple of inputs (one formula for several gradients). A formula's parameters are `grad`
(gradient of the first output), `grads` (of all outputs, None where none arrived), `grad0`, `grad1`, …; inputs by name
(saved); `result`, `result1`, … or the names in `outputs` or `fields` (saved outputs); `NAME_sizes`, `NAME_numel`,
`NAME_strides`, `NAME_offset`, `NAME_dim`, `NAME_dtype` of a tensor input (not saved); other arguments by name; `needs`
(which of a tuple's inputs
want a gradient). On a plain pass they get arrays, under `create_graph` Tensors, so formulas use operators and operations,
never methods of arrays.

An input that one formula alone reads, for the gradient of one input, is saved only if that input needs a gradient; others
and results are saved whenever the node is built. `saves=` names exceptions.
"""

from collections.abc import Callable, Mapping
from typing import Any

from numpy import ndarray
from numpy import ufunc as np_ufunc

from gradsh.engine.graph.lazy_methods import lend
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.schema.overload import DECLINED, FEW, Formula, Record

REGISTRY: dict[str, "Operation"] = {}
"""The operations of the families loaded so far."""
_OPERATORS: dict[str, Any] = {}
SPACES = ("torch", "Tensor")
_INPLACE_FUNCTIONS = (
    "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ "
    "atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ dropout_ erf_ erfc_ exp2_ "
    "exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ "
    "nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ "
    "sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_ "
)
"""The operations in place that are functions of `torch` too; the others are methods alone."""
_WRITING = frozenset(_INPLACE_FUNCTIONS.split())


class Operation:
    """An operation as users call it: the overloads of one name. Also works on plain arrays, within derivatives."""

    __slots__ = ("__dict__", "calls", "inplace_name", "name", "quick", "records", "run", "short", "spaces")
    __script_attributes__ = frozenset({"__name__", "__doc__"})

    def __init__(self, name: str, spaces: tuple[str, ...], run: Callable[..., Any]) -> None:
        self.name = name
        self.records: list[Record] = []
        self.spaces = spaces
        self.run = run
        self.quick: Callable[..., Any] | None = None
        """The short way for the plain case (see `quick.py`); it answers DECLINED where the case is not plain."""
        self.short: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None
        """The short way of what is no plain ufunc (see `short.py`), written after a `FEW` calls."""
        self.calls = 0
        self.__name__ = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the first overload that fits; raises TypeError with the candidates where none does."""
        if args and type(args[0]) is ndarray:
            if not kwargs and len(self.records) == 1:
                bare = self.records[0].bare(args)
                if bare is not None:
                    return self.records[0].forward(*bare)
        else:
            if self.short is not None:
                found = self.short(args, kwargs)
            else:
                found = self.quick(*args) if self.quick is not None and not kwargs else self.shortly(args, kwargs)
            if found is not DECLINED:
                return found
        for record in self.records:
            values = record.signature.bind(args, kwargs)
            if values is not None:
                return self.run(record, values)
        if "out" in kwargs:
            from gradsh.engine.dispatch.out import into

            return into(self, args, kwargs)
        from gradsh.engine.dispatch.overload_errors import mismatch

        raise mismatch(self, args, kwargs)

    def shortly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Go the short way of what is no plain ufunc, if there is one for this call; DECLINED if not."""
        if self.short is not None:
            return self.short(args, kwargs)
        self.calls += 1
        if self.calls <= FEW or self.quick is not None:
            return DECLINED
        from gradsh.engine.codegen.forward_general import short_of

        self.short = short_of(self)
        return self.short(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return BoundOperation(self, instance)

    def __copy__(self) -> "Operation":
        return self

    def __deepcopy__(self, memo: Any) -> "Operation":
        return self  # a copied module shares the functions it calls, as it does in Python

    def __repr__(self) -> str:
        return f"<built-in method {self.name}>"


class BoundOperation:
    """A tensor's method, waiting for its call."""

    __slots__ = ("instance", "operation")
    __script_attributes__ = frozenset({"__name__", "__doc__"})

    def __init__(self, operation: Operation, instance: Any) -> None:
        self.operation = operation
        self.instance = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operation with the tensor first."""
        operation = self.operation
        args = (self.instance, *args)
        quick = operation.quick
        found = quick(*args) if quick is not None and not kwargs else operation.shortly(args, kwargs)
        if found is not DECLINED:
            return found
        for record in operation.records:
            values = record.signature.bind(args, kwargs)
            if values is not None:
                return operation.run(record, values)
        from gradsh.engine.dispatch.overload_errors import mismatch

        raise mismatch(operation, args, kwargs, method=True)

    def __repr__(self) -> str:
        return f"<built-in method {self.operation.name} of Tensor object>"


def op(
    text: str,
    node: str = "",
    doc: str = "",
    *,
    forward: Callable[..., Any],
    check: Callable[..., None] | None = None,
    grads: Mapping[Any, Formula | None] | None = None,
    dtypes: str = "keep",
    kind: str = "primitive",
    inplace: Any = None,
    returns: int | None = None,
    fields: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    saves: tuple[str, ...] = (),
    unguarded: bool = False,
    guards: dict[str, tuple[str, ...]] | None = None,
    writes: bool = False,
    multi_view: bool = False,
    spaces: tuple[str, ...] = SPACES,
    attributes: tuple[str, ...] | None = None,
    samples: tuple[Any, ...] = (),
    note: str = "",
    example: str = "",
    ufunc: Callable[..., Any] | None = None,
    layout: str | None = None,
    plain: dict[str, Formula] | None = None,
) -> Operation:
    """Declare one overload and return the operation of that name (overloads are tried in the order of declaration).

    text        the signature (see `signature.py`)
    node        PyTorch's node name; "" for an operation without derivative
    forward     the kernel: values in the order of the parameters, tensors as arrays; returns an array or a tuple of them.
                For kind "composite" it gets Tensors and calls operations; for "inplace" it returns the new content of `self`
    check       called before the kernel with what it gets, but operands as they came: refuses dtypes, with PyTorch's words
    grads       derivatives by input name (see the module). A key with a formula `None` marks an input whose derivative
                PyTorch does not have: backward raises "derivative for aten::NAME is not implemented"
    dtypes      "keep" as they come; "promote" operands to their common dtype; "float": the same and integers become the
                default dtype; "same": operands of different dtypes are refused
    kind        "primitive", "view" (result shares memory and version), "composite" (no node of its own), "inplace" (writes self),
                "geometry" (gives self another shape over its memory, in place)
    inplace     True: the form NAME_ exists, with the same derivative; or the Record parts that differ, as a dict (node, grads, …)
    returns     how many of the kernel's outputs the caller sees (all); the rest exist to be saved as `result1`, …
    fields      names of the outputs of a named tuple (`max` with dim: values, indices)
    outputs     names of the kernel's outputs for the formulas and as saved tensors (`fields`, or result, result1, …)
    saves       names saved although no formula reads them, or saved whoever needs a gradient
    unguarded   all reads are saved whoever needs a gradient
    guards      by input saved: the inputs of which one must need a gradient for that
    writes      the kernel of an in-place form itself writes into its first array, and may do so where elements share memory
    multi_view  a view operation that returns several views (split, unbind), which may not be written in place
    spaces      where the name exists: torch, Tensor, F (torch.nn.functional), special, linalg, …
    attributes  names of the non-tensor arguments shown as `_saved_NAME` (those that the formulas read)
    samples     `sample(...)` calls for the tests
    note        a surprise worth a sentence in `help`
    ufunc       what computes the kernel for operands of one floating point dtype and default arguments: the plain case then
                takes the short way (see `quick.py`)
    layout      how the result lies in memory (see `layout.py`): "operands" as the operands (where dtypes are unified), "reversed" as
                the operands from the last one on, "contiguous",
                "channels" (last where the first input's are), "" as the kernel makes it (otherwise)
    plain       what formulas of `grads` come to where arguments that are no tensors have their defaults (add's alpha is 1)
    """
    if layout is None:
        layout = "operands" if kind == "primitive" and dtypes in {"promote", "float"} else ""
    if ufunc is None and grads and kind == "primitive" and isinstance(forward, np_ufunc):
        ufunc = forward
    record = Record(
        text, node, doc, forward=forward, check=check, grads=grads or {}, dtypes=dtypes, kind=kind, inplace=inplace, returns=returns,
        fields=fields, outputs=outputs or fields, saves=saves, unguarded=unguarded, guards=guards or {},
        writes=writes, multi_view=multi_view,
        attributes=attributes, samples=samples, note=note, example=example, ufunc=ufunc, layout=layout, plain=plain or {},
    )
    return register(record, spaces)


def register(record: Record, spaces: tuple[str, ...]) -> Operation:
    """Add a record to the operation of its name, and its in-place form under the name with an underscore."""
    from gradsh.engine.dispatch.call import run_record

    spaces = _where(record.name, spaces)
    operation = REGISTRY.get(record.name)
    if operation is None:
        operation = REGISTRY[record.name] = Operation(record.name, spaces, run_record)
        lend(Tensor, record.name)  # where it is newer than the index
    elif any(space not in operation.spaces for space in spaces):
        operation.spaces = (*operation.spaces, *(space for space in spaces if space not in operation.spaces))
    record.spaces = spaces
    operation.records.append(record)
    if record.ufunc is not None and operation.quick is None:
        from gradsh.engine.codegen.forward_elementwise import quicken

        quicken(operation, record)
    if record.inplace:
        register_inplace(record, spaces)
    return operation


def _where(name: str, spaces: tuple[str, ...]) -> tuple[str, ...]:
    """Return the namespaces in which an operation is offered that was declared for these."""
    if not name.endswith("_") or name.startswith("_"):
        return spaces
    return tuple(space for space in spaces if space != "special" and (space != "torch" or name in _WRITING))


def register_inplace(record: Record, spaces: tuple[str, ...]) -> None:
    """Register NAME_ from the record of NAME."""
    parts = {part: getattr(record, part) for part in _INHERITED}
    node = record.node
    if isinstance(record.inplace, dict):
        changed = dict(record.inplace)
        node = changed.pop("node", node)
        parts.update(changed)
    name, _, rest = record.text.partition("(")
    form = Record(f"{name}_({rest}", node, record.doc + " In place.", **parts)
    form.kind = "inplace"
    form.inplace = None
    register(form, tuple(space for space in spaces if space in {"torch", "Tensor"}))


_INHERITED = (
    "attributes", "check", "dtypes", "example", "fields", "forward", "grads", "guards", "kind", "layout",
    "multi_view", "note", "outputs", "plain", "returns",
    "samples", "saves", "unguarded", "writes", "inplace",
)


def composite(text: str, doc: str, body: Callable[..., Any], spaces: tuple[str, ...] = SPACES, **parts: Any) -> Operation:
    """Declare an operation made of operations: `body` gets Tensors and no node is born for it."""
    return op(text, "", doc, forward=body, kind="composite", spaces=spaces, **parts)


def alias(name: str, target: Operation, spaces: tuple[str, ...] = SPACES) -> Operation:
    """Give an operation a second name (`multiply` for `mul`)."""
    other = Operation(name, _where(name, spaces), target.run)
    other.records = target.records
    REGISTRY[name] = other
    inplace = REGISTRY.get(target.name + "_")
    if inplace is not None and name + "_" not in REGISTRY:
        alias(name + "_", inplace, spaces)
    return other


class Within:
    """A sample's input: random numbers between `low` and `high`, for operations with a domain."""

    __slots__ = ("high", "low", "shape")

    def __init__(self, low: float, high: float, *shape: int) -> None:
        self.low = low
        self.high = high
        self.shape = shape


def sample(*inputs: Any, rejects: str = "", **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any], str]:
    """Describe a call for the tests: a tuple is a random tensor of that shape, `Within(low, high, *shape)` one in a range,
    a string such as "int64:2,3" one of another dtype; anything else is passed as it is.

    `rejects` names the error kind with which the call must fail.
    """
    return inputs, kwargs, rejects


def find(name: str) -> Operation:
    """Return the operation called `name`, loading its family on first use; raises KeyError where there is none."""
    return REGISTRY.get(name) or _loaded(name, REGISTRY)


def _loaded(name: str, where: dict[str, Any]) -> Any:
    """Return what a family declares that may not be loaded yet; raises KeyError."""
    from gradsh.ops import load, load_all

    if not load(name):
        load_all()
    return where[name]


def method(name: str) -> Operation | None:
    """Return the operation that is the Tensor method `name`, or None."""
    return lookup(name, "Tensor", thorough=not name.startswith("__"))


def operator(symbol: str, reflected: bool) -> Callable[..., Any]:
    """Return the function behind an operator of Tensor and install it on the class."""
    special = special_name(symbol, reflected)
    function = _OPERATORS.get(special) or _loaded(special, _OPERATORS)
    operation = getattr(function, "operation", None)
    if operation is not None and operation.quick is not None:
        from gradsh.engine.codegen.forward_elementwise import operator_of

        function = operator_of(operation, function, special)
    setattr(Tensor, special, function)
    return function  # type: ignore[no-any-return]


def implements(symbol: str, reflected: bool = False) -> Callable[[Formula], Formula]:
    """Register the function behind an operator (`ops/` does): implements("add") is `__add__`."""

    def register_operator(function: Formula) -> Formula:
        _OPERATORS[special_name(symbol, reflected)] = function
        return function

    return register_operator


def special_name(symbol: str, reflected: bool) -> str:
    """Return the name of an operator's method: `__radd__`."""
    return f"__{'r' if reflected else ''}{symbol}__"


def lookup(name: str, space: str = "", *, thorough: bool = False) -> Operation | None:
    """Return the operation called `name`, or None; with `space` the one of that namespace.

    An operation whose name means another thing elsewhere is recorded as SPACE_NAME: `linalg_norm` is linalg's `norm`.
    Only the families that the index names are loaded; a `thorough` search that finds none there goes through all of them,
    so that a record is found as soon as it is written.
    """
    from gradsh.ops import load, load_all

    for each in (f"{space}_{name}", name) if space else (name,):
        if space and each.startswith(f"{space}_{space}_"):
            break  # the name of the record is none of the namespace's
        found = REGISTRY.get(each)
        if found is None and load(each):
            found = REGISTRY.get(each)  # the index has the operators of Tensor, too
        if found is not None and (not space or space in found.spaces):
            return found
    return lookup(name, space) if thorough and load_all() else None


def operations() -> list[str]:
    """Return the names of all operations."""
    return sorted(every_operation())


def every_operation() -> dict[str, Operation]:
    """Return all operations by name: loads every family."""
    from gradsh.ops import load_all

    load_all()
    return REGISTRY
