"""The rules of autograd, each once, as the text of which every fast path is made.

How a gradient's edge is found, a node is born, a tensor is saved, a result is made (forward); how an edge is read, a version
checked, a saved tensor freed, a gradient delivered (backward). The general way does the same in plain Python
(`dispatch/op_node.py`, `autograd/backward_pass.py`); tests hold each fast path to it.

Names of a forward function that are not parameters of its operation begin with an underscore or a capital. No parameter does, so
they cannot clash. Functions of the backward pass have no parameters of an operation.
"""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gradsh.engine.ambient import current, entered
from gradsh.engine.codegen.source import fill
from gradsh.engine.dispatch.compact_node import OWN_RESULT, SAVED, CompactNode
from gradsh.engine.graph.node import intern_descriptor, next_sequence_number
from gradsh.engine.graph.tensor import Tensor, accumulator, gradient_edge
from gradsh.engine.schema.overload import FALLBACK, Overload

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

# --- forward ------------------------------------------------------------------------------------------------------


def forward_scope(record: Overload, **names: object) -> dict[str, object]:
    """Return the names that forward functions use: those of the fragments here, and the function's own."""
    return {
        "Tensor": Tensor, "FALLBACK": FALLBACK, "F32": FLOAT32, "F64": FLOAT64, "RECORD": record,
        "CompactNode": CompactNode, "SAVED": SAVED, "OWN_RESULT": OWN_RESULT,
        "_current": current, "_entered": entered, "_ndarray": np.ndarray, "_asarray": np.asarray, "_new": object.__new__,
        "_intern_descriptor": intern_descriptor,
        "_gradient_edge": gradient_edge, "_accumulator": accumulator, "_getframe": sys._getframe,
        "_next_sequence_number": next_sequence_number, **names,
    }


def find_edge(n: int, tensor: str, decline: str) -> str:
    """Write how `_eN`, the edge that a gradient of an operand takes, is found; a stale view is refreshed."""
    return fill(_EDGE, n=str(n), tensor=tensor, decline=decline)


_EDGE = """
    _e{n} = {tensor}.grad_fn_ref
    _meta = {tensor}.meta
    if _meta is not None:
        if _e{n} is None and _meta.accumulator is not None and _meta.view is None and {tensor}.needs_grad:
            _e{n} = _meta.accumulator() or _accumulator({tensor})
        elif _e{n} is None or (_meta.view is not None and _meta.view.version != {tensor}.own_counter.version):
            _e{n} = _gradient_edge({tensor})
            if _e{n} is None and {tensor}.requires_grad:
                {decline}
    elif _e{n} is None and {tensor}.needs_grad:
        _e{n} = _accumulator({tensor})
"""


def make_node(record: Overload, outputs: str, location: str, values: str, save_slots: list[str]) -> str:
    """Write the birth of a `CompactNode` over `_e0` and `_e1`: where it is born, its values, what it saves."""
    raw = "SAVED" if record.plan.saves else "()"
    return fill(_NODE, outputs=outputs, location=location, values=values, raw=raw, save="\n".join(save_slots))


_NODE = """
    _node = CompactNode()
    _node.left = _e0
    _node.right = _e1
    _node.outputs = {outputs}
    _node.extra = None
    _node.seq = _next_sequence_number()
    {location}
    _node.record = RECORD
    _node.version = 0
    _node.values = {values}
    _node.raw = {raw}
    {save}
"""

LOCATION = fill("""
    _locate = _ambient.locate
    if _locate is None:
        _node.code = _node.activation = None
    else:
        _node.location = _locate()
""")
"""Ask where the program stands."""

LOCATION_OF_CALLER = fill("""
    _cache = _ambient.location_cache
    if _cache is not None:
        _frame = _getframe(1)
        _code = _cache.code
        if _code is not None and (_frame is _cache.frame or _frame.f_code is _code):
            _node.activation = _cache.activation
            _node.code = _code
            _node.offset = _frame.f_lasti
        else:
            _node.location = _ambient.locate()
    else:
        _locate = _ambient.locate
        _node.code = None
        _node.activation = None if _locate is None else _locate()
""")
"""The same for a function that the program calls itself: its caller is the frame that stands there."""


def save_slots(record: Overload, operand: Callable[[int, str], tuple[str, str, str, str]], arity: int = 1 << 8) -> list[str]:
    """Write the saving of operands and of the result, slot by slot.

    `operand` returns what `save_operand` wants to know of a parameter, given the edges of which one must lead somewhere.
    """
    slots: list[str] = []
    for slot, save in enumerate(record.plan.saves):
        if save.output >= 0:
            slots.append(save_result(slot))
            continue
        needed = " or ".join(f"_e{edge} is not None" for edge in save.guard if edge < arity) if save.guard else "True"
        slots.append(save_operand(slot, *operand(save.param, needed)))
    return slots


def save_operand(slot: int, needed: str, array: str, tensor: str, otherwise: str) -> str:
    """Write the saving of an operand: its array, what tells its version, the version now. A number has no version."""
    return fill(_SAVE_OPERAND, slot=str(slot), needed=needed, array=array, tensor=tensor, otherwise=otherwise)


_SAVE_OPERAND = """
    if {needed}:
        _node.saved_array{slot} = {array}
        _counter = {tensor}.own_counter
        if _counter is None:
            _node.saved_by{slot} = {tensor}.grad_fn_ref or {tensor}.counter
            _node.saved_version{slot} = 0
        else:
            _node.saved_by{slot} = _counter
            _node.saved_version{slot} = _counter.version
    else:
        _node.saved_array{slot} = {otherwise}
        _node.saved_by{slot} = None
        _node.saved_version{slot} = 0
"""


def save_result(slot: int) -> str:
    """Write the saving of the result, whose version the node itself tells."""
    return fill(_SAVE_RESULT, slot=str(slot))


_SAVE_RESULT = """
    _node.saved_array{slot} = _out
    _node.saved_by{slot} = OWN_RESULT
    _node.saved_version{slot} = 0
"""


def make_result(descriptor: str, node: str) -> str:
    """Write the making of the result: a tensor over `_out`, with a node behind it where an edge leads somewhere."""
    return fill(_RESULT, descriptor=descriptor, node=node)


_RESULT = """
    _fresh = _new(Tensor)
    _fresh.array = _out
    _fresh.descriptor = {descriptor}
    _fresh.own_counter = None
    _fresh.meta = None
    if _e0 is None and _e1 is None:
        _fresh.grad_fn_ref = None
        _fresh.needs_grad = False
        return _fresh
    {node}
    _fresh.grad_fn_ref = _node
    _fresh.needs_grad = True
    return _fresh
"""

# --- backward -----------------------------------------------------------------------------------------------------


class NodeLayout(NamedTuple):
    """How a node holds edges and saved tensors, as the text that reads, checks and frees them.

    A check reads saved tensor N into `sN`, with what tells its version in `cN`; `decline` leaves the node as it was.
    """

    saved: str
    """Look whether anything is left, and at all of it where it lies together."""
    check: str
    check_result: str
    target: str
    """Read the receiver of edge N into `tN`, and which of its outputs it is into `place`."""


COMPACT = NodeLayout(
    saved="""
        if node.raw is not SAVED:
            {otherwise}
    """,
    check="""
        s{slot} = node.saved_array{slot}
        c{slot} = node.saved_by{slot}
        if c{slot} is not None and c{slot}.version != node.saved_version{slot}:
            {decline}
    """,
    check_result="""
        s{slot} = node.saved_array{slot}
        if node.version != node.saved_version{slot}:
            {decline}
    """,
    target="""
        if type(e{n}) is tuple:
            t{n}, place = e{n}
        else:
            t{n} = e{n}
            place = 0
    """,
)
"""A `CompactNode`: all of it in slots of its own."""

_ENTRY = """
    if c{slot} is None:
        s{slot} = None
    else:
        if c{slot}[4] is not None or c{slot}[1].version != c{slot}[2]:
            {decline}
        s{slot} = c{slot}[0] if c{slot}[3] is not False else c{slot}[0].item()
"""
ENTRIES = NodeLayout(
    saved="""
        raw = node.entries
        if type(raw) is not tuple:
            {decline}
        {entries} = raw
    """,
    check=_ENTRY, check_result=_ENTRY, target="t{n}, place = e{n}",
)
"""Every other node of an operation: a tuple of edges, a tuple of `SavedVariable`s."""


def read_edges(layout: NodeLayout, record: Overload) -> str:
    """Write the reading of the edges into `e0`, `e1`, …"""
    width = range(len(record.plan.edges))
    if layout is COMPACT:
        return "; ".join(f"e{n} = node.{side}" for n, side in zip(width, ("left", "right"), strict=False))
    return "".join(f"e{n}, " for n in width) + "= node.edges"


def check_saved(layout: NodeLayout, record: Overload, decline: str, otherwise: str) -> str:
    """Write the look at what was saved, read or not: still there, not packed, not written to since.

    `otherwise` is done with a node of this layout that holds its saved tensors in another way.
    """
    slots = range(len(record.plan.saves))
    if not slots:
        return ""
    lines = [fill(layout.saved, decline=decline, otherwise=otherwise, entries="".join(f"c{slot}, " for slot in slots))]
    for slot, save in enumerate(record.plan.saves):
        lines.append(fill(layout.check_result if save.output >= 0 else layout.check, slot=str(slot), decline=decline))
    return "\n".join(lines)


def free_saved(layout: NodeLayout, record: Overload) -> str:
    """Write the freeing: what is left tells who freed the node, and shapes and dtypes.

    `own` describes the node's result; `mN` is read for what edge N leads to, and describes the operand.
    """
    plan = record.plan
    if not plan.saves:
        return "pass"
    if layout is ENTRIES:
        return "node.free(location)"
    lines = ["node.raw = FREED", "node.saved_by0 = location"]
    for slot, save in enumerate(plan.saves):
        left = f"outline(s{slot})"
        if save.output == 0:
            left = "own"
        elif save.param in plan.edges:
            n = plan.edges.index(save.param)
            left = f"outline(s{slot}) if e{n} is None else m{n}"
        lines.append(f"node.saved_array{slot} = None if s{slot} is None else {left}")
    return "\n".join(lines + ["node.saved_by1 = None"] * (len(plan.saves) > 1))


def let_go(layout: NodeLayout, record: Overload) -> str:
    """Write that the step itself holds no saved tensor any more: the memory is free when gradients are delivered."""
    slots = range(len(record.plan.saves))
    if not slots:
        return ""
    return ("" if layout is COMPACT else "raw = ") + "".join(f"s{slot} = c{slot} = " for slot in slots) + "None"


def deliver(places: Sequence[int], rows: bool) -> str:
    """Write the deliveries of the arrays `gN` to their receivers, then the closing of the leaves whose last gradient that was.

    `rows`: they are in row-major order, or repeat what is. What may be in another is left in a list, which its receiver looks into.
    A leaf sums in place where it may. It closes when all are delivered, as in PyTorch: by then another may have let go of the array.
    """
    begin = "".join(f"closes{n} = " for n in places) + "False"
    closings = [f"if closes{n}:\n    run.close_leaf(t{n})" for n in places]
    held = "g{n}" if rows else "g{n} if g{n}.ndim < 2 or g{n}.flags.c_contiguous else [g{n}]"
    each = (fill(_DELIVERY, n=str(n), held=held.replace("{n}", str(n))) for n in places)
    return "\n".join([begin, *each, "leaf = None", *closings])


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
            closes{n} = not leaf[0]
        elif t{n} in buffers or len(t{n}.outputs) != 1:
            found = [g{n}]
            g{n} = None
            run.add((e{n} if type(e{n}) is tuple else (e{n}, 0)), found, 0)
        else:
            buffers[t{n}] = {held}
            g{n} = None
"""
