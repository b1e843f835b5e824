"""The short step of a pass that is recorded itself (`create_graph`): one function written for each record.

It does what the general step does (`execution.py`) for a `ShortNode` at which one Tensor has arrived: checks versions, gives
the formulas what was saved as Tensors with their place in the graph, and delivers. Whatever is not plain is left as it
was and `DECLINED`.
"""

import weakref
from collections.abc import Callable
from typing import Any

from gradsh.engine.codegen.backward_step import declined
from gradsh.engine.codegen.source import compile_source
from gradsh.engine.dispatch.compact_node import LIVE, counter_of
from gradsh.engine.graph.node import AccumulateGrad
from gradsh.engine.graph.tensor import Tensor, more
from gradsh.engine.schema.overload import DECLINED, KEEP, Record
from gradsh.engine.values.storage import VersionCounter

_STEP = """
def step(node, run, needed, where):
    grads = run.buffers.get(node)
    if type(grads) is not list or len(grads) != 1 or not isinstance(grads[0], Tensor):
        return DECLINED
{checks}
    del run.buffers[node]
    grad = grads.pop()
{wanted}
{restored}
{formulas}
    if where is not KEEP:
        node.free(where)
{deliveries}
"""

_CHECK = """
    b{slot} = node.saved_by{slot}
    if b{slot} is not None and {by}.version != node.saved_version{slot}:
        return DECLINED
"""

_WANTED = """
    e{n} = node.{side}
    w{n} = False
    if e{n} is not None:
        if type(e{n}) is not tuple:
            e{n} = (e{n}, 0)
        w{n} = needed is None or e{n}[0] in needed
"""

_FORMULA = """
    if w{n}:
        g{n} = f{n}({arguments})
        if g{n} is not None:
            shape, dtype = e{n}[0].outputs[e{n}[1]]
            if type(g{n}) is not Tensor or g{n}.array.shape != shape or g{n}.array.dtype is not dtype:
                g{n} = node._fit(g{n}, {n}, True)
"""

_DELIVERY = """
    if w{n}:
        run._deliver(e{n}, [g{n}], 0)
"""


def restored(array: Any, by: Any, edge: Any) -> Tensor:
    """Return the tensor that was saved: same memory, same version, same place in the graph."""
    if edge is not None and type(edge[0]) is AccumulateGrad and edge[0].variable.array is array:
        return edge[0].variable
    fresh: Tensor = object.__new__(Tensor)
    fresh.array = array
    fresh.form = None
    fresh.meta = None
    fresh.tracked = edge is not None
    if edge is not None and type(edge[0]) is AccumulateGrad:
        fresh.origin = None
        more(fresh).accumulator = weakref.ref(edge[0])
    else:
        fresh.origin = edge if edge is None or edge[1] else edge[0]
    if type(by) is VersionCounter:
        fresh.versions = by
    else:
        fresh.versions = None if by is fresh.origin else counter_of(by)  # the node that made it stands for its counter
    return fresh


def recorded_step_of(record: Record) -> Callable[..., Any]:
    """Write the recorded step of a record's `ShortNode`s.

    Where its derivatives are not one formula for one input each, it declines.
    """
    plan = record.plan
    if not plan.formulas or len(plan.edges) > 2 or len(plan.saves) > 2:
        return declined
    if any(many or formula is None for _, formula, _, many in plan.formulas):
        return declined
    if any(what not in {"grad", "saved", "value"} for _, _, calls, _ in plan.formulas for what, _ in calls):
        return declined
    if any(save.output < 0 and save.param not in plan.edges for save in plan.saves):
        return declined
    scope: dict[str, Any] = {
        "DECLINED": DECLINED, "KEEP": KEEP, "LIVE": LIVE, "Tensor": Tensor, "restored": restored,
    }
    formulas = ""
    for (n,), formula, calls, _ in plan.formulas:
        scope[f"f{n}"] = formula
        words = ["grad" if what == "grad" else f"s{detail}" if what == "saved" else f"node.values[{detail!r}]" for what, detail in calls]
        formulas += _FORMULA.format(n=n, arguments=", ".join(words))
    source = _STEP.format(
        checks=_checks(record), restored="".join(_restored(record, slot) for slot in range(len(plan.saves))), formulas=formulas,
        wanted="".join(_WANTED.format(n=n, side=("left", "right")[n]) for n in range(len(plan.edges))),
        deliveries="".join(_DELIVERY.format(n=n) for n in range(len(plan.edges)) if any((n,) == one[0] for one in plan.formulas)),
    )
    return compile_source(f"recorded step of {record.name}", source, scope)


def _checks(record: Record) -> str:
    """Write the look at what was saved: still there, and not written to since."""
    saves = record.plan.saves
    text = "    if node.raw is not LIVE:\n        return DECLINED\n" if saves else ""
    return text + "".join(
        _CHECK.format(slot=slot, by="node" if save.output >= 0 else f"b{slot}") for slot, save in enumerate(saves)
    )


def _restored(record: Record, slot: int) -> str:
    """Write how one saved tensor is made, if a formula that is wanted reads it; a number stays the number."""
    plan = record.plan
    readers = [f"w{targets[0]}" for targets, _, calls, _ in plan.formulas if ("saved", slot) in calls]
    if not readers:
        return ""
    save = plan.saves[slot]
    by, edge = ("node", "(node, 0)") if save.output >= 0 else (f"b{slot}", f"e{plan.edges.index(save.param)}")
    return f"""
    s{slot} = node.saved_array{slot}
    if s{slot} is not None and b{slot} is not None and ({' or '.join(readers)}):
        s{slot} = restored(s{slot}, {by}, {edge})
"""
