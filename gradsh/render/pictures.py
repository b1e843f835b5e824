"""Drawings for other programs: Graphviz's dot, Mermaid, SVG and PNG."""

from collections.abc import Callable, Sequence

from gradsh.render.layout import lines_of, state_of
from gradsh.render.svg import COLOURS, FRAME_FILLS, STATE_FILLS
from gradsh.text.fault import fail
from gradsh.view.shapes import Chart, Dag, DagNode, Group, View

FORMATS = ("dot", "svg", "png", "mermaid")
_DOT_STUB = ", style=dashed"
_DOT = {
    "live": "style=filled", "freed": 'style="filled,dashed"', "pinned": "style=filled, peripheries=2",
    "modified": "style=filled, shape=octagon, penwidth=2", "packed": 'style="filled,dotted"',
}
"""By state, a node's shape and border."""
_MERMAID = {
    "": ("[", "]"), "stub": ("([", "])"), "live": ("[", "]"), "freed": ("[", "]"), "pinned": ("[[", "]]"), "modified": ("{{", "}}"),
    "packed": ("[/", "/]"),
}
"""By state, the brackets that make a node's shape."""
_MERMAID_BORDERS = {
    "live": "color:#1a1a1a", "freed": "color:#1a1a1a,stroke-dasharray:5 3", "pinned": "color:#1a1a1a",
    "modified": "color:#1a1a1a,stroke-width:3px", "packed": "color:#1a1a1a,stroke-dasharray:2 3",
}


def picture(view: View, kind: str) -> str | bytes:
    """Return the graph (or the chart) of a view in format `kind`: text, for png bytes.

    Raises ValueError (kind `value`) where the view holds nothing to draw in that format.
    """
    if kind not in FORMATS:
        raise fail("value", f"there is no format {kind}; choose text, json, {', '.join(FORMATS)}", ValueError)
    found = _drawing_of(view)
    if found is None:
        raise fail("value", f"this command has nothing to draw as {kind}; its formats are text and json", ValueError)
    if kind in {"svg", "png"}:
        drawn = _svg(found)
        if kind == "svg":
            return drawn
        from gradsh.render.png import png

        return png(drawn)
    if isinstance(found, Chart):
        raise fail("value", f"a chart is not drawn as {kind}; choose text, json, svg or png", ValueError)
    return dot(found) if kind == "dot" else mermaid(found)


def _svg(found: Dag | Chart) -> str:
    if isinstance(found, Chart):
        from gradsh.render import chart

        return chart.svg(found)
    from gradsh.render.svg import svg

    return svg(found)


def _drawing_of(view: View) -> Dag | Chart | None:
    if isinstance(view, Dag | Chart):
        return view
    parts = view.parts if isinstance(view, Group) else ()
    return next((found for found in map(_drawing_of, parts) if found is not None), None)


def _label(node: DagNode, line_end: str) -> str:
    """A node's words, one below the other: what it is, what it saved, its line."""
    return line_end.join(one.text for one in lines_of(node))


def _inside(dag: Dag) -> dict[int | None, list[str]]:
    """Return for each frame, and None, what stands right in it: `f1` for a frame, `n1` for a node."""
    found: dict[int | None, list[str]] = {}
    for number, frame in enumerate(dag.frames):
        found.setdefault(frame.parent, []).append(f"f{number}")
    for number, node in enumerate(dag.nodes):
        found.setdefault(node.frame, []).append(f"n{number}")
    return found


def _nested(dag: Dag, node_line: Callable[[int], str], open_frame: Callable[[int, str], Sequence[str]], end: str) -> list[str]:
    """Return the lines that declare nodes and frames, each in the frame that holds it."""
    inside = _inside(dag)
    out: list[str] = []
    stack = [(name, 1) for name in reversed(inside.get(None, []))]
    while stack:
        name, depth = stack.pop()
        number = int(name[1:]) if name else 0
        if name.startswith("f"):
            out += ["  " * depth + line for line in open_frame(number, dag.frames[number].title)]
            stack.append(("", depth))
            stack += [(one, depth + 1) for one in reversed(inside.get(number, []))]
        else:
            out.append("  " * depth + (node_line(number) if name else end))
    return out


def dot(dag: Dag) -> str:
    """Return the graph in Graphviz's language: a cluster for each frame."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    def node_line(number: int) -> str:
        node = dag.nodes[number]
        return f"n{number} [label={quoted(_label(node, chr(10)))}{_DOT_STUB if node.stub else _dot_look(node)}];"

    def open_frame(number: int, title: str) -> list[str]:
        look = f'style="rounded,filled"; fillcolor="{FRAME_FILLS[0]}"; color="#9a9ab0"'
        return [f"subgraph cluster_{number} {{", f"  label={quoted(title)}; {look};"]

    out = ["digraph gradsh {", "  rankdir=TB;", '  node [shape=box, fontname="monospace", fontsize=10];',
           '  graph [fontname="monospace", fontsize=10, labeljust=l];']
    if dag.more or dag.totals:
        out.append(f"  labelloc=b; label={quoted(chr(10).join(one for one in (dag.more, *dag.totals) if one))};")
    out += _nested(dag, node_line, open_frame, "}")
    for source, target, label in dag.edges:
        out.append(f"  n{source} -> n{target}" + (f' [label="{label}"]' if label else "") + ";")
    return "\n".join([*out, "}"]) + "\n"


def _dot_look(node: DagNode) -> str:
    state = state_of(node)
    if not state:
        return ""
    return f', color="{COLOURS[state]}", fillcolor="{STATE_FILLS[state]}", {_DOT[state]}'


def mermaid(dag: Dag) -> str:
    """Return the graph as a Mermaid flow chart: a subgraph for each frame, a class for each state."""

    def node_line(number: int) -> str:
        node = dag.nodes[number]
        text, state = _mermaid_text(_label(node, "\n")), state_of(node)
        left, right = _MERMAID["stub" if node.stub else state]
        return f'n{number}{left}"{text}"{right}' + (f":::{state}" if state else "")

    def open_frame(number: int, title: str) -> list[str]:
        return [f'subgraph f{number}["{_mermaid_text(title)}"]']

    out = ["flowchart TD", *(f"  %% {one}" for one in (dag.more, *dag.totals) if one)]
    out += _nested(dag, node_line, open_frame, "end")
    for source, target, label in dag.edges:
        out.append(f"  n{source} -->" + (f"|{label}|" if label else "") + f" n{target}")
    used = {state_of(node) for node in dag.nodes}
    out += [f"  classDef {state} fill:{STATE_FILLS[state]},stroke:{COLOURS[state]},{rest}" for state, rest in _MERMAID_BORDERS.items()
            if state in used]
    if dag.frames:
        out.append(f"  classDef frame fill:{FRAME_FILLS[0]},stroke:#9a9ab0")
        out.append(f"  class {','.join(f'f{number}' for number in range(len(dag.frames)))} frame")
    return "\n".join(out) + "\n"


def _mermaid_text(text: str) -> str:
    return text.replace('"', "#quot;").replace("<", "#lt;").replace("\n", "<br>")
