"""What each kind of failure tells: its sentence, the places of its story, and the ways out that work.

One function a kind, found in `STORIES`. A story marks the places before the failure, calls `case.failed(…)`, then helps.
"""

import re
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from gradsh.compiler.scopes import walk
from gradsh.diagnosis.code import Code
from gradsh.diagnosis.explain_graph import GRAPH_STORIES, partial_pass
from gradsh.diagnosis.explain_shape import shape_story
from gradsh.diagnosis.nearest import for_attribute, for_name, near
from gradsh.diagnosis.provenance import statements_before
from gradsh.engine.graph.tensor import Tensor
from gradsh.language import tree
from gradsh.runtime.activation import Place
from gradsh.runtime.library import Library
from gradsh.runtime.missing_modules import ON_PYTORCH, holder, way_without
from gradsh.runtime.modules import MODULES
from gradsh.text.span import Span

if TYPE_CHECKING:
    from gradsh.diagnosis.case import Case

INTERNAL = frozenset({*Tensor.__slots__, "counter", "edge", "category", "numpy"})
"""Attributes of the engine's objects that no script has."""
Story = Callable[["Case"], None]


def tell(case: "Case") -> None:
    """Fill in a case."""
    hook = code_of(case.fields.get("hook"))
    unit = None if hook is None else case.machine.units.of(hook)
    if hook is not None and unit is not None:
        case.label("defined", case.machine.units.statement(hook, hook.co_firstlineno), "the hook", unit.source)
    story = STORIES.get(case.story)
    if story is None:
        case.failed()
    else:
        story(case)
    if case.cause.needed is None:
        case.cause = case.cause._replace(needed=case.now())
    way = case.fields.get("way")
    if way:
        case.help.append(str(way))
    partial_pass(case)


def code_of(hook: object) -> CodeType | None:
    """Return the code that a hook runs: a function's, or that of the `__call__` of an object's class; None for neither."""
    own = getattr(hook, "__code__", None)
    return own if own is not None else getattr(type(hook).__dict__.get("__call__"), "__code__", None)


_PRETRAINED = r"((wide_)?resnet|resnext|vgg|alexnet|densenet|mobilenet|efficientnet|inception|vit)_?\w*\d|(alexnet|transforms|datasets)$"
"""Names of torchvision's networks, and of its modules."""
IMPORTS = {
    "Variable": "from torch.autograd import Variable",
    "checkpoint": "from torch.utils.checkpoint import checkpoint",
    "DataLoader": "from torch.utils.data import DataLoader",
    "TensorDataset": "from torch.utils.data import TensorDataset",
    "OrderedDict": "from collections import OrderedDict",
    "defaultdict": "from collections import defaultdict",
    "deque": "from collections import deque",
    "partial": "from functools import partial",
    **{one: f"import {one}" for one in ("copy", "time", "itertools", "collections", "functools")},
    **{one: f"from typing import {one}" for one in ("Any", "Callable", "Dict", "List", "Optional", "Tuple", "Union")},
}
"""What a snippet's missing head usually imports -> how."""


def _name(case: "Case") -> None:
    name = case.fields.get("name") or getattr(case.error, "name", None) or ""
    for span, source in statements_before(case.origins, name, tree.Delete):
        case.label("defined", span, f"`{name}` was deleted here", source)
    refused = "way" in case.fields
    if refused:
        case.message = case.message.removesuffix(str(case.fields["way"])).rstrip(":; ")  # the help line has it
    case.failed("not bound here" if isinstance(case.error, NameError) and not refused else "")
    if gone := case.machine.shown.gone(name):
        case.message = gone
        case.help.append("assign the value to a name where it is computed: `y = …`")
    elif isinstance(case.error, NameError) and name and "way" not in case.fields:
        if name in IMPORTS:
            case.help.append(f"import it first: `{IMPORTS[name]}`")
            return
        if _within_class(case, str(name)):
            case.help.append(f'a class has its name once its body has run: write the annotation as text, `"{name}"`')
            return
        if re.match(_PRETRAINED, str(name)):
            case.help.append(f"torchvision has it: {MODULES['torchvision'].why}")
            return
        if name in case.machine.grammars:
            case.help.append(f"`{name}` is a command: its arguments stand behind a blank, without parentheses (`help {name}`)")
        local = case.origins.frames[-1].local if case.origins.frames else None
        found = for_name(case.machine, str(name), local or ())
        _meant(case, [one for one in found if one != name])
        if not found and not case.help:
            case.help.append(f"bind it first: `{name} = …`")
    elif isinstance(case.error, ImportError) and "way" not in case.fields:
        owner = case.fields.get("owner")
        if owner is not None and not _known_elsewhere(case, owner, str(name)):
            _meant(case, for_attribute(case.machine, owner, str(name)))
    if isinstance(case.error, ImportError):
        case.help += [case.fields["way"]] if "way" in case.fields else []
        _on_pytorch(case)


def _within_class(case: "Case", name: str) -> bool:
    """Whether an expression stands in the body of the class that it names."""
    unit = case.machine.units.of(case.steps[-1].code) if case.steps else None
    return unit is not None and any(
        isinstance(node, tree.ClassDef) and node.name == name and node.span.line <= case.line <= node.span.end_line
        for statement in unit.statements for node in walk(statement)
    )


def _on_pytorch(case: "Case") -> None:
    """Name the way out for what only PyTorch has, unless it was named or a name was meant that is here."""
    if not case.meant and not any("gradsh trace" in line for line in case.help):
        case.help.append(ON_PYTORCH)


def _meant(case: "Case", names: list[str]) -> None:
    if names:
        case.meant += names
        case.help.append("did you mean " + " or ".join(f"`{name}`" for name in names) + "?")


_PYTHONS = (type, FunctionType)
"""What has the special names that classes, objects and functions have in Python."""


def _attribute(case: "Case") -> None:
    case.failed()
    owner = case.fields.get("owner", case.fields.get("namespace"))
    name = case.fields.get("name")
    if owner is None and isinstance(case.error, AttributeError):
        owner, name = getattr(case.error, "obj", None), getattr(case.error, "name", None)
        if not case.is_own:
            _unfit(case, owner, name)
            return
    if owner is not None and isinstance(name, str) and not _known_elsewhere(case, owner, name):
        meant = for_attribute(case.machine, owner, name)
        _meant(case, meant)
        if name == "next" and hasattr(type(owner), "__next__") and isinstance(case.expression, tree.Attribute):
            case.help.append(f"write `next({case.text(case.expression.value.span)})`")
        if not meant and isinstance(owner, Library):
            case.help.append(f"gradsh's `{owner.name}` offers {_some(owner.names())}")
        if isinstance(owner, case.machine.guard.namespaces) or (name[:2] == "__" and any(hasattr(kind, name) for kind in _PYTHONS)):
            _on_pytorch(case)


def _known_elsewhere(case: "Case", owner: object, name: str) -> bool:
    """Say the way to do without what PyTorch, or Python's own module, has: then no other name was meant. Tell whether it has it."""
    space = case.machine.guard.space(owner)
    who = holder(space, name) if space else ""
    if not who:
        return False
    case.notes.append(f"{who} has `{space}.{name}`; gradsh does not")
    way = way_without(f"{space}.{name}")
    case.help += [way] if way else []
    _on_pytorch(case)
    return True


def _unfit(case: "Case", owner: object, name: object) -> None:
    """Tell of an argument that a function of ours took for something else: what it looked for in it is ours alone."""
    node = case.expression
    called = case.text(node.func.span) if isinstance(node, tree.Call) else "the operation"
    case.title = f"{called} cannot take a value of type {case.machine.guard.kinds.name(owner)} here"
    if name in INTERNAL:
        case.message = case.title


def _some(names: list[str]) -> str:
    """List a few dozen names at most."""
    return ", ".join(names[:30]) + (", …" if len(names) > 30 else "")


def _key(case: "Case") -> None:
    if isinstance(case.error, KeyError):
        case.message = f"there is no key {(case.error.args or ('',))[0]!r}"
    case.failed()
    node = case.expression
    if isinstance(node, tree.Subscript) and isinstance(node.value, tree.Name):
        held = case.origins.value(node.value.id)
        if isinstance(held, dict) and len(held) <= 20:
            case.notes.append("the keys are " + (", ".join(repr(one) for one in held) or "none"))


def _type(case: "Case") -> None:
    called = case.message.partition("(")[0].rpartition("<locals>.")[2]
    owner, _, name = called.rpartition(".")
    if case.message.partition("(")[2].startswith(")") and name.isidentifier():
        _definition(case, name, owner.rpartition(".")[2])
    case.failed()
    renamed = re.search(r"unexpected keyword argument '(\w+)'", case.message)
    parameters = signature_of(case)
    if renamed is not None:
        word = renamed.group(1)
        known = RENAMED.get(word)
        _meant(case, [known] if known and (known in parameters or not parameters) else near(word, parameters))
    if parameters and "operation" not in case.fields:
        case.notes.append(f"it takes ({', '.join(parameters)})")
    operation = case.fields.get("operation")
    _keywords(case, operation)
    for record in getattr(operation, "records", ()) if "but expected" not in case.message else ():
        signature = str(getattr(record, "signature", ""))
        if signature and signature not in case.message:
            case.notes.append(f"its signature is {signature}")


def _keywords(case: "Case", operation: object) -> None:
    """Suggest a parameter for each keyword of a call that no overload of the operation has."""
    node = case.expression
    known = {name for record in getattr(operation, "records", ()) for name in record.signature.keywords}
    for word in node.keywords if isinstance(node, tree.Call) and known else ():
        if word.arg is not None and word.arg not in known:
            renamed = RENAMED.get(word.arg, "")
            _meant(case, [renamed] if renamed in known else near(word.arg, known))


RENAMED = {"retain_variables": "retain_graph", "async": "non_blocking", "size_average": "reduction", "reduce": "reduction",
           "axis": "dim", "keepdims": "keepdim"}
"""Keywords of former years, or of numpy -> what PyTorch calls them today."""


def signature_of(case: "Case") -> list[str]:
    """Return the parameters of what the failing call calls, where that is a name or an attribute of one."""
    import inspect

    node = case.expression
    path: list[str] = []
    function = node.func if isinstance(node, tree.Call) else None
    while isinstance(function, tree.Attribute):
        path.append(function.attr)
        function = function.value
    if not isinstance(function, tree.Name):
        return []
    try:
        value = case.origins.value(function.id) or case.machine.builtins[function.id]
        for name in reversed(path):
            value = case.machine.guard.read(value, name)
        return [
            name for name, one in inspect.signature(value).parameters.items()
            if name != "self" and one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}
        ]
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        return []


def _definition(case: "Case", name: str, owner: str) -> None:
    """Mark the header of the script's function that was called wrongly; `owner` is its class (empty: none)."""
    unit = case.machine.units.of(case.steps[-1].code) if case.steps else None
    units = [] if unit is None else [unit, *case.machine.units.before(unit)]
    for one in units:
        stack: list[tuple[object, str]] = [(one.stmt, "")]
        while stack:
            node, inside = stack.pop()
            if isinstance(node, tree.FunctionDef) and node.name == name and inside == owner:
                span = Span(node.span.line, node.span.column, node.span.line, len(one.source.line(node.span.line)) + 1)
                case.label("defined", span, "defined here", one.source)
                return
            if isinstance(node, tree.FunctionDef | tree.ClassDef | tree.If | tree.For | tree.With | tree.Try | tree.While):
                within = node.name if isinstance(node, tree.ClassDef) else "" if isinstance(node, tree.FunctionDef) else inside
                stack.extend((inner, within) for inner in reversed(node.body))


def _arithmetic(case: "Case") -> None:
    case.failed()
    if isinstance(case.error, ZeroDivisionError):
        case.help.append("Python's numbers cannot be divided by zero; tensors can, and give inf or nan")


def _assertion(case: "Case") -> None:
    reason = "" if case.message == "AssertionError" else f": {case.message}"
    case.message = f"the assertion does not hold{reason}"
    case.failed()


def _limit(case: "Case") -> None:
    reason = getattr(case.error, "reason", None)
    if reason:
        case.message = str(reason)
    elif isinstance(case.error, RecursionError):
        case.message = f"too many nested calls: {case.message}"
        case.help.append("end the recursion, or write a loop")
        del case.steps[3:-1]  # thousands of the same
    elif isinstance(case.error, SystemError):  # a call of Python's own that forgot to say what it lacked
        case.message = "out of memory"
    elif isinstance(case.error, MemoryError) or "asked" in case.fields:
        from gradsh.diagnosis.out_of_memory import explain_memory

        explain_memory(case)
        return
    case.failed(f"{_how_far(case)} when the limit was reached" if reason else "")


def _interrupt(case: "Case") -> None:
    if isinstance(case.error, KeyboardInterrupt):
        case.message = "interrupted"
        case.failed(f"{_how_far(case)} when it was interrupted")
    else:
        case.failed("ended here")


def _how_far(case: "Case") -> str:
    """Tell whether what the statement does has been done: an interrupt may come in its last call."""
    return "just done" if case.fields.get("over") else "running"


def _other(case: "Case") -> None:
    name = type(case.error).__name__
    if case.message != name and type(case.error) not in {RuntimeError, NotImplementedError}:
        case.title = f"{name}: {case.message.splitlines()[0]}"
    if case.fields.get("checkpoint"):
        _recomputed_otherwise(case)
    for site, node in Code(case.machine).named("inference_mode") if "nference tensor" in case.message else ():
        case.label("built", node.span, "tensors created here cannot be part of a graph", site.source)
    case.failed()


def _recomputed_otherwise(case: "Case") -> None:
    """Tell how the second call of a checkpointed function differed from the first."""
    changed, numbers = case.fields.get("changed", ()), case.fields.get("numbers")
    for place, shape, dtype, new_shape, new_dtype in changed[:2]:
        case.notes.append(f"saved tensor {place} was {shape} {dtype}; the recomputed one is {new_shape} {new_dtype}")
    if len(changed) > 2:
        case.notes.append(f"{len(changed) - 2} more differ")
    if numbers:
        case.notes.append("the forward saved {} tensors, the recomputation saved {}".format(*numbers))
    case.help.append("the checkpointed function must do the same at each call: look for what changes between the calls")


def _value(case: "Case") -> None:
    node = case.fields.get("node")
    if node is not None and case.fields.get("anomaly"):
        place: Place | None = case.mark("built", node.location, "the operation whose gradient is not a number")
        element = case.fields.get("element")
        if element is not None:
            at = f"element {list(element)}" if element else "the only element"
            case.notes.append(f"the first nan is {at} of the gradient for input {case.fields.get('place', 0)} of {node.name()}")
        if place is not None:
            case.help.append(f"check the inputs of line {place.span.line}: a root of 0, a log of 0, 0/0, inf - inf")
    case.failed()


STORIES: dict[str, Story] = {
    **GRAPH_STORIES, "shape": shape_story, "name": _name, "attribute": _attribute, "key": _key, "type": _type,
    "arithmetic": _arithmetic, "assert": _assertion, "limit": _limit, "interrupt": _interrupt, "other": _other,
    "value": _value,
}
