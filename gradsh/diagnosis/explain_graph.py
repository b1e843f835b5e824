"""The stories of autograd's own failures: who saved, freed, modified or built what the failing line needs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradsh.diagnosis.cause import Cause
from gradsh.diagnosis.code import Code, freezing
from gradsh.diagnosis.provenance import Origin, is_tensor
from gradsh.engine.graph.node import behind
from gradsh.engine.graph.tensor import last_node_of
from gradsh.engine.values.size import Size
from gradsh.language import tree
from gradsh.language.node import expr
from gradsh.probe.passes import saves
from gradsh.probe.snapshot import nodes_below
from gradsh.runtime.activation import Place, circumstances
from gradsh.text.problem import Label

if TYPE_CHECKING:
    from gradsh.diagnosis.case import Case

Story = Callable[["Case"], None]


def _bytes(count: int) -> str:
    return f"{count:,} B"


def _shape_of(shape: Size | tuple[int, ...]) -> str:
    return str(tuple(shape))


def _saved_entry(case: "Case") -> Any:
    """Return the saved tensor that the failing node needs, as data, or None where it saves none itself."""
    node, name, index = case.fields.get("node"), case.fields.get("name"), case.fields.get("index")
    if node is None:
        return None
    if name is None and index is not None:
        names = list(node.saved_names())
        name = names[index] if index < len(names) else None
    return next((entry for entry in node.saved if entry.name == name), None)


def _freed(case: "Case") -> None:
    node = case.fields.get("node")
    entry = _saved_entry(case)
    what = "saved tensors"
    read = case.expression
    looked_at = isinstance(read, tree.Attribute) and read.attr.startswith(("_saved_", "_raw_saved_"))  # no pass failed
    if node is not None:
        what = f"{node.name()}.{entry.name}" if entry is not None else f"what {node.name()} saved"
        case.title = f"backward needs {what}, which an earlier backward freed"
        if looked_at:
            case.title = f"an earlier backward freed {what}, which is read here"
    saved = freed = None
    if node is not None:
        detail = "" if entry is None else f": {entry.name}, {_shape_of(entry.shape)}, {_bytes(entry.nbytes)}"
        saved = case.mark("saved", node.location, f"saved here{detail}")
        freed = case.mark("freed", case.fields.get("freed_where"), "freed here")
    now = case.now()
    case.failed(("read" if looked_at else "needed again") + " here" + ("" if now is None else circumstances(now)))
    case.cause = Cause(node, entry.name if entry else "", (), entry.nbytes if entry else 0, saved, freed, now)


_MOST_NAMES = 30
"""Most variables that are looked at for what two results share."""


def trunk_of(case: "Case", first: str, second: str) -> str:
    """Return the variables whose graphs hold all that two backpropagated variables share, as few as do; empty if none do."""
    roots = [behind(getattr(case.origins.value(name), "grad_fn", None)) for name in (first, second)]
    if not first or not second or first == second or None in roots or roots[0] is roots[1]:
        return ""
    shared = set(nodes_below(roots[0])) & set(nodes_below(roots[1]))
    local = case.origins.frames[-1].local if case.origins.frames else None
    named = sorted(
        ((node.seq, name, node) for name, value in {**case.machine.variables(), **(local or {})}.items()
         if name not in {first, second} and is_tensor(value) and (node := last_node_of(value)) in shared and node is not None),
        key=lambda one: one[:2], reverse=True,
    )
    left = {node for node in shared if saves(node)}
    pins: list[str] = []
    for _, name, node in named[:_MOST_NAMES]:
        below = set(nodes_below(node)) if left and node not in roots else set()
        if below & left:
            pins.append(name)
            left -= below
    return "" if left else " ".join(reversed(pins))


def _version(case: "Case") -> None:
    node, entry = case.fields.get("node"), _saved_entry(case)
    name = case.fields.get("name") or (entry.name if entry is not None else "a tensor")
    saved = None
    if node is not None:
        case.title = f"backward needs {node.name()}.{name}, which was modified in place after it was saved"
        detail = "" if entry is None else f", {_shape_of(entry.shape)}"
        saved = case.mark("saved", node.location, f"saved here: {name}{detail}, at version {case.fields.get('expected')}")
    places = _writes(case)
    case.failed(f"needed here, at version {case.fields.get('expected')}")
    case.cause = Cause(node, str(name), (), entry.nbytes if entry else 0, saved, None, case.now(), places)


def _writes(case: "Case") -> tuple[Place, ...]:
    """Mark where the memory was written since; return the places."""
    places = [
        place for version, where in case.fields.get("writes", ())
        if (place := case.mark("modified", where, f"modified here, version {version}")) is not None
    ]
    _once(case, "modified")
    return tuple(places)


def _once(case: "Case", role: str) -> None:
    """Join the marks of one role at one place: the writes of a loop."""
    kept: list[Label] = []
    for label in case.labels:
        same = next((old for old in kept if old.role == role == label.role and old.span == label.span), None)
        if same is None:
            kept.append(label)
        else:
            kept[kept.index(same)] = same._replace(text=f"{same.text.partition(' to ')[0]} to {label.text.split('version ')[-1]}")
    case.labels[:] = kept


def _no_grad(case: "Case") -> None:
    from gradsh.diagnosis.history import History

    operands = _operands(case)
    history = History(case.origins)
    origins = history.cuts(operands) or history.cuts_of(case.fields.get("tensor"))
    frozen = {id(site.statement) for site, _ in freezing(Code(case.machine))}
    if any(origin.cut for origin in origins):  # then what needs no gradient, such as data, is not why
        origins = [origin for origin in origins if origin.cut or id(origin.statement) in frozen]
    for origin in origins:
        text = ("the graph ends here" if origin.cut else "requires_grad is set to False here" if id(origin.statement) in frozen
                else "created here without requires_grad")
        case.label("operand" if origin.before else "built", origin.span, text, origin.source)
    case.failed("this does not require grad")
    case.cause = Cause(needed=case.now(), cuts=tuple(origins), tensor=case.fields.get("tensor"))
    if not origins:
        case.help.append("none of its inputs requires grad: set requires_grad=True on the tensors to be trained")


def _operands(case: "Case") -> list[expr]:
    """Return the expressions of the failing one that give the tensors it works on."""
    node = case.expression
    index = case.fields.get("index")
    if isinstance(node, tree.Call):
        if isinstance(node.func, tree.Attribute) and node.func.attr in {
            "backward", "retain_grad", "register_hook", "register_post_accumulate_grad_hook",
        } and not _is_torch(node.func.value) and not (
            isinstance(node.func.value, tree.Attribute) and _is_torch(node.func.value.value)
        ):
            return [node.func.value]
        places = node.args[:1]
        message = case.message
        if "differentiated Tensors" in message and len(node.args) > 1:
            places = node.args[1:2]
        if places and isinstance(places[0], tree.Tuple | tree.List):
            elements = places[0].elts
            return [elements[index]] if isinstance(index, int) and index < len(elements) else list(elements)
        return list(places) or list(node.args)
    command = _command_at(case)
    return list(command.arguments) if command is not None else []


def _is_torch(node: expr) -> bool:
    return isinstance(node, tree.Name) and node.id == "torch"


def _command_at(case: "Case") -> tree.Command | None:
    unit = case.machine.units.of(case.steps[-1].code) if case.steps else None
    return next((one for one in unit.commands if one.span == case.span), None) if unit is not None else None


def _built(case: "Case", tensor: Any, text: str, written: expr | None = None) -> tuple[Origin, ...]:
    """Mark the line that made a tensor: its node's, else the statements that made the leaf."""
    from gradsh.diagnosis.history import History

    if not is_tensor(tensor):
        return ()
    node = last_node_of(tensor)
    place = case.place(node.location) if node is not None else None
    if place is not None:
        case.label("built", place.span, text + circumstances(place), place.source)
        statement = case.statement_at(place)
        return () if statement is None else (Origin(place.span, place.source, False, statement),)
    origins = History(case.origins).made(written, tensor) if written is not None else []
    made = None if origins else case.origins.made(tensor)
    for origin in origins or ([made] if made is not None else []):
        case.label("built", origin.span, text, origin.source)
    return tuple(origins or ([made] if made is not None else []))


def _scalar(case: "Case") -> None:
    tensor = case.fields.get("tensor")
    shape = _shape_of(tensor.shape) if tensor is not None else ""
    _built(case, tensor, f"created here with shape {shape}")
    case.failed()
    case.cause = Cause(needed=case.now(), tensor=tensor)


def _grad_shape(case: "Case") -> None:
    tensor = case.fields.get("tensor")
    case.failed()
    case.cause = Cause(needed=case.now(), tensor=tensor)
    if tensor is not None:
        case.notes.append(f"the gradient must have the shape of the tensor: {_shape_of(tensor.shape)}")


def _written_expression(case: "Case") -> expr | None:
    """Return the expression that the failing statement writes."""
    statement = case.statement_at(case.now())
    if isinstance(statement, tree.AugAssign):
        return statement.target
    if isinstance(statement, tree.Assign):
        found = next((one for one in statement.targets if isinstance(one, tree.Subscript)), None)
        if found is not None:
            return found
    node = case.expression
    while isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute):
        first: expr = node.func.value
        if isinstance(first, tree.Call):
            node = first
            continue
        return node.args[0] if isinstance(first, tree.Name) and first.id in {"torch", "F", "nn"} and node.args else first
    return None


def _leaf_inplace(case: "Case") -> None:
    written = case.fields.get("tensor")
    leaf = case.fields.get("leaf", written)
    expression = _written_expression(case)
    origins = _built(case, leaf, "the leaf is created here and requires grad", expression)
    if not case.labels and written is not None:
        origins = _built(case, written, "a view of a leaf that requires grad is created here")
    case.failed("written in place here")
    case.cause = Cause(needed=case.now(), cuts=origins, tensor=leaf)


def _view_inplace(case: "Case") -> None:
    where = case.fields.get("built_where")
    place = None if where is None else case.mark("built", where, "the view is created here")
    statement = None if place is None else case.statement_at(place)
    origins: tuple[Origin, ...] = () if place is None or statement is None else (Origin(place.span, place.source, False, statement),)
    if place is None:
        origins = _built(case, case.fields.get("tensor"), "the view is created here", _written_expression(case))
    writes = _writes(case)
    case.failed("used here" if writes else "written in place here")
    case.cause = Cause(needed=case.now(), cuts=origins, tensor=case.fields.get("tensor"), writes=writes)


def _not_leaf(case: "Case") -> None:
    tensor = case.fields.get("tensor")
    origins = _built(case, tensor, "computed by an operation here")
    case.failed()
    case.cause = Cause(needed=case.now(), cuts=origins, tensor=tensor)


def _unused(case: "Case") -> None:
    node, index = case.expression, case.fields.get("index")
    inputs = node.args[1] if isinstance(node, tree.Call) and len(node.args) > 1 else None
    if isinstance(inputs, tree.Tuple | tree.List) and isinstance(index, int) and index < len(inputs.elts):
        inputs = inputs.elts[index]
    _built(case, case.fields.get("tensor"), "created here", inputs)
    case.failed("not part of this graph")
    case.cause = Cause(needed=case.now(), tensor=case.fields.get("tensor"))


def partial_pass(case: "Case") -> None:
    """Say what a pass that failed half-way had already done: it hides the error from the next try."""
    done = case.fields.get("done")
    if done is None or not getattr(done, "ran", 0):
        return
    parts = [f"ran {done.ran} node{'s' if done.ran != 1 else ''}"]
    if done.freed:
        shown = ", ".join(f"{node}.{name} ({_bytes(count)})" for node, name, count in done.freed[:3])
        more = f" and {len(done.freed) - 3} more" if len(done.freed) > 3 else ""
        parts.append(f"freed {shown}{more}")
    if done.wrote:
        names = [f"{name}.grad" for name in (_leaf_name(case, leaf) for leaf in done.wrote) if name]
        unnamed = len(done.wrote) - len(names)
        shown = ", ".join(names[:3]) or f"the grad of {unnamed} {'leaf' if unnamed == 1 else 'leaves'} without a name"
        parts.append(f"wrote {shown}" + (" and more" if names and len(done.wrote) > len(names[:3]) else ""))
    end = "was interrupted" if case.kind == "interrupt" else "failed"
    case.notes.append(f"before it {end}, backward " + "; ".join(parts))


def _leaf_name(case: "Case", leaf: object) -> str | None:
    """Name a leaf where it has a name; a parameter's place in its net tells more than the `p` that a loop left behind."""
    from gradsh.engine.graph.tensor import Parameter

    names = case.origins.names_of(leaf)
    if isinstance(leaf, Parameter):
        names.sort(key=str.isidentifier)
    return names[0] if names else None


GRAPH_STORIES: dict[str, Story] = {
    "freed": _freed, "version": _version, "no_grad": _no_grad, "scalar": _scalar, "grad_shape": _grad_shape,
    "leaf_inplace": _leaf_inplace, "view_inplace": _view_inplace, "not_leaf": _not_leaf, "unused": _unused,
}
