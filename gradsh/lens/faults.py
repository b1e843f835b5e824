"""What an exception of PyTorch's does not say: the node and saved tensor that a pass needed, the tensor that was refused."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from gradsh.diagnosis.classify import kind_of
from gradsh.language import tree
from gradsh.lens.machine import variables_of
from gradsh.lens.mirror import World
from gradsh.lens.nodes import TorchNode
from gradsh.probe.plan import Course
from gradsh.text.fault import Fault, fault_of

if TYPE_CHECKING:
    from gradsh.diagnosis.case import Case


class LostNode(TorchNode):
    """What is remembered of a node after its question: names, shapes and places, no tensors."""

    __slots__ = ()


def fault_of_pass(
    look: Callable[[], Any], number: int, error: BaseException, roots: Sequence[Any], retain: bool, inputs: Sequence[Any],
) -> Fault | None:
    """Return what the failed pass of a number needed: its nodes are gone through in the pass's order, as they were before it."""
    kind = kind_of(error)
    if kind not in {"freed", "version"}:
        return None
    with look() as world:
        world.before = number
        starts = [world.node(one.grad_fn if isinstance(one, torch.Tensor) else one.node) for one in roots]
        targets = {world.node(one.node if hasattr(one, "node") else one.grad_fn) for one in inputs if _has_node(one)} or None
        refusal = Course(starts, targets, retain).run()
        fault = None if refusal is None else fault_of(refusal)
        if fault is None or fault.kind != kind:
            return None
        fields = dict(fault.fields)
        if "node" in fields:
            fields["node"] = _remembered(fields["node"])
        return Fault(kind, fields)


def _has_node(value: object) -> bool:
    return getattr(value, "node", None) is not None or getattr(value, "grad_fn", None) is not None


def _remembered(node: Any) -> LostNode:
    """Return a node with what is told of it, which holds nothing of PyTorch's."""
    fresh: LostNode = object.__new__(LostNode)
    fresh.torch, fresh.title, fresh.seq, fresh.location = None, node.name(), node.seq, node.location
    fresh.edges, fresh.extra, fresh._entries = (), None, ()
    for saved in node.found:
        saved.array = saved.packed = None
    fresh.found = node.found
    return fresh


def fault_of_call(world: World, case: "Case") -> Fault | None:
    """Return the tensor or node that a call refused.

    It is read off the frames that the exception passed, PyTorch's own and those of wrappers, else off the expression that failed.
    """
    kind = case.kind
    if kind not in {"freed", "no_grad", "scalar", "grad_shape", "leaf_inplace", "view_inplace", "not_leaf", "unused"}:
        return None
    trace, found = case.error.__traceback__, None
    while trace is not None:
        found = _refused(variables_of(trace.tb_frame), trace.tb_frame.f_code, case.error, kind) or found
        trace = trace.tb_next
    subject, place = found or (_subject(case), None)
    if kind == "freed":
        return _fault_of_node(world, case, subject)
    if not isinstance(subject, torch.Tensor):
        return None
    fields: dict[str, Any] = {"tensor": world.tensor(subject)}
    if place is not None:
        fields["index"] = place
    return Fault(kind, fields)


def _fault_of_node(world: World, case: "Case", subject: object) -> Fault | None:
    """Return what a program asked of a node whose saved tensors are freed."""
    if not hasattr(subject, "next_functions"):
        return None
    node = world.node(subject)
    name = getattr(case.expression, "attr", "").removeprefix("_saved_")
    return Fault("freed", {"node": node, "name": name, "freed_where": getattr(node.entries, "location", None)})


def _subject(case: "Case") -> object:
    """Return the value that the failing expression or statement works on: names, attributes and items alone are evaluated."""
    node: Any = case.expression or case.statement
    if isinstance(node, tree.Expr):
        node = node.value
    if isinstance(node, tree.Call):
        node = node.func.value if isinstance(node.func, tree.Attribute) and not node.args[:1] else (node.args or [node.func])[0]
    elif isinstance(node, tree.AugAssign):
        node = node.target
    elif isinstance(node, tree.Assign):
        node = getattr(node.targets[0], "value", None)
    elif isinstance(node, tree.Attribute):
        node = node.value
    if isinstance(node, tree.Tuple | tree.List):
        node = node.elts[0] if node.elts else None
    frame = case.machine.frame  # type: ignore[attr-defined]
    return None if frame is None else _value(node, {**frame.f_globals, **variables_of(frame)})


def _value(node: object, variables: Mapping[str, object]) -> Any:
    if isinstance(node, tree.Name):
        return variables.get(node.id)
    if isinstance(node, tree.Attribute):
        return getattr(_value(node.value, variables), node.attr, None)
    if isinstance(node, tree.Subscript) and isinstance(node.slice, tree.Constant):
        held = _value(node.value, variables)
        try:
            return held[node.slice.value]
        except Exception:  # noqa: BLE001  # a class of the program's own may answer in any way
            return None
    return None


def _refused(
    local: dict[str, Any], code: CodeType, error: BaseException, kind: str
) -> tuple[object, int | None] | None:
    """Return (tensor, its place among several) that a function of PyTorch's or a wrapper of ours refused."""
    if code.co_name == "writing" and local.get("args") and isinstance(local["args"][0], torch.Tensor):
        return local["args"][0], None
    if "torch" not in code.co_filename:
        return None
    for names in (("inputs",), ("tensors", "outputs")) if kind == "unused" else (("tensors", "outputs"), ("self",)):
        for name in names:
            value = local.get(name)
            if isinstance(value, torch.Tensor):
                return value, None
            if isinstance(value, list | tuple) and value:
                number = _place(str(error))
                if number < len(value) and isinstance(value[number], torch.Tensor):
                    return value[number], number
    return None


def _place(message: str) -> int:
    found = re.search(r"(?:element|at index) (\d+)", message)
    return int(found[1]) if found else 0
