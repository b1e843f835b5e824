"""Fast paths of the backward pass: two functions written for each record, which check, compute, free and deliver.

One step is that of a plain pass, whose gradients are arrays; the other is that of a pass that is recorded itself
(`create_graph`), whose gradients are Tensors. Both do what the general step does (`autograd/backward_pass.py`) for the
plain case: one output, saved tensors that no hook has packed, one formula for each input. Whatever is not plain is left as it
was and `FALLBACK`. Nothing is left out: versions are checked, what frees a node is noted, leaves receive in the same order.
"""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.autograd.donation import LARGE, donatable
from gradsh.engine.codegen.forward_elementwise import constant
from gradsh.engine.codegen.fragments import (
    COMPACT,
    ENTRIES,
    NodeLayout,
    check_saved,
    deliver,
    free_saved,
    let_go,
    read_edges,
)
from gradsh.engine.codegen.source import compile_source, fill
from gradsh.engine.dispatch.compact_node import FREED, SAVED, counter_of
from gradsh.engine.graph.saved import slot_shape_and_dtype
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, autograd_meta
from gradsh.engine.parallel import spread, spread_into
from gradsh.engine.schema.formulas import computes
from gradsh.engine.schema.overload import FALLBACK, KEEP, Formula, Overload, fall_back
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.layout import COMPUTED_BY_ELEMENTS, disagree, is_turned
from gradsh.engine.values.storage import VersionCounter

_STEP = """
def step(node, run, needed, location):
    buffers = run.buffers
    grad = buffers.pop(node, None)
    if type(grad) is not ndarray:
        if type(grad) is list and len(grad) == 1 and type(grad[0]) is ndarray:
            {looked_into}
            (grad,) = grad
        else:
            if grad is not None:
                buffers[node] = grad
            return FALLBACK
    {check}
    {turned}
    {edges}
    own = node.outputs[0]
    {size}
    {formulas}
    grad = None
    if location is not KEEP:
        {free}
    {let_go}
    {deliver}
"""

_TURNED = """
    if grad.ndim > 1 and not ({rows}) and ({turned}):
        {decline}
"""

_LOOKED_INTO = """
    if is_turned(grad[0]):
        buffers[node] = grad
        return careful(node, run, needed, location)
"""

_DECLINE = "buffers[node] = grad; return FALLBACK"
_HELD_OTHERWISE = "buffers[node] = grad; return node.record.step(node, run, needed, location)"

_FORMULA = """
    g{n} = None
    if e{n} is not None:
        {target}
        m{n} = t{n}.outputs[place]
        if needed is None or t{n} in needed:
            g{n} = {gradient}
            if {unlike}:
                if g{n} is None:
                    {decline}
                g{n} = node._fit(g{n}, {n}, False)
"""

_STEP_RECORDED = """
def step(node, run, needed, location):
    buffers = run.buffers
    grads = buffers.get(node)
    if type(grads) is not list or len(grads) != 1 or not isinstance(grads[0], Tensor):
        return FALLBACK
    {check}
    del buffers[node]
    grad = grads.pop()
    {edges}
    {wanted}
    {restore}
    {formulas}
    if location is not KEEP:
        node.free(location)
    {deliver}
"""

_WANTED = """
    w{n} = False
    if e{n} is not None:
        {target}
        m{n} = t{n}.outputs[place]
        w{n} = needed is None or t{n} in needed
"""

_RESTORE = """
    if s{slot} is not None and {version} is not None and ({readers}):
        s{slot} = restored(s{slot}, {version}, {edge})
"""

_FORMULA_RECORDED = """
    if w{n}:
        g{n} = f{n}({arguments})
        if g{n} is not None and (type(g{n}) is not Tensor or g{n}.array.shape != m{n}[0] or g{n}.array.dtype is not m{n}[1]):
            g{n} = node._fit(g{n}, {n}, True)
"""

_DELIVERY_RECORDED = """
    if w{n}:
        run._deliver(e{n} if type(e{n}) is tuple else (e{n}, 0), [g{n}], 0)
"""


def _has_step(record: Overload, layout: NodeLayout) -> bool:
    """Whether a record's derivatives are one formula for one input each, of the gradient, saved tensors and values."""
    plan = record.plan
    if not plan.formulas or any(many or formula is None for _, formula, _, many in plan.formulas):
        return False
    types = [param.type for param in record.signature.params]
    lists = {place for place, kind in enumerate(types) if kind in {"Tensors", "Indices"}}
    if lists.intersection(plan.edges) or any(save.param in lists for save in plan.saves):
        return False  # a list has several edges, and several entries
    if any(what not in {"grad", "saved", "value"} for _, _, calls, _ in plan.formulas for what, _ in calls):
        return False
    return layout is not COMPACT or (len(plan.saves) <= 2 and len(plan.edges) <= 2)


def write_step(record: Overload) -> Callable[..., object]:
    """Write the step of a record's nodes in a plain pass, those with a tuple of entries."""
    return _step_of(record, ENTRIES)


def write_compact_step(record: Overload) -> Callable[..., object]:
    """Write the step of a record's `CompactNode`s in a plain pass."""
    if not record.is_elementwise or not _has_step(record, COMPACT):
        return _step_of(record, COMPACT)
    written: list[Callable[..., Any]] = []

    def careful(*given: object) -> object:
        """Run the step that looks at the order of the gradient, too."""
        if not written:
            written.append(_step_of(record, COMPACT))
        return written[0](*given)

    return _step_of(record, COMPACT, careful)  # such nodes have saved nothing out of row-major order


def _step_of(
    record: Overload, layout: NodeLayout, careful: Callable[..., object] | None = None
) -> Callable[..., object]:
    """Write a step. With `careful` all that it reads and delivers is in row-major order, but for what `careful` takes over."""
    plan = record.plan
    if not _has_step(record, layout):
        return fall_back
    looks = careful is None and record.layout in COMPUTED_BY_ELEMENTS
    scope: dict[str, Any] = {
        "FALLBACK": FALLBACK, "ndarray": np.ndarray, "SAVED": SAVED, "FREED": FREED, "KEEP": KEEP, "add": np.add,
        "multiply": np.multiply, "outline": slot_shape_and_dtype, "AccumulateGrad": AccumulateGrad,
        "constant": constant, "is_turned": is_turned, "disagree": disagree, "careful": careful,
        "DEFAULTS": plan.defaults, "LARGE": LARGE, "donatable": donatable, "multiply_into": _multiply_into,
    }
    formulas = "\n".join(_formula(record, layout, scope, *one[:3]) for one in plan.formulas)
    source = fill(
        _STEP, check=check_saved(layout, record, _DECLINE, _HELD_OTHERWISE), edges=read_edges(layout, record),
        size="large = grad.nbytes > LARGE" if "large" in formulas else "",
        looked_into=fill(_LOOKED_INTO) if careful is not None else "", turned=_turned(record) if looks else "",
        formulas=formulas, free=free_saved(layout, record), let_go=let_go(layout, record),
        deliver=deliver([targets[0] for targets, _, _, _ in plan.formulas], careful is not None),
    )
    return compile_source(f"step of {record.name}", source, scope)


def _turned(record: Overload) -> str:
    """Write the look at the order of what the formulas read: where it is not row-major, the general step lays their results."""
    saved = [f"s{slot}" for slot in range(len(record.plan.saves))]
    rows = ["grad.flags.c_contiguous", *(f"(type({one}) is not ndarray or {one}.flags.c_contiguous)" for one in saved)]
    if record.is_elementwise and not saved:
        return ""
    if all(computes(formula) in {"identity", "product"} for _, formula, _, _ in record.plan.formulas):
        turned = f"disagree({', '.join(['grad', *saved])})"
    else:
        turned = " or ".join(f"is_turned({one})" for one in ("grad", *saved))
    return fill(_TURNED, rows=" and ".join(rows), turned=turned, decline=_DECLINE)


def _arguments(calls: tuple[tuple[str, object], ...]) -> list[str]:
    return ["grad" if what == "grad" else f"s{detail}" if what == "saved" else f"node.values[{detail!r}]" for what, detail in calls]


def _formula(
    record: Overload, layout: NodeLayout, scope: dict[str, object], targets: tuple[int, ...], formula: Formula,
    calls: tuple[tuple[str, object], ...],
) -> str:
    """Write one gradient: the call of its formula, or what the formula computes where that is a single product."""
    n = targets[0]
    arguments = _arguments(calls)
    scope[f"f{n}"] = formula
    gradient = f"f{n}({', '.join(arguments)})"
    last = targets == record.plan.formulas[-1][0]
    reusing = getattr(formula, "reusing", None)
    if last and reusing is not None:
        scope[f"r{n}"] = reusing
        gradient = f"(r{n}(donatable(grad), {', '.join(arguments)}) if large else {gradient})"
    elementwise = record.ufunc is not None
    unlike = f"type(g{n}) is not ndarray or g{n}.shape != m{n}[0] or g{n}.dtype is not m{n}[1]"
    if elementwise:  # so a gradient has the shape of the result
        unlike = f"m{n} is not own or type(g{n}) is not ndarray or g{n}.dtype is not m{n}[1]"
        if computes(formula) == "identity":
            gradient, unlike = "grad", f"m{n} is not own"
        elif computes(formula) == "product":
            gradient = _product(arguments[1], layout, last)
            if layout is COMPACT:  # whose operands have one dtype
                unlike = f"m{n} is not own or type(g{n}) is not ndarray"
    if computes(record.plain.get(record.signature.params[record.plan.edges[n]].name)) == "identity":
        gradient = f"grad if node.values is DEFAULTS else {gradient}"
    return fill(_FORMULA, n=str(n), target=fill(layout.target, n=str(n)), gradient=gradient, unlike=unlike, decline=_DECLINE)


def _product(saved: str, layout: NodeLayout, last: bool) -> str:
    """Write a product of the gradient, into its memory where it is large and this is the last that reads it."""
    factor = f"{saved} if type({saved}) is ndarray else constant({saved}, grad.dtype)"
    unlike = "" if layout is COMPACT else f" or type({saved}) is not ndarray or {saved}.dtype is not grad.dtype"
    into = "donatable(grad)" if last else "None"
    return f"(multiply(grad, {factor}) if not large{unlike} else multiply_into({into}, grad, {factor}))"


def _multiply_into(into: Array | None, grad: Array, factor: Array) -> Array:
    if into is not None and factor.shape == grad.shape and grad.flags.c_contiguous and factor.flags.c_contiguous:
        return spread_into(into, np.multiply, grad, factor)
    return np.multiply(grad, factor, into) if into is not None else spread(np.multiply, grad, factor)


def write_recorded_step(record: Overload) -> Callable[..., object]:
    """Write the step of a record's `CompactNode`s in a pass that is recorded itself."""
    plan = record.plan
    if not _has_step(record, COMPACT) or any(save.output < 0 and save.param not in plan.edges for save in plan.saves):
        return fall_back
    scope: dict[str, Any] = {"FALLBACK": FALLBACK, "KEEP": KEEP, "SAVED": SAVED, "Tensor": Tensor, "restored": restored}
    scope |= {f"f{n}": formula for (n,), formula, _, _ in plan.formulas}
    source = fill(
        _STEP_RECORDED, check=check_saved(COMPACT, record, "return FALLBACK", "return FALLBACK"), edges=read_edges(COMPACT, record),
        wanted="\n".join(fill(_WANTED, n=str(n), target=fill(COMPACT.target, n=str(n))) for n in range(len(plan.edges))),
        restore="\n".join(_restore(record, slot) for slot in range(len(plan.saves))),
        formulas="\n".join(
            fill(_FORMULA_RECORDED, n=str(n), arguments=", ".join(_arguments(calls))) for (n,), _, calls, _ in plan.formulas
        ),
        deliver="\n".join(fill(_DELIVERY_RECORDED, n=str(n)) for (n,) in sorted(one[0] for one in plan.formulas)),
    )
    return compile_source(f"recorded step of {record.name}", source, scope)


def _restore(record: Overload, slot: int) -> str:
    """Write how one saved tensor is made, if a formula that is wanted reads it; a number stays the number."""
    plan = record.plan
    readers = " or ".join(f"w{targets[0]}" for targets, _, calls, _ in plan.formulas if ("saved", slot) in calls)
    if not readers:
        return ""
    save = plan.saves[slot]
    version, edge = ("node", "(node, 0)") if save.output >= 0 else (f"c{slot}", f"e{plan.edges.index(save.param)}")
    return fill(_RESTORE, slot=str(slot), version=version, edge=edge, readers=readers)


def restored(array: Array, version: Any, edge: object) -> Tensor:
    """Return the tensor that was saved: same memory, same version, same place in the graph."""
    node, output = edge if type(edge) is tuple else (edge, 0)
    leaf = type(node) is AccumulateGrad
    if leaf and node.variable.array is array:
        return node.variable  # type: ignore[no-any-return]
    fresh: Tensor = object.__new__(Tensor)
    fresh.array = array
    fresh.descriptor = None
    fresh.meta = None
    fresh.needs_grad = edge is not None
    fresh.grad_fn_ref = None if leaf else edge if output else node
    if leaf:
        autograd_meta(fresh).accumulator = weakref.ref(node)
    if type(version) is VersionCounter:
        fresh.own_counter = version
    else:
        fresh.own_counter = None if version is fresh.grad_fn_ref else counter_of(version)  # the node that made it stands for its counter
    return fresh
