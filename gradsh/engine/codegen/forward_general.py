"""The short way through operations that are no plain ufunc: reductions, views, products, losses, whatever gives one array.

An operation that has been called a few times gets, for each number of arguments it is called with, a function written for
the overload that fits. The function binds the arguments, runs the kernel and makes tensor and node as `apply` does, for
tensors of one floating point dtype and without hooks on saved tensors. It answers `MISMATCHED` where `Signature.bind`
would refuse the arguments (the next overload is asked) and `DECLINED` where the case is not plain. Nothing is left out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, entered
from gradsh.engine.codegen.forward_elementwise import OPERAND, RESULT, edge_text
from gradsh.engine.codegen.source import compile_source
from gradsh.engine.dispatch.call import wrap, wrap_views
from gradsh.engine.dispatch.cancellable import patience_for
from gradsh.engine.dispatch.compact_node import LIVE, OWN, ShortNode
from gradsh.engine.dispatch.op_node import size_of
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.dispatch.views import view_of
from gradsh.engine.graph.node import described, next_sequence_number
from gradsh.engine.graph.tensor import Tensor, accumulator, gradient_edge, make
from gradsh.engine.schema.overload import DECLINED, Record
from gradsh.engine.schema.signature import MISMATCH, REQUIRED, Param
from gradsh.engine.values.layout import laid

MISMATCHED: Any = object()
"""What a short way answers when the arguments are not those of its overload."""

_SHORT = """
def short({parameters}):
{binding}
{arrays}
    ambient_ = entered() or current()
    if ambient_.saved_hooks:
        return DECLINED
{check}
    try:
        out = forward({arguments})
    except ValueError:
        return DECLINED
    if type(out) is not ndarray:
        if not isinstance(out, generic):
            {several}
        out = asarray(out)
    dtype_ = out.dtype
    if dtype_ is not F32 and dtype_ is not F64:
        {other}
    shape_ = out.shape
{layout}
{edges}
    {result}
"""

_COMPOSITE = """
def short({parameters}):
{binding}
    if current().saved_hooks:
        return DECLINED
    return forward({arguments})
"""

_TENSOR = """
    if type({name}) is not Tensor and not isinstance({name}, Tensor):
        return {refusal}
"""

_VALUE = """
    {name} = {accept}({name})
    if {name} is MISMATCH:
        return MISMATCHED
"""

_OPTIONAL = """
    if {name} is not None:
        {name} = {accept}({name})
        if {name} is MISMATCH:
            return MISMATCHED
"""

_VARIADIC = """
    {name} = {accept}({name}[0] if len({name}) == 1 and isinstance({name}[0], (list, tuple)) else {name})
    if {name} is MISMATCH:
        return MISMATCHED
"""

_NODE = """
    node = ShortNode()
    node.left = e0
    node.right = e1
    node.outputs = described(shape_, dtype_)
    node.extra = None
    node.seq = next_sequence_number()
    where_ = ambient_.where
    if where_ is None:
        node.code = node.activation = None
    else:
        node.where = where_()
    node.record = record
    node.version = 0
    node.values = {values}
{saving}
"""

_FRESH = """
    fresh_ = new(Tensor)
    fresh_.array = out
    fresh_.form = None
    fresh_.versions = None
    fresh_.meta = None
    fresh_.origin = node
    fresh_.tracked = True
    return fresh_
"""


def short_of(operation: Operation) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return the short way of an operation: called with a call's arguments, it answers DECLINED where there is none."""
    table: dict[Any, tuple[Callable[..., Any], ...]] = {}
    written: dict[Any, Callable[..., Any] | None] = {}

    def short(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key = (len(args), *kwargs) if kwargs else len(args)
        ways = table.get(key)
        if ways is None:
            ways = table[key] = tuple(_ways(operation.records, written, len(args), kwargs))
        for way in ways:
            found = way(*args, **kwargs)
            if found is not MISMATCHED:
                return found
        return DECLINED

    return short


def _ways(records: list[Record], written: dict[Any, Any], given: int, kwargs: dict[str, Any]) -> list[Callable[..., Any]]:
    """Return the short ways of the overloads that calls of this form may mean, in order, up to the first that has none."""
    found: list[Callable[..., Any]] = []
    for record in records:
        params, keywords = record.signature.params, record.signature.keywords
        if any(name not in keywords for name in kwargs) or not _takes(record, given, [keywords[name] for name in kwargs]):
            continue
        spread = not any(params[keywords[name]].variadic for name in kwargs)
        if (record, spread) not in written:
            write = composite_for if is_short_composite(record) else written_for if is_plain(record) else None
            written[record, spread] = None if write is None else write(record, spread)
        way = written[record, spread]
        if way is None and not given:
            break  # without a first argument in its place nothing tells whether the call means this overload
        names = {name: params[keywords[name]].name for name in kwargs}
        found.append(_doubted(record) if way is None else way if all(map(str.__eq__, names, names.values())) else _respelt(way, names))
    return found


def _respelt(way: Callable[..., Any], names: dict[str, str]) -> Callable[..., Any]:
    """Return a short way called by other spellings of the parameters' names."""
    return lambda *args, **kwargs: way(*args, **{names[name]: value for name, value in kwargs.items()})


def _doubted(record: Record) -> Callable[..., Any]:
    """Return what stands for an overload that has no short way: it tells by the first argument whether the call may mean it."""
    accept = record.signature.params[0].accept

    def doubted(first: Any, *_: Any, **__: Any) -> Any:
        return MISMATCHED if accept(first) is MISMATCH else DECLINED

    return doubted


def _takes(record: Record, given: int, named: list[int]) -> bool:
    """Whether so many arguments in order and those of these places can be those of an overload, whatever their types."""
    signature = record.signature
    if (given > signature.positional and not signature.variadic) or len({*named}) < len(named) or min(named, default=given) < given:
        return False
    return all(param.default is not REQUIRED or place in named for place, param in enumerate(signature.params[given:], given))


def is_short_composite(record: Record) -> bool:
    """Whether a composite has a short way: its arguments can be bound one by one."""
    if record.kind != "composite" or _TAKEN.intersection(record.signature.index):
        return False
    last = record.signature.positional - 1
    params = record.signature.params
    return not any(one.variadic and (place != last or one.type not in {"ints", "sizes"}) for place, one in enumerate(params))


def composite_for(record: Record, spread: bool) -> Callable[..., Any]:
    """Write the short way of a composite: what it does, once its arguments are bound."""
    params = record.signature.params
    scope: dict[str, Any] = {
        "Tensor": Tensor, "DECLINED": DECLINED, "MISMATCH": MISMATCH, "MISMATCHED": MISMATCHED, "current": current, "entered": entered,
        "forward": record.forward,
    }
    source = _COMPOSITE.format(
        parameters=_parameters(record, scope, spread),
        binding="".join(_binding(param, place, scope, spread) for place, param in enumerate(params)),
        arguments=", ".join(param.name for param in params),
    )
    return compile_source(f"forward of {record.name}", source, scope)


def is_plain(record: Record) -> bool:
    """Whether a record can have a short way: one array comes out, and no list of tensors goes in."""
    params = record.signature.params
    if record.kind not in {"primitive", "view"} or record.multi_view or record.returns is not None or record.fields:
        return False
    if not record.node or not record.grads or params[0].type not in {"Tensor", "Operand"} or params[0].optional:
        return False
    if any(param.type in {"Tensors", "Indices", "data", "any"} for param in params):
        return False
    last = record.signature.positional - 1
    if _TAKEN.intersection(record.signature.index) or any(save.output > 0 for save in record.plan.saves):
        return False
    return not any(param.variadic and (place != last or param.type != "ints") for place, param in enumerate(params))


_TAKEN = frozenset({
    "Tensor", "DECLINED", "MISMATCH", "MISMATCHED", "current", "entered", "ndarray", "generic", "asarray", "F32", "F64", "forward", "check",
    "HUGE", "record", "laid", "view_of", "gradient_edge", "accumulator", "new", "ShortNode", "LIVE", "OWN", "described",
    "next_sequence_number", "size_of", "wrap", "wrap_views", "node", "e0", "e1", "out", "meta", "counter",
})
"""Names that the written functions use: no parameter may have one of them."""


def written_for(record: Record, spread: bool) -> Callable[..., Any]:
    """Write the short way of a record. With `spread` a variadic parameter takes its numbers one by one, else by its name."""
    params = record.signature.params
    plan = record.plan
    scope: dict[str, Any] = {
        "Tensor": Tensor, "DECLINED": DECLINED, "MISMATCH": MISMATCH, "MISMATCHED": MISMATCHED, "current": current, "entered": entered,
        "ndarray": np.ndarray, "generic": np.generic, "asarray": np.asarray, "F32": np.dtype(np.float32), "F64": np.dtype(np.float64),
        "forward": record.forward, "check": record.check, "record": record, "laid": laid, "make": make, "view_of": view_of,
        "HUGE": patience_for(record.forward),
        "gradient_edge": gradient_edge, "accumulator": accumulator, "new": object.__new__, "ShortNode": ShortNode, "LIVE": LIVE, "OWN": OWN,
        "described": described, "next_sequence_number": next_sequence_number, "size_of": size_of, "wrap": wrap, "wrap_views": wrap_views,
    }
    tensors = [place for place, param in enumerate(params) if param.type in {"Tensor", "Operand"}]
    arguments = ", ".join(_array(param, place) if place in tensors else param.name for place, param in enumerate(params))
    view = record.kind == "view"
    small = len(plan.edges) <= 2 and len(plan.saves) <= 2 and not any(params[place].optional for place in plan.edges)
    small = small and all(save.output == 0 or save.param in plan.edges for save in plan.saves)
    names = ", ".join(param.name for param in params)
    laid_out = f"laid({record.layout!r}, out, [{arguments}])" if record.layout else "out"
    several = f"{'wrap_views' if view else 'wrap'}(record, [{names}], {laid_out}{'' if view else ', ambient_'})"
    source = _SHORT.format(
        parameters=_parameters(record, scope, spread),
        binding="".join(_binding(param, place, scope, spread) for place, param in enumerate(params)),
        arrays=_arrays(params, tensors),
        check=_check(record, arguments), arguments=arguments,
        several=f"return {several}", other=f"return {several}",
        layout=_layout(record, arguments),
        edges=_edges(record) + _node(record) if small else "",
        result=_result(record) if small else f"return {several.replace(laid_out, 'out')}",
    )
    return compile_source(f"forward of {record.name}", source, scope)


def _parameters(record: Record, scope: dict[str, Any], spread: bool) -> str:
    words: list[str] = []
    for place, param in enumerate(record.signature.params):
        if param.keyword_only and not any(one.startswith("*") for one in words):
            words.append("*")
        if param.default is REQUIRED:
            words.append(("*" if param.variadic and spread else "") + param.name)
        else:
            scope[f"D{place}"] = param.default
            words.append(f"{param.name}=D{place}")
    return ", ".join(words)


def _array(param: Param, place: int) -> str:
    return f"(None if {param.name} is None else a{place})" if param.optional else f"a{place}"


def _binding(param: Param, place: int, scope: dict[str, Any], spread: bool) -> str:
    """Write what `bind` does with one argument."""
    scope[f"A{place}"] = param.accept if param.type != "any" else param.convert  # the latter refuses None where there may be none
    if param.type in {"Tensor", "Operand"}:
        # an array, or a number where one may stand, is for the long way; anything else is no argument of this overload
        refusal = f"MISMATCHED if A{place}({param.name}) is MISMATCH else DECLINED"
        text = _TENSOR.format(name=param.name, refusal=refusal)
        return f"\n    if {param.name} is not None:" + text.rstrip().replace("\n", "\n    ") + "\n" if param.optional else text
    template = _VARIADIC if param.variadic and spread else _OPTIONAL if param.optional else _VALUE
    return template.format(name=param.name, accept=f"A{place}")


def _arrays(params: tuple[Param, ...], tensors: list[int]) -> str:
    """Write the look at the arrays: all of one floating point dtype."""
    text = f"    a{tensors[0]} = {params[tensors[0]].name}.array\n    dtype_ = a{tensors[0]}.dtype\n"
    text += "    if dtype_ is not F32 and dtype_ is not F64:\n        return DECLINED\n"
    for place in tensors[1:]:
        name = params[place].name
        indent = "    "
        if params[place].optional:
            text += f"    if {name} is not None:\n"
            indent += "    "
        text += f"{indent}a{place} = {name}.array\n{indent}if a{place}.dtype is not dtype_:\n{indent}    return DECLINED\n"
    return text


def _check(record: Record, arguments: str) -> str:
    name = record.signature.params[0].name
    if record.kind == "view":  # refused before its geometry is looked at where it could not follow a write
        text = f"    if {name}.meta is not None and ambient_.grad_enabled:\n        gradient_edge({name})\n"
    else:
        text = "    if ambient_.check is not None:\n        if a0.size > HUGE:\n            return DECLINED\n        ambient_.check(0)\n"
    return text + (f"    check({arguments})\n" if record.check is not None else "")


def _layout(record: Record, arguments: str) -> str:
    if not record.layout:
        return ""
    return f"    if len(shape_) > 1:\n        out = laid({record.layout!r}, out, [{arguments}])\n"


def _edges(record: Record) -> str:
    params = record.signature.params
    text = "    e0 = e1 = None\n    if ambient_.grad_enabled:"
    return text + "".join(edge_text(n, params[place].name, "return DECLINED", 8) for n, place in enumerate(record.plan.edges))


def _node(record: Record) -> str:
    """Write the making of a node, for which there is a reason where any edge leads somewhere."""
    params, plan = record.signature.params, record.plan
    values = [f"{name!r}: {params[place].name}" for name, place in plan.value_names]
    for name, place, what, slot in plan.asked:
        asked = f"a{place}.shape" if what == "sizes" and not params[place].optional else f"size_of({params[place].name}, {what!r})"
        values.append(f"{name!r}: () if e{slot} is None else {asked}" if what == "strides" else f"{name!r}: {asked}")
    name = params[0].name
    bare = "make(out)"
    if record.kind == "view":
        bare = f"view_of({name}, out, None, 0, 'default' if ambient_.grad_enabled else 'no_grad')"
    lone = f"    if e0 is None and e1 is None:\n        return {bare}\n"
    return lone + _NODE.format(
        values="{" + ", ".join(values) + "}",
        saving=_saving(record),
    )


def _result(record: Record) -> str:
    if record.kind == "view":
        return f"return view_of({record.signature.params[0].name}, out, node, 0, 'default')"
    return _FRESH.strip()


def _saving(record: Record) -> str:
    """Write the saving of operands and of the result."""
    params = record.signature.params
    text = "    node.raw = LIVE\n" if record.plan.saves else "    node.raw = ()\n"
    for slot, save in enumerate(record.plan.saves):
        if save.output >= 0:
            text += RESULT.format(slot=slot)
            continue
        name = params[save.param].name
        needed = " or ".join(f"e{one} is not None" for one in save.guard) if save.guard else "True"
        if params[save.param].optional:
            needed = f"{name} is not None and ({needed})"
        text += OPERAND.format(slot=slot, condition=f"if {needed}", array=f"{name}.array", tensor=name, otherwise="None")
    return text
