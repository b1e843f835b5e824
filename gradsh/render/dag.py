"""Draws a graph as a tree for the terminal: a node is drawn once; where it is reached again, it is referred to.

Each step of the tree is indented. In a deep graph only the first steps are: further down a node that has one input stands
right above it, and what takes one row (a leaf, a reference, what is left out) is drawn before what goes on. So a chain
runs straight down, and only an open branch takes a column.
"""

from typing import NamedTuple

from gradsh.render.order import drawing_order
from gradsh.render.style import Style, pad, printable, width_of
from gradsh.render.table import shape_text
from gradsh.render.wrap import wrap
from gradsh.text.line import file_of
from gradsh.view.shapes import Dag, DagNode, Mark

DEEP = 12
"""Steps that a graph may have, each indented."""
STAIRS = 6
"""Steps that are indented in a graph that has more."""
BULLETS = {"live": ("●", "saves"), "freed": ("○", "saved"), "pinned": ("◆", "saves"), "modified": ("✗", "saves"),
           "packed": ("◌", "saves")}
"""By state, what begins a saved tensor's words: a sign, or a word where plain text is read aloud. The words name the state."""
GAP = 2
NARROW = 60
"""Columns of a terminal below which a step of the tree takes two columns, not three."""
LEAST = 24
"""Columns that a node's words have on the narrowest terminal."""


class DagLine(NamedTuple):
    """A line of a drawing: the branches before its text, and before what is folded below it; text, mark, its state, place."""

    lead: str
    below: str
    text: str
    mark: str = ""
    state: str = ""
    place: str = ""


def draw(dag: Dag, style: Style) -> list[str]:
    """Return the lines of a drawing: tree, marks of saved tensors, source lines; the totals below."""
    lines = _DagWalk(dag, style).lines()
    out = _aligned(lines, style)
    if style.width is not None and max(width for width, _ in out) > style.width:
        texts = [part for line in lines for part in _folded(line, style, style.width)]
    else:
        texts = [text for _, text in out]
    texts += [style.paint("dim", part) for part in wrap(dag.more, style.width) if part]
    return texts + [part for line in dag.totals for part in wrap(line, style.width)]


def _aligned(lines: list[DagLine], style: Style) -> list[tuple[int, str]]:
    """Return (columns, text) of each line, with marks and places each in a column of their own."""
    trees = [line.lead + line.text for line in lines]
    marks_at = max((width_of(tree) + GAP for tree, line in zip(trees, lines, strict=True) if line.mark), default=0)
    ends = [marks_at + width_of(line.mark) if line.mark else width_of(tree) for tree, line in zip(trees, lines, strict=True)]
    places_at = max((end + GAP for end, line in zip(ends, lines, strict=True) if line.place), default=0)
    out = []
    for tree, end, line in zip(trees, ends, lines, strict=True):
        text = pad(tree, marks_at) + style.paint(line.state, line.mark) if line.mark else tree
        columns = places_at + width_of(line.place) if line.place else end
        out.append((columns, (text + " " * (places_at - end) + line.place if line.place else text).rstrip()))
    return out


def _folded(line: DagLine, style: Style, width: int) -> list[str]:
    """Return a line in as many as it needs: its mark, and words that have no room, stand below the node."""
    lead, below = _shortened(line.lead, style, width), _shortened(line.below, style, width)
    room = width - width_of(lead)
    text = line.text + (" " * GAP + line.place if line.place else "")
    if line.mark and not line.text:  # a further mark of the node above
        return [below + "  " + style.paint(line.state, part) for part in wrap(line.mark, width - width_of(below) - 2, 2)]
    first, *more = wrap(text, room, 2)
    out = [lead + first, *(below + part for part in more)]
    if line.mark and not more and width_of(out[0]) + GAP + width_of(line.mark) <= width:
        return [lead + line.text + " " * GAP + style.paint(line.state, line.mark) + text[len(line.text):]]
    if line.mark:
        marks = wrap(line.mark, width - width_of(below) - 2, 2)
        out += [below + "  " + style.paint(line.state, part) for part in marks]
    return out


def _shortened(lead: str, style: Style, width: int) -> str:
    """Return branches without as many of the outer ones as leave too little room for words."""
    most = max(3, width - LEAST)
    if len(lead) <= most:
        return lead
    dots = style.pick("…", "...")
    return dots + lead[len(lead) - most + len(dots) :]


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
        return printable(f"line {node.line}")
    dash = style.pick("–", "-")
    if file_of(node.line) == file_of(node.last_line):
        return printable(f"line {int(node.line)}{dash}{node.last_line}")
    return printable(f"line {node.line} {dash} {node.last_line}")


def mark_text(mark: Mark, style: Style) -> str:
    """Return a saved tensor's sign and words."""
    drawn, plain = BULLETS.get(mark.state, BULLETS["live"])
    return f"{style.pick(drawn, plain)} {printable(mark.text)}"


class _DagWalk:
    """Depth first over the drawing, without recursion."""

    def __init__(self, dag: Dag, style: Style) -> None:
        self.dag = dag
        self.style = style
        self.drawn: set[int] = set()
        self.order = drawing_order(dag)
        self.step = 2 if style.width is not None and style.width < NARROW else 3
        room = DEEP if style.width is None else min(DEEP, (style.width - LEAST) // self.step)
        self.stairs = room if self.order.height <= room else min(STAIRS, room)
        self.children = self.order.children
        self.numbers: dict[int, int] = {}
        self.later: dict[int, int] = {}
        """nodes that are drawn further down, where the stack is as high as this"""

    def lines(self) -> list[DagLine]:
        """Return the lines of the tree."""
        out: list[DagLine] = []
        stack = [(root, "", "", "", 0) for root in reversed(self.dag.roots)]
        while stack:
            index, lead, below, label, depth = stack.pop()
            head = lead + (f"{label} " if label else "")
            if self.later.get(index) == len(stack):
                del self.later[index]
            if index in self.drawn or index in self.later:
                times = 1
                while stack and not label and self._repeats(stack, index, depth):  # the next edge of one node
                    head = stack.pop()[1]
                    times += 1
                out.append(DagLine(head, below, self._reference(index) + (f", {times:,} edges" if times > 1 else "")))
                continue
            self.drawn.add(index)
            out += self._node_lines(index, head, below)
            stack += self._below(index, below, depth, len(stack))
        return out

    def _node_lines(self, index: int, head: str, below: str) -> list[DagLine]:
        node, children = self.dag.nodes[index], self.children[index]
        tag = f"  [{self._number(index)}]" if index in self.order.shared and not node.names and children else ""
        tree = below + (self.style.pick("│", "|") if children else "")
        first, *others = node.marks or (Mark("", ""),)
        text = mark_text(first, self.style) if first.text else ""
        lines = [DagLine(head, tree, node_text(node) + tag, text, first.state, line_text(node, self.style))]
        return lines + [DagLine(tree, tree, "", mark_text(mark, self.style), mark.state) for mark in others]

    def _below(self, index: int, below: str, depth: int, height: int) -> list[tuple[int, str, str, str, int]]:
        """Return what is drawn below a node, the first on top, for a stack that is so high already."""
        children = self.children[index]
        if depth >= self.stairs and len(children) > 1:
            children = self.order.straight(index, self._is_row)
            last = children[-1][0]
            if not self._is_row(last) and self.order.reached_by(children[:-1], last):
                self.later.setdefault(last, height)
        out = []
        for i, (target, label) in enumerate(children):
            last = i == len(children) - 1
            corner = self.style.pick("└─", "`-") if last else self.style.pick("├─", "|-")
            bar = self.style.pick("│", "|") if not last else "" if depth >= self.stairs else " "
            corner, bar = corner[: self.step - 1] + " ", bar and bar.ljust(self.step)
            out.append((target, below + corner, below + bar, label, depth + 1))
        return out[::-1]

    def _repeats(self, stack: list[tuple[int, str, str, str, int]], index: int, depth: int) -> bool:
        """Whether the next thing on the stack is another edge between the same nodes, and not where the node is drawn."""
        return (stack[-1][0], *stack[-1][3:]) == (index, "", depth) and self.later.get(index) != len(stack) - 1

    def _is_row(self, index: int) -> bool:
        """Whether a node takes one row where it is reached now: it has no inputs, or is drawn elsewhere."""
        return not self.children[index] or index in self.drawn or index in self.later

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
        sign, where = ("↓", "below") if index in self.later else ("↑", "above")
        return printable(f"{words}{self.style.pick(f' {sign}', ',')} drawn {where}")
