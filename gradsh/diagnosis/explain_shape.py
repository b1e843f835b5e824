"""What a failure of kind `shape` tells: both operands underlined apart with their shapes, and the dims that disagree."""

from typing import TYPE_CHECKING, Any, NamedTuple

from gradsh.diagnosis.provenance import is_tensor
from gradsh.language import tree
from gradsh.language.node import SyntaxNode
from gradsh.probe.modules import is_module, modules_of

if TYPE_CHECKING:
    from gradsh.diagnosis.case import Case

Shape = tuple[int, ...]


class Operand(NamedTuple):
    """An expression that may be an operand, and the shape of its value where that can be read without running anything."""

    node: SyntaxNode
    shape: Shape | None


def shape_story(case: "Case") -> None:
    """Mark the operands with their shapes, then say what disagrees."""
    shapes = [tuple(shape) for shape in case.fields.get("shapes") or ()]
    for operand, shape in _matched(_operands(case), shapes, case.fields.get("positions")):
        case.label("operand", operand.node.span, f"shape {shape}", case.source)
    _module(case)
    case.failed()
    if len(shapes) == 2:
        _disagreement(case, shapes[0], shapes[1])


def _matched(
    operands: list[Operand], shapes: list[Shape], positions: tuple[int, ...] | None
) -> list[tuple[Operand, Shape]]:
    """Pair operands with shapes: by position, else in their order, else each with its own shape, where that is known."""
    if positions is not None and max(positions) < len(operands):
        chosen = [operands[place] for place in positions]
    elif len(operands) <= len(shapes) or all(operand.shape is not None for operand in operands):
        chosen = operands[: len(shapes)]
    else:
        chosen = []  # which of them failed is not known
    if chosen and all(operand.shape in {None, shape} for operand, shape in zip(chosen, shapes, strict=False)):
        return list(zip(chosen, shapes, strict=False))
    return [(operand, operand.shape) for operand in operands if operand.shape is not None]


def _operands(case: "Case") -> list[Operand]:
    """Return what may be the operands of the failing expression, in their order."""
    node: Any = case.expression or case.statement
    found: list[Any] = []
    if isinstance(node, tree.Call) and any(True for _ in getattr(_value(case, node.func), "_modules", ())):
        return []  # it failed somewhere inside: what came there is not what was given here
    if isinstance(node, tree.BinOp):
        found = [node.left, node.right]
    elif isinstance(node, tree.AugAssign):
        found = [node.target, node.value]
    elif isinstance(node, tree.Call):
        if isinstance(node.func, tree.Attribute) and not _names_namespace(case, node.func.value):
            found.append(node.func.value)
        found += [*node.args, *(word.value for word in node.keywords)]
    elif isinstance(node, tree.Subscript):
        found = [node.value]
    values = [(one, _value(case, one)) for one in _unpacked(found)]
    return [Operand(one, tuple(value.shape) if is_tensor(value) else None) for one, value in values if _may_be_tensor(value)]


def _unpacked(nodes: list[SyntaxNode]) -> list[SyntaxNode]:
    """Return the nodes with lists and tuples replaced by their items, without constants."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, tree.List | tree.Tuple):
            found += _unpacked(list(node.elts))
        elif not isinstance(node, tree.Constant | tree.Starred | tree.UnaryOp) or _holds_name(node):
            found.append(node)
    return found


def _holds_name(node: SyntaxNode) -> bool:
    return isinstance(node, tree.UnaryOp) and not isinstance(node.operand, tree.Constant)


_UNKNOWN = object()


def _value(case: "Case", node: SyntaxNode) -> Any:
    """Return the value of a name or of an attribute of one, or `_UNKNOWN` for what only running it would tell."""
    if isinstance(node, tree.Name):
        value = case.origins.value(node.id)
        return case.machine.builtins.get(node.id, _UNKNOWN) if value is None else value
    if isinstance(node, tree.Attribute):
        owner = _value(case, node.value)
        if owner is _UNKNOWN or isinstance(getattr(type(owner), node.attr, None), property):
            return _UNKNOWN
        try:
            return case.machine.guard.read(owner, node.attr)
        except (AttributeError, RuntimeError, TypeError):
            return _UNKNOWN
    return _UNKNOWN


def _may_be_tensor(value: object) -> bool:
    return value is _UNKNOWN or is_tensor(value)


def _names_namespace(case: "Case", node: SyntaxNode) -> bool:
    return isinstance(_value(case, node), case.machine.guard.namespaces)


def _module(case: "Case") -> None:
    """Where a module was called, say what the layer is that failed: its sizes are half of the story."""
    node = case.expression
    called: object = _value(case, node.func) if isinstance(node, tree.Call) else None
    if not isinstance(node, tree.Call) or not _is_module(called):
        return
    layer, trace = called, case.error.__traceback__
    while trace is not None:
        inner = trace.tb_frame.f_locals.get("self")
        layer, trace = inner if _is_module(inner) else layer, trace.tb_next
    text, owner = repr(layer), case.text(node.func.span)
    path = next((name for name, one in modules_of(called) if one is layer), None)
    if path is not None and "\n" not in text and len(text) < 100:
        case.notes.append(f"layer `{path}` of {owner} is {text}" if path else f"{owner} is {text}")


def _is_module(value: object) -> bool:
    return is_module(value)


def _disagreement(case: "Case", left: Shape, right: Shape) -> None:
    """Say which dims disagree, and what would fit."""
    node = case.expression
    if "multiplied" in case.message or "mat1 and mat2" in case.message or (isinstance(node, tree.BinOp) and node.op == "@"):
        if len(left) > 0 and len(right) > 1 and left[-1] != right[-2]:
            case.notes.append(f"the last dim of the left is {left[-1]}, the second to last of the right {right[-2]}")
            if left[-1] == right[-1]:
                case.help.append("transpose the right operand: `.T`, or `.transpose(-2, -1)` with more than two dims")
        return
    joined = case.fields.get("along")
    if joined is not None:
        wrong = [dim for dim in range(min(len(left), len(right))) if dim != joined and left[dim] != right[dim]]
        case.notes.extend(f"dim {dim} is {left[dim]} in the first and {right[dim]} in the other" for dim in wrong)
        return
    if "tensor a" not in case.message and "broadcast" not in case.message:
        return
    wrong = [
        place for place in range(1, min(len(left), len(right)) + 1)
        if left[-place] != right[-place] and 1 not in {left[-place], right[-place]}
    ]
    for place in wrong:
        case.notes.append(f"dim -{place} is {left[-place]} on the left and {right[-place]} on the right")
    if wrong and len(left) == 2 and len(right) == 1 and left[0] == right[0]:
        case.help.append("to broadcast along the rows, make the right one a column: `.unsqueeze(1)`")
