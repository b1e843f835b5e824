"""Declaring operations: the record that `ops/` writes.

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

from collections.abc import Callable
from typing import Any

from numpy import ufunc as np_ufunc

from gradsh.engine import methods as _methods  # noqa: F401  (which Tensor gets)
from gradsh.engine.codegen.specialize import STEPS, quicken, quicken_operator
from gradsh.engine.dispatch.call import run_record
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.lazy_methods import install
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import OPERATORS, REGISTRY, special_name
from gradsh.engine.schema.overload import PARTS, Formula, Overload

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


def _specialize(operation: Operation) -> Callable[..., object]:
    from gradsh.engine.codegen.forward_general import fast_path_of

    return fast_path_of(operation)


def _write_out(operation: Operation, args: tuple[object, ...], kwargs: dict[str, Any]) -> object:
    from gradsh.engine.dispatch.out import into

    return into(operation, args, kwargs)


def _mismatch(operation: Operation, args: tuple[object, ...], kwargs: dict[str, object], method: bool) -> Exception:
    from gradsh.engine.dispatch.overload_errors import mismatch

    return mismatch(operation, args, kwargs, method)


def _newer_form(name: str, args: tuple[object, ...], kwargs: dict[str, object], method: bool) -> object:
    from gradsh.engine.dispatch.older_forms import newer_form

    return newer_form(name, args, kwargs, method)


Operation.run = staticmethod(run_record)
Operation.specialize, Operation.write_out, Operation.mismatch = _specialize, _write_out, _mismatch
Operation.newer_form = staticmethod(_newer_form)


def op(text: str, node: str = "", doc: str = "", *, spaces: tuple[str, ...] = SPACES, **parts: object) -> Operation:
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
    forward_mode  "" the tangents of results follow from the derivatives; "linear": the operation itself, of the inputs' tangents;
                "elementwise": the formulas, of a tangent in the gradient's place (as where a ufunc is the kernel); "refused", as in PyTorch
    reduced     "" the kernel gets float16 and bfloat16 as float32, and its results are rounded; "mixed" and "all" so, too, but weights may
                be of float32, and then the first result alone or all are rounded; "own" it gets them as they are; else PyTorch does
                not compute in these: the name of its kernel, or what it says ({title} is the dtype)
    note        a surprise worth a sentence in `help`
    ufunc       what computes the kernel for operands of one floating point dtype and default arguments: the plain case then
                takes the fast path (see `codegen/forward_elementwise.py`)
    layout      how the result lies in memory (see `layout.py`): "operands" as the operands (where dtypes are unified), "reversed" as
                the operands from the last one on, "contiguous",
                "channels" (last where the first input's are), "" as the kernel makes it (otherwise)
    plain       what formulas of `grads` come to where arguments that are no tensors have their defaults (add's alpha is 1)
    """
    record = Overload(text, node, doc, **parts)
    if record.ufunc is None and record.grads and record.kind == "primitive" and isinstance(record.forward, np_ufunc):
        record.ufunc = record.forward
    return register(record, spaces)


def register(record: Overload, spaces: tuple[str, ...]) -> Operation:
    """Add a record to the operation of its name, and its in-place form under the name with an underscore."""
    spaces = _where(record.name, spaces)
    operation = REGISTRY.get(record.name)
    if operation is None:
        operation = REGISTRY[record.name] = Operation(record.name, spaces)
        install(Tensor, record.name)  # where it is newer than the index
    elif any(space not in operation.spaces for space in spaces):
        operation.spaces = (*operation.spaces, *(space for space in spaces if space not in operation.spaces))
    record.spaces = spaces
    record.step, record.compact_step, record.recorded_step = STEPS["step"], STEPS["compact_step"], STEPS["recorded_step"]
    operation.records.append(record)
    if record.ufunc is not None and operation.fast_elementwise is None:
        quicken(operation, record)
    if record.inplace:
        register_inplace(record, spaces)
    return operation


def _where(name: str, spaces: tuple[str, ...]) -> tuple[str, ...]:
    """Return the namespaces in which an operation is offered that was declared for these."""
    if not name.endswith("_") or name.startswith("_"):
        return spaces
    return tuple(space for space in spaces if space != "special" and (space != "torch" or name in _WRITING))


def register_inplace(record: Overload, spaces: tuple[str, ...]) -> None:
    """Register NAME_ from the record of NAME."""
    parts = {part: getattr(record, part) for part in PARTS if part != "ufunc"}
    node = record.node
    if isinstance(record.inplace, dict):
        changed = dict(record.inplace)
        node = changed.pop("node", node)
        parts.update(changed)
    name, _, rest = record.text.partition("(")
    form = Overload(f"{name}_({rest}", node, record.doc + " In place.", **parts)
    form.kind = "inplace"
    form.inplace = None
    register(form, tuple(space for space in spaces if space in {"torch", "Tensor"}))


def composite(text: str, doc: str, body: Callable[..., object], spaces: tuple[str, ...] = SPACES, **parts: object) -> Operation:
    """Declare an operation made of operations: `body` gets Tensors and no node is born for it."""
    return op(text, "", doc, forward=body, kind="composite", spaces=spaces, **parts)


def unary(
    name: str, doc: str, forward: Callable[..., Any], formula: Formula, *, node: str = "", inplace: Any = True,
    at: "Within | tuple[int, ...]" = (2, 3), **parts: Any,
) -> Operation:
    """Declare a function of each element in floating point, with its in-place form; `at` is the input of its sample."""
    return op(
        f"{name}(self)", node or f"{name.capitalize()}Backward0", doc, forward=forward, dtypes="float", inplace=inplace,
        grads={"self": formula}, samples=(sample(at),), **parts,
    )


def alias(name: str, target: Operation, spaces: tuple[str, ...] = SPACES) -> Operation:
    """Give an operation a second name (`multiply` for `mul`)."""
    other = Operation(name, _where(name, spaces))
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


def sample(*inputs: object, rejects: str = "", **kwargs: object) -> tuple[tuple[Any, ...], dict[str, Any], str]:
    """Describe a call for the tests: a tuple is a random tensor of that shape, `Within(low, high, *shape)` one in a range,
    a string such as "int64:2,3" one of another dtype; anything else is passed as it is.

    `rejects` names the error kind with which the call must fail.
    """
    return inputs, kwargs, rejects


def implements(symbol: str, reflected: bool = False) -> Callable[[Formula], Formula]:
    """Register the function behind an operator (`ops/` does): implements("add") is `__add__`."""

    def register_operator(function: Formula) -> Formula:
        OPERATORS[special_name(symbol, reflected)] = function
        return function

    return register_operator


def binary_operator(function: Any, operation: Operation) -> None:
    """Let the function behind an operator be replaced by the fast path of its operation, where that has one of two operands."""

    def specialized(special: str) -> Callable[..., object]:
        if operation.fast_elementwise is None:
            return function  # type: ignore[no-any-return]
        return quicken_operator(operation, function, special)

    function.specialized = specialized
