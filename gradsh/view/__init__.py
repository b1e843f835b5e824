"""The few shapes that output has, as plain data: lines, table, dag, tensor, diagnostic, and a group of them."""

from gradsh.view.shapes import Column, Dag, DagNode, Diagnostic, Edge, Group, Lines, Mark, Row, Table, TensorView, View

__all__ = [
    "Column", "Dag", "DagNode", "Diagnostic", "Edge", "Group", "Lines", "Mark", "Row", "Table", "TensorView", "View",
]
