"""`vars`: the variables, with what each tensor is to autograd."""

from typing import NamedTuple

from gradsh.commands.record import command
from gradsh.contracts.state import State
from gradsh.engine.dispatch.inference import is_inference
from gradsh.engine.graph.node import Node, behind
from gradsh.engine.graph.tensor import node_of
from gradsh.engine.values.reduced import bytes_of
from gradsh.probe.foreign import tensor_of
from gradsh.probe.snapshot import node_name
from gradsh.view.shapes import Column, Row, Table, View


class VariableRow(NamedTuple):
    """A variable: for a tensor shape, dtype, whether it needs a gradient, leaf or node, version, bytes; else its type."""

    name: str
    type: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    requires_grad: bool | None = None
    made_by: str = ""
    version: int | None = None
    nbytes: int | None = None
    grad: bool = False


class Report(NamedTuple):
    """The variables in the order they were bound."""

    rows: tuple[VariableRow, ...]


@command("vars", "List the variables: shape, dtype, requires_grad, leaf or node, version, bytes.",
         examples=["x = ones(2, 3, requires_grad=True)\ny = x * 2\nvars"])
def run(state: State) -> Report:
    """One row for each variable."""
    return Report(tuple(_describe(name, value) for name, value in state.names_in_reach().items()))


def _describe(name: str, value: object) -> VariableRow:
    tensor = tensor_of(value)
    if tensor is None:
        return VariableRow(name, (isinstance(behind(value), Node) and node_name(behind(value))) or type(value).__name__)
    try:
        made_by = node_name(node_of(tensor)) or "leaf"
    except RuntimeError:
        made_by = "an invalid view"
    has_grad = tensor.meta is not None and tensor.meta.grad is not None
    return VariableRow(
        name, type(value).__name__, tuple(tensor.array.shape), tensor.dtype.name, tensor.needs_grad, made_by,
        None if is_inference(tensor) else tensor.counter.version, bytes_of(tensor.array), has_grad,
    )


_COLUMNS = (
    Column("name"), Column("type"), Column("shape", "shape"), Column("dtype"), Column("requires_grad"), Column("made by"),
    Column("version"), Column("bytes", "bytes"), Column("grad"),
)


def view(report: Report) -> View:
    """Shape the table."""
    rows = tuple(
        Row((one.name, one.type, one.shape, one.dtype or None, one.requires_grad, one.made_by or None, one.version, one.nbytes,
             None if one.requires_grad is None else one.grad))
        for one in report.rows
    )
    return Table(_COLUMNS, rows, empty="no variables yet")
