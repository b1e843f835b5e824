"""The stories of autograd's own failures: who saved, freed, modified or built what the failing line needs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradsh.compiler.scopes import bound_by
from gradsh.diagnosis.out_of_place import out_of_place
from gradsh.diagnosis.provenance import Origin, is_tensor, silent_block
from gradsh.engine.graph.node import behind
from gradsh.engine.graph.tensor import node_of
from gradsh.language import tree
from gradsh.language.node import expr
from gradsh.probe.modules import is_module, parameters_of
from gradsh.probe.passes import saves
from gradsh.probe.snapshot import nodes_below
from gradsh.runtime.activation import Place, circumstances
from gradsh.text.problem import Label

if TYPE_CHECKING:
    from gradsh.diagnosis.diagnose import Case

Story = Callable[["Case"], None]


def _bytes(count: int) -> str:
    return f"{count:,} B"


def _shape_of(shape: Any) -> str:
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
    if node is not None:
        what = f"{node.name()}.{entry.name}" if entry is not None else f"what {node.name()} saved"
        case.title = f"backward needs {what}, which an earlier backward freed"
    saved = freed = None
    if node is not None:
        detail = "" if entry is None else f": {entry.name}, {_shape_of(entry.shape)}, {_bytes(entry.nbytes)}"
        saved = case.mark("saved", node.where, f"saved here{detail}")
        freed = case.mark("freed", case.fields.get("freed_where"), "freed here")
    now = case.place(case.machine.where_of(case.error))
    case.failed("needed again here" + ("" if now is None else circumstances(now)))
    if freed is not None:
        case.help += _keep(case, saved, freed, now)


def _keep(case: "Case", saved: Place | None, freed: Place, now: Place | None) -> list[str]:
    """Return the ways to have the buffers when they are needed."""
    line = freed.span.line
    text = case.text(freed.span, freed.source)
    subject = _subject(text)
    same = now is not None and now.statement == freed.statement and now.source is freed.source
    if same and saved is not None and _in_another_pass(saved, now):  # type: ignore[arg-type]
        inner = len(saved.passes) > len(freed.passes)  # a loop in the loop: each window has several steps
        place = f"after line {line}" if inner and not freed.calls else f"before line {saved.span.line}"
        return [f"detach what is carried from one pass to the next (`h = h.detach()`), {place}"]
    if same and saved is not None and freed.iteration:
        return [f"compute it anew in each pass: move line {saved.span.line} into the loop", _retaining(text, line)]
    if same and freed.calls:
        return [f"compute it again before the call on line {case.steps[0].span.line}", _retaining(text, line)]
    trunk = _trunk(case, subject) if case.machine.has_pins else ""
    if trunk:
        return [f"pin what both share with `retain {trunk}` before line {line}: the rest is freed as usual", _retaining(text, line)]
    pin = f", or pin it with `retain {subject}` before" if subject and case.machine.has_pins else ""
    again = f", or compute {subject} again" if subject else ""
    return [_retaining(text, line) + pin + again]


_MOST_NAMES = 30
"""Most variables that are looked at for what two results share."""


def _trunk(case: "Case", first: str) -> str:
    """Return the variables whose graphs hold all that two backpropagated variables share, as few as do; empty if none do."""
    second = _subject(case.text())
    roots = [behind(getattr(case.origins.value(name), "grad_fn", None)) for name in (first, second)]
    if not first or not second or first == second or None in roots or roots[0] is roots[1]:
        return ""
    shared = set(nodes_below(roots[0])) & set(nodes_below(roots[1]))
    local = case.origins.frames[-1].local if case.origins.frames else None
    named = sorted(
        ((node.seq, name, node) for name, value in {**case.machine.variables(), **(local or {})}.items()
         if name not in {first, second} and is_tensor(value) and (node := node_of(value)) in shared and node is not None),
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


def _in_another_pass(saved: Place, now: Place) -> bool:
    """Whether a place was reached in another pass of a loop around both."""
    return any(then != this for then, this in zip(saved.passes, now.passes, strict=False))


def _retaining(text: str, line: int) -> str:
    if text.startswith("backward "):
        return f"keep it with `{text.removesuffix(' --retain')} --retain` on line {line}"
    if text.endswith(".backward()"):
        return f"keep it with `{text[:-1]}retain_graph=True)` on line {line}"
    return f"keep it with `retain_graph=True` on line {line}"


def _subject(text: str) -> str:
    """Return the variable that a statement backpropagates, if it is a plain name."""
    name = text.removeprefix("backward ").partition(" ")[0] if text.startswith("backward ") else text.partition(".")[0]
    return name if name.isidentifier() and name != "torch" else ""


def _version(case: "Case") -> None:
    node, entry = case.fields.get("node"), _saved_entry(case)
    name = case.fields.get("name") or (entry.name if entry is not None else "a tensor")
    if node is not None:
        case.title = f"backward needs {node.name()}.{name}, which was modified in place after it was saved"
        detail = "" if entry is None else f", {_shape_of(entry.shape)}"
        case.mark("saved", node.where, f"saved here: {name}{detail}, at version {case.fields.get('expected')}")
    places = [
        place for version, where in case.fields.get("writes", ())
        if (place := case.mark("modified", where, f"modified here, version {version}")) is not None
    ]
    _once(case, "modified")
    case.failed(f"needed here, at version {case.fields.get('expected')}")
    if places:
        case.help += _before_the_write(case, places)


def _before_the_write(case: "Case", places: list[Place]) -> list[str]:
    """Return the ways to have the tensor as it was saved; an optimizer's step is meant to write in place."""
    lines = ", ".join(dict.fromkeys(str(place.span.line) for place in places))
    if all(".step(" in case.text(place.span, place.source) for place in places):
        return [f"run this backward before line {lines}, or the forward again after it: an optimizer writes its parameters in place"]
    new = [found[1].strip() for place in places if (found := out_of_place(case.text(place.span, place.source).strip()))]
    shown = f": `{new[0]}`" if len(places) == len(new) == 1 else ""
    return [f"write line {lines} out of place{shown}, or write to a `.clone()`",
            f"or run this backward before line {lines}"]


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
    tensor = case.fields.get("tensor")
    origins = case.origins.cuts(tensor, _operands(case))
    for origin in origins:
        text = "the history ends here" if origin.cut else "made here, and needs no gradient"
        case.label("built", origin.span, text, origin.source)
    case.failed("this requires no grad")
    _grow_history(case, origins)


def _operands(case: "Case") -> list[expr]:
    """Return the expressions of the failing one that give the tensors it works on."""
    node = case.expression
    index = case.fields.get("index")
    if isinstance(node, tree.Call):
        if isinstance(node.func, tree.Attribute) and node.func.attr in {"backward", "retain_grad", "register_hook"} and (
            not isinstance(node.func.value, tree.Attribute) and not _is_torch(node.func.value)
        ):
            return [node.func.value]
        first = node.args[:1]
        if first and isinstance(first[0], tree.Tuple | tree.List) and isinstance(index, int) and index < len(first[0].elts):
            return [first[0].elts[index]]
        return list(node.args)
    command = _command_at(case)
    return list(command.arguments) if command is not None else []


def _is_torch(node: expr) -> bool:
    return isinstance(node, tree.Name) and node.id == "torch"


def _command_at(case: "Case") -> tree.Command | None:
    unit = case.machine.units.of(case.steps[-1].code) if case.steps else None
    return next((one for one in unit.commands if one.span == case.span), None) if unit is not None else None


def _grow_history(case: "Case", origins: list[Origin]) -> None:
    cut = next((origin for origin in origins if origin.cut), None)
    if cut is not None:
        text = case.text(cut.span, cut.source)
        line = cut.span.line
        block = silent_block(case.machine, cut)
        if block is not None:
            case.help.append(f"take line {line} out of the `{block[1]}` of line {block[0]}")
            return
        for word, way in _CUTTERS.items():
            if word in text:
                case.help.append(way.format(line=line))
                return
        case.help.append(f"line {line} gives something without history: an operation without derivative, or grad mode was off")
        return
    frozen = _frozen(case, origins)
    if frozen:
        case.help.append(f"{frozen} is frozen: let it learn with `{frozen}.requires_grad_(True)` before the forward")
        return
    for origin in origins[:1]:
        case.help.append(f"make it with `requires_grad=True` on line {origin.span.line}, or call `.requires_grad_()` on it")


def _frozen(case: "Case", origins: list[Origin]) -> str:
    """Return the name of a module among the origins that has parameters, none of which requires grad."""
    for origin in origins:
        for name, _ in bound_by(origin.statement):
            value = case.origins.value(name)
            if is_module(value):
                parameters = [one for _, one in parameters_of(value)]
                if parameters and not any(one.requires_grad for one in parameters):
                    return name
    return ""


_CUTTERS = {
    "detach": "leave out `detach` on line {line}",
    ".data": "use the tensor itself instead of its `.data` on line {line}",
    ".item()": "keep the tensor instead of its number on line {line}",
    "numpy": "stay with tensors instead of numpy on line {line}",
    "autograd.grad": "pass `create_graph=True` on line {line}",
    ".grad": "a `.grad` has no history; get one with `torch.autograd.grad(…, create_graph=True)`",
    "max(": "indices have no gradient; use the values (`[0]`) on line {line}",
    "argmax": "indices have no gradient; use softmax or the values on line {line}",
    "tensor(": "`torch.tensor` copies the numbers only; use `torch.stack` on line {line}",
}


def _built(case: "Case", tensor: Any, text: str) -> None:
    """Mark the line that made a tensor: its node's, else the statement that bound its name."""
    if not is_tensor(tensor):
        return
    node = node_of(tensor)
    if node is not None and case.mark("built", node.where, text) is not None:
        return
    origin = case.origins.made(tensor)
    if origin is not None:
        case.label("built", origin.span, text, origin.source)


def _scalar(case: "Case") -> None:
    tensor = case.fields.get("tensor")
    shape = _shape_of(tensor.shape) if tensor is not None else ""
    _built(case, tensor, f"made here, of shape {shape}")
    case.failed()
    subject = _subject(case.text())
    if subject:
        case.help.append(f"reduce it first: `{subject}.sum().backward()` or `{subject}.mean().backward()`")
        case.help.append(f"or give the gradient that arrives: `{subject}.backward(torch.ones_like({subject}))`")
    else:
        case.help.append("reduce it to one number first, with `.sum()` or `.mean()`")


def _grad_shape(case: "Case") -> None:
    tensor = case.fields.get("tensor")
    case.failed()
    if tensor is not None:
        case.help.append(f"the gradient of a tensor has its shape: {_shape_of(tensor.shape)}")


def _leaf_inplace(case: "Case") -> None:
    written = case.fields.get("tensor")
    _built(case, case.fields.get("leaf", written), "the leaf was made here, and requires grad")
    if not case.labels and written is not None:
        _built(case, written, "a view of a leaf that requires grad was made here")
    case.failed("written in place here")
    case.help.append("if it is an update, put it into `with torch.no_grad():`")
    case.help.append("if it is part of the computation, write it out of place: `b = a + 1` for `a += 1`")


def _view_inplace(case: "Case") -> None:
    where = case.fields.get("built_where")
    if where is None or case.mark("built", where, "the view was made here") is None:
        _built(case, case.fields.get("tensor"), "the view was made here")
    case.failed("written in place here")
    case.help.append("write it out of place (`v = v * 2` for `v *= 2`), or `.clone()` the view first")


def _not_leaf(case: "Case") -> None:
    _built(case, case.fields.get("tensor"), "made by an operation here")
    case.failed()
    case.help.append("make it a leaf: `t = t.detach().requires_grad_()`, or set requires_grad where it is made")


def _unused(case: "Case") -> None:
    _built(case, case.fields.get("tensor"), "made here")
    case.failed("not part of this graph")
    case.help.append("pass `allow_unused=True` to get None for it, or use it in the computation")


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
        names = [f"{_leaf_name(case, leaf)}.grad" for leaf in done.wrote[:3]]
        parts.append("wrote " + ", ".join(names) + (" and more" if len(done.wrote) > 3 else ""))
    end = "was ended" if case.kind == "interrupt" else "failed"
    case.notes.append(f"before it {end}, the pass " + "; ".join(parts))


def _leaf_name(case: "Case", leaf: Any) -> str:
    """Name a leaf; a parameter's place in its net tells more than the `p` that a loop left behind."""
    from gradsh.engine.graph.tensor import Parameter

    names = case.origins.names_of(leaf)
    if isinstance(leaf, Parameter):
        names.sort(key=str.isidentifier)
    return names[0] if names else "a leaf"


GRAPH_STORIES: dict[str, Story] = {
    "freed": _freed, "version": _version, "no_grad": _no_grad, "scalar": _scalar, "grad_shape": _grad_shape,
    "leaf_inplace": _leaf_inplace, "view_inplace": _view_inplace, "not_leaf": _not_leaf, "unused": _unused,
}
