"""The short step of a backward pass: one function written for each record, which checks, computes, frees and delivers.

It does what the general step does (`execution.py`) for the plain case: one output, gradients that are arrays, saved
tensors that no hook has packed, one formula for each input. Whatever is not plain is left as it was and `DECLINED`.
Nothing is left out: versions are checked, what frees a node is noted, leaves receive in the same order.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradsh.engine.autograd.donation import LARGE, spare
from gradsh.engine.codegen.forward_elementwise import constant
from gradsh.engine.codegen.source import compile_source
from gradsh.engine.dispatch.compact_node import GONE, LIVE
from gradsh.engine.graph.node import AccumulateGrad
from gradsh.engine.graph.saved import flat_outline
from gradsh.engine.schema.overload import DECLINED, KEEP, Record

if TYPE_CHECKING:
    from gradsh.engine.schema.overload import Formula

_STEP = """
def step(node, run, needed, where):
    buffers = run.buffers
    grad = buffers.pop(node, None)
    if type(grad) is not ndarray:
        if type(grad) is list and len(grad) == 1 and type(grad[0]) is ndarray:
            (grad,) = grad
        else:
            if grad is not None:
                buffers[node] = grad
            return DECLINED
{checks}
    {edges}
    own = node.outputs[0]
{formulas}
    grad = None
    if where is not KEEP:
        {free}
    {let_go}
{deliveries}
"""

_DECLINE = "buffers[node] = grad; return DECLINED"

_SHORT_CHECKS = """
    if node.raw is not LIVE:
        buffers[node] = grad
        return node.record.step(node, run, needed, where)
"""

_SHORT_CHECK = """
    s{slot} = node.saved_array{slot}
    c{slot} = node.saved_by{slot}
    if c{slot} is not None and c{slot}.version != node.saved_version{slot}:
        {decline}
"""

_SHORT_CHECK_OF_RESULT = """
    s{slot} = node.saved_array{slot}
    if node.version != node.saved_version{slot}:
        {decline}
"""

_CHECKS = """
    raw = node.entries
    if type(raw) is not tuple:
        {decline}
    {kept} = raw
"""

_CHECK = """
    if k{slot} is None:
        s{slot} = None
    else:
        if k{slot}[4] is not None or k{slot}[1].version != k{slot}[2]:
            {decline}
        s{slot} = k{slot}[0] if k{slot}[3] is not False else k{slot}[0].item()
"""

_TARGET = """
        t{n}, place = e{n}
"""

_SHORT_TARGET = """
        if type(e{n}) is tuple:
            t{n}, place = e{n}
        else:
            t{n} = e{n}
            place = 0
"""

_FORMULA = """
    g{n} = None
    if e{n} is not None:
{target}
        m{n} = t{n}.outputs[place]
        if needed is None or t{n} in needed:
            g{n} = {found}
            if {unlike}:
                if g{n} is None:
                    {decline}
                g{n} = node._fit(g{n}, {n}, False)
"""

_DELIVERY = """
    if g{n} is not None:
        if type(t{n}) is AccumulateGrad:
            leaf = run.leaves.get(t{n})
            if leaf is None:
                leaf = run.open_leaf(t{n})
            if leaf[2] is not None:
                add(leaf[1], g{n}, leaf[1])
                leaf[2] += 1
                g{n} = None
            elif leaf[1] is None:
                leaf[1] = g{n}
                g{n} = None
            else:
                found = [g{n}]
                g{n} = None
                run.add_to_leaf(leaf, found)
            leaf[0] -= 1
            if not leaf[0]:
                leaf = None
                run.close_leaf(t{n})
        elif t{n} in buffers or len(t{n}.outputs) != 1:
            found = [g{n}]
            g{n} = None
            run.add((e{n} if type(e{n}) is tuple else (e{n}, 0)), found, 0)
        else:
            buffers[t{n}] = g{n}
            g{n} = None
"""


def declined(*_: Any) -> Any:
    """Leave a node to the general step."""
    return DECLINED


def step_of(record: Record, short: bool) -> Callable[..., Any]:
    """Write the short step of a record's nodes, `ShortNode`s or others.

    Where its derivatives are not one formula for one input each, it declines.
    """
    plan = record.plan
    if not plan.formulas or any(many or formula is None for _, formula, _, many in plan.formulas):
        return declined
    types = [param.type for param in record.signature.params]
    lists = {place for place, one in enumerate(types) if one in {"Tensors", "Indices"}}
    if lists.intersection(plan.edges) or any(save.param in lists for save in plan.saves):
        return declined  # a list has several edges, and several entries
    if any(what not in {"grad", "saved", "value"} for _, _, calls, _ in plan.formulas for what, _ in calls):
        return declined
    if short and (len(plan.saves) > 2 or len(plan.edges) > 2):
        return declined
    scope: dict[str, Any] = {
        "DECLINED": DECLINED, "ndarray": np.ndarray, "LIVE": LIVE, "GONE": GONE, "KEEP": KEEP, "add": np.add,
        "multiply": np.multiply, "outline": flat_outline, "AccumulateGrad": AccumulateGrad,
        "constant": constant, "DEFAULTS": plan.defaults, "LARGE": LARGE, "spare": spare, "multiply_into": _multiply_into,
    }
    width = range(len(plan.edges))
    source = _STEP.format(
        checks=_checks(record, short),
        edges="; ".join(("e0 = node.left", "e1 = node.right")[: len(width)]) if short else f"{_names('e', width)} = node.edges",
        formulas="".join(_formula(record, short, scope, *one[:3]) for one in plan.formulas),
        free=_free(record, short), let_go=_let_go(record, short),
        deliveries="".join(_DELIVERY.format(n=targets[0]) for targets, _, _, _ in plan.formulas),
    )
    return compile_source(f"step of {record.name}", source, scope)


def _names(letter: str, slots: range) -> str:
    return "".join(f"{letter}{slot}, " for slot in slots)


def _checks(record: Record, short: bool) -> str:
    slots = range(len(record.plan.saves))
    if not slots:
        return ""
    text = (_SHORT_CHECKS if short else _CHECKS).format(decline=_DECLINE, kept=_names("k", slots))
    for slot, save in enumerate(record.plan.saves):
        one = _CHECK if not short else _SHORT_CHECK_OF_RESULT if save.output >= 0 else _SHORT_CHECK
        text += one.format(slot=slot, decline=_DECLINE)
    return text


def _formula(
    record: Record, short: bool, scope: dict[str, Any], targets: tuple[int, ...], formula: "Formula", calls: tuple[tuple[str, Any], ...]
) -> str:
    """Write one gradient: the call of its formula, or what the formula does where that is a single product."""
    n = targets[0]
    arguments = ["grad" if what == "grad" else f"s{detail}" if what == "saved" else f"node.values[{detail!r}]" for what, detail in calls]
    scope[f"f{n}"] = formula
    found = f"f{n}({', '.join(arguments)})"
    last = targets == record.plan.formulas[-1][0]
    reusing = getattr(formula, "reusing", None)
    if last and reusing is not None:
        scope[f"r{n}"] = reusing
        found = f"(r{n}(spare(grad), {', '.join(arguments)}) if grad.nbytes > LARGE else {found})"
    alike = record.ufunc is not None
    unlike = f"m{n} is not own or " if alike else ""
    shape = f"type(g{n}) is not ndarray or g{n}.shape != m{n}[0] or g{n}.dtype is not m{n}[1]"
    if alike:  # elementwise, so a gradient has the shape of the result
        shape = f"type(g{n}) is not ndarray or g{n}.dtype is not m{n}[1]"
        code = formula.__code__.co_code
        if code == _SAME and arguments == ["grad"]:
            found, shape, unlike = "grad", f"m{n} is not own", ""
        elif code == _PRODUCT and arguments[0] == "grad" and calls[1][0] == "saved":
            saved = arguments[1]
            factor = f"{saved} if type({saved}) is ndarray else constant({saved}, grad.dtype)"
            found = f"multiply(grad, {factor})"
            if last:
                alike_factor = "" if short else f" or type({saved}) is not ndarray or {saved}.dtype is not grad.dtype"
                found = f"({found} if grad.nbytes <= LARGE{alike_factor} else multiply_into(spare(grad), grad, {factor}))"
            if short:  # whose operands have one dtype
                shape = f"type(g{n}) is not ndarray"
    plain = record.plain.get(record.signature.params[record.plan.edges[n]].name)
    if plain is not None and plain.__code__.co_code == _SAME:
        found = f"grad if node.values is DEFAULTS else {found}"
    target = (_SHORT_TARGET if short else _TARGET).format(n=n)
    return _FORMULA.format(n=n, target=target, found=found, unlike=unlike + shape, decline=_DECLINE)


def _multiply_into(into: Any, grad: Any, factor: Any) -> Any:
    return np.multiply(grad, factor, into)


_SAME = (lambda grad: grad).__code__.co_code
_PRODUCT = (lambda grad, other: grad * other).__code__.co_code


def _free(record: Record, short: bool) -> str:
    """Write the freeing: what is left tells who freed the node, and shapes and dtypes, mostly known from the edges."""
    plan = record.plan
    if not plan.saves:
        return "pass"
    if not short:
        return "node.free(where)"
    text = "node.raw = GONE; node.saved_by0 = where"
    for slot, save in enumerate(plan.saves):
        known = f"outline(s{slot})"
        if save.output == 0:
            known = "own"
        elif save.param in plan.edges:
            n = plan.edges.index(save.param)
            known = f"(outline(s{slot}) if e{n} is None else m{n})"
        text += f"; node.saved_array{slot} = None if s{slot} is None else {known}"
    return text + ("; node.saved_by1 = None" if len(plan.saves) > 1 else "")


def _let_go(record: Record, short: bool) -> str:
    """Write that the step itself holds no saved tensor any more when gradients are delivered."""
    slots = range(len(record.plan.saves))
    if not slots:
        return ""
    return ("" if short else "raw = ") + "".join(f"s{slot} = {'c' if short else 'k'}{slot} = " for slot in slots) + "None"
