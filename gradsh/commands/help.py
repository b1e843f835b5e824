"""`help`: the commands on one screen, or everything about one command, operation or kind of error."""

from dataclasses import dataclass

from gradsh.commands import USAGE, find
from gradsh.commands.record import Word, command
from gradsh.engine.op import Operation, lookup, operations
from gradsh.state import State
from gradsh.text.fault import fail
from gradsh.text.kinds import KINDS
from gradsh.view.shapes import Lines, View


@dataclass(frozen=True, slots=True)
class Report:
    """The lines of the help text about `topic` (empty: the overview)."""

    topic: str
    lines: tuple[str, ...]


@command("help", "Show the commands, or all about one command, operation or kind of error.", examples=["help", "help backward", "help mul"])
def run(state: State, topic: Word | None = None) -> Report:
    """Return the help text."""
    del state
    if topic is None:
        return Report("", tuple(_overview()))
    if topic in USAGE:
        return Report(topic, tuple(_command(topic)))
    operation = lookup(topic)
    if operation is not None:
        return Report(topic, tuple(_operation(operation)))
    if topic in KINDS:
        return Report(topic, (f"{topic}: a kind of error; `explain {topic}` or `gradsh explain {topic}` says more",))
    from difflib import get_close_matches

    near = get_close_matches(topic, [*USAGE, *operations()], 3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise fail("value", f"no command, operation or kind of error is called {topic}{hint}", ValueError, candidates=near)


def _overview() -> list[str]:
    width = max(map(len, USAGE))
    lines = ["Type PyTorch statements, or a command:"]
    lines += [f"  {name:<{width}}  {find(name).doc}" for name in USAGE]
    lines.append("`help NAME` says all about a command or an operation.")
    return lines


def _command(name: str) -> list[str]:
    record = find(name)
    lines = [f"{name} {USAGE[name]}".rstrip(), record.doc]
    for example in record.examples:
        first, *rest = example.split("\n")
        lines += [f"  grad> {first}", *(f"  grad> {line}" for line in rest)]
    return lines


def _operation(operation: Operation) -> list[str]:
    lines: list[str] = []
    for record in operation.records:
        lines.append(f"{record.name}{record.signature}" + (f"  {record.node}" if record.node else ""))
        if record.doc:
            lines.append(f"  {record.doc}")
        if record.grads:
            saves = ", ".join(record.plan.names)
            lines.append(f"  saves for backward: {saves or 'nothing'}")
        if record.note:
            lines.append(f"  {record.note}")
    where = ", ".join({"torch": f"torch.{operation.name}", "Tensor": f"Tensor.{operation.name}"}.get(space, f"{space}.{operation.name}")
                      for space in operation.spaces)
    return [*lines, f"  as {where}"]


def view(report: Report) -> View:
    """Shape the text."""
    return Lines(report.lines)
