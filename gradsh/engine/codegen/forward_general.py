"""The fast path through operations that are no plain ufunc: reductions, views, products, losses, whatever gives one array.

An operation that has been called a few times gets, for each number of arguments it is called with, a function written for
the overload that fits. The function binds the arguments, runs the kernel and makes tensor and node as `apply` does, for
tensors of one floating point dtype and without hooks on saved tensors. It answers `WRONG_OVERLOAD` where `Signature.bind`
would refuse the arguments (the next overload is asked) and `FALLBACK` where the case is not plain. Nothing is left out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.codegen import fragments
from gradsh.engine.codegen.source import compile_source, fill
from gradsh.engine.dispatch.call import wrap, wrap_views
from gradsh.engine.dispatch.cancellable import cancellable_from
from gradsh.engine.dispatch.op_node import size_of
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.dispatch.views import view_of
from gradsh.engine.schema.overload import FALLBACK, Overload
from gradsh.engine.schema.signature import MISMATCH, REQUIRED, Param
from gradsh.engine.values.layout import is_turned, laid

WRONG_OVERLOAD = object()
"""What a fast path answers when the arguments are not those of its overload."""

_PRIMITIVE = """
def forward({parameters}):
    {binding}
    {arrays}
    _ambient = _entered() or _current()
    if _ambient.saved_hooks:
        return FALLBACK
    {check}
    try:
        _out = _kernel({arguments})
    except ValueError:
        return FALLBACK
    if type(_out) is not _ndarray:
        if not isinstance(_out, _generic):
            {generally}
        _out = _asarray(_out)
    _dtype = _out.dtype
    if _dtype is not F32 and _dtype is not F64:
        {generally}
    _shape = _out.shape
    {layout}
    {result}
"""

_COMPOSITE = """
def forward({parameters}):
    {binding}
    if _current().saved_hooks:
        return FALLBACK
    return _body({arguments})
"""

_TENSOR = """
    if type({name}) is not Tensor and not isinstance({name}, Tensor):
        return {refusal}
"""

_VALUE = """
    {name} = {accept}({given})
    if {name} is MISMATCH:
        return WRONG_OVERLOAD
"""

_OPTIONAL = """
    if {name} is not None:
        {bind}
"""

_ARRAY = """
    _a{place} = {name}.array
    if _a{place}.dtype is not _dtype:
        return FALLBACK
"""

_FIRST_ARRAY = """
    _a{place} = {name}.array
    _dtype = _a{place}.dtype
    if _dtype is not F32 and _dtype is not F64:
        return FALLBACK
"""

_EDGES = """
    _e0 = _e1 = None
    if _ambient.grad_enabled:
        {find}
    {result}
"""

_VIEW = """
    if _e0 is None and _e1 is None:
        return _view_of({base}, _out, None, 0, 'default' if _ambient.grad_enabled else 'no_grad')
    {node}
    return _view_of({base}, _out, _node, 0, 'default')
"""

_CHECK_VIEW = """
    if {name}.meta is not None and _ambient.grad_enabled:
        _gradient_edge({name})
"""
"""A view that could not follow a write is refused before its geometry is looked at."""

_CHECK_LIMITS = """
    if _ambient.check is not None:
        if _a0.size > LONG:
            return FALLBACK
        _ambient.check(0)
"""

_LAID = """
    if len(_shape) > 1:
        _out = {laid}
"""

_LAID_AS_OPERANDS = """
    if len(_shape) > 1 and not ({rows}):
        _out = {laid}
        if {turned}:
            {generally}
"""
"""What is out of row-major order has a node whose step looks at the order of all that it reads."""


def fast_path_of(operation: Operation) -> Callable[[tuple[object, ...], dict[str, object]], object]:
    """Return the fast path of an operation: called with a call's arguments, it answers FALLBACK where there is none."""
    table: dict[object, tuple[Callable[..., object], ...]] = {}
    written: dict[Any, Callable[..., Any] | None] = {}

    def fast_path(args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        key = (len(args), *kwargs) if kwargs else len(args)
        ways = table.get(key)
        if ways is None:
            ways = table[key] = tuple(_ways(operation.records, written, len(args), kwargs))
        for way in ways:
            found = way(*args, **kwargs)
            if found is not WRONG_OVERLOAD:
                return found
        return FALLBACK

    return fast_path


def _ways(
    records: list[Overload], written: dict[Any, Any], given: int, kwargs: dict[str, object]
) -> list[Callable[..., object]]:
    """Return the fast paths of the overloads that calls of this form may mean, in order, up to the first that has none."""
    found: list[Callable[..., Any]] = []
    for record in records:
        params, keywords = record.signature.params, record.signature.keywords
        if any(name not in keywords for name in kwargs) or not _takes(record, given, [keywords[name] for name in kwargs]):
            continue
        spread = not any(params[keywords[name]].variadic for name in kwargs)
        if (record, spread) not in written:
            write = write_composite if is_plain_composite(record) else write_primitive if is_plain(record) else None
            written[record, spread] = None if write is None else write(record, spread)
        way = written[record, spread]
        if way is None and not given:
            break  # without a first argument in its place nothing tells whether the call means this overload
        names = {name: params[keywords[name]].name for name in kwargs}
        found.append(_doubted(record) if way is None else way if all(map(str.__eq__, names, names.values())) else _respelt(way, names))
    return found


def _respelt(way: Callable[..., object], names: dict[str, str]) -> Callable[..., object]:
    """Return a fast path called by other spellings of the parameters' names."""
    return lambda *args, **kwargs: way(*args, **{names[name]: value for name, value in kwargs.items()})


def _doubted(record: Overload) -> Callable[..., object]:
    """Return what stands for an overload that has no fast path: it tells by the first argument whether the call may mean it."""
    accept = record.signature.params[0].accept

    def doubted(first: object, *_: object, **__: object) -> object:
        return WRONG_OVERLOAD if accept(first) is MISMATCH else FALLBACK

    return doubted


def _takes(record: Overload, given: int, named: list[int]) -> bool:
    """Whether so many arguments in order and those of these places can be those of an overload, whatever their types."""
    signature = record.signature
    if (given > signature.positional and not signature.variadic) or len({*named}) < len(named) or min(named, default=given) < given:
        return False
    return all(param.default is not REQUIRED or place in named for place, param in enumerate(signature.params[given:], given))


def is_plain_composite(record: Overload) -> bool:
    """Whether a composite has a fast path: its arguments can be bound one by one."""
    if record.kind != "composite":
        return False
    last = record.signature.positional - 1
    params = record.signature.params
    return not any(one.variadic and (place != last or one.type not in {"ints", "sizes"}) for place, one in enumerate(params))


def write_composite(record: Overload, spread: bool) -> Callable[..., object]:
    """Write the fast path of a composite: what it does, once its arguments are bound."""
    params = record.signature.params
    scope = fragments.forward_scope(record, MISMATCH=MISMATCH, WRONG_OVERLOAD=WRONG_OVERLOAD, _body=record.forward)
    source = fill(
        _COMPOSITE, parameters=_parameters(record, scope, spread), binding=_bindings(params, scope, spread),
        arguments=", ".join(param.name for param in params),
    )
    return compile_source(f"forward of {record.name}", source, scope)


def is_plain(record: Overload) -> bool:
    """Whether a record can have a fast path: one array comes out, and no list of tensors goes in."""
    params = record.signature.params
    if record.kind not in {"primitive", "view"} or record.multi_view or record.returns is not None or record.fields:
        return False
    if not record.node or not record.grads or params[0].type not in {"Tensor", "Operand"} or params[0].optional:
        return False
    if any(param.type in {"Tensors", "Indices", "data", "any"} for param in params):
        return False
    last = record.signature.positional - 1
    if any(save.output > 0 for save in record.plan.saves):
        return False
    return not any(param.variadic and (place != last or param.type != "ints") for place, param in enumerate(params))


def write_primitive(record: Overload, spread: bool) -> Callable[..., object]:
    """Write the fast path of a record. With `spread` a variadic parameter takes its numbers one by one, else by its name."""
    params = record.signature.params
    scope = fragments.forward_scope(
        record, MISMATCH=MISMATCH, WRONG_OVERLOAD=WRONG_OVERLOAD, LONG=cancellable_from(record.forward), _generic=np.generic,
        _kernel=record.forward, _check=record.check, _laid=laid, _is_turned=is_turned, _view_of=view_of, _size_of=size_of,
        _wrap=wrap, _wrap_views=wrap_views,
    )
    tensors = [place for place, param in enumerate(params) if param.type in {"Tensor", "Operand"}]
    arguments = ", ".join(_array(param, place) if place in tensors else param.name for place, param in enumerate(params))
    laid_out = f"_laid({record.layout!r}, _out, [{arguments}])" if record.layout else "_out"
    source = fill(
        _PRIMITIVE, parameters=_parameters(record, scope, spread), binding=_bindings(params, scope, spread),
        arrays="\n".join(_read_array(params[place], place, place == tensors[0]) for place in tensors),
        check=_check(record, arguments), arguments=arguments, generally=_generally(record, laid_out),
        layout=_layout(record, tensors, laid_out),
        result=_result(record) if _is_compact(record) else _generally(record, "_out"),
    )
    return compile_source(f"forward of {record.name}", source, scope)


def _layout(record: Overload, tensors: list[int], laid_out: str) -> str:
    """Write how the result is laid in the order that the record asks for."""
    if not record.is_elementwise:
        return fill(_LAID, laid=laid_out) if record.layout else ""
    params = record.signature.params
    absent = {place: f"{params[place].name} is None or " if params[place].optional else "" for place in tensors}
    rows = " and ".join(f"({absent[place]}_a{place}.flags.c_contiguous)" for place in tensors)
    turned = " or ".join(f"_is_turned({_array(params[place], place)})" for place in tensors)
    return fill(_LAID_AS_OPERANDS, rows=rows, laid=laid_out, turned=turned, generally=_generally(record, "_out"))


def _is_compact(record: Overload) -> bool:
    """Whether a `CompactNode` holds all that a node of the record has: two edges, two saved tensors."""
    params, plan = record.signature.params, record.plan
    small = len(plan.edges) <= 2 and len(plan.saves) <= 2 and not any(params[place].optional for place in plan.edges)
    return small and all(save.output == 0 or save.param in plan.edges for save in plan.saves)


def _generally(record: Overload, out: str) -> str:
    """Write that tensor and node are made in the general way."""
    names = ", ".join(param.name for param in record.signature.params)
    if record.kind == "view":
        return f"return _wrap_views(RECORD, [{names}], {out})"
    return f"return _wrap(RECORD, [{names}], {out}, _ambient)"


def _parameters(record: Overload, scope: dict[str, object], spread: bool) -> str:
    words: list[str] = []
    for place, param in enumerate(record.signature.params):
        if param.keyword_only and not any(word.startswith("*") for word in words):
            words.append("*")
        if param.default is REQUIRED:
            words.append(("*" if param.variadic and spread else "") + param.name)
        else:
            scope[f"_default{place}"] = param.default
            words.append(f"{param.name}=_default{place}")
    return ", ".join(words)


def _array(param: Param, place: int) -> str:
    return f"(None if {param.name} is None else _a{place})" if param.optional else f"_a{place}"


def _bindings(params: tuple[Param, ...], scope: dict[str, object], spread: bool) -> str:
    """Write what `Signature.bind` does with each argument."""
    return "\n".join(_binding(param, place, scope, spread) for place, param in enumerate(params))


def _binding(param: Param, place: int, scope: dict[str, object], spread: bool) -> str:
    name, accept = param.name, f"_accept{place}"
    scope[accept] = param.accept if param.type != "any" else param.convert  # the latter refuses None where there may be none
    if param.variadic and spread:
        given = f"{name}[0] if len({name}) == 1 and isinstance({name}[0], (list, tuple)) else {name}"
        return fill(_VALUE, name=name, accept=accept, given=given)
    if param.type in {"Tensor", "Operand"}:
        # an array, or a number where one may stand, is for the general way; anything else is no argument of this overload
        bind = fill(_TENSOR, name=name, refusal=f"WRONG_OVERLOAD if {accept}({name}) is MISMATCH else FALLBACK")
    else:
        bind = fill(_VALUE, name=name, accept=accept, given=name)
    return fill(_OPTIONAL, name=name, bind=bind) if param.optional else bind


def _read_array(param: Param, place: int, first: bool) -> str:
    """Write the look at one array: all are of one floating point dtype."""
    read = fill(_FIRST_ARRAY if first else _ARRAY, name=param.name, place=str(place))
    return fill(_OPTIONAL, name=param.name, bind=read) if param.optional else read


def _check(record: Overload, arguments: str) -> str:
    check = fill(_CHECK_VIEW, name=record.signature.params[0].name) if record.kind == "view" else fill(_CHECK_LIMITS)
    return check if record.check is None else f"{check}\n_check({arguments})"


def _result(record: Overload) -> str:
    """Write the making of the result, with a `CompactNode` where any edge leads somewhere."""
    params, plan = record.signature.params, record.plan
    find = "\n".join(fragments.find_edge(n, params[place].name, "return FALLBACK") for n, place in enumerate(plan.edges))
    node = fragments.make_node(record, "_intern_descriptor(_shape, _dtype)", fragments.LOCATION, _values(record), _save(record))
    view = record.kind == "view"
    result = fill(_VIEW, base=params[0].name, node=node) if view else fragments.make_result("None", node)
    return fill(_EDGES, find=find, result=result)


def _values(record: Overload) -> str:
    """Write the dictionary of what the node keeps of arguments that are no tensors, and of sizes."""
    params, plan = record.signature.params, record.plan
    values = [f"{name!r}: {params[place].name}" for name, place in plan.value_names]
    for name, place, what, slot in plan.asked:
        asked = f"_a{place}.shape" if what == "sizes" and not params[place].optional else f"_size_of({params[place].name}, {what!r})"
        values.append(f"{name!r}: () if _e{slot} is None else {asked}" if what == "strides" else f"{name!r}: {asked}")
    return "{" + ", ".join(values) + "}"


def _save(record: Overload) -> list[str]:
    """Write the saving of operands and of the result, slot by slot."""

    def operand(place: int, needed: str) -> tuple[str, str, str, str]:
        param = record.signature.params[place]
        if param.optional:
            needed = f"{param.name} is not None and ({needed})"
        return needed, f"{param.name}.array", param.name, "None"

    return fragments.save_slots(record, operand)
