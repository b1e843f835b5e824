"""`help`: an overview on one screen, or help for one command, operation, variable, term or kind of error."""

import builtins
import inspect
from textwrap import dedent, wrap
from types import MethodType
from typing import Any, NamedTuple

from gradsh.api.nn.module import Module
from gradsh.api.torch import BARE, NAMESPACES
from gradsh.commands import GRAMMARS, USAGE, find
from gradsh.commands.example import example_of
from gradsh.commands.options import OPTIONS
from gradsh.commands.record import Text, command
from gradsh.contracts.state import State
from gradsh.engine.dispatch.operation import BoundOperation, Operation
from gradsh.engine.graph.tensor import Tensor, last_node_of
from gradsh.engine.registry import lookup, operations
from gradsh.probe.assertions import functions
from gradsh.process.lean_numpy import document
from gradsh.text.fault import fail
from gradsh.text.glossary import TERMS, term_of
from gradsh.text.kinds import KINDS
from gradsh.view.shapes import Lines, View

GROUPS = (
    ("run", "backward plan retain release check time"),
    ("look", "graph browse buffers memory top holders leaks vars diff watch"),
    ("understand", "why fix explain tour help"),
    ("session", "undo redo mark back history save load reset set expect quit exit"),
)
_BELOW = (
    "  help backward  a command: its options, examples",
    "  help mean      an operation: what it saves",
    "  help leaf      a term of the output",
    "  x?             what x is (same as `help x`)",
    "  help keys      the keys of this prompt",
    "  explain        kinds of errors and their fixes",
    "  set            settings and their values",
)


class Report(NamedTuple):
    """The lines of the help text about `topic` (empty: the overview)."""

    topic: str
    lines: tuple[str, ...]


@command(
    "help", "Show the commands, or help for one command, operation, variable, term or kind of error.",
    examples=["help", "help backward", "help mul", "x = ones(2)\nhelp x", "help nn.Linear", "help saved tensor"],
)
def run(state: State, topic: Text | None = None) -> Report:
    """Fails with kind `value` for an unknown name, and suggests similar ones."""
    name = "" if topic is None else str(topic).rstrip("?")
    if not name:
        return Report("", tuple(_overview(state)))
    lines = about(state, name)
    if lines:
        return Report(name, tuple(lines))
    from difflib import get_close_matches

    near = get_close_matches(name, [*USAGE, *TERMS, *state.variables, *operations()], 3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise fail("value", f"no command, name, operation, term or kind of error is called {name}{hint}", ValueError, candidates=near)


def about(state: State, name: str) -> list[str]:
    """Return all that is known of a name, dotted or not; nothing for one that means nothing."""
    lines: list[str] = []
    builtin = False
    if name.partition(".")[0] in state.names_in_reach():
        lines += _value(state, name)
    elif name in USAGE:
        lines += _command(name)
    elif name == "keys":
        return _keys(state)
    elif builtin := hasattr(builtins, name):  # a bare name means Python's before PyTorch's
        lines += _value(state, name)
    if not lines or name in USAGE or builtin:
        lines += _offered(state, name)
    if not lines and name.rpartition(".")[0] in {"Tensor", "torch.Tensor"}:
        lines += _of_tensor(name, name.rpartition(".")[2])
    if not lines:
        lines += _value(state, name)
    if term := term_of(name):
        lines.append(f"{term}: {TERMS[term]}")
    if name in KINDS:
        lines.append(f"{name}: a kind of error; see `explain {name}`")
    return lines


def _overview(state: State) -> list[str]:
    grouped = {name for _, names in GROUPS for name in names.split()}
    rest = " ".join(name for name in USAGE if name not in grouped)
    lines = ["Type or paste PyTorch statements (`torch.` may be left out)", "or a command (command names are not reserved words):", ""]
    for title, names in (*GROUPS, ("more", rest)):
        known = [name for name in names.split() if name in USAGE]
        if known:
            lines += _named(title, known)
    below = [line for line in _BELOW if state.settings.keys or "help keys" not in line]
    return [*lines, "", *below, "", "New here? `tour` is a guided session in seven steps."]


def _named(title: str, names: list[str]) -> list[str]:
    first, *rest = wrap(" ".join(names), 44)
    return [f"  {title:<12} {first}", *(f"{'':15}{line}" for line in rest)]


def _keys(state: State) -> list[str]:
    if not state.settings.keys:
        return ["there is no prompt here that has keys: run `gradsh` in a terminal"]
    width = max(len(key) for key, _ in state.settings.keys)
    return [f"  {key:<{width}}  {what}" for key, what in state.settings.keys]


def _command(name: str) -> list[str]:
    record = find(name)
    options = [*GRAMMARS[name].options]
    lines = [f"{name} {USAGE[name]}".rstrip(), record.doc]
    width = max((len(option) for option in options), default=0) + 2
    said = {option: OPTIONS.get(f"{name} --{option}") or OPTIONS.get(option) for option in options}
    lines += [f"  {'--' + option:<{width}}  {text}" for option, text in said.items() if text]
    for example in record.examples:
        lines.append("")
        lines += [f"  grad> {line}" for line in example.split("\n")]
    return lines


def _value(state: State, name: str) -> list[str]:
    """The help text of a value of the program's, or of a builtin, found by a dotted name without running anything."""
    try:
        value = state.control.value_of(name)
    except LookupError:
        return []
    owner, _, attribute = name.rpartition(".")
    if isinstance(value, BoundOperation):
        return _operation(value.operation)
    if isinstance(value, MethodType) and isinstance(value.__self__, Tensor):
        return _of_tensor(name, attribute)
    if owner and attribute in TERMS and isinstance(state.control.value_of(owner), Tensor):
        return [f"{name}: {value!r}. {TERMS[attribute]}"] if value is None else [f"{name}: {TERMS[attribute]}"]
    if isinstance(value, Operation):
        return []  # `_offered` knows more of it
    if callable(value) and not isinstance(value, Module):
        source = state.control.source_of(str(getattr(value, "__qualname__", name)))
        if source:
            return [f"  {line}" for line in dedent("\n".join(source)).split("\n")]
        return _callable(name, functions(dict).get(name) or getattr(builtins, name, value))
    if not isinstance(value, Tensor):
        doc = (inspect.getdoc(type(value)) or "").split("\n\n")[0] if isinstance(value, Module) else ""
        return [f"{name}: {type(value).__name__}", *(doc.split("\n") if doc else [])]
    node = last_node_of(value)
    made = "a leaf" if node is None else f"made by {node.name()}"
    grad = "requires grad" if value.requires_grad else "does not require grad"
    lines = [f"{name}: tensor of shape {tuple(value.shape)}, {value.dtype}, {made}, {grad}, version {value._version}"]
    if value.requires_grad:
        lines.append(f"see `why {name}`, `graph {name}`, `holders {name}`" if "why" in USAGE else f"see `graph {name}`")
    return lines


def _offered(state: State, name: str) -> list[str]:
    """The help text of what PyTorch offers under a name: `mean`, `F.relu`, `nn.Linear`, `x.mean`, `torch.optim.SGD`."""
    path = name.split(".")
    if len(path) > 1 and path[0] in state.names_in_reach():
        found: Any = lookup(path[-1], "Tensor", thorough=True)
    else:
        found = lookup(path[-1], thorough=True) if len(path) == 1 or path[0] in {"Tensor", "x"} else None
        found = found or _from_namespaces(path)
    if isinstance(found, BoundOperation):
        found = found.operation
    if isinstance(found, Operation):
        plain = lookup(path[-1]) if not any(record.grads for record in found.records) else None
        return _operation(found) + (_operation(plain) if plain is not None and plain is not found else [])
    return _callable(name, found) if callable(found) else []


def _of_tensor(name: str, attribute: str) -> list[str]:
    """The help text of what a tensor has that is no operation: `Tensor.backward`, `Tensor.grad_fn`."""
    found = inspect.getattr_static(Tensor, attribute, None) if attribute[:1] != "_" else None
    if found is None:
        return [f"{name}: {TERMS[attribute]}"] if attribute in TERMS else []
    if callable(found):
        return _callable(name, found)
    return [f"{name}: {TERMS.get(attribute) or (inspect.getdoc(found) or type(found).__name__)}"]


def _from_namespaces(path: list[str]) -> object:
    short = {"F": "torch.nn.functional", "nn": "torch.nn", "optim": "torch.optim", "autograd": "torch.autograd"}
    first = short.get(path[0], path[0])
    full = ".".join([first, *path[1:-1]])
    for space in [full, f"torch.{full}"] if len(path) > 1 else BARE:
        if space in NAMESPACES and path[-1] in NAMESPACES[space]:
            return NAMESPACES[space].get(path[-1])
    return None


def _callable(name: str, found: Any) -> list[str]:
    document()
    found = inspect.unwrap(found)
    try:
        signature = str(inspect.signature(found))
    except (TypeError, ValueError):
        signature = "(…)"
    return [f"{name}{signature}", *(f"  {line}".rstrip() for line in (inspect.getdoc(found) or "").split("\n"))]


def _operation(operation: Operation) -> list[str]:
    lines: list[str] = []
    spaced = [space for space in operation.spaces if operation.name.startswith(f"{space}_")]
    name = operation.name.removeprefix(f"{spaced[0]}_") if spaced else operation.name
    for record in operation.records:
        lines.append(f"{name}{record.signature}" + (f"  {record.node}" if record.node else ""))
        if record.doc:
            lines.append(f"  {record.doc}")
        if record.grads:
            saves = ", ".join(record.plan.names)
            lines.append(f"  saves for backward: {saves or 'nothing'}")
        if record.note:
            lines.append(f"  {record.note}")
        if record.example:
            lines += [f"  grad> {line}" for line in record.example.split("\n")]
    lines += [f"  {line}" for line in example_of(operation, name)]
    where = ", ".join(f"{space}.{name}" for space in operation.spaces)
    return [*lines, f"  as {where}"]


def view(report: Report) -> View:
    """Shape the text."""
    return Lines(report.lines)
