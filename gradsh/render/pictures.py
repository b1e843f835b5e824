"""Drawings of graphs for other programs: Graphviz's dot and Mermaid."""

from gradsh.render.dag import BULLETS, node_text
from gradsh.text.fault import fail
from gradsh.view.shapes import Dag, DagNode, Group, View


def picture(view: View, kind: str) -> str:
    """Return the graph of a view in format `kind`; ValueError (kind `value`) where the view holds no graph."""
    dag = _dag_of(view)
    if dag is None:
        raise fail("value", f"this command has no graph to draw as {kind}; its formats are text and json", ValueError)
    if kind == "dot":
        return dot(dag)
    if kind == "mermaid":
        return mermaid(dag)
    raise fail("value", f"graphs are not drawn as {kind}; choose text, json, dot or mermaid", ValueError)


def _dag_of(view: View) -> Dag | None:
    if isinstance(view, Dag):
        return view
    parts = view.parts if isinstance(view, Group) else ()
    return next((dag for dag in map(_dag_of, parts) if dag is not None), None)


def _label(node: DagNode, line_end: str) -> str:
    """A node's words, one below the other: what it is, what it saved, its line."""
    marks = [f"{BULLETS.get(mark.state, BULLETS['live'])[0]} {mark.text}" for mark in node.marks]
    line = [f"line {node.line}"] if node.line is not None else []
    return line_end.join([node_text(node), *marks, *line])


def dot(dag: Dag) -> str:
    """Return the graph in Graphviz's language."""
    out = ["digraph gradsh {", "  rankdir=TB;", '  node [shape=box, fontname="monospace", fontsize=10];']
    for i, node in enumerate(dag.nodes):
        text = _label(node, "\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        out.append(f'  n{i} [label="{text}"];')
    for source, target, label in dag.edges:
        out.append(f"  n{source} -> n{target}" + (f' [label="{label}"]' if label else "") + ";")
    return "\n".join([*out, "}"]) + "\n"


def mermaid(dag: Dag) -> str:
    """Return the graph as a Mermaid flow chart."""
    out = ["flowchart TD"]
    for i, node in enumerate(dag.nodes):
        text = _label(node, "<br>").replace('"', "#quot;")
        out.append(f'  n{i}["{text}"]')
    for source, target, label in dag.edges:
        out.append(f"  n{source} -->" + (f"|{label}|" if label else "") + f" n{target}")
    return "\n".join(out) + "\n"
