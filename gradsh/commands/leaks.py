"""`leaks`: graphs that grow from pass to pass, the path of names that keeps each alive, and what to change."""

from gradsh.commands.record import command
from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.probe.growth import Leak, LeakReport, leaks
from gradsh.view.shapes import Lines, View


@command(
    "leaks", "Find graphs that grow over iterations or statements, what keeps each alive, and the fix.",
    examples=[
        "w = ones(2, requires_grad=True)\ntotal = 0\nfor i in range(4):\n    loss = (w * w).sum()\n    total += loss\n\nleaks",
    ],
)
def run(state: State) -> LeakReport:
    """Compares the live graphs after each iteration of a loop, or after each statement."""
    return leaks(state.names_in_reach(), state.place_of, state.control.owns)


def view(report: LeakReport) -> View:
    """Shape the findings: what holds what, since which line, and the change that ends it."""
    lines: list[str] = []
    for leak in report.leaks:
        lines += _leak(leak)
    total = f"{count(report.graphs, 'graph')} alive, {count(report.nodes, 'node')}, {report.nbytes:,} B saved"
    if not report.leaks:
        return Lines((f"no graph grows: {total}",))
    return Lines((*lines, total))


def _leak(leak: Leak) -> list[str]:
    size = f"{count(leak.nodes, 'node')}, {leak.nbytes:,} B saved"
    nodes, nbytes = leak.per_pass
    grows = f"each iteration adds {count(nodes, 'node')}" + (f" and {nbytes:,} B" if nbytes else "")
    where = f"line {leak.line}: {leak.text}" if leak.line is not None else leak.text
    name = leak.path
    match leak.kind:
        case "total":
            head = f"{name} is a running total that keeps the graphs of {leak.passes:,} iterations alive ({size}; {grows})"
            way = _number_instead(leak)
        case "list":
            head = f"{name} holds the results of {leak.passes:,} iterations, each with its graph ({size}; {grows})"
            way = f"store values in {name}: call `.item()` or `.detach()` before storing"
        case "carried":
            head = f"{name} carries its graph through {leak.passes:,} iterations ({size}; {grows})"
            way = f"detach it in each iteration: `{name} = {name}.detach()`"
        case "grad":
            head = f"{name} has a graph of its own, made under create_graph ({size})"
            leaf = name.removesuffix(".grad")
            way = f"set `{name} = None` after its last use, or use `torch.autograd.grad(…, create_graph=True)` instead for {leaf}"
        case _:
            head = f"{count(leak.nodes, 'node')} are alive, but no variable leads to them ({leak.nbytes:,} B saved)"
            way = "a cycle (a gradient under create_graph, a hook that holds its own tensor) or a closure keeps them"
    return [head, f"  {where}", f"  help: {way}"]


def _number_instead(leak: Leak) -> str:
    """Return the line as it should read, where it has the usual form."""
    from re import fullmatch

    usual = fullmatch(r"(\w+)\s*\+=\s*([\w.\[\]()]+)", leak.text)
    if usual is not None:
        return f"add the value: `{usual[1]} += {usual[2]}.item()`"
    return f"add values: call `.item()` or `.detach()` on what is added to {leak.path}"
