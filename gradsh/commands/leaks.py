"""`leaks`: graphs that grow from pass to pass, the path of names that keeps each alive, and what to change."""

from gradsh.commands.record import command
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.probe.growth import Leak, LeakReport, leaks
from gradsh.view.shapes import Lines, View


@command(
    "leaks", "Find graphs that grow over loop passes or statements: what keeps each alive, by name, and what to change.",
    examples=[
        "w = ones(2, requires_grad=True)\ntotal = 0\nfor i in range(4):\n    loss = (w * w).sum()\n    total += loss\n\nleaks",
    ],
)
def run(state: State) -> LeakReport:
    """Return the graphs that grow."""
    return leaks(state.names_in_reach(), state.place_of, state.control.scopes_of, state.control.owns)


def view(report: LeakReport) -> View:
    """Shape the findings: what holds what, since which line, and the change that ends it."""
    lines: list[str] = []
    for leak in report.leaks:
        lines += _leak(leak)
    total = f"{count(report.graphs, 'graph')} alive, {count(report.nodes, 'node')}, {report.nbytes:,} B saved"
    if not report.leaks:
        return Lines((f"nothing grows: {total}",))
    return Lines((*lines, total))


def _leak(leak: Leak) -> list[str]:
    size = f"{count(leak.nodes, 'node')}, {leak.nbytes:,} B saved"
    nodes, nbytes = leak.per_pass
    grows = f"each pass adds {count(nodes, 'node')}" + (f" and {nbytes:,} B" if nbytes else "")
    where = f"line {leak.line}: {leak.text}" if leak.line is not None else leak.text
    name = leak.path
    match leak.kind:
        case "total":
            head = f"{name} is a running total that keeps the graphs of {leak.passes:,} passes alive ({size}; {grows})"
            way = _number_instead(leak)
        case "list":
            head = f"{name} holds results of {leak.passes:,} passes, each with its graph ({size}; {grows})"
            way = f"keep numbers or detached tensors in {name}: append `.item()` or `.detach()`"
        case "carried":
            head = f"{name} carries its history through {leak.passes:,} passes ({size}; {grows})"
            way = f"detach it once a pass: `{name} = {name}.detach()`"
        case "grad":
            head = f"{name} has a graph of its own, made under create_graph ({size})"
            leaf = name.removesuffix(".grad")
            way = f"set `{name} = None` when it has served, or use `torch.autograd.grad(…, create_graph=True)` instead for {leaf}"
        case _:
            head = f"{count(leak.nodes, 'node')} are alive though no variable leads to them ({leak.nbytes:,} B saved)"
            way = "a cycle (a gradient under create_graph, a hook that holds its own tensor) or a closure keeps them"
    return [head, f"  {where}", f"  help: {way}"]


def _number_instead(leak: Leak) -> str:
    """Return the line as it should read, where it has the usual form."""
    from re import fullmatch

    usual = fullmatch(r"(\w+)\s*\+=\s*([\w.\[\]()]+)", leak.text)
    if usual is not None:
        return f"add the number: `{usual[1]} += {usual[2]}.item()`"
    return f"add numbers instead: `.item()` on what is added to {leak.path}, or `.detach()` it"
