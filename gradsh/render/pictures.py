"""Drawings for other programs: Graphviz's dot, Mermaid, SVG and PNG."""

from gradsh.render.layout import lines_of
from gradsh.text.fault import fail
from gradsh.view.shapes import Chart, Dag, DagNode, Group, View

FORMATS = ("dot", "svg", "png", "mermaid")


def picture(view: View, kind: str) -> str | bytes:
    """Return the graph (or the chart) of a view in format `kind`: text, for png bytes.

    Raises ValueError (kind `value`) where the view holds nothing to draw in that format.
    """
    if kind not in FORMATS:
        raise fail("value", f"there is no format {kind}; choose text, json, {', '.join(FORMATS)}", ValueError)
    found = _drawing_of(view)
    if found is None:
        raise fail("value", f"this command has nothing to draw as {kind}; its formats are text and json", ValueError)
    if isinstance(found, Chart):
        return _chart(found, kind)
    if kind == "png":
        from gradsh.render.png import png

        return png(found)
    if kind == "svg":
        from gradsh.render.svg import svg

        return svg(found)
    return dot(found) if kind == "dot" else mermaid(found)


def _chart(chart: Chart, kind: str) -> str | bytes:
    if kind == "svg":
        from gradsh.render.chart import svg

        return svg(chart)
    if kind == "png":
        from gradsh.render.png import png

        return png(chart)
    raise fail("value", f"a chart is not drawn as {kind}; choose text, json, svg or png", ValueError)


def _drawing_of(view: View) -> Dag | Chart | None:
    if isinstance(view, Dag | Chart):
        return view
    parts = view.parts if isinstance(view, Group) else ()
    return next((found for found in map(_drawing_of, parts) if found is not None), None)


def _label(node: DagNode, line_end: str) -> str:
    """A node's words, one below the other: what it is, what it saved, its line."""
    return line_end.join(one.text for one in lines_of(node))


def dot(dag: Dag) -> str:
    """Return the graph in Graphviz's language."""
    out = ["digraph gradsh {", "  rankdir=TB;", '  node [shape=box, fontname="monospace", fontsize=10];']
    for i, node in enumerate(dag.nodes):
        text = _label(node, "\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        out.append(f'  n{i} [label="{text}"{", style=dashed" * node.stub}];')
    for source, target, label in dag.edges:
        out.append(f"  n{source} -> n{target}" + (f' [label="{label}"]' if label else "") + ";")
    return "\n".join([*out, "}"]) + "\n"


def mermaid(dag: Dag) -> str:
    """Return the graph as a Mermaid flow chart."""
    out = ["flowchart TD"]
    for i, node in enumerate(dag.nodes):
        text = _label(node, "<br>").replace('"', "#quot;")
        out.append(f'  n{i}{"([" if node.stub else "["}"{text}"{"])" if node.stub else "]"}')
    for source, target, label in dag.edges:
        out.append(f"  n{source} -->" + (f"|{label}|" if label else "") + f" n{target}")
    return "\n".join(out) + "\n"
