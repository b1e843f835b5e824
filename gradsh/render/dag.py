"""Draws a graph as a tree for the terminal: a node is drawn once; where it is reached again, it is referred to."""

from gradsh.render.style import Style, pad, printable, width_of
from gradsh.render.table import shape_text
from gradsh.view.shapes import Dag, DagNode, Mark

STRAIGHT = 12  # a chain deeper than this runs straight down, so that it does not leave the screen
BULLETS = {"live": ("●", "*"), "freed": ("○", "o"), "pinned": ("◆", "#"), "modified": ("✗", "!"),
           "packed": ("◌", "~")}


def draw(dag: Dag, style: Style) -> list[str]:
    """Return the lines of a drawing: tree, marks of saved tensors, source lines; the totals below."""
    rows = _Walk(dag, style).rows()
    marks_at = max((width_of(tree) + 2 for tree, mark, _, _ in rows if mark), default=0)
    lines_at = max((_width(tree, mark, marks_at) + 2 for tree, mark, _, line in rows if line), default=0)
    out = []
    for tree, mark, state, line in rows:
        text = pad(tree, marks_at) + style.paint(state, mark) if mark else tree
        blanks = " " * (lines_at - _width(tree, mark, marks_at))
        out.append((text + blanks + line if line else text).rstrip())
    if dag.more:
        out.append(style.paint("dim", dag.more))
    return out + list(dag.totals)


def _width(tree: str, mark: str, marks_at: int) -> int:
    return marks_at + width_of(mark) if mark else width_of(tree)


def node_text(node: DagNode) -> str:
    """Return what a drawing says of a node itself: names, operation, shape."""
    names = ", ".join(node.names) + "  " if node.names else ""
    shape = f" {shape_text(node.shape)}" if node.shape is not None else ""
    note = f"  {node.note}" if node.note else ""
    return printable(f"{names}{node.title}{shape}{note}")


def line_text(node: DagNode, style: Style) -> str:
    """Return where a node was made: `line 3`, `line 12–15`."""
    if node.line is None:
        return ""
    if node.last_line is None or node.last_line == node.line:
        return f"line {node.line}"
    return f"line {node.line}{style.pick('–', '-')}{node.last_line}"


def mark_text(mark: Mark, style: Style) -> str:
    """Return a saved tensor's sign and words."""
    drawn, plain = BULLETS.get(mark.state, ("●", "*"))
    return f"{style.pick(drawn, plain)} {printable(mark.text)}"


class _Walk:
    """Depth first over the drawing, without recursion."""

    def __init__(self, dag: Dag, style: Style) -> None:
        self.dag = dag
        self.style = style
        self.hidden = dict(dag.hidden)
        self.drawn: dict[int, int] = {}
        self.children: list[list[tuple[int, str]]] = [[] for _ in dag.nodes]
        reached = [0] * len(dag.nodes)
        for source, target, label in dag.edges:
            self.children[source].append((target, label))
            reached[target] += 1
        for root in dag.roots:
            reached[root] += 1
        self.shared = {i for i, count in enumerate(reached) if count > 1}
        self.numbers: dict[int, int] = {}

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(tree text, mark, its state, line text) for each line."""
        out: list[tuple[str, str, str, str]] = []
        stack = [(root, "", "", "", 0) for root in reversed(self.dag.roots)]
        while stack:
            index, lead, below, label, depth = stack.pop()
            node = self.dag.nodes[index]
            head = lead + (f"{label} " if label else "")
            if index in self.drawn:
                times = 1
                while not label and stack and (stack[-1][0], *stack[-1][3:]) == (index, label, depth):  # the next edge of one node
                    head = stack.pop()[1]
                    times += 1
                out.append((head + self._reference(index) + (f", {times:,} edges" if times > 1 else ""), "", "", ""))
                continue
            self.drawn[index] = len(out)
            children = [] if index in self.hidden else self.children[index]
            out += self._node_rows(index, node, head, below, bool(children) or index in self.hidden)
            stack += reversed(self._below(children, below, depth))
        return out

    def _node_rows(self, index: int, node: DagNode, head: str, below: str, goes_on: bool) -> list[
            tuple[str, str, str, str]]:
        tag = f"  [{self._number(index)}]" if index in self.shared and not node.names and self.children[index] else ""
        first, *others = node.marks or (Mark("", ""),)
        text = mark_text(first, self.style) if first.text else ""
        rows = [(head + node_text(node) + tag, text, first.state, line_text(node, self.style))]
        tree = below + (self.style.pick("│", "|") if goes_on else "")
        rows += [(tree, mark_text(mark, self.style), mark.state, "") for mark in others]
        if index in self.hidden:
            number = self.hidden[index]
            more = f"{number:,} more node{'' if number == 1 else 's'} below"
            rows.append((below + self.style.pick("└─ … ", "`- ... ") + more, "", "", ""))
        return rows

    def _below(self, children: list[tuple[int, str]], below: str, depth: int) -> list[tuple[int, str, str, str, int]]:
        out = []
        straight = len(children) == 1 and depth >= STRAIGHT
        for i, (target, label) in enumerate(children):
            last = i == len(children) - 1
            corner = self.style.pick("└─ ", "`- ") if last else self.style.pick("├─ ", "|- ")
            bar = "" if straight else "   " if last else self.style.pick("│  ", "|  ")
            out.append((target, below + corner, below + bar, label, depth + 1))
        return out

    def _number(self, index: int) -> int:
        return self.numbers.setdefault(index, len(self.numbers) + 1)

    def _reference(self, index: int) -> str:
        node = self.dag.nodes[index]
        if node.names:
            words = f"{node.names[0]}  {node.title}"
        elif self.children[index]:
            words = f"{node.title} [{self._number(index)}]"
        else:
            words = node.title
        arrow = self.style.pick("↑", "^")
        return printable(f"{words} {arrow} drawn above")
